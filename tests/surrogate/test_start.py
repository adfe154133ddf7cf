"""The static start: its words, what their vectors hold, and that it can be interrupted."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.word_vectors import WordBag
from firth.lexical.words import Stemmer, words
from firth.origin.origin import Origin
from firth.run.run import Run
from firth.surrogate.start import (
    UNKNOWN,
    frequent_words,
    learned_vectors,
    random_vectors,
    static_start,
    word_tokenizer,
)

KNOWN = ["the", "ship", "café", "x_1", "straße"]
PAIRS = [
    ("The ship met the storm near the wave.", "The sailor left the wave near the ship."),
    ("The judge saw the trial near the lawyer.", "The ship saw the sailor near the harbour."),
    ("The cow met the barn near the farmer.", "The farmer saw the cow near the field."),
    ("The violin met the piano near the song.", "The judge left the court near the witness."),
]


@given(st.text(alphabet=st.sampled_from("the ship café X_1 Straße.,-'\n\t"), max_size=40))
def test_the_tokenizer_reads_words(text: str) -> None:
    """Its tokens are those of `firth.lexical.words.words`, unknown ones being 0."""
    number = {word: i for i, word in enumerate(KNOWN, 1)}
    found = word_tokenizer(KNOWN).encode(text, add_special_tokens=False).ids
    assert found == [number.get(word, 0) for word in words(text)]


def test_frequent_words_come_first() -> None:
    """By falling number of sentences, then by alphabet; those of one sentence are left out."""
    counts = {"a": 9, "d": 2, "c": 5, "b": 5, "once": 1}
    assert frequent_words(counts, 9, 2) == ["a", "b", "c", "d"]
    assert frequent_words(counts, 2, 2) == ["a", "b"]


def test_random_vectors_are_a_compressed_tfidf() -> None:
    """Lengths follow the weights, and different words are about orthogonal."""
    weights = np.array([1.0, 2.0, 4.0], np.float32)
    vectors = random_vectors(weights, 4096, seed=1)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, weights / np.sqrt(7), rtol=0.05)
    cosines = (vectors / lengths[:, None]) @ (vectors / lengths[:, None]).T
    assert np.abs(cosines - np.eye(3)).max() < 0.06


@pytest.mark.parametrize("dimensions", [3, 5, 8])
def test_learned_vectors_are_those_of_the_bag(dimensions: int) -> None:
    """By the word's stem; with fewer dimensions their principal ones; unknown words have none."""
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((4, 3)) @ rng.standard_normal((3, 5))
    bag = WordBag("", ["sail", "storm", "cow", "barn"], flat.astype(np.float32), Stemmer.PORTER)
    found = learned_vectors(bag, ["sailing", "barn", "zebra"], dimensions)
    assert not found[2].any()
    whole = flat[[0, 3]] / np.sqrt(np.mean(np.linalg.norm(flat[[0, 3]], axis=1) ** 2))
    np.testing.assert_allclose(found[:2] @ found[:2].T, whole @ whole.T, atol=1e-5)


def test_the_start_is_near_origin(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """With many dimensions a sentence's vector is its bag's plus its tf-idf's: their blend."""
    run = fresh("run", dimensions=2048)
    model, history = static_start(run, tmp_path / "scratch", True)
    assert not history
    one, two = (model.encode(list(side)) for side in zip(*PAIRS, strict=True))
    cosines = (one * two).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
    alone = [
        {"sentences": 1.0, "words": 0.0, "terms": 0.0},
        {"sentences": 0.0, "words": 0.0, "terms": 1.0},
    ]
    ends = np.sort([Origin.open(run, weights=one).similarities(PAIRS) for one in alone], axis=0)
    assert (cosines > ends[0] - 0.1).all()
    assert (cosines < ends[1] + 0.1).all()
    assert np.argmax(cosines) == np.argmax(ends.mean(axis=0))


def test_unseen_words_are_spelled(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """Two sentences that share one are more alike than two with different ones."""
    model, _ = static_start(fresh("run", dimensions=1024), tmp_path / "scratch", True)
    tokenizer: Any = model[0].tokenizer
    spelled = tokenizer.encode("shipping", add_special_tokens=False).tokens
    assert "".join(spelled).replace("##", "") == "shipping"
    assert spelled[0] == "ship"
    vectors = model.encode(["the cow rows", "a wave rows", "the cow lamented", "a wave grew"])
    assert "rows" not in tokenizer.get_vocab()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[2] @ vectors[3] + 0.1


def test_what_cannot_be_spelled_counts_as_nothing(
    fresh: Callable[..., Run], tmp_path: Path
) -> None:
    """It leaves a sentence's direction as it is, and a text of nothing else has no length."""
    model, _ = static_start(fresh("run"), tmp_path / "scratch", True)
    plain, more, none = model.encode(["the ship", "the 船 ship", "船"])
    np.testing.assert_allclose(
        plain / np.linalg.norm(plain), more / np.linalg.norm(more), atol=1e-6
    )
    assert not none.any()
    tokenizer: Any = model[0].tokenizer
    assert tokenizer.token_to_id(UNKNOWN) == 0


def test_start_epochs_0_knows_word_counts_only(
    fresh: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors are then random directions, the same whatever the bag has learned."""
    run = fresh("run", start_epochs=0)
    monkeypatch.setattr(WordBag, "load", None)  # a call would fail
    model, _ = static_start(run, tmp_path / "scratch", True)
    first, second = model.encode(["ship", "harbour"])
    assert first.any()
    assert abs(first @ second) < 0.9 * np.linalg.norm(first) * np.linalg.norm(second)


def test_an_interrupted_start_ends_the_same(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """Where Origin reads no stage context, the bag is learned here, continued if need be."""
    run = fresh("run", start_epochs=80)
    whole, history = static_start(run, tmp_path / "whole", False)
    assert len(history) > 1
    left = tmp_path / "left"
    left.mkdir()
    shutil.copy(tmp_path / "whole" / "checkpoint.safetensors", left)
    continued, repeated = static_start(run, left, False)
    assert repeated == history
    torch.testing.assert_close(
        next(continued.parameters()), next(whole.parameters()), rtol=0, atol=0
    )
