"""Word vectors in training: a table of the words that occur learns what the whole one would."""

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.finetune.conftest import scored_rows

from firth.finetune.static import occurring_words
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder

TEXTS = [str(row[name]) for row in scored_rows(20) for name in ("sentence1", "sentence2")]


def table_of(model: SentenceTransformer) -> Any:
    """Its word vectors."""
    module: Any = model[0]
    return module.embedding


def learn(model: SentenceTransformer, steps: int = 5) -> None:
    """A few steps of Adam away from what texts are."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(steps):
        found = model(model.preprocess(TEXTS))["sentence_embedding"]
        optimiser.zero_grad()
        found.square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("ignored", [None, 0])
def test_some_rows_learn_what_the_whole_table_would(static: Path, ignored: int | None) -> None:
    """Same weights to the bit, those of words that do not occur untouched; the table is back."""
    whole, some = open_encoder(str(static)), open_encoder(str(static))
    table, other = table_of(some), table_of(whole)
    table.padding_idx = other.padding_idx = ignored
    first = other.weight.detach().clone()
    learn(whole)
    with occurring_words(some, TEXTS):
        assert len(table_of(some).weight) < len(first)  # the premise: not all words occur
        assert (some.encode(TEXTS) == open_encoder(str(static)).encode(TEXTS)).all()
        learn(some)
    assert table_of(some) is table
    assert torch.equal(table.weight, other.weight)
    moved = (table.weight != first).any(dim=1)
    assert 0 < moved.sum() < len(first)


def test_the_table_is_back_after_an_error(static: Path) -> None:
    """Whatever happens inside."""
    model = open_encoder(str(static))
    table = table_of(model)
    with pytest.raises(InputError), occurring_words(model, TEXTS):
        raise InputError("stop")
    assert table_of(model) is table
