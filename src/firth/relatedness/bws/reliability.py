"""Split-half reliability: how alike the scores of two halves of the answers are.

Abdalla et al., §4, after Kiritchenko and Mohammad (2017): the answers to each tuple are put into
two bins, each bin gives scores by counting, and the two rankings are correlated; many times over.
All splits are done at once: a split is a column of weights, and counting is a sparse product.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.stats import rankdata

from firth.relatedness.bws.answers import THRESHOLD, Judgements, sort_answers, to_scores
from firth.relatedness.bws.design import Floats
from firth.relatedness.bws.records import read_answered
from firth.relatedness.plots import draw_reliability, save
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.results import write_folder
from firth.run.rows import write_rows
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome

SPLITS = 1_000
Halves = npt.NDArray[np.int8]
FIRST, SECOND, UNUSED = 0, 1, 2
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Correlations:
    """Correlation of the two halves in each split, over the items judged in both (their number is
    `items`): in −1…1, not a number where a half has no spread; all (splits,).
    """

    spearman: Floats
    pearson: Floats
    items: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Figure:
    """A correlation over many splits, in −1…1: mean, standard deviation, 2.5th and 97.5th
    percentile.
    """

    mean: float
    sd: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> "Figure":
        """Summarise the splits in which the correlation is defined (at least one)."""
        known = values[np.isfinite(values)]
        low, high = np.quantile(known, [0.025, 0.975])
        return cls(float(known.mean()), float(known.std()), float(low), float(high))

    @property
    def ends(self) -> tuple[float, float, float]:
        """Mean, lower and upper end."""
        return self.mean, self.low, self.high

    def __str__(self) -> str:
        """`0.840 (sd 0.002; 95 % of splits 0.836 to 0.844)`."""
        spread = f"sd {self.sd:.3f}; 95 % of splits {self.low:.3f} to {self.high:.3f}"
        return f"{self.mean:.3f} ({spread})"


@dataclass(frozen=True)
class Level:
    """Reliability when at most `answers` answers to each tuple are used."""

    answers: int
    spearman: Figure
    pearson: Figure


@dataclass(frozen=True)
class Reliability:
    """Split-half reliability of a set of answers, each half holding half of them: answered tuples;
    least, mean and most answers to one; splits without a correlation (a half had no spread), which
    are left out; the same `by_answers`, of 1 up to the most to a tuple (empty if not asked for);
    the correlations of each split; and `spearman.mean` stepped up to halves of as many answers as
    there are, 2r / (1 + r) (Spearman–Brown), None if not asked for.
    """

    items: int
    tuples: int
    judgements: int
    answers: tuple[int, float, int]
    splits: int
    undefined: int
    spearman: Figure
    pearson: Figure
    by_answers: tuple[Level, ...]
    correlations: Correlations
    spearman_brown: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the single splits."""
        found = {name: getattr(self, name) for name in ("items", "tuples", "judgements", "splits")}
        found |= {
            "undefined splits": self.undefined,
            "answers per tuple": dict(zip(("least", "mean", "most"), self.answers, strict=True)),
            "spearman": asdict(self.spearman),
            "pearson": asdict(self.pearson),
            "by answers per tuple": [asdict(level) for level in self.by_answers],
        }
        if self.spearman_brown is not None:
            found["Spearman-Brown of spearman.mean"] = self.spearman_brown
        return found

    def text(self) -> str:
        """Lines for a screen."""
        least, mean, most = self.answers
        each = f"{least}" if least == most else f"{least} to {most} ({mean:.2f} on average)"
        brown = self.spearman_brown
        lines = [
            f"{self.judgements:,} answers to {self.tuples:,} tuples of {self.items:,} items; "
            f"{each} a tuple",
            f"split-half reliability over {self.splits:,} random splits:",
            f"  Spearman {self.spearman}",
            f"  Pearson  {self.pearson}",
            self.undefined and f"  {self.undefined:,} splits without a correlation are left out",
            brown is not None
            and f"  Spearman-Brown, 2r / (1 + r) of the Spearman mean: {brown:.3f}",
            self.by_answers and "by answers per tuple (Spearman):",
            *(f"  {level.answers:>3}  {level.spearman}" for level in self.by_answers),
        ]
        return "\n".join(line for line in lines if isinstance(line, str))

    def write(self, folder: Path) -> None:
        """Write `reliability.json`, `splits.csv`, and the plot as `reliability.png` and `.svg`."""
        write_json(folder / "reliability.json", self.to_dict())
        found = self.correlations
        rows = enumerate(zip(found.spearman, found.pearson, found.items.tolist(), strict=True), 1)
        write_rows(
            folder / "splits.csv",
            ("split", "spearman", "pearson", "items"),
            ((number, f"{rho:.6f}", f"{r:.6f}", items) for number, (rho, r, items) in rows),
        )
        save(
            lambda: draw_reliability(
                {"Spearman": found.spearman, "Pearson": found.pearson},
                [level.answers for level in self.by_answers],
                {
                    "Spearman": [level.spearman.ends for level in self.by_answers],
                    "Pearson": [level.pearson.ends for level in self.by_answers],
                },
            ),
            *(folder / f"reliability.{kind}" for kind in ("png", "svg")),
            what="The plot of a reliability",
        )


