"""Alignment of two documents: which of their sentences say the same, and which words are copied.

A *match* pairs a run of sentences of one document with a run of the other. One of the two is a
single sentence (Gale & Church 1993), and no sentence can be left out without loss of similarity. A
match gains (similarity - threshold) x words on both sides. No two matches share a sentence. Equal
sentences are matched first, the others in order of their gain, so that sentences may have moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from firth.text.types import Floats, Ints, Singles
from firth.text.words import normal_form

LONGEST = 3
"""Most sentences that one sentence can match."""
SHAPES = (
    (1, 1),
    *((1, n) for n in range(2, LONGEST + 1)),
    *((n, 1) for n in range(2, LONGEST + 1)),
)
RUN = 6
"""Words of the shortest copied run; any two texts of some length share shorter ones."""
Windows = dict[tuple[int, int], Floats]
"""(m, n) of `SHAPES` -> similarities of m sentences from i on with n of the other document from j
on, (len(a) - m + 1, len(b) - n + 1), at least (0, 0)."""
_EQUAL, _MARGIN = 1e9, 1e-6


@dataclass(frozen=True)
class Match:
    """Sentences of two documents that say the same: the first and one past the last, from 0."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float


@dataclass(frozen=True)
class Alignment:
    """What two documents have in common.

    Attributes:
        matches: In the order of the first document.
        score: Mean similarity over the words of both documents; words without a match count 0.
        coverage: Share of the words of each document that are matched or copied, in [0, 1].
        copied: Share of the words of each document in copied runs, in [0, 1].
    """

    matches: list[Match]
    score: float
    coverage: tuple[float, float]
    copied: tuple[float, float]


class Side:
    """A document as it is aligned: what is computed once, however many others it is compared with.

    It is made from its sentences and their unit vectors, (n, d); a zero vector is similar to
    nothing.

    Attributes:
        words: Words of the document in normal form.
        owners: int64: the sentence of each word.
        masses: float64, (n,): words of each sentence, at least 1.
    """

    def __init__(self, sentences: Sequence[str], vectors: Singles) -> None:
        self.sentences = tuple(sentences)
        by_sentence = [normal_form(sentence).split() for sentence in sentences]
        self.words = [word for words in by_sentence for word in words]
        counts = np.array(list(map(len, by_sentence)), np.int64)
        self.owners: Ints = np.repeat(np.arange(len(counts)), counts)
        self.masses: Floats = np.maximum(counts, 1).astype(np.float64)
        self._bounds = np.concatenate([[0], np.cumsum(counts)])
        self._vectors = vectors

    @cached_property
    def runs(self) -> Ints:
        """Hashes of all runs of `RUN` words, in order; equal runs of any two documents have one."""
        runs = (self.words[first : first + RUN] for first in range(len(self.words) - RUN + 1))
        return np.array([hash(tuple(run)) for run in runs], np.int64)

    @cached_property
    def forms(self) -> tuple[Ints, ...]:
        """Hashes of the words of all runs of 1, 2, ... sentences."""
        bounds = self._bounds.tolist()
        return tuple(
            np.array(
                [
                    hash(tuple(self.words[first:end]))
                    for first, end in zip(bounds, bounds[size:], strict=False)
                ],
                np.int64,
            )
            for size in range(1, LONGEST + 1)
        )

    @cached_property
    def vectors(self) -> tuple[Singles, ...]:
        """Unit vectors of all runs of 1, 2, ... sentences.

        The vector of a run is the sum of its sentences', each times its number of words, so that
        no run has to be encoded.
        """
        heavy = self._vectors * self.masses[:, None].astype(np.float32)
        return tuple(_summed(heavy, size) for size in range(1, LONGEST + 1))


def _summed(heavy: Singles, size: int) -> Singles:
    count = max(len(heavy) - size + 1, 0)
    total = np.zeros((count, heavy.shape[1]), np.float32)
    for start in range(size):
        total += heavy[start : start + count]
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    unit: Singles = total / np.maximum(lengths, 1e-12)
    return unit


