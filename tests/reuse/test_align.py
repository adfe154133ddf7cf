"""Alignments: the best by enumeration, monotone where asked, symmetric."""

from itertools import pairwise, product

import numpy as np
import pytest

from firth.lexical.arrays import Floats
from firth.reuse.align import SHAPES, Bead, Windows, align, run_vectors, windows_of
from firth.reuse.kinds import Order

THRESHOLD = 0.5


def documents(seed: int, n: int, m: int) -> tuple[Windows, Floats, Floats]:
    """Similarities of random sentences, and their words."""
    rng = np.random.default_rng(seed)
    windows = {(k, p): rng.uniform(0, 1, (max(n - k + 1, 0), max(m - p + 1, 0))) for k, p in SHAPES}
    return windows, rng.integers(1, 20, n).astype(float), rng.integers(1, 20, m).astype(float)


def gain(beads: list[Bead], a: Floats, b: Floats) -> float:
    """What an alignment gains."""
    masses = [a[slice(*bead.a)].sum() + b[slice(*bead.b)].sum() for bead in beads]
    return float(
        sum((bead.score - THRESHOLD) * mass for bead, mass in zip(beads, masses, strict=True))
    )


def needed(windows: Windows, m: int, n: int, i: int, j: int) -> bool:
    """Whether a bead reaches the threshold, and more than itself without an end of the longer."""
    score = windows[m, n][i, j]
    fewer = [windows[m, n - 1][i, j], windows[m, n - 1][i, j + 1]] if n > 1 else []
    fewer += [windows[m - 1, n][i, j], windows[m - 1, n][i + 1, j]] if m > 1 else []
    return bool(score >= THRESHOLD and all(score > other for other in fewer))


def best(windows: Windows, a: Floats, b: Floats, i: int = 0, j: int = 0) -> float:
    """The largest gain of a monotone alignment, by trying all."""
    if i >= len(a) or j >= len(b):
        return 0.0
    found = max(best(windows, a, b, i + 1, j), best(windows, a, b, i, j + 1))
    for m, n in SHAPES:
        if i + m <= len(a) and j + n <= len(b) and needed(windows, m, n, i, j):
            mass = a[i : i + m].sum() + b[j : j + n].sum()
            here = (windows[m, n][i, j] - THRESHOLD) * mass
            found = max(found, here + best(windows, a, b, i + m, j + n))
    return float(found)


@pytest.mark.parametrize("seed", range(12))
def test_dynamic_programming_finds_the_best(seed: int) -> None:
    """The gain is that of trying all monotone alignments; what is found is monotone."""
    windows, a, b = documents(seed, 3 + seed % 3, 2 + seed % 4)
    found = align(windows, a, b, THRESHOLD, Order.KEPT)
    assert gain(found, a, b) == pytest.approx(best(windows, a, b))
    for one, two in pairwise(found):
        assert one.a[1] <= two.a[0]
        assert one.b[1] <= two.b[0]


@pytest.mark.parametrize(("seed", "order"), [*product(range(6), Order)])
def test_no_sentence_is_in_two_beads_and_all_reach_the_threshold(seed: int, order: Order) -> None:
    """On either side, in either order."""
    windows, a, b = documents(seed, 7, 6)
    found = align(windows, a, b, THRESHOLD, order)
    for sides in ([bead.a for bead in found], [bead.b for bead in found]):
        taken = [n for start, stop in sides for n in range(start, stop)]
        assert len(taken) == len(set(taken))
    assert found
    assert all(bead.score >= THRESHOLD for bead in found)


@pytest.mark.parametrize(("seed", "order"), [*product(range(6), Order)])
def test_the_alignment_is_symmetric(seed: int, order: Order) -> None:
    """B with A gives the beads of A with B."""
    windows, a, b = documents(seed, 6, 5)
    turned = {(n, m): scores.T for (m, n), scores in windows.items()}
    there = {(bead.a, bead.b) for bead in align(windows, a, b, THRESHOLD, order)}
    back = {(bead.b, bead.a) for bead in align(turned, b, a, THRESHOLD, order)}
    assert there == back


def test_moved_sentences_are_found_only_in_free_order() -> None:
    """Two sentences change places: one of them can be kept in order, both can be found."""
    vectors = np.eye(4)[:2]
    words = np.array([5.0, 5.0])
    windows = windows_of(run_vectors(vectors, words), run_vectors(vectors[::-1], words))
    assert len(align(windows, words, words, 0.9, Order.KEPT)) == 1
    assert len(align(windows, words, words, 0.9, Order.FREE)) == 2


def test_a_sentence_spread_over_two_meets_both() -> None:
    """What is said in one sentence here and in two there is one bead."""
    both = np.array([[1.0, 1.0]]) / np.sqrt(2)
    words = np.array([5.0, 5.0])
    windows = windows_of(run_vectors(both, np.array([10.0])), run_vectors(np.eye(2), words))
    (bead,) = align(windows, np.array([10.0]), words, 0.6)
    assert (bead.a, bead.b) == ((0, 1), (0, 2))
    assert bead.score == pytest.approx(1.0)


def test_what_adds_nothing_is_left_out() -> None:
    """A sentence beside the one that is met does not come along for its words."""
    words = np.array([5.0, 5.0])
    windows = windows_of(run_vectors(np.eye(3)[:1], words[:1]), run_vectors(np.eye(3)[:2], words))
    assert windows[1, 2][0, 0] > 0.7  # the premise: both together would do
    (bead,) = align(windows, words[:1], words, 0.1)
    assert bead.b == (0, 1)


def test_nothing_is_aligned_with_nothing() -> None:
    """An empty document has an empty alignment."""
    windows = windows_of(
        run_vectors(np.empty((0, 2)), np.empty(0)), run_vectors(np.eye(2), np.ones(2))
    )
    for order in Order:
        assert align(windows, np.empty(0), np.ones(2), 0.5, order) == []
