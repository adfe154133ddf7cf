"""The static start: what it weighs, which pairs it sees, and that it can be interrupted."""

import math
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from firth.coherence.tokens import TokenizedSentences, tokenize
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.run import Run
from firth.surrogate import static
from firth.surrogate.static import Neighbours, inverse_frequencies, moved, neighbour_pairs


def test_inverse_frequencies_equal_a_count(harvested: Path) -> None:
    """log((N + 1) / (df + 1)), counted one sentence at a time; 0 for special tokens."""
    corpus, tokenizer = Corpus.open(harvested), open_tokenizer(harvested)
    texts = corpus.texts(np.arange(len(corpus)))
    tokens = tokenize(texts, tokenizer, 128)
    counts = Counter(
        i for text in texts for i in set(tokenizer.encode(text, add_special_tokens=False).ids)
    )
    found = inverse_frequencies(tokens, tokenizer.get_vocab_size())
    assert len(counts) > 50
    for token in range(5, len(found)):
        expected = math.log((len(texts) + 1) / (counts[token] + 1))
        assert found[token] == pytest.approx(expected, abs=1e-5)
    assert not found[:5].any()


def test_neighbours_share_a_document(harvested: Path) -> None:
    """No pair crosses a document border, and every batch holds sentences and their successors."""
    run, corpus = Run.open(harvested), Corpus.open(harvested)
    firsts = neighbour_pairs(corpus, run.config.corpus)
    assert len(firsts) == len(corpus) - corpus.n_documents
    assert (corpus.document_of(firsts) == corpus.document_of(firsts + 1)).all()
    tokenizer = open_tokenizer(harvested)
    tokens = tokenize(corpus.texts(np.arange(len(corpus))), tokenizer, 128)
    neighbours = Neighbours(tokens, firsts, 8, seed=1)
    followed = {(_row(tokens, i), _row(tokens, i + 1)) for i in firsts}
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for step in range(neighbours.steps):
        one, two = (_rows(side) for side in neighbours(step))
        seen += zip(one, two, strict=True)
    assert set(seen) <= followed
    assert len(set(seen)) > 0.9 * len(followed)
    again = neighbours(0)
    assert torch.equal(again[0]["input_ids"], neighbours(0)[0]["input_ids"])


def _rows(features: dict[str, torch.Tensor]) -> list[tuple[int, ...]]:
    ends = [*features["offsets"].tolist()[1:], len(features["input_ids"])]
    ids = features["input_ids"].tolist()
    return [tuple(ids[a:b]) for a, b in zip(features["offsets"].tolist(), ends, strict=True)]


def _row(tokens: TokenizedSentences, i: int) -> tuple[int, ...]:
    return tuple(tokens.pieces[tokens.bounds[i] : tokens.bounds[i + 1]].tolist())


def test_a_word_moves_by_its_own_length() -> None:
    """Each move has the length of its first vector; what did not move stays."""
    first = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    learned = first.clone()
    learned[:5] += 3 * torch.randn(5, 4, generator=torch.Generator().manual_seed(2))
    found = moved(first, learned)
    lengths = (found - first).norm(dim=1)
    torch.testing.assert_close(lengths[:5], static.STEP * first.norm(dim=1)[:5])
    torch.testing.assert_close(found[5], first[5])


def test_an_interrupted_start_ends_the_same(
    fresh: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Continued from its checkpoint, the start has the vectors of an uninterrupted one."""
    monkeypatch.setattr(static, "BATCH", 32)
    run = fresh("run", start_epochs=20)
    whole, history = static.static_start(run, tmp_path / "whole")
    assert len(history) > 1
    left = tmp_path / "left"
    left.mkdir()
    shutil.copy(tmp_path / "whole" / "checkpoint.safetensors", left)
    continued, repeated = static.static_start(run, left)
    assert repeated == history
    torch.testing.assert_close(
        next(continued.parameters()), next(whole.parameters()), rtol=0, atol=0
    )
