"""Pairs of vectors: all of them where few, nearly all by lists, those of sentence-transformers."""

import numpy as np
import pytest

from firth.lexical.arrays import Singles
from firth.reuse.neighbours import Pairs, similar_pairs


def vectors(n: int = 600, copies: int = 200) -> Singles:
    """Random unit vectors, of which some are near others."""
    rng = np.random.default_rng(7)
    drawn = rng.normal(size=(n, 24))
    drawn[-copies:] = drawn[:copies] + 0.3 * rng.normal(size=(copies, 24))
    unit: Singles = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return unit


def by_brute_force(unit: Singles, threshold: float) -> set[tuple[int, int]]:
    """All pairs."""
    scores = unit @ unit.T
    return {(i, j) for i, j in np.argwhere(scores >= threshold).tolist() if i < j}


def as_set(found: Pairs) -> set[tuple[int, int]]:
    """Without scores."""
    return {*zip(found.left.tolist(), found.right.tolist(), strict=True)}


def test_all_pairs_are_found_in_order() -> None:
    """Each once, the smaller number first, sorted; zero vectors are like none."""
    unit = vectors()
    unit[5] = 0
    found = similar_pairs(unit, 0.7, 1)
    assert as_set(found) == by_brute_force(unit, 0.7)
    assert len(found) >= 150
    assert (np.lexsort((found.right, found.left)) == np.arange(len(found))).all()
    assert found.scores == pytest.approx(np.sum(unit[found.left] * unit[found.right], axis=1))
    assert 5 not in {*found.left.tolist(), *found.right.tolist()}


def test_by_lists_nearly_all_are_found() -> None:
    """None that is not there, and at least 95 in a hundred of those that are."""
    unit = vectors()
    there, found = by_brute_force(unit, 0.8), as_set(similar_pairs(unit, 0.8, 1, exact=0))
    assert found <= there
    assert len(found) >= 0.95 * len(there) > 100
    assert found == as_set(similar_pairs(unit, 0.8, 1, exact=0))  # a function of the seed


def test_of_too_many_the_best_are_kept() -> None:
    """The threshold says from where on all are there."""
    unit = vectors()
    found = similar_pairs(unit, 0.1, 1, limit=100)
    assert 90 <= len(found) <= 100
    assert found.threshold > 0.1
    assert as_set(found) == by_brute_force(unit, found.threshold)


def test_few_vectors_have_few_pairs() -> None:
    """None, one, and two that are the same."""
    unit = vectors()[:1]
    assert len(similar_pairs(unit[:0], 0.5, 1)) == len(similar_pairs(unit, 0.5, 1)) == 0
    assert as_set(similar_pairs(np.concatenate([unit, unit]), 0.99, 1)) == {(0, 1)}


def test_the_pairs_are_those_of_sentence_transformers() -> None:
    """`paraphrase_mining_embeddings` of the same vectors: the same pairs with the same scores."""
    import torch
    from sentence_transformers.util import paraphrase_mining_embeddings

    unit = vectors()
    theirs = {
        (min(i, j), max(i, j)): score
        for score, i, j in paraphrase_mining_embeddings(torch.from_numpy(unit), top_k=len(unit))
        if score >= 0.6
    }
    found = similar_pairs(unit, 0.6, 1)
    assert as_set(found) == theirs.keys()
    assert len(theirs) > 100
    for left, right, score in zip(found.left, found.right, found.scores, strict=True):
        assert score == pytest.approx(theirs[int(left), int(right)], abs=1e-5)


def test_pairs_are_renamed_and_chosen() -> None:
    """Renamed pairs are in order again; of some, those of a score or those asked for are left."""
    pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.array([0.9, 0.8], np.float32), 0.8)
    assert as_set(pairs.of(np.array([9, 4, 6]))) == {(4, 9), (4, 6)}
    assert as_set(pairs.above(0.85)) == {(0, 1)}
    assert as_set(pairs.where(np.array([False, True]))) == {(1, 2)}
    assert pairs.above(0.85).threshold == 0.85
