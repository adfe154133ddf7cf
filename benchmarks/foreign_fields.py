"""Origin and Surrogate against the best word overlap, on text of fields that they never read.

    python benchmarks/foreign_fields.py DATA_DIR [FIELD=]RUN … [--out FILE] [--intervals]

For each run: Spearman x 100 of Dice, of plain tf-idf and of tf-idf over stems (idf of the run's
corpus), of the run's Origin, and of its Surrogate where `RUN/surrogate` is there; on STS12, 13, 14,
STSb dev and test, STR-2021, AFS, SICK trial, and the mean of STS12, 13, 14 and STSb test. Beside
Origin and Surrogate stands how far they are from the better of Dice and tf-idf over stems in that
cell, with a star where the 95 % interval of the paired bootstrap leaves out zero: they are ahead or
behind, else level.

FIELD is what a run was trained on: `captions`, `news` or `speeches`; rows of that field are left
out (`FIELDS`). Runs without one, or of another name, are measured on all rows. The same script
without FIELD, over runs of growing corpora, is the table by corpus size.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluate.cache import Cache
from firth.evaluate.figures import Bootstrap
from firth.evaluate.load import select_sets
from firth.evaluate.metrics import Difference, Estimate, Metric
from firth.evaluate.models import score, system_of
from firth.evaluate.results import write_document
from firth.evaluate.rows import Sample
from firth.run import progress
from firth.run.files import cache_folder, claim_file

SETS = {
    "sts12": "STS12",
    "sts13": "STS13",
    "sts14": "STS14",
    "sts-b:dev": "STSb dev",
    "sts-b:test": "STSb test",
    "str-2021": "STR-2021",
    "afs": "AFS",
    "sick-r:trial": "SICK trial",
}
MEAN, AVERAGED = "mean of four", ("STS12", "STS13", "STS14", "STSb test")
EVERY = "every row"
FIELDS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "captions": {
        "sts12": frozenset({"MSRvid"}),
        "sts14": frozenset({"images"}),
        "sts-b": frozenset({"captions"}),
        "str-2021": frozenset({"SNLI", "STS"}),
        "sick-r": frozenset({EVERY}),
    },
    "news": {
        "sts12": frozenset({"MSRpar", "SMTnews"}),
        "sts13": frozenset({"headlines"}),
        "sts14": frozenset({"deft-news", "headlines", "tweet-news"}),
        "sts-b": frozenset({"news"}),
        "str-2021": frozenset({"STS"}),
    },
    "speeches": {"sts12": frozenset({"SMTeuroparl"})},
}
"""Field → task → the subtasks whose rows are of that field, as far as their sources are known."""
OURS, LEXICAL = ("Origin", "Surrogate"), ("Dice", "tf-idf")
VERDICTS = ("ahead", "level", "behind")


@dataclass(frozen=True)
class Cell:
    """A system on a set: its figure, and its lead over the better lexical baseline, all x 100."""

    run: str
    field: str
    system: str
    data: str
    figure: Estimate
    rival: str = ""
    ahead: Difference | None = None

    @property
    def trained_on(self) -> str:
        """The field, or the run's own name."""
        return self.field or Path(self.run).name

    @property
    def value(self) -> float:
        """The figure, as far as there is one."""
        return float("nan") if self.figure.value is None else self.figure.value

    @property
    def verdict(self) -> str:
        """`ahead`, `behind`, `level`, or nothing for what is not compared."""
        if self.ahead is None or self.ahead.value is None:
            return ""
        if not self.ahead.decided:
            return "level"
        return "ahead" if self.ahead.value > 0 else "behind"

    @property
    def lead(self) -> str:
        """`+1.2 [0.4, 2.0]`, or nothing."""
        if self.ahead is None or self.ahead.value is None:
            return ""
        return f"{self.ahead.value:+.1f} [{self.ahead.low:.1f}, {self.ahead.high:.1f}]"

    def text(self, intervals: bool) -> str:
        """`65.2`, `66.4 +1.2*`, or `66.4 +1.2 [0.4, 2.0]`."""
        beside = self.lead
        if beside and not intervals:
            beside = beside.split()[0] + "*" * (self.verdict != "level")
        return f"{self.value:.1f} {beside}".rstrip()

    def plain(self) -> dict[str, Any]:
        """The cell for JSON."""
        return {**asdict(self), "verdict": self.verdict}


