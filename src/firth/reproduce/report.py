"""What an experiment found: a table, its plot, and the notes a reader needs."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import firth
from firth.evaluate.metrics import Difference, Estimate
from firth.run.files import write_atomically, write_json, write_text
from firth.run.results import publish
from firth.run.table import table

RESULTS, TABLE = "results.json", "table.md"
PLOTS = ("plot.png", "plot.svg")
WRITTEN, COMMAND = (RESULTS, TABLE, *PLOTS), "firth reproduce"
SCHEMA = 1
STSB = "Spearman (%), STSb"
UNKNOWN = Estimate(None, None, None, 0)
"""What was not measured."""
Figure = Estimate | Difference | float | None
Values = dict[str, Sequence[Figure]]
_STYLE: Any = {"svg.hashsalt": "firth", "font.size": 10}


@dataclass(frozen=True)
class Row:
    """One line of a table: a name and a cell a column (None where there is none)."""

    name: str
    cells: tuple[float | None, ...]


def row(name: str, *figures: Figure) -> Row:
    """A line of a table; an estimate takes three cells: value and both ends of its interval."""
    cells: list[float | None] = []
    for one in figures:
        if isinstance(one, Estimate | Difference):
            cells += (one.value, one.low, one.high)
        else:
            cells.append(one)
    return Row(name, tuple(cells))


@dataclass(frozen=True)
class Lines:
    """A plot: lines over the same places on the x axis.

    Attributes:
        values: Name of a line → its values, None where it has none; estimates are drawn with their
            intervals. A line whose name ends in `printed` has figures of a paper, and is dashed.
        connected: Whether places follow one another; if not, they get points and bars.
    """

    xlabel: str
    ylabel: str
    places: Sequence[str]
    values: Mapping[str, Sequence[Figure]]
    connected: bool = True

    @classmethod
    def compared(
        cls, xlabel: str, ylabel: str, lines: Sequence[tuple[str, Figure, Figure]]
    ) -> "Lines":
        """Points of places that do not follow one another: place, our figure, the printed one."""
        places, *figures = zip(*lines, strict=True)
        values = dict(zip(("ours", "printed"), figures, strict=True))
        return cls(xlabel, ylabel, places, values, connected=False)


@dataclass(frozen=True)
class Report:
    """What an experiment found.

    Attributes:
        columns: Header of the table, that of the names included.
        rows: The table, correlations × 100; short rows are filled up with None.
        plot: The same to look at.
        notes: What is missing, and on what it ran.
        details: Everything else worth keeping: plain values, for the JSON.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    plot: Lines
    notes: Sequence[str]
    details: Mapping[str, Any]

    def __post_init__(self) -> None:
        width = len(self.columns) - 1
        rows = [Row(one.name, one.cells + (None,) * (width - len(one.cells))) for one in self.rows]
        object.__setattr__(self, "rows", tuple(rows))

    def markdown(self) -> str:
        """The table and the notes as Markdown."""
        lines = [f"# {self.title}", "", _line(self.columns)]
        lines.append(_line(["---", *("---:" for _ in self.columns[1:])]))
        lines += [_line([one.name, *map(_cell, one.cells)]) for one in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        """The table and the notes for a screen."""
        rows = [self.columns, *([one.name, *map(_cell, one.cells)] for one in self.rows)]
        return "\n".join([self.title, "", table(rows), "", *self.notes])

    def save(self, folder: Path, *, force: bool = False) -> None:
        """Write `results.json`, `table.md`, `plot.png` and `plot.svg`; `firth.run.results.publish`.

        Raises:
            InputError: The folder cannot be written, or holds files of these names that firth did
                not write (without `force`).
        """
        publish(folder, self._write, {"experiment": self.name}, command=COMMAND, force=force)

    def _write(self, folder: Path) -> None:
        write_json(folder / RESULTS, self.to_dict())
        write_text(folder / TABLE, self.markdown())
        for name in PLOTS:
            with write_atomically(folder / name) as partial:
                partial.write_bytes(draw(self.plot, self.title, name.partition(".")[2]))

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "experiment": self.name,
            "title": self.title,
            "columns": list(self.columns),
            "rows": [{"name": one.name, "cells": list(one.cells)} for one in self.rows],
            "notes": list(self.notes),
            "details": dict(self.details),
            "firth": firth.__version__,
        }


def intervals(found: Mapping[Any, Estimate | Difference]) -> dict[str, list[float | int | None]]:
    """Name → [value, low, high, n], for the JSON."""
    return {str(name): [one.value, one.low, one.high, one.n] for name, one in found.items()}


def flat(found: Estimate, places: Sequence[object]) -> list[Figure]:
    """The same value at every place of a plot, without its interval."""
    return [found.value] * len(places)


def percent(value: float | None) -> float | None:
    """× 100; None stays."""
    return None if value is None else 100 * value


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values there are; None where there are none."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def draw(lines: Lines, title: str, kind: str) -> bytes:
    """The plot as `png` or `svg`: the same values give the same bytes.

    A line of printed figures has the colour of the line whose name begins its own.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    printed = sorted(name for name in lines.values if name.endswith("printed"))
    solid = [name for name in lines.values if name not in printed]
    with mpl.rc_context(_STYLE):
        canvas = Canvas(figsize=(max(6.4, 0.55 * len(lines.places) + 2.5), 4.4))
        axes = canvas.subplots()
        for number, name in enumerate((*solid, *printed)):
            is_printed = name in printed
            begun = [i for i, other in enumerate(solid) if is_printed and name.startswith(other)]
            own = begun[0] if begun else number
            _band(axes, lines.values[name], f"C{own % 10}", lines.connected)
            values = [one.value if isinstance(one, Estimate | Difference) else one
                      for one in lines.values[name]]  # fmt: skip
            known = {place: value for place, value in enumerate(values) if value is not None}
            axes.plot(
                list(known),
                list(known.values()),
                linestyle=("--" if is_printed else "-") if lines.connected else "none",
                marker="D" if is_printed and not lines.connected else "o",
                markersize=3 if is_printed else 4,
                linewidth=1 if is_printed else 1.6,
                color=f"C{own % 10}",
                alpha=0.6 if is_printed else 1,
                label=name,
            )
        turned = max(map(len, lines.places), default=0) > 4
        axes.set_xticks(range(len(lines.places)), lines.places, rotation=45 if turned else 0,
                        ha="right" if turned else "center")  # fmt: skip
        axes.set_xlabel(lines.xlabel)
        axes.set_ylabel(lines.ylabel)
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        written = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        canvas.savefig(written, format=kind, dpi=120, bbox_inches="tight", metadata=metadata)
    return written.getvalue()


def _band(axes: Any, values: Sequence[Figure], color: str, connected: bool) -> None:
    measured = {i: one for i, one in enumerate(values) if isinstance(one, Estimate | Difference)}
    places = [i for i, one in measured.items() if one.low is not None]
    if not places:
        return
    low, high = ([getattr(measured[i], end) for i in places] for end in ("low", "high"))
    if connected:
        axes.fill_between(places, low, high, color=color, alpha=0.12)
    else:
        axes.vlines(places, low, high, color=color, alpha=0.35)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
