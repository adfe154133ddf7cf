"""When a model helps: rated pairs that it gets right and tf-idf does not, and the other way round.

Ratings and scores are on scales of their own, so each pair's place among all pairs of the set is
compared: the share of pairs that are rated, or score, lower.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from firth.evaluate.metrics import Metric, paired_difference
from firth.evaluate.rows import EvaluationSet
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Scorer

_RIGHT = 0.15
"""How far the place of a score may be from that of the rating, to be called right."""


@dataclass(frozen=True)
class Placed:
    """A pair and its places, in [0, 1], by people, by the model and by tf-idf."""

    sentence1: str
    sentence2: str
    rated: float
    model: float
    words: float


@dataclass(frozen=True)
class Beside:
    """A model beside tf-idf on one set.

    Attributes:
        task: The set and its split.
        n: Pairs.
        verdict: Which of the two agrees better with people, with an interval.
        nearer: Pairs whose place by the model is nearer to people's than that by tf-idf.
        farther: Those where it is farther.
        helped: Pairs that the model has right and tf-idf most wrong, the worst first.
        hurt: The other way round.
    """

    task: str
    n: int
    verdict: str
    nearer: int
    farther: int
    helped: tuple[Placed, ...]
    hurt: tuple[Placed, ...]


def beside(data: EvaluationSet, model: Scorer, words: Scorer, top: int, seed: int) -> Beside:
    """Put a model beside tf-idf on the pairs of a set.

    Args:
        data: Pairs that people rated.
        model: What is asked whether it helps.
        words: tf-idf.
        top: Pairs to keep of either kind.
        seed: Of the resamples behind the interval.
    """
    rated = np.array([row.score for row in data.rows], np.float64)
    scores = [scorer.similarities(data.pairs) for scorer in (model, words)]
    found = paired_difference(
        Metric.SPEARMAN, (rated, scores[0]), (rated, scores[1]), seed=seed, units=data.units
    )
    people, ours, theirs = (_places(values) for values in (rated, *scores))
    far, farther = np.abs(ours - people), np.abs(theirs - people)
    gain = farther - far

    def chosen(gain: Floats, right: Floats) -> tuple[Placed, ...]:
        order = [n for n in np.argsort(-gain, kind="stable").tolist() if right[n] <= _RIGHT]
        found = []
        for n in order[:top]:
            if gain[n] > 0:
                one, two = data.pairs[n]
                found.append(Placed(one, two, float(people[n]), float(ours[n]), float(theirs[n])))
        return tuple(found)

    return Beside(
        task=f"{data.task.name} {data.split}",
        n=len(rated),
        verdict=found.sentence("Origin", "tf-idf"),
        nearer=int((gain > 0).sum()),
        farther=int((gain < 0).sum()),
        helped=chosen(gain, far),
        hurt=chosen(-gain, farther),
    )


def _places(values: Floats) -> Floats:
    """Share of the others that are lower, in [0, 1]; equal ones share their mean place."""
    places: Floats = (rankdata(values) - 1) / max(1, len(values) - 1)
    return places
