"""How high a score must be not to come about by chance."""

import numpy as np

from firth.corpus.library import Library
from firth.lexical.arrays import Floats, Ints
from firth.lexical.words import normal_form
from firth.reuse.neighbours import Vectors

_TAIL = 100
"""Scores of which the tail is estimated; a share of fewer is extrapolated from them."""


def chance_threshold(scores: Floats, share: float) -> float:
    """The score that a share of `scores`, those of pairs that say different things, reaches.

    Where so few are that high that they cannot be counted, the tail is taken to fall exponentially
    from the 100 highest on, as the peaks over a threshold do where they are not bounded (Pickands
    1975, with shape 0). Cosines are bounded by 1, so that errs on the side of too high a threshold.

    Args:
        scores: Scores by chance, (n,), at least 1 of them.
        share: Wanted share, in (0, 1).

    Returns:
        At most 1, which is never exceeded.
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    n = len(ordered)
    if share * n >= _TAIL:
        return min(1.0, float(np.quantile(ordered, 1 - share)))
    tail = min(_TAIL, max(1, n // 10))
    base = ordered[-tail - 1] if n > tail else ordered[0]
    excess = float((ordered[-tail:] - base).mean())
    return min(1.0, float(base + excess * max(0.0, np.log(tail / n / share))))


def pairs_within(library: Library, count: int, seed: int) -> Ints:
    """At most `count` pairs of sentences of other words, each pair of one document, (n, 2).

    They are drawn at random, have a subject in common, and mostly say different things.
    """
    rng = np.random.default_rng(seed)
    bounds = library.document_bounds
    sizes = np.diff(bounds)
    if not (sizes > 1).any():
        return np.empty((0, 2), np.int64)
    documents = rng.choice(np.flatnonzero(sizes > 1), count)
    one = rng.integers(sizes[documents])
    two = (one + 1 + rng.integers(sizes[documents] - 1)) % sizes[documents]
    pairs = np.column_stack([one, two]) + bounds[documents][:, None]
    left, right = (map(normal_form, library.texts(pairs[:, side])) for side in (0, 1))
    other = [a != b for a, b in zip(left, right, strict=True)]
    found: Ints = pairs[np.array(other, bool)]
    return found


def between_documents(vectors: Vectors, documents: Ints, count: int, seed: int) -> Floats:
    """Cosines of `count` sentences, drawn at random, with each other, those of one document aside.

    Args:
        vectors: Unit vectors of sentences, (n, d).
        documents: Document of each, (n,).
        count: Of sentences.
        seed: Of the draw.
    """
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(documents), min(count, len(documents)), replace=False))
    drawn = np.asarray(vectors[chosen], np.float32)
    one, two = np.nonzero(documents[chosen][:, None] < documents[chosen][None, :])
    found: Floats = (drawn @ drawn.T)[one, two].astype(np.float64)
    return found