def measure_reliability(
    judgements: Judgements,
    *,
    seed: int = 13,
    splits: int = SPLITS,
    by_answers: bool = True,
    spearman_brown: bool = False,
) -> Reliability:
    """Split-half reliability (Abdalla et al., §4), of all usable answers and, with `by_answers`, of
    1, 2, … to a tuple; see `split_half`. `spearman_brown` also steps the figure up to the full
    number; never done silently.
    """
    answered = judgements.answered[judgements.answered > 0]
    most = int(answered.max())
    whole = split_half(judgements, seed=seed, splits=splits)
    levels = []
    for number in range(1, most + 1) if by_answers else ():
        fewer = (
            whole
            if number == most
            else split_half(judgements, seed=seed, splits=splits, answers=number)
        )
        levels.append(Level(number, Figure.of(fewer.spearman), Figure.of(fewer.pearson)))
    spearman = Figure.of(whole.spearman)
    return Reliability(
        items=int((judgements.count().shown > 0).sum()),
        tuples=len(answered),
        judgements=len(judgements),
        answers=(int(answered.min()), float(answered.mean()), most),
        splits=splits,
        undefined=int((~np.isfinite(whole.spearman)).sum()),
        spearman=spearman,
        pearson=Figure.of(whole.pearson),
        by_answers=tuple(levels),
        correlations=whole,
        spearman_brown=2 * spearman.mean / (1 + spearman.mean) if spearman_brown else None,
    )


def write_reliability(
    tuples: Path,
    annotations: Path,
    out: Path,
    gold: Path | None = None,
    *,
    threshold: float = THRESHOLD,
    score_gold: bool = False,
    **settings: Any,
) -> Outcome:
    """Measure the reliability of the answers of files into a folder; settings as of
    `measure_reliability`, errors also as of the readers and `write_folder`.
    """
    asked, given, right = read_answered(tuples, annotations, gold)

    def build(folder: Path) -> str:
        answers = sort_answers(asked, given, right, threshold=threshold, score_gold=score_gold)
        found = measure_reliability(Judgements.of(asked, answers.kept), **settings)
        found.write(folder)
        return f"{answers.text()}\n{found.text()}"

    files = {"tuples": tuples, "annotations": annotations, "gold": gold}
    config = {"threshold": threshold, "score_gold": score_gold, **settings}
    return write_folder(
        out, command="firth bws reliability", inputs=files, config=config, build=build,
        libraries=("numpy", "scipy"),
    )  # fmt: skip


