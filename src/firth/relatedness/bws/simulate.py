"""Annotators who know the truth but for some noise: to test with, and to plan with.

Thurstone (1927), Luce and Suppes (1965): whoever answers a tuple sees each item at its true score
plus noise of their own, drawn afresh for each answer, and names the largest and the smallest.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.answers import Judgements, rank_correlation
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
from firth.relatedness.bws.reliability import Figure, split_half
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.results import write_folder
from firth.run.rows import write_rows
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome
from firth.run.table import table

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
    """Simulated annotators, so many: the standard deviation of their noise in units of the scores
    (0: none), its distribution, and the share of them, in [0, 1], who choose at random.
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
    """Have every tuple (T, n) answered by several annotators, work dealt out evenly: `answers`
    different ones, a number or (T,). `truth` are the scores of the items, (N,); the first
    `crowd.n_careless` annotators are the careless ones.

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
    """The tuples that experts would choose as gold questions, shape (number,), ascending: those
    whose best and whose worst item stand out most from the rest; raise `InputError` if there are
    fewer.
    """
    if not 0 <= number <= len(tuples):
        raise InputError(f"got {number} gold questions; expected 0 to {len(tuples):,} (all tuples)")
    ordered = np.sort(truth[tuples], axis=1)
    clear = np.minimum(ordered[:, -1] - ordered[:, -2], ordered[:, 1] - ordered[:, 0])
    return np.sort(np.argsort(-clear, kind="stable")[:number])


@dataclass(frozen=True)
class Simulation:
    """Simulated answers to tuples, then to gold questions; who answered, with the noise that was
    used; id and true score of each item; split-half reliability, gold questions aside (Spearman;
    None where undefined); and the Spearman correlation of scores by counting with the truth.
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
    """Have simulated annotators answer a questionnaire, with the noise `crowd.noise`, or that with
    which split-half reliability becomes `target`. `gold` questions, the clearest ones, are answered
    by all annotators.

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
    try:
        halves = split_half(judged, seed=seed, splits=SPLITS).spearman
        reliability = float(np.nanmean(halves))
    except InputError:  # too few items for a correlation: the answers are good all the same
        reliability = None
    scores = judged.count().scores
    known = np.isfinite(scores)
    correlation = float(spearmanr(scores[known], truth[known]).statistic)
    given, asked_gold = tuple(annotations), tuple(questions)
    true = tuple(zip(names, truth.tolist(), strict=True))
    return Simulation(crowd, answers, given, asked_gold, true, reliability, correlation)


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
    `simulate_answers`, errors also as of the readers and `write_folder`.
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
    return write_folder(
        out, command="firth bws simulate", inputs=files, config=config, build=build,
        libraries=("numpy", "scipy"),
    )  # fmt: skip


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
    """The noise, in units of the scores, with which the mean Spearman correlation of the halves of
    simulated answers is `target`; other arguments are those of `simulate_judgements`. Reliability
    falls as noise grows, so it is found by root finding; each try uses the same random numbers.

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
    that reliability; raise `InputError` if it is undefined, or no noise gives it. `scores` say how
    true scores are spread; None for evenly over 0…1.
    """
    observed = float(np.nanmean(split_half(judgements, seed=seed, splits=2 * SPLITS).spearman))
    numbers = judgements.answered
    truth = spread_like(scores, len(judgements.items))
    # Items of a pilot may be in any order, sorted by overlap for instance.
    truth = np.random.default_rng(derive_seed(seed, "pilot")).permutation(truth)
    crowd = replace(crowd, annotators=max(crowd.annotators, int(numbers.max())))
    return calibrate_noise(truth, judgements.tuples, numbers, crowd, observed, seed=seed), observed


FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
ANSWERS = (1, 2, 3, 4, 6, 8)
PLAN_SPLITS, PLAN_ITEMS = 20, 10_000
"""Items in all repetitions of a small design together: then chance moves the second decimal only
where it would for the user too."""


@dataclass(frozen=True)
class Option:
    """A design and what it is expected to bring: tuples per item, answers to each, tuples and
    answers in all, split-half reliability (Spearman) over simulations and splits, and the Spearman
    correlation of counted scores with the truth, mean over simulations.
    """

    factor: float
    answers: int
    tuples: int
    judgements: int
    shr: Figure
    truth: float

    @property
    def design(self) -> str:
        """`11,000 tuples, 2 answers each`."""
        answers = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        return f"{self.tuples:,} tuples, {answers} each"


@dataclass(frozen=True)
class Plan:
    """Designs for a number of items, the cheapest first; whose answers were simulated, and where
    their noise is from.
    """

    items: int
    size: int
    target: float
    crowd: Crowd
    source: str
    options: tuple[Option, ...]

    @property
    def cheapest(self) -> Option | None:
        """The design with the fewest judgements whose mean reliability reaches the target; of
        equally cheap ones the one nearest to the truth.
        """
        enough = [one for one in self.options if one.shr.mean >= self.target]
        return min(enough, key=lambda one: (one.judgements, -one.truth), default=None)

    @property
    def nearest(self) -> Option | None:
        """The design nearest to the truth for no more judgements than the cheapest one. Halves of
        the answers share their tuples, so that split-half reliability does not see the chance by
        which items met; more tuples with fewer answers each lessen it.
        """
        if (best := self.cheapest) is None:
            return None
        payable = [one for one in self.options if one.judgements <= best.judgements]
        return max(payable, key=lambda one: one.truth)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        best, nearest = self.cheapest, self.nearest
        return {
            "items": self.items,
            "size": self.size,
            "target": self.target,
            "annotators": asdict(self.crowd) | {"source of noise": self.source},
            "options": [asdict(one) for one in self.options],
            "cheapest": None if best is None else asdict(best),
            "nearest to the truth for that": None if nearest is None else asdict(nearest),
        }

    def text(self) -> str:
        """A table by tuples per item and answers per tuple, and the answer below it."""
        answers = sorted({one.answers for one in self.options})
        cells = {(one.factor, one.answers): one for one in self.options}
        rows = [["tuples per item", *(f"{n} answer{'s' if n > 1 else ''}" for n in answers)]]
        for factor in sorted({one.factor for one in self.options}):
            line = [cells[factor, n] for n in answers]
            head = f"{factor:g} ({line[0].tuples:,})"
            rows.append([head, *(f"{one.judgements:,}" for one in line)])
            rows.append(["", *(f"{one.shr.mean:.3f}\u00a0/\u00a0{one.truth:.3f}" for one in line)])
        careless = f", {self.crowd.careless:.0%} careless" if self.crowd.careless else ""
        lines = [
            f"{self.items:,} items in tuples of {self.size}; noise {self.crowd.noise:.3f} "
            f"({self.crowd.kind}{careless}; {self.source})",
            "judgements; below them split-half reliability / correlation with the truth",
            table(rows),
        ]
        best, nearest = self.cheapest, self.nearest
        if best is None or nearest is None:
            top = max(self.options, key=lambda one: one.shr.mean)
            lines.append(
                f"no design here reaches {self.target:g}; the most is {top.shr.mean:.3f}, with "
                f"{top.judgements:,} judgements. Try more answers (--answers) or a better crowd"
            )
        else:
            lines += [
                f"cheapest with {self.target:g} or more: {best.design}: "
                f"{best.judgements:,} judgements, reliability {best.shr}",
                f"nearest to the truth for no more: {nearest.design}: "
                f"{nearest.truth:.3f} (the cheapest: {best.truth:.3f})",
            ]
        return "\n".join(lines)


def make_plan(
    items: int,
    target: float,
    crowd: Crowd,
    *,
    scores: Floats | None = None,
    size: int = 4,
    factors: Sequence[float] = FACTORS,
    answers: Sequence[int] = ANSWERS,
    source: str = "given",
    seed: int = 13,
) -> Plan:
    """Try designs of tuples of `size` items, with each of `factors` (tuples per item) and `answers`
    (per tuple), on simulated annotators, for a split-half reliability of `target` in (0, 1).

    `scores` say how true scores are spread (None: evenly over 0…1), `source` where `crowd.noise` is
    from, the seed decides designs, answers and splits.

    Raises:
        InputError: A target outside (0, 1), or a design that is impossible.
    """
    if not 0 < target < 1:
        raise InputError(f"--target-shr: got {target:g}; expected a number between 0 and 1")
    repetitions = min(20, max(1, math.ceil(PLAN_ITEMS / max(items, 1))))
    truth = spread_like(scores, items)
    crowd = replace(crowd, annotators=max(crowd.annotators, *answers))
    options = []
    with bar("designs", repetitions * len(factors) * len(answers)) as shown:
        for factor in sorted(set(factors)):
            seeds = [derive_seed(seed, "plan", f"{factor:g}", n) for n in range(repetitions)]
            designs = [design_tuples(items, size=size, factor=factor, seed=s) for s in seeds]
            for number in sorted(set(answers)):
                found, right = [], []
                for one, own in zip(designs, seeds, strict=True):
                    # The design numbers items at random, so the order of the truth does not matter.
                    judged, _ = simulate_judgements(truth, one, number, crowd, seed=own)
                    found.append(split_half(judged, seed=own, splits=PLAN_SPLITS).spearman)
                    counted = judged.count().scores
                    known = np.isfinite(counted)
                    agree = rank_correlation(counted[known], truth[known])
                    right.append(math.nan if agree is None else agree)
                    shown.advance()
                tuples, shr = len(designs[0]), Figure.of(np.concatenate(found))
                mean = float(np.nanmean(right))
                options.append(Option(factor, number, tuples, tuples * number, shr, mean))
    options.sort(key=lambda one: (one.judgements, one.factor))
    return Plan(items, size, target, crowd, source, tuple(options))
