"""Two kinds of scores for the same pairs, compared within bins of one of them (§4).

Scores of similarity and of relatedness agree over a wide range; within a narrow one they may rank
pairs quite differently.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluate.figures import bootstrap_seed
from firth.evaluate.metrics import Estimate, Floats, Metric, estimate
from firth.evaluate.rows import EvaluationSet
from firth.lexical.words import normal_form
from firth.relatedness.report import TextTable, figure, write_results
from firth.relatedness.scored import DOMAIN, load_pairs
from firth.run.errors import InputError

_WHOLE = "all"


WRITTEN = ("results.json", "table.md", "table.tex")
"""What `Bins.write` writes."""


@dataclass(frozen=True)
class Bins:
    """Rank correlation of two scores, in all shared pairs and within bins of the second.

    Attributes:
        figures: (bin in words, Spearman × 100), `all` first.
        shared: Pairs that have both scores, of those `asked` for of `total`.
        several: Shared pairs whose second score is the mean of different ones.
        settings: Edges, seed, resamples.
    """

    first: str
    others: tuple[str, ...]
    figures: tuple[tuple[str, Estimate], ...]
    shared: int
    total: int
    asked: int
    several: int
    settings: dict[str, Any]
    command: str | None = None

    def table(self) -> TextTable:
        """A line a bin."""
        rows = tuple((name, figure(one), f"{one.n:,}") for name, one in self.figures)
        caption = (
            f"Spearman times 100 of the scores of {self.first} with those of "
            f"{', '.join(self.others)} within bins of the latter, with 95 % bootstrap intervals "
            f"({self.settings['resamples']:,} resamples, seed {self.settings['seed']})."
        )
        remarks = [f"{self.shared:,} of {self.asked:,} pairs have both scores"]
        if self.several:
            remarks.append(f"{self.several} pairs have several second scores: their mean is taken")
        return TextTable(("bin", "Spearman", "pairs"), rows, caption, tuple(remarks))

    def write(self, folder: Path) -> None:
        """Write `results.json` and `table`."""
        document = {
            "first": self.first,
            "others": list(self.others),
            "bins": [{"bin": name, "spearman": asdict(one)} for name, one in self.figures],
            "pairs": {
                "total": self.total,
                "asked": self.asked,
                "shared": self.shared,
                "several": self.several,
            },
        }
        write_results(folder, document, self.settings, {"table": self.table()},
                      command=self.command)  # fmt: skip


def compare_in_bins(
    pairs: str | Path | EvaluationSet,
    others: Sequence[str | Path | EvaluationSet],
    bins: int = 5,
    *,
    only: str | None = None,
    data_dir: str | Path | None = None,
    domain: str = DOMAIN,
    seed: int = 13,
    resamples: int = 1_000,
    command: str | None = None,
) -> Bins:
    """Join scored pairs by their texts, and correlate the two scores within bins.

    Texts match whatever their case and punctuation, and whichever comes first. Bins are of equal
    width over the range of the second scores, each with its upper edge: (1, 2], the lowest with
    both. `only` looks for pairs of one domain alone. Pairs, `data_dir` and `domain` are those of
    `load_pairs`.

    Raises:
        InputError: Pairs that cannot be read, no such domain, or fewer than two in common.
    """
    first, *second = (load_pairs(one, data_dir, domain) for one in (pairs, *others))
    if not second:
        raise InputError("expected a second set of scores for the same pairs")
    rows = [row for row in first.rows if only in (None, row.subtask)]
    if not rows:
        known = ", ".join(name for name in first.subtasks if name != _WHOLE) or "none"
        raise InputError(f"{first.source}: no domain {only}. It has: {known}")
    known_scores: dict[tuple[str, ...], list[float]] = {}
    for data in second:
        for row in data.rows:
            known_scores.setdefault(_key(row.texts), []).append(row.score)
    found = [(row.score, known_scores[_key(row.texts)]) for row in rows
             if _key(row.texts) in known_scores]  # fmt: skip
    if len(found) < 2:
        raise InputError(
            f"{len(found)} of {len(rows)} pairs of {first.source} are in "
            f"{', '.join(data.source for data in second)}. Expected the same pairs in both"
        )
    one = np.array([score for score, _ in found])
    two = np.array([float(np.mean(scores)) for _, scores in found])
    # From the lowest to the highest score there can be; of a file, that there is.
    ranges = [data.task.score_range for data in second]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    edges = np.linspace(low, high, bins + 1)
    places = np.clip(np.searchsorted(edges, two, side="left"), 1, bins)
    figures = [(_WHOLE, _spearman(one, two, _WHOLE, seed, resamples))]
    for place in range(1, bins + 1):
        start = "[" if place == 1 else "("
        name = f"{start}{edges[place - 1]:g}, {edges[place]:g}]"
        within = places == place
        figures.append((name, _spearman(one[within], two[within], name, seed, resamples)))
    return Bins(
        first=first.task.title + (f" {only}" if only else ""),
        others=tuple(dict.fromkeys(data.task.title for data in second)),
        figures=tuple(figures),
        shared=len(found),
        total=len(first.rows),
        asked=len(rows),
        several=sum(len(set(scores)) > 1 for _, scores in found),
        settings={"edges": edges.tolist(), "only": only, "seed": seed, "resamples": resamples},
        command=command,
    )


def _spearman(one: Floats, two: Floats, name: str, seed: int, resamples: int) -> Estimate:
    drawn = bootstrap_seed(seed, "relatedness", "bins", name)
    return estimate(Metric.SPEARMAN, one, two, seed=drawn, resamples=resamples)


def _key(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, texts)))
