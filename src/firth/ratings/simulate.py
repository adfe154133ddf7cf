"""Simulated annotators, whose answers test a questionnaire before people are asked.

An annotator sees each item of a tuple at its true score plus noise, drawn for each answer, and
names the largest and the smallest one (Thurstone 1927, case V).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firth.ratings.answers import Judgements
from firth.ratings.design import number_items
from firth.ratings.records import Annotation, Gold, Item, Tuple
from firth.ratings.reliability import split_half
from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.text.arrays import Floats, Ints

_SPLITS = 20
_LARGEST = 50.0
"""Noise, in standard deviations of the true scores, with which answers are practically random."""


@dataclass(frozen=True)
class Crowd:
    """Simulated annotators.

    Attributes:
        noise: Standard deviation of the noise, in units of the true scores.
        annotators: Number of annotators.
        careless: Share of them that answers at random; these are the first ones.
    """

    noise: float
    annotators: int = 100
    careless: float = 0.0

    def __post_init__(self) -> None:
        good = 0 <= self.noise < float("inf") and 0 <= self.careless <= 1 and self.annotators >= 1
        if not good:
            raise InputError(
                f"simulated annotators: got {self}; expected noise of 0 or more, a careless share "
                "from 0 to 1, and one annotator or more"
            )

    @property
    def n_careless(self) -> int:
        """Number of annotators that answer at random."""
        return round(self.careless * self.annotators)


@dataclass(frozen=True)
class Simulation:
    """Simulated answers.

    Attributes:
        crowd: The annotators, with the noise that was used.
        annotations: Answers to the tuples, then to gold questions.
        gold: Gold questions.
    """

    crowd: Crowd
    annotations: tuple[Annotation, ...]
    gold: tuple[Gold, ...]


def simulate_answers(
    items: Sequence[Item],
    tuples: Sequence[Tuple],
    crowd: Crowd,
    *,
    answers: int = 2,
    gold: int = 0,
    seed: int = 13,
) -> Simulation:
    """Let simulated annotators answer a questionnaire.

    Args:
        items: Items whose scores are the true ones.
        tuples: Tuples of one size.
        crowd: The annotators.
        answers: Answers to each tuple, by different annotators.
        gold: Number of gold questions, which all annotators answer: the clearest tuples.
        seed: Decides everything.

    Raises:
        InputError: Items have no score; there are more gold questions than tuples, or more answers
            to a tuple than annotators.
    """
    if missing := [item.id for item in items if item.score is None]:
        raise InputError(f"{len(missing):,} items have no score, such as {missing[0]!r}")
    truth = np.array([item.score for item in items], dtype=np.float64)
    names, rows = number_items(tuples, [item.id for item in items])
    width = len(str(crowd.annotators))

    def recorded(asked: Ints, who: Ints, best: Ints, worst: Ints) -> list[Annotation]:
        columns = (asked.tolist(), who.tolist(), best.tolist(), worst.tolist())
        return [
            Annotation(tuples[a].id, f"w{w + 1:0{width}}", names[b], names[c])
            for a, w, b, c in zip(*columns, strict=True)
        ]

    judged, who = simulate_judgements(truth, rows, answers, crowd, seed=seed)
    annotations = recorded(judged.asked, who, judged.best, judged.worst)
    questions: list[Gold] = []
    if gold:
        chosen = clearest(truth, rows, gold)
        right = zip(chosen, *_chosen(truth[rows[chosen]], rows[chosen]), strict=True)
        questions = [Gold(tuples[t].id, names[b], names[w]) for t, b, w in right]
        everybody = np.tile(np.arange(crowd.annotators), gold)
        asked = np.repeat(chosen, crowd.annotators)
        rng = np.random.default_rng(derive_seed(seed, "bws", "simulate", "gold"))
        checks = _answer(truth, rows[asked], everybody, crowd, rng)
        golden = {question.tuple for question in questions}
        annotations = [one for one in annotations if one.tuple not in golden]
        annotations += recorded(asked, everybody, *checks)
    return Simulation(crowd, tuple(annotations), tuple(questions))


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, *, seed: int
) -> tuple[Judgements, Ints]:
    """Let simulated annotators answer tuples; each has about the same number of answers to give.

    Args:
        truth: True scores, (N,).
        tuples: Numbers of items, (T, n).
        answers: Answers to each tuple, by different annotators: a number, or (T,).
        crowd: The annotators.
        seed: Decides everything.

    Returns:
        The judgements, in which items are called by their numbers, and the number of the annotator
        of each, (A,).

    Raises:
        InputError: There are more answers to a tuple than annotators.
    """
    most = int(np.max(answers))
    if not 1 <= most <= crowd.annotators:
        raise InputError(
            f"got {most} answers to a tuple by {crowd.annotators} annotators; expected 1 or more, "
            "and at least as many annotators"
        )
    rng = np.random.default_rng(derive_seed(seed, "bws", "simulate"))
    asked = np.repeat(np.arange(len(tuples)), answers)
    who = rng.permutation(crowd.annotators)[np.arange(len(asked)) % crowd.annotators]
    best, worst = _answer(truth, tuples[asked], who, crowd, rng)
    return Judgements(tuple(map(str, range(len(truth)))), tuples, asked, best, worst), who


def clearest(truth: Floats, tuples: Ints, number: int) -> Ints:
    """Return the tuples whose best and worst item stick out most, ascending, (number,).

    Raises:
        InputError: There are fewer tuples.
    """
    if not 0 <= number <= len(tuples):
        raise InputError(f"got {number} gold questions; expected 0 to {len(tuples):,} (all tuples)")
    ordered = np.sort(truth[tuples], axis=1)
    clear = np.minimum(ordered[:, -1] - ordered[:, -2], ordered[:, 1] - ordered[:, 0])
    return np.sort(np.argsort(-clear, kind="stable")[:number])


def calibrate_noise(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, target: float, *, seed: int
) -> float:
    """Return the noise with which the mean split-half reliability of answers is `target`.

    Reliability falls as noise grows, so a root finder finds it; each try uses the same random
    numbers. Arguments are those of `simulate_judgements`; the noise is in units of the true scores.

    Raises:
        InputError: No noise gives the target.
    """
    from scipy.optimize import brentq

    spread = float(np.std(truth))
    if not 0 < target < 1 or spread == 0:
        raise InputError(
            f"reliability {target:g}, standard deviation {spread:g} of the true scores: expected a "
            "correlation between 0 and 1, and scores that differ"
        )

    def miss(noise: float) -> float:
        noisy = replace(crowd, noise=noise * spread)
        judged, _ = simulate_judgements(truth, tuples, answers, noisy, seed=seed)
        halves = split_half(judged, seed=seed, splits=_SPLITS).spearman
        return float(np.nanmean(halves)) - target

    best, worst = miss(0.0), miss(_LARGEST)
    if not worst < 0 < best:
        raise InputError(
            f"no noise gives a reliability of {target:g}: it is {best + target:.3f} without noise, "
            f"and {worst + target:.3f} with very much"
        )
    return spread * float(brentq(miss, 0.0, _LARGEST, xtol=1e-3))


def _answer(
    truth: Floats, members: Ints, who: Ints, crowd: Crowd, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    noise = rng.standard_normal(members.shape)
    seen = truth[members] + crowd.noise * noise
    careless = who < crowd.n_careless
    seen[careless] = noise[careless]
    return _chosen(seen, members)


def _chosen(seen: Floats, members: Ints) -> tuple[Ints, Ints]:
    """Return the items (A, n) that are seen largest and smallest, both (A,)."""
    n = members.shape[1]
    best, worst = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmin(axis=1)
    rows = np.arange(len(members))
    return members[rows, best], members[rows, worst]
