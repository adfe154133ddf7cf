"""How often a scorer puts the right candidate above the others; intervals over documents.

The accuracy of an item is the share of its other candidates that score below the right one, ties
counting one half: the area under its ROC curve. Intervals are percentiles over resamples of the
documents, not of the items, which are no independent draws within a document (cluster bootstrap:
Davison and Hinkley 1997, section 3.8).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from firth.check.items import Item, Kind
from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer, Scorer, TextPair
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

CONFIDENCE = 0.95
CHANCE = 50.0
"""Accuracy, x 100, of who knows nothing."""


@dataclass(frozen=True)
class Figure:
    """A mean accuracy, or a difference of two, x 100, and its 95 % interval.

    The interval is None where all items are of one document.
    """

    value: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        """`73.3 [71.2, 75.4]`."""
        return f"{self.value:.1f} {self.interval}".rstrip()

    @property
    def interval(self) -> str:
        """`[71.2, 75.4]`, or nothing."""
        return "" if self.low is None else f"[{self.low:.1f}, {self.high:.1f}]"

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies wholly above or below zero, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def pairs_of(items: Sequence[Item]) -> list[TextPair]:
    """The pairs to be scored: for each item its sentence with the right candidate, then others."""
    return [(item.sentence, text) for item in items for text in (item.right, *item.others)]


def accuracies_of(items: Sequence[Item], similarities: Floats) -> Floats:
    """Accuracy of each item, in [0, 1], shape (n_items,), from the similarities of `pairs_of`."""
    starts = np.cumsum([0, *(1 + len(item.others) for item in items)])
    found = np.empty(len(items))
    for place, (low, high) in enumerate(pairwise(starts.tolist())):
        right, others = similarities[low], similarities[low + 1 : high]
        found[place] = np.mean((others < right) + 0.5 * (others == right))
    return found


def accuracies(scorer: Scorer, items: Sequence[Item]) -> Floats:
    """Accuracy of each item under a scorer, in [0, 1], shape (n_items,).

    Each kind is scored in one call, of its distinct pairs.

    Raises:
        InputError: The scorer gives other than one finite number a pair.
    """
    found = np.empty(len(items))
    for kind in Kind:
        places = [place for place, item in enumerate(items) if item.kind is kind]
        if not places:
            continue
        some = [items[place] for place in places]
        pairs = pairs_of(some)
        distinct = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        scores = np.asarray(scorer.similarities(list(distinct)), dtype=np.float64)
        if scores.shape != (len(distinct),) or not np.isfinite(scores).all():
            raise InputError(
                f"{scorer.name} gave similarities of shape {scores.shape}, "
                f"{np.count_nonzero(~np.isfinite(scores))} of them not finite, for {len(distinct)} "
                "pairs; expected one finite number a pair"
            )
        found[places] = accuracies_of(some, scores[[distinct[pair] for pair in pairs]])
    return found


def texts_of(items: Sequence[Item]) -> list[str]:
    """The distinct texts of items."""
    return list(dict.fromkeys(text for pair in pairs_of(items) for text in pair))


def cosine_accuracies(name: str, items: Sequence[Item], vectors: Floats) -> Floats:
    """`accuracies` of the cosines of vectors, (n, d), that a system has of `texts_of(items)`."""
    places = {text: place for place, text in enumerate(texts_of(items))}

    def encode(texts: Sequence[str]) -> Floats:
        rows: Floats = vectors[[places[text] for text in texts]]
        return rows

    return accuracies(CosineScorer(name, encode), items)


def figures(
    items: Sequence[Item],
    measured: Sequence[Floats],
    *,
    against: int = 0,
    seed: int = 13,
    resamples: int = 1_000,
) -> list[tuple[Figure, Figure]]:
    """Mean accuracy of each system, and how far it is ahead of one of them.

    Args:
        items: Of one kind, at least one.
        measured: Accuracy of each item under each system.
        against: The system that the others are compared with; both are measured on the same
            resamples.
        seed: Of the resamples.
        resamples: Behind each interval.
    """
    homes = np.unique([item.document for item in items], return_inverse=True)[1]
    sizes = np.bincount(homes).astype(np.float64)
    sums = np.stack([np.bincount(homes, weights=one) for one in measured], axis=1)
    rng = np.random.default_rng(derive_seed(seed, "check", "bootstrap"))
    n = len(sizes)
    means = [sums.sum(axis=0) / sizes.sum()]
    for _ in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        means.append(counts @ sums / (counts @ sizes))
    drawn = 100 * np.array(means)
    ahead = drawn - drawn[:, [against]]
    return [
        (_figure(drawn[:, place], n), _figure(ahead[:, place], n)) for place in range(len(measured))
    ]


def lead(mine: npt.ArrayLike, theirs: npt.ArrayLike) -> Floats:
    """How far accuracies x 100 are ahead of others, as far as that says something.

    A fall counts wholly, a rise from chance upwards only: who compares words is right less often
    than by chance where an edit keeps more of them than a paraphrase does, and so rises by
    forgetting words.
    """
    above = np.maximum(mine, CHANCE) - np.maximum(theirs, CHANCE)
    found: Floats = np.minimum(np.subtract(mine, theirs), above)
    return found


def mean_ahead(
    items: Sequence[Item],
    one: Floats,
    other: Floats,
    kinds: Collection[Kind],
    *,
    seed: int = 13,
    resamples: int = 1_000,
) -> Figure:
    """How far a system is ahead of another on the mean over some kinds, each of equal weight.

    What counts is the `lead` on each kind. Both are measured on the same resamples of the documents
    of all these kinds; a kind of which a resample has no item counts for nothing in it.

    Args:
        items: Some of each kind among them.
        one: Accuracy of each item under the first system.
        other: Under the second.
        kinds: At least one.
        seed: Of the resamples.
        resamples: Behind the interval.
    """
    names, homes = np.unique([item.document for item in items], return_inverse=True)
    own = [np.array([item.kind is kind for item in items]) for kind in kinds]
    sizes = np.stack([np.bincount(homes, here, len(names)) for here in own], axis=1)
    right = [
        np.stack([np.bincount(homes, here * found, len(names)) for here in own], axis=1)
        for found in (one, other)
    ]
    asked = np.flatnonzero(sizes.sum(axis=1))
    n = len(asked)
    rng = np.random.default_rng(derive_seed(seed, "check", "bootstrap", "mean"))
    draws = [np.ones(n), *(np.bincount(rng.integers(0, n, n), minlength=n)
                           for _ in range(resamples))]  # fmt: skip
    means = []
    for counts in draws:
        found = counts @ sizes[asked]
        mine, theirs = (100 * (counts @ sums[asked])[found > 0] / found[found > 0]
                        for sums in right)  # fmt: skip
        means.append(np.mean(lead(mine, theirs)))
    return _figure(np.array(means), n)


def _figure(drawn: Floats, documents: int) -> Figure:
    if documents < 2 or len(drawn) < 2:
        return Figure(float(drawn[0]), None, None)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn[1:], [tail, 1 - tail])
    return Figure(float(drawn[0]), float(low), float(high))