def foreign(sample: Sample, field: str) -> Sample | None:
    """The rows of a sample that are not of a field; None if there are none."""
    own = FIELDS.get(field, {}).get(sample.task, frozenset())
    kept = np.flatnonzero([EVERY not in own and name not in own for name in sample.subtask])
    if len(kept) == len(sample.x):
        return sample
    if not len(kept):
        return None
    return replace(
        sample, x=sample.x[kept], y=sample.y[kept], rows=sample.rows[kept],
        subtask=tuple(sample.subtask[place] for place in kept),
        units=None if sample.units is None else sample.units[kept],
    )  # fmt: skip


def measure(run: str, field: str, data_dir: str, bootstrap: Bootstrap) -> list[Cell]:
    """Every system of a run on every set."""
    sets, _ = select_sets(list(SETS), data_dir, None)
    specs = {
        "Dice": "baseline:dice",
        "plain tf-idf": f"baseline:tfidf-words@{run}",
        "tf-idf": f"baseline:tfidf@{run}",
        "Origin": run,
    }
    if (Path(run) / "surrogate").is_dir():
        specs["Surrogate"] = f"{run}/surrogate"
    samples: dict[str, dict[str, Sample]] = {}
    for name, spec in specs.items():
        with progress.bar(name, len(sets)) as shown:
            _, scored = score(system_of(spec), sets, bootstrap.cache, shown)
        rows = {
            title: foreign(one.sample, field)
            for title, one in zip(SETS.values(), scored, strict=True)
        }
        samples[name] = {title: sample for title, sample in rows.items() if sample}
    groups: dict[str, tuple[str, ...]] = {title: (title,) for title in samples["Dice"]}
    if all(title in groups for title in AVERAGED):
        groups[MEAN] = AVERAGED
    return [
        cell
        for title, members in groups.items()
        for cell in _cells(run, field, title, members, samples, bootstrap)
    ]


def _cells(
    run: str, field: str, title: str, members: Sequence[str],
    samples: Mapping[str, Mapping[str, Sample]], bootstrap: Bootstrap,
) -> list[Cell]:  # fmt: skip
    chosen = {name: [of[member] for member in members] for name, of in samples.items()}
    found = {name: bootstrap.average(some, Metric.SPEARMAN) for name, some in chosen.items()}
    rival = max(LEXICAL, key=lambda name: found[name].value or 0.0)
    cells = []
    for name, figure in found.items():
        cell = Cell(run, field, name, title, figure)
        if name in OURS:
            ahead = bootstrap.average_difference(chosen[name], chosen[rival], Metric.SPEARMAN)
            cell = replace(cell, rival=rival, ahead=ahead)
        cells.append(cell)
    return cells


def table(cells: Sequence[Cell], intervals: bool) -> str:
    """A row a run and system, a column a set."""
    titles = [*SETS.values(), MEAN]
    lines = ["| trained on | | " + " | ".join(titles) + " |", "|---" * (2 + len(titles)) + "|"]
    for run, system in dict.fromkeys((cell.run, cell.system) for cell in cells):
        here = {cell.data: cell for cell in cells if (cell.run, cell.system) == (run, system)}
        name = next(iter(here.values())).trained_on
        shown = [here[title].text(intervals) if title in here else "" for title in titles]
        lines.append(f"| {name} | {system} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def summary(cells: Sequence[Cell]) -> str:
    """How often Origin and Surrogate are ahead, level and behind; and where they are behind."""
    lines = []
    for system in OURS:
        ours = [cell for cell in cells if cell.system == system and cell.data != MEAN]
        if not ours:
            continue
        count = Counter(cell.verdict for cell in ours)
        counted = ", ".join(f"{verdict} {count[verdict]}" for verdict in VERDICTS)
        lines.append(f"{system}, of {len(ours)} cells: {counted}.")
        lines += [
            f"  behind {cell.rival}: {cell.trained_on}, {cell.data}: {cell.lead}"
            for cell in ours
            if cell.verdict == "behind"
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir")
    parser.add_argument("runs", nargs="+", metavar="[FIELD=]RUN")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--intervals", action="store_true", help="print differences as well")
    parser.add_argument("--out", type=Path, help="file of JSON")
    parser.add_argument("--force", action="store_true", help="replace it")
    options = parser.parse_args()
    if options.out:
        claim_file(options.out, force=options.force)
    progress.set_quiet(True)
    bootstrap = Bootstrap(options.seed, options.resamples, Cache(options.cache))
    cells: list[Cell] = []
    for text in options.runs:
        field, _, run = text.rpartition("=")
        cells += measure(run, field, options.data_dir, bootstrap)
    print(table(cells, options.intervals))
    print()
    print(summary(cells))
    if options.out:
        write_document(
            options.out,
            {
                "cells": [cell.plain() for cell in cells],
                "seed": options.seed,
                "resamples": options.resamples,
            },
        )


if __name__ == "__main__":
    main()
