"""How reliable the scores are: split-half figures, also of fewer answers, with their spread."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.files import write_rows
from firth.relatedness.bws.judgements import Floats, Judgements
from firth.relatedness.bws.split_half import SPLITS, Correlations, split_half
from firth.run.errors import MissingExtraError
from firth.run.files import write_json
from firth.run.progress import note

RESULTS, SPLITS_FILE = "reliability.json", "splits.csv"


@dataclass(frozen=True)
class Figure:
    """A correlation over many splits, in −1…1.

    Attributes:
        mean: Over splits.
        sd: Standard deviation over splits.
        low: 2.5th percentile over splits.
        high: 97.5th percentile over splits.
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
    """Split-half reliability of a set of answers.

    Attributes:
        items: Number of items.
        tuples: Answered tuples.
        judgements: Answers.
        answers: Least, mean and most answers to an answered tuple.
        splits: Number of splits.
        undefined: Splits without a correlation (a half had no spread); left out.
        spearman: Of all answers: each half holds half of them.
        pearson: Likewise.
        by_answers: The same with fewer answers, 1 up to the most; empty if not asked for.
        correlations: Each split of all answers.
        spearman_brown: What `spearman.mean` would be by the Spearman–Brown formula 2r / (1 + r), if
            each half held as many answers as there are; None if not asked for.
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
        found["undefined splits"] = self.undefined
        least, mean, most = self.answers
        found["answers per tuple"] = {"least": least, "mean": mean, "most": most}
        found["spearman"], found["pearson"] = asdict(self.spearman), asdict(self.pearson)
        found["by answers per tuple"] = [asdict(level) for level in self.by_answers]
        if self.spearman_brown is not None:
            found["Spearman-Brown of spearman.mean"] = self.spearman_brown
        return found

    def text(self) -> str:
        """Lines for a screen."""
        least, mean, most = self.answers
        each = f"{least}" if least == most else f"{least} to {most} ({mean:.2f} on average)"
        lines = [
            f"{self.judgements:,} answers to {self.tuples:,} tuples of {self.items:,} items; "
            f"{each} a tuple",
            f"split-half reliability over {self.splits:,} random splits:",
            f"  Spearman {self.spearman}",
            f"  Pearson  {self.pearson}",
        ]
        if self.undefined:
            lines.append(f"  {self.undefined:,} splits without a correlation are left out")
        if self.spearman_brown is not None:
            lines.append(
                f"  Spearman-Brown, 2r / (1 + r) of the Spearman mean: {self.spearman_brown:.3f}"
            )
        if self.by_answers:
            lines.append("by answers per tuple (Spearman):")
            lines += [f"  {level.answers:>3}  {level.spearman}" for level in self.by_answers]
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Write `reliability.json`, `splits.csv`, and `reliability.png` and `.svg`.

        Without matplotlib there is no plot, and a note says so.
        """
        write_json(folder / RESULTS, self.to_dict())
        rows = zip(
            range(1, self.splits + 1),
            (f"{value:.6f}" for value in self.correlations.spearman),
            (f"{value:.6f}" for value in self.correlations.pearson),
            self.correlations.items.tolist(),
            strict=True,
        )
        write_rows(folder / SPLITS_FILE, ("split", "spearman", "pearson", "items"), rows)
        try:
            from firth.relatedness.bws.plots import write_plot
        except MissingExtraError as error:
            note(str(error))
            return
        write_plot(folder, self)


def measure_reliability(
    judgements: Judgements,
    *,
    seed: int = 13,
    splits: int = SPLITS,
    by_answers: bool = True,
    spearman_brown: bool = False,
) -> Reliability:
    """Split-half reliability (Abdalla et al., §4), of all answers and of fewer.

    Args:
        judgements: Usable answers (see `sort_answers`).
        seed: Of the splits.
        splits: How many.
        by_answers: Also for 1, 2, … answers to a tuple, drawn anew in each split.
        spearman_brown: Also step the figure up to the full number of answers; never done silently.

    Raises:
        InputError: No item is judged in both halves of any split.
    """
    answered = np.bincount(judgements.asked)
    answered = answered[answered > 0]
    most = int(answered.max())
    whole = split_half(judgements, seed=seed, splits=splits)
    levels = []
    if by_answers:
        for number in range(1, most):
            found = split_half(judgements, seed=seed, splits=splits, answers=number)
            levels.append(Level(number, Figure.of(found.spearman), Figure.of(found.pearson)))
        levels.append(Level(most, Figure.of(whole.spearman), Figure.of(whole.pearson)))
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
