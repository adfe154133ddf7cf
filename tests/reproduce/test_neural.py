"""Losses and examples of the baselines that torch trains."""

import random
from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.reproduce.neighbors import sentences_of
from firth.reproduce.neural import Sampled, Triples, damaged, examples, padded, sampled_cost
from firth.reproduce.settings import SkipThoughtSettings
from firth.run.run import Run


def test_sampling_all_words_is_the_full_softmax() -> None:
    """With every word in the sample and equal odds, the cost is that of the softmax."""
    torch.manual_seed(1)
    states, output = torch.randn(6, 4), torch.randn(9, 4)
    targets = torch.tensor([0, 3, 8, 3, 1, 0])
    sampled = Sampled(torch.arange(9), torch.zeros(9))
    expected = torch.nn.functional.cross_entropy(states @ output.T, targets, reduction="none")
    torch.testing.assert_close(sampled_cost(states, targets, output, sampled), expected)


def test_triples_are_neighbors_of_one_document(run: Run, tmp_path: Path) -> None:
    """A center has a sentence before and after it; a batch is a function of its step."""
    sentences = sentences_of(run, SkipThoughtSettings(min_count=1), tmp_path)
    triples = Triples(sentences, 8, seed=3)
    documents = sentences.documents
    assert (documents[triples.centers - 1] == documents[triples.centers + 1]).all()
    one, two, other = triples(5), triples(5), triples(6)
    torch.testing.assert_close(one[0].pieces, two[0].pieces)
    assert one[0].pieces.shape != other[0].pieces.shape or not one[0].pieces.equal(other[0].pieces)


def test_padding_is_outside() -> None:
    """The rectangle holds each row, and zeros after it."""
    cells = padded([np.array([3, 1]), np.array([2, 5, 4])])
    assert cells.pieces.tolist() == [[3, 1, 0], [2, 5, 4]]
    assert cells.inside.tolist() == [[True, True, False], [True, True, True]]


@given(st.text("ab \n", min_size=1).filter(lambda text: text.split()), st.floats(0, 1))
def test_damage_leaves_words_in_order(text: str, deletion: float) -> None:
    """At least one word is left, and those that are left have their order."""
    left = iter(damaged(text, deletion, random.Random(1)).split())
    words = text.split()
    kept = list(left)
    assert kept
    remaining = iter(words)
    assert all(word in remaining for word in kept)


def test_examples_of_each_method() -> None:
    """SimCSE pairs a sentence with itself; CT has seven different ones for each equal one."""
    texts = [f"text {n} of several words" for n in range(5)]
    same = examples(texts, "simcse", 2, 3)
    assert len(same) == 10
    assert all(one == two for one, two in same)
    pairs = examples(texts, "ct", 1, 3)
    assert sum(one == two for one, two in pairs) == 5
    assert len(pairs) == 40
    assert all(two in texts and len(one) < len(two) for one, two in examples(texts, "tsdae", 1, 3))