def align(a: Side, b: Side, threshold: float) -> Alignment:
    """Align two documents by the cosines of their runs of sentences; equal words have cosine 1."""
    windows: Windows = {
        (m, n): np.clip(a.vectors[m - 1] @ b.vectors[n - 1].T, 0.0, 1.0).astype(float)
        for m, n in SHAPES
    }
    common = np.intersect1d(np.concatenate(a.forms), np.concatenate(b.forms))
    if len(common):
        for (m, n), scores in windows.items():
            i = np.flatnonzero(np.isin(a.forms[m - 1], common))
            if len(i):
                scores[i] = np.where(a.forms[m - 1][i, None] == b.forms[n - 1], 1.0, scores[i])
    matches = _align(windows, a.masses, b.masses, threshold)
    copied = _covered(a, b), _covered(b, a)
    covered = copied[0].copy(), copied[1].copy()
    total = 0.0
    for match in matches:
        for side, mask, (start, stop) in zip((a, b), covered, (match.a, match.b), strict=True):
            mask |= (side.owners >= start) & (side.owners < stop)
            total += match.score * float(side.masses[start:stop].sum())
    words = float(a.masses.sum() + b.masses.sum())
    score = min(1.0, total / words) if words else 0.0
    coverage, copies = ((_share(masks[0]), _share(masks[1])) for masks in (covered, copied))
    return Alignment(matches, score, coverage, copies)


def _share(mask: npt.NDArray[np.bool_]) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def _covered(side: Side, other: Side) -> npt.NDArray[np.bool_]:
    """Return which words of a document are in a run of `RUN` words that the other has, too."""
    shared = np.isin(side.runs, other.runs)
    changes = np.zeros(len(side.words) + 1, np.int64)
    changes[: len(shared)] += shared
    changes[RUN : RUN + len(shared)] -= shared
    covered: npt.NDArray[np.bool_] = np.cumsum(changes)[:-1] > 0
    return covered


def _align(windows: Windows, a_masses: Floats, b_masses: Floats, threshold: float) -> list[Match]:
    heads = [np.concatenate([[0], np.cumsum(masses)]) for masses in (a_masses, b_masses)]
    gains: Windows = {}
    for (m, n), scores in windows.items():
        a_words, b_words = heads[0][m:] - heads[0][:-m], heads[1][n:] - heads[1][:-n]
        gain = (scores - threshold) * (a_words[:, None] + b_words[None, :])
        gain[scores == 1.0] += _EQUAL
        gains[m, n] = np.where(_needed(windows, m, n), gain, -np.inf)
    matches = [
        Match((i, i + m), (j, j + n), float(windows[m, n][i, j])) for i, j, m, n in _best(gains)
    ]
    return sorted(matches, key=lambda match: match.a)


def _needed(windows: Windows, m: int, n: int) -> npt.NDArray[np.bool_]:
    """Return where several sentences are more similar to the single one than without the first
    or the last of them."""
    scores = windows[m, n]
    if n > 1:
        fewer = windows[m, n - 1]
        return scores > np.maximum(fewer[:, :-1], fewer[:, 1:]) + _MARGIN
    if m > 1:
        fewer = windows[m - 1, n]
        return scores > np.maximum(fewer[:-1], fewer[1:]) + _MARGIN
    return np.ones(scores.shape, bool)


def _best(gains: Mapping[tuple[int, int], Floats]) -> Iterator[tuple[int, int, int, int]]:
    """Yield matches by falling gain; ties by fewer sentences, then by place."""
    columns = []
    for (m, n), gain in gains.items():
        i, j = np.nonzero(gain >= 0)
        shape = np.full((2, len(i)), [[m], [n]])
        columns.append(np.vstack([-gain[i, j], shape.sum(axis=0), i, j, shape]))
    table = np.concatenate(columns, axis=1)
    a_taken, b_taken = set[int](), set[int]()
    for i, j, m, n in table[:, np.lexsort(table[3::-1])].T[:, 2:].astype(int).tolist():
        a, b = range(i, i + m), range(j, j + n)
        if a_taken.isdisjoint(a) and b_taken.isdisjoint(b):
            a_taken.update(a)
            b_taken.update(b)
            yield i, j, m, n
