"""Annotators who know the truth but for some noise: to test with, and to plan with.

Thurstone (1927), Luce and Suppes (1965): whoever answers a tuple sees each item at its true score
plus noise of their own, drawn afresh for each answer, and names the largest and the smallest.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.answers import Judgements
from firth.relatedness.bws.design import Floats, Ints, design_tuples, number_items
from firth.relatedness.bws.records import (
    Annotation,
    Gold,
    Item,
    Tuple,
    read_items,
    read_tuples,
    write_annotations,
    write_gold,
)
from firth.relatedness.bws.reliability import split_half
from firth.relatedness.rows import write_rows
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.results import write_folder
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome

STR_ITEMS, STR_FACTOR, STR_ANSWERS, STR_SHR, STR_ANNOTATORS = 5_500, 2.0, 2, 0.84, 389
"""STR-2021: pairs, tuples a pair, answers to a tuple, split-half reliability, annotators (Abdalla
et al., §3.2, Table 3; 21,936 answers to 11,000 tuples)."""
SPLITS, CALIBRATION_SPLITS = 100, 20
"""Splits behind the reliability that is reported, and behind each try of a noise."""
_LARGEST = 50.0
"""Noise in standard deviations of the truth, at which answers are as good as random."""


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
    """The items seen (A, n) largest and smallest, each (A,); of equals the first one is best, the
    last one worst. `members` are their numbers, (A, n).
    """
    n = members.shape[1]
    best, worst = seen.argmax(axis=1), n - 1 - seen[:, ::-1].argmin(axis=1)
    rows = np.arange(len(members))
    return members[rows, best], members[rows, worst]


def simulate_judgements(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, *, seed: int
) -> tuple[Judgements, Ints]:
    """Have every tuple answered by several annotators, work dealt out evenly.

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
    best, worst = _answer(truth, tuples[asked], who, crowd, rng)
    return Judgements(tuple(map(str, range(len(truth)))), tuples, asked, best, worst), who


