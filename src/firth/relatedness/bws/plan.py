"""How many answers buy which reliability: designs tried on simulated annotators."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from firth.relatedness.bws.answers import rank_correlation
from firth.relatedness.bws.design import Floats, design_tuples
from firth.relatedness.bws.reliability import Figure, split_half
from firth.relatedness.bws.simulate import Crowd, simulate_judgements, spread_like
from firth.run.errors import InputError
from firth.run.progress import bar
from firth.run.seeds import derive_seed

FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
ANSWERS = (1, 2, 3, 4, 6, 8)
_SPLITS = 20
_ITEMS = 10_000
"""Items in all repetitions of a small design together: then chance moves the second decimal only
where it would for the user too."""


@dataclass(frozen=True)
class Option:
    """A design and what it is expected to bring: tuples per item, answers to each tuple, tuples,
    answers to be paid for, split-half reliability (Spearman) over simulations and splits, and the
    Spearman correlation of counted scores with the truth, mean over simulations.
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
        """The design with the fewest judgements whose mean reliability reaches the target.

        Of equally cheap ones the one nearest to the truth.
        """
        enough = [one for one in self.options if one.shr.mean >= self.target]
        return min(enough, key=lambda one: (one.judgements, -one.truth), default=None)

    @property
    def nearest(self) -> Option | None:
        """The design nearest to the truth for no more judgements than the cheapest one.

        Halves of the answers share their tuples, so that split-half reliability does not see the
        chance by which items met; more tuples with fewer answers each lessen it.
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
        factors = sorted({one.factor for one in self.options})
        answers = sorted({one.answers for one in self.options})
        cells = {(one.factor, one.answers): one for one in self.options}
        head = ["tuples per item", *(f"{n} answer{'s' if n > 1 else ''}" for n in answers)]
        rows = [head]
        for factor in factors:
            line = [cells[factor, n] for n in answers]
            rows.append(
                [f"{factor:g} ({line[0].tuples:,})", *(f"{one.judgements:,}" for one in line)]
            )
            rows.append(["", *(f"{one.shr.mean:.3f} / {one.truth:.3f}" for one in line)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        careless = f", {self.crowd.careless:.0%} careless" if self.crowd.careless else ""
        return "\n".join(
            [
                f"{self.items:,} items in tuples of {self.size}; noise {self.crowd.noise:.3f} "
                f"({self.crowd.kind}{careless}; {self.source})",
                "judgements; below them split-half reliability / correlation with the truth",
                *lines,
                self._answer(),
            ]
        )

    def _answer(self) -> str:
        best, nearest = self.cheapest, self.nearest
        if best is None or nearest is None:
            top = max(self.options, key=lambda one: one.shr.mean)
            return (
                f"no design here reaches {self.target:g}; the most is {top.shr.mean:.3f}, with "
                f"{top.judgements:,} judgements. Try more answers (--answers) or a better crowd"
            )
        return (
            f"cheapest with {self.target:g} or more: {best.design}: "
            f"{best.judgements:,} judgements, reliability {best.shr}\n"
            f"nearest to the truth for no more: {nearest.design}: "
            f"{nearest.truth:.3f} (the cheapest: {best.truth:.3f})"
        )


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
    """Try designs on simulated annotators.

    Args:
        items: Number of items to be scored.
        target: Split-half reliability wanted, in (0, 1).
        crowd: Who will answer.
        scores: How true scores are spread; None for evenly over 0…1.
        size: Items of a tuple.
        factors: Tuples per item to try.
        answers: Answers per tuple to try.
        source: Where `crowd.noise` is from, for the report.
        seed: Of designs, answers and splits.

    Raises:
        InputError: A target outside (0, 1), or a design that is impossible.
    """
    if not 0 < target < 1:
        raise InputError(f"--target-shr: got {target:g}; expected a number between 0 and 1")
    repetitions = min(20, max(1, math.ceil(_ITEMS / max(items, 1))))
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
                    found.append(split_half(judged, seed=own, splits=_SPLITS).spearman)
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