def split_half(
    judgements: Judgements, *, seed: int, splits: int = SPLITS, answers: int | None = None
) -> Correlations:
    """Correlate the halves of many random splits, of all answers or of at most `answers` to each
    tuple, drawn anew for each split; raise `InputError` for fewer than one split or one answer, or
    if no item is judged in both halves.
    """
    if splits < 1 or (answers is not None and answers < 1):
        raise InputError(f"got {splits} splits of {answers} answers; expected 1 or more")
    rng = np.random.default_rng(derive_seed(seed, "bws", "split", answers or 0))
    parts = []
    step = max(1, _BLOCK // (len(judgements) + 2 * len(judgements.items)))
    with bar("splits" if answers is None else f"splits of {answers} a tuple", splits) as shown:
        for start in range(0, splits, step):
            size = min(step, splits - start)
            parts.append(correlate_halves(judgements, draw_halves(judgements, rng, size, answers)))
            shown.advance(size)
    found = Correlations(
        *(np.concatenate([getattr(p, n) for p in parts]) for n in Correlations.__annotations__)
    )
    if not np.isfinite(found.spearman).any():
        raise InputError(
            "no split has scores to correlate: expected at least three items that are judged in "
            "both halves and differ. Are there two answers or more to the tuples?"
        )
    return found


def draw_halves(
    judgements: Judgements, rng: np.random.Generator, splits: int, answers: int | None = None
) -> Halves:
    """Put the answers to each tuple into two bins of equal size: (splits, A) of `FIRST`, `SECOND`
    and `UNUSED`, which are all but `answers` (None: all) to a tuple.

    Of an odd number, the last one goes into either bin by a coin: none is lost, and no bin is
    larger on average. The only answer to a tuple, too, goes into one bin or the other.
    """
    halves = np.empty((splits, len(judgements)), dtype=np.int8)
    order = np.argsort(judgements.asked, kind="stable")
    numbers = judgements.answered
    starts = np.cumsum(numbers) - numbers
    for number in np.unique(numbers[numbers > 0]):
        members = np.flatnonzero(numbers == number)
        at = order[starts[members][:, None] + np.arange(number)]
        used = int(number if answers is None else min(number, answers))
        bins = np.full(number, UNUSED, dtype=np.int8)
        bins[:used] = np.arange(used) % 2
        drawn = np.broadcast_to(bins, (splits, *at.shape))
        # A coin that turns the two bins round gives the odd answer to either.
        coins = rng.integers(2, size=(splits, len(members), 1), dtype=np.int8)
        turned = np.where(drawn == UNUSED, drawn, drawn ^ coins)
        halves[:, at] = turned if number <= 2 and used == number else rng.permuted(turned, axis=2)
    return halves


def correlate_halves(judgements: Judgements, halves: Halves) -> Correlations:
    """Correlate the scores of both bins of `draw_halves`, shape (splits, A)."""
    shape = (len(judgements.items), len(judgements))
    answers, size = np.arange(shape[1]), judgements.tuples.shape[1]
    signs = np.repeat([1.0, -1.0], len(answers)).astype(np.float32)
    places = (np.concatenate([judgements.best, judgements.worst]), np.tile(answers, 2))
    difference = csr_array((signs, places), shape=shape)
    members = judgements.tuples[judgements.asked].ravel()
    ones = np.ones(len(members), dtype=np.float32)
    shown = csr_array((ones, (members, np.repeat(answers, size))), shape=shape)
    scores = []
    for half in (FIRST, SECOND):
        weights = np.ascontiguousarray((halves == half).T, dtype=np.float32)  # exact in 24 bits
        scores.append(to_scores((difference @ weights).T, (shown @ weights).T))
    there = np.isfinite(scores[0]) & np.isfinite(scores[1])
    if there.all():
        spearman = _pearson(*(rankdata(one, axis=1) for one in scores))
        return Correlations(spearman, _pearson(*scores), there.sum(axis=1))
    pairs = [
        [np.ascontiguousarray(one[row, keep]) for one in scores] for row, keep in enumerate(there)
    ]
    spearman = np.array([_pearson(*(rankdata(one)[None] for one in p))[0] for p in pairs])
    pearson = np.array([_pearson(*(one[None] for one in p))[0] for p in pairs])
    return Correlations(spearman, pearson, there.sum(axis=1))


def _pearson(x: Floats, y: Floats) -> Floats:
    """Row by row, shape (rows,)."""
    if x.shape[1] < 3:
        return np.full(len(x), np.nan)
    x, y = (one - one.mean(axis=1, keepdims=True) for one in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)))