def _answer(
    truth: Floats, members: Ints, who: Ints, crowd: Crowd, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    noise = draw_noise(members.shape, crowd.kind, rng)
    seen = truth[members] + crowd.noise * noise
    careless = who < crowd.n_careless
    seen[careless] = noise[careless]
    return choose(seen, members)


def clearest(truth: Floats, tuples: Ints, number: int) -> Ints:
    """The tuples that experts would choose as gold questions, shape (number,), ascending.

    They choose questions without doubt: those whose best and whose worst item stand out most from
    the rest.

    Raises:
        InputError: More gold questions than tuples.
    """
    if not 0 <= number <= len(tuples):
        raise InputError(f"got {number} gold questions; expected 0 to {len(tuples):,} (all tuples)")
    ordered = np.sort(truth[tuples], axis=1)
    clear = np.minimum(ordered[:, -1] - ordered[:, -2], ordered[:, 1] - ordered[:, 0])
    return np.sort(np.argsort(-clear, kind="stable")[:number])


@dataclass(frozen=True)
class Simulation:
    """Simulated answers.

    Attributes:
        crowd: Who answered, with the noise that was used.
        annotations: Answers to tuples, then those to gold questions.
        truth: Id of each item and its true score.
        reliability: Split-half reliability of the answers, gold questions aside (Spearman); None
            where it is undefined.
        correlation: Spearman correlation of scores by counting with the truth.
    """

    crowd: Crowd
    answers: int
    annotations: tuple[Annotation, ...]
    gold: tuple[Gold, ...]
    truth: tuple[tuple[str, float], ...]
    reliability: float | None
    correlation: float

    def text(self) -> str:
        """Lines for a screen."""
        shr = "undefined" if self.reliability is None else f"{self.reliability:.3f}"
        return (
            f"{len(self.annotations):,} answers of {self.crowd.annotators:,} annotators "
            f"({self.crowd.n_careless:,} careless), noise {self.crowd.noise:.4f} "
            f"({self.crowd.kind})\n"
            f"split-half reliability {shr}; scores by counting correlate with the truth to "
            f"{self.correlation:.3f} (Spearman)"
        )

    def write(self, folder: Path) -> None:
        """Write `annotations.csv`, `truth.csv`, `summary.json`, and `gold.csv` if there is any."""
        write_annotations(folder / "annotations.csv", self.annotations)
        truth = ((name, repr(score)) for name, score in self.truth)
        write_rows(folder / "truth.csv", ("item", "score"), truth)
        if self.gold:
            write_gold(folder / "gold.csv", self.gold)
        summary: dict[str, Any] = {
            "annotators": asdict(self.crowd),
            "answers per tuple": self.answers,
            "annotations": len(self.annotations),
            "gold questions": len(self.gold),
            "split-half reliability": self.reliability,
            "Spearman with the truth": self.correlation,
        }
        write_json(folder / "summary.json", summary)


def simulate_answers(
    items: Sequence[Item],
    tuples: Sequence[Tuple],
    crowd: Crowd,
    *,
    answers: int = 2,
    target: float | None = None,
    gold: int = 0,
    seed: int = 13,
) -> Simulation:
    """Have simulated annotators answer a questionnaire.

    The noise is `crowd.noise`, or that with which split-half reliability becomes `target`. `gold`
    questions, the clearest ones, are answered by all annotators.

    Raises:
        InputError: Items without a score, more gold questions than tuples, more answers to a tuple
            than annotators, or a target that cannot be reached.
    """
    from scipy.stats import spearmanr

    truth = true_scores(items)
    names, rows = number_items(tuples, [item.id for item in items])
    if target is not None:
        noise = calibrate_noise(truth, rows, answers, crowd, target, seed=seed)
        crowd = replace(crowd, noise=noise)

    def record(asked: Ints, who: Ints, best: Ints, worst: Ints) -> list[Annotation]:
        width = len(str(int(who.max(initial=0)) + 1))
        found = zip(asked.tolist(), who.tolist(), best.tolist(), worst.tolist(), strict=True)
        return [
            Annotation(tuples[a].id, f"w{w + 1:0{width}}", names[b], names[c])
            for a, w, b, c in found
        ]

    judged, who = simulate_judgements(truth, rows, answers, crowd, seed=seed)
    annotations = record(judged.asked, who, judged.best, judged.worst)
    questions: list[Gold] = []
    if gold:
        chosen = clearest(truth, rows, gold)
        right = zip(chosen, *choose(truth[rows[chosen]], rows[chosen]), strict=True)
        questions = [Gold(tuples[t].id, names[b], names[w]) for t, b, w in right]
        golden = {question.tuple for question in questions}
        everybody = np.tile(np.arange(crowd.annotators), gold)
        asked = np.repeat(chosen, crowd.annotators)
        rng = np.random.default_rng(derive_seed(seed, "bws", "simulate", "gold"))
        checks = _answer(truth, rows[asked], everybody, crowd, rng)
        annotations = [one for one in annotations if one.tuple not in golden]
        annotations += record(asked, everybody, *checks)
    scores = judged.count().scores
    known = np.isfinite(scores)
    try:
        halves = split_half(judged, seed=seed, splits=SPLITS).spearman
        reliability = float(np.nanmean(halves))
    except InputError:  # too few items for a correlation: the answers are good all the same
        reliability = None
    return Simulation(
        crowd=crowd,
        answers=answers,
        annotations=tuple(annotations),
        gold=tuple(questions),
        truth=tuple(zip(names, truth.tolist(), strict=True)),
        reliability=reliability,
        correlation=float(spearmanr(scores[known], truth[known]).statistic),
    )


def write_simulation(
    items: Path,
    tuples: Path,
    out: Path,
    crowd: Crowd,
    *,
    random_truth: bool = False,
    seed: int = 13,
    **settings: Any,
) -> Outcome:
    """Simulate answers to the questionnaire of files into a folder; settings as of
    `simulate_answers`.

    Raises:
        InputError: As the readers, `simulate_answers` and `write_folder`.
    """
    truth = read_items(items)
    if random_truth:
        truth = with_random_truth(truth, seed)
    asked = read_tuples(tuples, [item.id for item in truth])

    def build(folder: Path) -> str:
        found = simulate_answers(truth, asked, crowd, seed=seed, **settings)
        found.write(folder)
        return found.text()

    files = {"items": items, "tuples": tuples}
    config = {**asdict(crowd), "random_truth": random_truth, "seed": seed, **settings}
    libraries = ("numpy", "scipy")
    return write_folder(
        out,
        command="firth bws simulate",
        inputs=files,
        config=config,
        build=build,
        libraries=libraries,
    )


def with_random_truth(items: Sequence[Item], seed: int) -> list[Item]:
    """Items with made-up true scores, evenly spread over 0…1 in random order."""
    order = np.random.default_rng(derive_seed(seed, "bws", "truth")).permutation(len(items))
    made_up = evenly_spread(len(items))[order].tolist()
    return [replace(item, score=score) for item, score in zip(items, made_up, strict=True)]


def true_scores(items: Sequence[Item]) -> Floats:
    """Scores of items, shape (N,); raise `InputError` naming how many have none."""
    scores = [item.score for item in items if item.score is not None]
    if len(scores) < len(items):
        missing = next(item.id for item in items if item.score is None)
        raise InputError(
            f"{len(items) - len(scores):,} of {len(items):,} items have no score, as {missing!r}; "
            "expected a column score with a number for each, or --random-truth"
        )
    return np.array(scores)


def evenly_spread(items: int) -> Floats:
    """True scores where none are known: evenly spread over 0…1, shape (items,)."""
    return (np.arange(items) + 0.5) / items


def spread_like(scores: Floats | None, items: int) -> Floats:
    """True scores of any number of items, spread like known ones (None: evenly), ascending."""
    even = evenly_spread(items)
    return even if scores is None else np.asarray(np.quantile(scores, even))


def calibrate_noise(
    truth: Floats, tuples: Ints, answers: int | Ints, crowd: Crowd, target: float, *, seed: int
) -> float:
    """The noise, in units of the scores, with which simulated answers have a given reliability:
    `target` is the mean Spearman correlation of the halves.

    Reliability falls as noise grows, so it is found by root finding; each try uses the same random
    numbers. Other arguments are those of `simulate_judgements`.

    Raises:
        InputError: A target outside (0, 1), or one that no noise reaches: careless annotators, or
            true scores all alike, can make answers less reliable than that.
    """
    from scipy.optimize import brentq

    if not 0 < target < 1:
        raise InputError(f"reliability: got {target:g}; expected a correlation between 0 and 1")
    spread = float(np.std(truth))
    if spread == 0:
        raise InputError("the true scores are all alike; nothing can be told apart")

    def miss(noise: float) -> float:
        noisy = replace(crowd, noise=noise * spread)
        found, _ = simulate_judgements(truth, tuples, answers, noisy, seed=seed)
        halves = split_half(found, seed=seed, splits=CALIBRATION_SPLITS).spearman
        return float(np.nanmean(halves)) - target

    with bar("noise of annotators"):
        best, worst = miss(0.0), miss(_LARGEST)
        if not worst < 0 < best:
            raise InputError(
                f"no noise gives a reliability of {target:g}: without noise it is "
                f"{best + target:.3f}, with very much {worst + target:.3f}"
            )
        return spread * float(brentq(miss, 0.0, _LARGEST, xtol=1e-3))


def noise_of_str(crowd: Crowd, scores: Floats | None, *, seed: int) -> float:
    """The noise with which STR-2021's design has STR-2021's reliability; `scores` as of
    `spread_like`.
    """
    truth = np.random.default_rng(seed).permutation(spread_like(scores, STR_ITEMS))
    tuples = design_tuples(STR_ITEMS, factor=STR_FACTOR, seed=seed)
    return calibrate_noise(truth, tuples, STR_ANSWERS, crowd, STR_SHR, seed=seed)


def noise_of_pilot(
    judgements: Judgements, crowd: Crowd, scores: Floats | None, *, seed: int
) -> tuple[float, float]:
    """The noise with which simulated answers to a pilot's tuples are as reliable as its own, and
    that reliability. `scores` say how true scores are spread; None for evenly over 0…1.

    Raises:
        InputError: The pilot's reliability cannot be computed, or no noise gives it.
    """
    observed = float(np.nanmean(split_half(judgements, seed=seed, splits=2 * SPLITS).spearman))
    numbers = judgements.answered
    truth = spread_like(scores, len(judgements.items))
    # Items of a pilot may be in any order, sorted by overlap for instance.
    truth = np.random.default_rng(derive_seed(seed, "pilot")).permutation(truth)
    crowd = replace(crowd, annotators=max(crowd.annotators, int(numbers.max())))
    return calibrate_noise(truth, judgements.tuples, numbers, crowd, observed, seed=seed), observed
