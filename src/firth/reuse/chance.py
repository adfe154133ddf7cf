"""How high a score must be not to come about by chance."""

import numpy as np

from firth.corpus.drawn import Pairs
from firth.lexical.arrays import Floats, Ints
from firth.reuse.neighbours import Rows
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.scale.scale import Scale, Scorer

ENOUGH = 1_000
"""Pairs of sentences of one document that say what chance is; with fewer, other pairs are asked."""
_PAIRS = 100_000
_SAMPLE = 4_000
_COUNTED = 50
_TAIL = 0.01
_SAME = 0.999


def check_bounds(threshold: float | None, rate: float | None) -> None:
    """Raise `InputError` where a least similarity, or a share of pairs, is not in (0, 1)."""
    for option, value in (("--threshold", threshold), ("--rate", rate)):
        if value is not None and not 0 < value < 1:
            raise InputError(f"{option} {value}: expected a number between 0 and 1")


def chance_threshold(scores: Floats, share: float) -> float:
    """The score that a share of `scores`, those of pairs that say different things, reaches.

    Where fewer than 50 scores are that high the tail is taken to fall exponentially from the top
    hundredth on, as peaks over a threshold do (Pickands 1975, with shape 0). Half of it, not its
    mean, says how fast: the highest may belong to pairs that do say the same.

    Args:
        scores: Scores by chance, (n,), at least 1 of them.
        share: Wanted share, in (0, 1).

    Returns:
        At most 1.
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    n = len(ordered)
    tail = min(n, max(10, round(_TAIL * n)))
    if share * n >= _COUNTED or share * n >= tail:
        return min(1.0, float(np.quantile(ordered, 1 - share)))
    excess = float(np.median(ordered[-tail:]) - ordered[-tail]) / np.log(2)
    return min(1.0, float(ordered[-tail] + excess * np.log(tail / n / share)))


def sentence_threshold(vectors: Rows, documents: Ints, rate: float, seed: int) -> float:
    """The cosine from which on two sentences of many are said to be alike.

    Pairs of sentences of one document have a subject in common and mostly say different things: of
    them a share of `rate` reaches the threshold. Where hardly any document has two sentences, it is
    pairs of any documents, of which so few may reach it that a sentence meets `rate` of all others.

    Args:
        vectors: Unit vectors of the sentences, (n, d).
        documents: Document of each, (n,); those of one document follow each other.
        rate: In (0, 1).
        seed: Of the pairs drawn.
    """
    pairs = pairs_within(documents, _PAIRS, derive_seed(seed, "chance", "within"))
    one, two = (np.asarray(vectors[pairs[:, side]], np.float32) for side in (0, 1))
    within = np.einsum("nd,nd->n", one, two).astype(np.float64)
    within = within[within < _SAME]
    if len(np.unique(pairs, axis=0)) >= ENOUGH:
        return chance_threshold(within, rate)
    rng = np.random.default_rng(derive_seed(seed, "chance", "between"))
    chosen = np.sort(rng.choice(len(documents), min(_SAMPLE, len(documents)), replace=False))
    drawn = np.asarray(vectors[chosen], np.float32)
    apart = documents[chosen][:, None] < documents[chosen][None, :]
    between = (drawn @ drawn.T)[apart].astype(np.float64)
    if not len(between):
        return 1.0
    return chance_threshold(between, rate / len(documents))


def scale_threshold(run: Run, rate: float) -> float | None:
    """The score that a share of `rate` of the pairs of one document reach, by the run's own scale.

    Pairs that are the same sentence twice, as quotations make them, are left out: they say nothing
    of chance, and where they are many no other pair would be a match.

    Args:
        run: With an index, whose cosines are meant.
        rate: In (0, 1).

    Returns:
        None where the run has no scale, not this one, or one of too few pairs.
    """
    scale = Scale.current(run, Scorer.VECTORS)
    levels = scale.levels.get(Pairs.SAME_DOCUMENT) if scale else None
    if levels is None or rate * levels.n < _COUNTED:
        return None
    same = 1 - float(levels.share_below(_SAME))
    return min(1.0, levels.threshold(same + rate * (1 - same))) if same < 1 else None


def pairs_within(documents: Ints, count: int, seed: int) -> Ints:
    """`count` pairs of different sentences of one document each, at random, (count, 2).

    Args:
        documents: Document of each sentence; those of one document follow each other.
        count: Of pairs; none are drawn where no document has two sentences.
        seed: Of the draw.
    """
    rng = np.random.default_rng(seed)
    starts = np.flatnonzero(np.diff(documents, prepend=-1))
    sizes = np.diff(starts, append=len(documents))
    starts, sizes = starts[sizes > 1], sizes[sizes > 1]
    if not len(sizes):
        return np.empty((0, 2), np.int64)
    # A document of many sentences has many pairs, but should not be all that is asked.
    drawn = rng.integers(len(sizes), size=count)
    one = rng.integers(sizes[drawn])
    two = (one + 1 + rng.integers(sizes[drawn] - 1)) % sizes[drawn]
    return np.column_stack([one, two]) + starts[drawn][:, None]
