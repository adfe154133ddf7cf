"""What a table asks for and what it measures; published figures are data files of this package."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from firth.evaluation.bootstrap import Estimate, bootstrap_seed, estimate
from firth.evaluation.metrics import Columns, Metric, metric_sample
from firth.evaluation.sets import EvaluationSet, load_set
from firth.reproduce.settings import TableSettings
from firth.run.console import table, wrapped
from firth.run.errors import ConfigError, FirthError, InputError, first_line
from firth.run.run import Run
from firth.text.types import PairScorer

Figure = Estimate | float | None
"""A measured figure, times 100; a plain number has no interval."""
COUNT = "n"
"""The column of numbers that are counts."""


@dataclass(frozen=True)
class Cell:
    """A figure of a table: what was measured here, and what the paper has, as far as there is any.

    A row is a model or variant, and a column a set or quantity.
    """

    row: str
    column: str
    measured: Figure = None
    published: float | None = None

    def __str__(self) -> str:
        """Return both figures, the published one in parentheses."""
        shown = "-" if self.measured is None else str(self.measured)
        if isinstance(self.measured, int | float):
            is_count = float(self.measured).is_integer() and self.column == COUNT
            shown = f"{self.measured:,.{0 if is_count else 1}f}"
        return shown if self.published is None else f"{shown} ({self.published:,})"


Findings = tuple[list[Cell], list[str]]
"""What a table measures: figures, and notes on what is missing or differs from the paper."""


@dataclass(frozen=True)
class Result:
    """A table: figures, and notes on what is missing and what differs from the paper."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]

    def text(self) -> str:
        """Return the table and its notes for a screen."""
        columns = list(dict.fromkeys(cell.column for cell in self.cells))
        rows: dict[str, dict[str, str]] = {}
        for cell in self.cells:
            rows.setdefault(cell.row, {})[cell.column] = str(cell)
        lines = [["", *columns]]
        lines += [[row, *(cells.get(name, "") for name in columns)] for row, cells in rows.items()]
        legend = "Times 100; in brackets 95 % intervals, in parentheses what the paper has."
        return "\n".join([self.title, "", table(lines), "", *map(wrapped, (legend, *self.notes))])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Request:
    """What a table is measured with; the seed is that of the run, where one is given."""

    table: str
    given: Run | None
    data_dir: Path | None
    settings: TableSettings
    seed: int

    @property
    def run(self) -> Run:
        """The run; raise `InputError` where none is named."""
        if self.given is None:
            raise InputError(f"{self.table}: it needs a run: --run FOLDER")
        return self.given

    @property
    def models(self) -> Path:
        """Folder of the models that tables train; they are reused."""
        return (Path() if self.given is None else self.given.path) / "reproduce" / "models"

    def sampled(self, data: EvaluationSet) -> EvaluationSet:
        """Return a set, or as many random rows of it as the settings name."""
        most = self.settings.sample
        return data if most is None else data.sampled(most, self.seed)

    def sizes(self, usual: Sequence[str], whole: int, least: int = 1) -> list[int]:
        """Return the sizes that the settings name, else the usual ones, ascending and distinct.

        They are written as `250` or `10%` of the whole, which is the largest one.
        """
        texts = self.settings.sizes or usual
        units = {text: whole / 100 if text.endswith("%") else 1 for text in texts}
        sizes = {text: round(float(text.rstrip("%")) * unit) for text, unit in units.items()}
        if problems := [
            f"reproduce.tables.sizes: got {text}; expected {least:,} to {whole:,}, as 250 or 10%"
            for text, size in sizes.items()
            if not least <= size <= whole
        ]:
            raise ConfigError(self.table, problems)
        return sorted({*sizes.values()})


class VariedRun(Run):
    """A run with changed settings that are not saved: a variant of an ablation."""

    @classmethod
    def of(cls, run: Run, changes: Mapping[str, Any]) -> "VariedRun":
        """Return the run with `changes` (section → field → value) in its settings."""
        return cls(run.path, run.changed(changes).settings)

    def changed(self, changes: Mapping[str, Any], source: str = "") -> "VariedRun":
        """Return this run with more changes, which are not saved either."""
        return type(self)(self.path, super().changed(changes, source).settings)

    def save(self) -> None:
        """Write nothing."""


def published(paper: str, name: str) -> dict[str, Any]:
    """Return the published figures of a table, such as `table1` of `cbos`, `sun` or `str-2021`."""
    text = (files("firth.reproduce") / "data" / f"{paper}.json").read_text(encoding="utf-8")
    figures: dict[str, Any] = json.loads(text)[name]
    return figures


def loaded(request: Request, names: Sequence[str]) -> tuple[list[EvaluationSet], list[str]]:
    """Load sets; return those that are there, and notes on the others.

    Where all are missing, it is an `InputError`.
    """
    loaded_sets, notes = [], []
    for name in names:
        try:
            loaded_sets.append(load_set(name, request.data_dir))
        except FirthError as error:
            notes.append(f"Missing: {first_line(error)}.")
    if not loaded_sets:
        raise InputError(f"{request.table}: no set of the table is there. {notes[0]}")
    return loaded_sets, notes


def opened(models: Mapping[str, str | PairScorer]) -> tuple[dict[str, PairScorer], list[str]]:
    """Open models; return those that are there, and notes on the others.

    A name in the table has a scorer, or a name that `firth.model.open_scorer` takes.
    """
    from firth.model import open_scorer

    scorers: dict[str, PairScorer] = {}
    missing: dict[str, list[str]] = {}
    for name, model in models.items():
        try:
            scorers[name] = open_scorer(model) if isinstance(model, str) else model
        except FirthError as error:
            reason = first_line(error).partition(". ")[0].removeprefix(f"'{model}': ")
            missing.setdefault(reason, []).append(name)
    return scorers, [f"Missing: {'; '.join(rows)} ({why})." for why, rows in missing.items()]


def figure(metric: Metric, groups: Sequence[Columns], seed: int, *names: str) -> Estimate:
    """Return the mean of a metric over groups of rows, with its interval.

    The seed and the names of the rows, such as a set, decide the resamples.
    """
    return estimate(
        [
            metric_sample(metric, [columns], bootstrap_seed(seed, *names, metric.value, number))
            for number, columns in enumerate(groups)
        ]
    )
