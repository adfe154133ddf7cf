"""Annotators who know the truth but for some noise: to test with, and to plan with.

Thurstone (1927), Luce and Suppes (1965): whoever answers a tuple sees each item at its true score
plus noise of their own, drawn afresh for each answer, and names the largest and the smallest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from firth.relatedness.bws.design import Ints
from firth.relatedness.bws.judgements import Floats, Judgements
from firth.relatedness.bws.records import Annotation, Gold
from firth.run.errors import InputError
from firth.run.seeds import derive_seed


class Noise(StrEnum):
    """How what annotators see is spread around the truth; both have standard deviation 1."""

    NORMAL = "normal"
    """Thurstone's case V."""
    GUMBEL = "gumbel"
    """The choice of the best is then Luce's: multinomial logit."""


@dataclass(frozen=True)
class Crowd:
    """Simulated annotators.

    Attributes:
        noise: Standard deviation of the noise, in units of the scores; 0 for none.
        kind: Its distribution.
        careless: Share of annotators who choose best and worst at random, in [0, 1].
        annotators: How many there are.
    """

    noise: float
    kind: Noise = Noise.NORMAL
    careless: float = 0.0
    annotators: int = 100

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.noise < float("inf"):
            problems.append(f"noise {self.noise:g} (expected 0 or more)")
        if not 0 <= self.careless <= 1:
            problems.append(f"careless share {self.careless:g} (expected 0 to 1)")
        if self.annotators < 1:
            problems.append(f"{self.annotators} annotators (expected 1 or more)")
        if problems:
            raise InputError(f"simulated annotators: got {'; '.join(problems)}")

    @property
    def n_careless(self) -> int:
        """How many of them are careless: the share, rounded."""
        return round(self.careless * self.annotators)


def draw_noise(shape: tuple[int, ...], kind: Noise, rng: np.random.Generator) -> Floats:
    """Noise with mean 0 and standard deviation 1."""
    if kind is Noise.NORMAL:
        return rng.standard_normal(shape)
    return np.asarray((rng.gumbel(size=shape) - np.euler_gamma) * np.sqrt(6) / np.pi)


def choose(seen: Floats, members: Ints) -> tuple[Ints, Ints]:
    """The items seen largest and smallest; of equals the first one is best, the last one worst.

    Args:
        seen: Shape (A, n).
        members: Numbers of items, shape (A, n).

    Returns:
        Best and worst, each of shape (A,).
    """
    n = members.shape[1]
    best, worst = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmin(axis=1)
    rows = np.arange(len(members))
    return members[rows, best], members[rows, worst]


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, *, seed: int
) -> tuple[Judgements, Ints]:
    """Have every tuple answered by several annotators.

    Args:
        truth: True scores, shape (N,).
        tuples: Numbers of items, shape (T, n).
        answers: Answers to each tuple, by different annotators; one number, or shape (T,).
        crowd: Who answers. The first `crowd.n_careless` annotators are the careless ones.
        seed: Of noise and of who answers what.

    Returns:
        The judgements (items are called by their numbers), and the annotator of each, shape (A,).

    Raises:
        InputError: More answers to a tuple than there are annotators.
    """
    most = int(np.max(answers))
    if not 1 <= most <= crowd.annotators:
        raise InputError(
            f"got {most} answers to a tuple by {crowd.annotators} annotators; expected 1 or more, "
            "and at least as many annotators"
        )
    rng = np.random.default_rng(derive_seed(seed, "bws", "simulate"))
    asked = np.repeat(np.arange(len(tuples)), answers)
    # Work is dealt out evenly: whoever follows in a circle of annotators in random order.
    circle = rng.permutation(crowd.annotators)
    who = circle[np.arange(len(asked)) % crowd.annotators]
    members = tuples[asked]
    best, worst = _answer(truth, members, who, crowd, rng)
    names = tuple(map(str, range(len(truth))))
    return Judgements(names, tuples, asked, best, worst), who


def simulate_gold(
    truth: Floats, tuples: Ints, gold: int, crowd: Crowd, *, seed: int
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Choose gold questions, and have them answered by all annotators.

    Experts choose questions without doubt: those tuples whose best and whose worst item stand out
    most from the rest.

    Returns:
        Numbers of the gold tuples in [0, T), shape (gold,); then of each answer the tuple, the
        annotator, best and worst, each of shape (gold × annotators,).

    Raises:
        InputError: More gold questions than tuples.
    """
    if not 0 <= gold <= len(tuples):
        raise InputError(f"got {gold} gold questions; expected 0 to {len(tuples):,} (all tuples)")
    ordered = np.sort(truth[tuples], axis=1)
    clear = np.minimum(ordered[:, -1] - ordered[:, -2], ordered[:, 1] - ordered[:, 0])
    chosen = np.sort(np.argsort(-clear, kind="stable")[:gold])
    rng = np.random.default_rng(derive_seed(seed, "bws", "simulate", "gold"))
    asked, who = np.repeat(chosen, crowd.annotators), np.tile(np.arange(crowd.annotators), gold)
    best, worst = _answer(truth, tuples[asked], who, crowd, rng)
    return chosen, asked, who, best, worst


def _answer(
    truth: Floats, members: Ints, who: Ints, crowd: Crowd, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    noise = draw_noise(members.shape, crowd.kind, rng)
    seen = truth[members] + crowd.noise * noise
    careless = who < crowd.n_careless
    seen[careless] = noise[careless]
    return choose(seen, members)


def to_annotations(
    names: Sequence[str], items: Sequence[str], asked: Ints, who: Ints, best: Ints, worst: Ints
) -> list[Annotation]:
    """Answers as records; `names` are ids of tuples, `items` of items, annotators `w001` and on."""
    width = len(str(int(who.max(initial=0)) + 1))
    rows = zip(asked.tolist(), who.tolist(), best.tolist(), worst.tolist(), strict=True)
    return [Annotation(names[a], f"w{w + 1:0{width}}", items[b], items[c]) for a, w, b, c in rows]


def true_gold(
    names: Sequence[str], items: Sequence[str], tuples: Ints, truth: Floats, chosen: Ints
) -> list[Gold]:
    """The right answers to the gold tuples `chosen`."""
    members = tuples[chosen]
    best, worst = choose(truth[members], members)
    rows = zip(chosen.tolist(), best.tolist(), worst.tolist(), strict=True)
    return [Gold(names[t], items[b], items[w]) for t, b, w in rows]
