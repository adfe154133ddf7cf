"""Alignment of the sentences of two documents: which say the same, one to one or one to several.

A *bead* pairs a run of sentences of one document with a run of the other, of which at least one is
a single sentence (Gale & Church 1993, whose term it is), and none can be left out without loss of
similarity. A bead gains (similarity - threshold) x words on both sides; an alignment is a set of
beads of which no two share a sentence, and the best has the largest gain. Where the order of the
two documents is kept, dynamic programming finds it, as in Vecalign (Thompson & Koehn 2019), with
similarities instead of Gale and Church's lengths; where sentences may move, beads are taken in
order of their gain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Floats
from firth.reuse.kinds import Order

SPREAD = 3
"""Most sentences that one sentence can be spread over."""
SHAPES = ((1, 1), *((1, n) for n in range(2, SPREAD + 1)), *((n, 1) for n in range(2, SPREAD + 1)))
Windows = Mapping[tuple[int, int], Floats]
"""(m, n) of `SHAPES` → similarity of m sentences of one document from i on with n of the other from
j on, shape (len(a) - m + 1, len(b) - n + 1), at least (0, 0)."""


@dataclass(frozen=True)
class Bead:
    """Sentences `a` (first, behind the last) of one document and `b` of the other that say the
    same, and their similarity, in [threshold, 1]."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float


def align(
    windows: Windows,
    a_words: Floats,
    b_words: Floats,
    threshold: float,
    order: Order = Order.FREE,
) -> list[Bead]:
    """The alignment of two documents, in the order of the first.

    Args:
        windows: Similarities of runs of sentences.
        a_words, b_words: Words of each sentence, (n,) and (m,).
        threshold: Least similarity of a bead.
        order: Whether the order is kept. If so the gain is the largest there is; if not, that of
            taking what gains most first.
    """
    heads = [np.concatenate([[0], np.cumsum(words)]) for words in (a_words, b_words)]
    gains = {}
    for (m, n), scores in windows.items():
        a_mass, b_mass = heads[0][m:] - heads[0][:-m], heads[1][n:] - heads[1][:-n]
        gain = (scores - threshold) * (a_mass[:, None] + b_mass[None, :])
        gains[m, n] = np.where(_needed(windows, m, n), gain, -np.inf)
    found = _kept(gains, len(a_words), len(b_words)) if order is Order.KEPT else _free(gains)
    beads = [
        Bead((i, i + m), (j, j + n), min(1.0, float(windows[m, n][i, j])))
        for i, j, m, n in found
    ]  # fmt: skip
    return sorted(beads, key=lambda bead: bead.a)


def _needed(windows: Windows, m: int, n: int) -> npt.NDArray[np.bool_]:
    """Where several sentences are more like the single one than without the first or the last."""
    scores = windows[m, n]
    if n > 1:
        fewer = windows[m, n - 1]
        return (scores > fewer[:, :-1]) & (scores > fewer[:, 1:])
    if m > 1:
        fewer = windows[m - 1, n]
        return (scores > fewer[:-1]) & (scores > fewer[1:])
    return np.ones(scores.shape, bool)


def _free(gains: Mapping[tuple[int, int], Floats]) -> Iterator[tuple[int, int, int, int]]:
    """Beads by falling gain; ties by fewer sentences, then by place."""
    rows = []
    for (m, n), gain in gains.items():
        i, j = np.nonzero(gain >= 0)
        rows.append(
            np.column_stack([-gain[i, j], np.full(len(i), m + n), i, j, np.full(len(i), m)])
        )
    every = np.concatenate(rows)
    a_taken: set[int] = set()
    b_taken: set[int] = set()
    for row in every[np.lexsort(every.T[[3, 2, 1, 0]])].tolist():
        size, at, to, m = map(int, row[1:])
        a, b = range(at, at + m), range(to, to + size - m)
        if a_taken.isdisjoint(a) and b_taken.isdisjoint(b):
            a_taken.update(a)
            b_taken.update(b)
            yield at, to, m, size - m


def _kept(
    gains: Mapping[tuple[int, int], Floats], rows: int, columns: int
) -> list[tuple[int, int, int, int]]:
    """The monotone alignment of the largest gain."""
    best = np.zeros((rows + 1, columns + 1))
    steps = np.zeros((rows + 1, columns + 1), dtype=np.int8)  # 0: a left out, 1: b; then SHAPES
    for i in range(rows + 1):
        # All that ends in row i and does not stay in it, then a running maximum along the row.
        row = best[i - 1].copy() if i else np.zeros(columns + 1)
        for number, (m, n) in enumerate(SHAPES, start=2):
            gain = gains[m, n]
            if i < m or not gain.shape[1]:
                continue
            reached = np.full(columns + 1, -np.inf)
            reached[n:] = best[i - m, : columns + 1 - n] + gain[i - m]
            better = (reached >= row) & np.concatenate([np.zeros(n, bool), gain[i - m] >= 0])
            row[better] = reached[better]
            steps[i, better] = number
        along = np.maximum.accumulate(row)
        steps[i, along > row] = 1
        best[i] = along
    found = []
    i, j = rows, columns
    while i and j:
        step = int(steps[i, j])
        if step < 2:
            i, j = i - (step == 0), j - (step == 1)
            continue
        m, n = SHAPES[step - 2]
        i, j = i - m, j - n
        found.append((i, j, m, n))
    return found


def windows_of(a: Sequence[Floats], b: Sequence[Floats]) -> Windows:
    """Similarities of runs of sentences of two documents from `run_vectors` of each."""
    return {(m, n): a[m - 1] @ b[n - 1].T for m, n in SHAPES}


def run_vectors(vectors: Floats, words: Floats) -> list[Floats]:
    """Unit vectors of the runs of 1, 2 … sentences of a document, up to `SPREAD`.

    The vector of a run is the sum of its sentences', each as often as it has words, so that nothing
    has to be encoded anew.

    Args:
        vectors: Unit vectors of its sentences, (n, d); one may be zero, and is like nothing then.
        words: Of each sentence, (n,).
    """
    heavy = vectors * words[:, None]
    return [_summed(heavy, size) for size in range(1, SPREAD + 1)]


def _summed(heavy: Floats, size: int) -> Floats:
    count = max(len(heavy) - size + 1, 0)
    summed = np.zeros_like(heavy[:count])
    for start in range(size):
        summed += heavy[start : start + count]
    found: Floats = summed / np.maximum(np.linalg.norm(summed, axis=1, keepdims=True), 1e-12)
    return found
