"""What an experiment found: a table, its plot, and the notes a reader needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import firth
from firth.run.errors import InputError
from firth.run.files import write_atomically, write_json

RESULTS, TABLE, PLOT = "results.json", "table.md", "plot"
SCHEMA = 1
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Row:
    """One line of a table: a name and a cell a column (None where there is none).

    Whole numbers are shown as such, others with one decimal.
    """

    name: str
    cells: tuple[float | None, ...]


@dataclass(frozen=True)
class Lines:
    """A plot: lines over the same places on the x axis; a dashed one is a printed figure.

    Attributes:
        xlabel: What the x axis shows.
        ylabel: What the y axis shows.
        places: Places on the x axis.
        values: Name of a line → its values, None where it has none.
        dashed: Lines that are printed figures.
        bands: Name of a line → (low, high) at each place, drawn around it.
        connected: Whether places follow one another; if not, they get points and bars.
    """

    xlabel: str
    ylabel: str
    places: Sequence[str]
    values: Mapping[str, Sequence[float | None]]
    dashed: frozenset[str] = frozenset()
    bands: Mapping[str, Sequence[Bounds]] = field(default_factory=dict)
    connected: bool = True


@dataclass(frozen=True)
class Report:
    """What an experiment found.

    Attributes:
        name: The experiment.
        title: What it reproduces.
        columns: Header of the table, that of the names included.
        rows: The table; correlations × 100.
        plot: The same to look at.
        notes: What is missing, and on what it ran.
        details: Everything else worth keeping: plain values, for the JSON.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    plot: Lines
    notes: tuple[str, ...]
    details: Mapping[str, Any]

    def markdown(self) -> str:
        """The table and the notes as Markdown."""
        lines = [f"# {self.title}", "", _line(self.columns)]
        lines.append(_line(["---", *("---:" for _ in self.columns[1:])]))
        for row in self.rows:
            lines.append(_line([row.name, *map(_cell, row.cells)]))
        lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path) -> None:
        """Write `results.json`, `table.md`, `plot.png` and `plot.svg`.

        Raises:
            InputError: The folder cannot be written.
            MissingExtraError: matplotlib is not installed.
        """
        from firth.reproduce.plot import draw

        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / RESULTS, self.to_dict())
            with write_atomically(folder / TABLE) as partial:
                partial.write_text(self.markdown(), encoding="utf-8")
            for kind in ("png", "svg"):
                with write_atomically(folder / f"{PLOT}.{kind}") as partial:
                    partial.write_bytes(draw(self.plot, self.title, kind))
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from error

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "experiment": self.name,
            "title": self.title,
            "columns": list(self.columns),
            "rows": [{"name": row.name, "cells": list(row.cells)} for row in self.rows],
            "notes": list(self.notes),
            "details": dict(self.details),
            "firth": firth.__version__,
        }


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values there are; None where there are none."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
