"""Word vectors in training: a table of the words that occur learns what the whole one would."""

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.finetune.conftest import scored_rows

from firth.finetune.static import occurring_words
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder

TEXTS = [str(row[name]) for row in scored_rows(20) for name in ("sentence1", "sentence2")]


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
    for model in (whole, some):
        model[0].embedding.padding_idx = ignored
    first = whole[0].embedding.weight.detach().clone()
    learn(whole)
    table = some[0].embedding
    with occurring_words(some, TEXTS):
        assert len(some[0].embedding.weight) < len(first)  # the premise: not all words occur
        assert (some.encode(TEXTS) == open_encoder(str(static)).encode(TEXTS)).all()
        learn(some)
    assert some[0].embedding is table
    assert torch.equal(table.weight, whole[0].embedding.weight)
    moved = (table.weight != first).any(dim=1)
    assert 0 < moved.sum() < len(first)


def test_the_table_is_back_after_an_error(static: Path) -> None:
    """Whatever happens inside."""
    model = open_encoder(str(static))
    table = model[0].embedding
    with pytest.raises(InputError), occurring_words(model, TEXTS):
        raise InputError("stop")
    assert model[0].embedding is table
