"""The plots of a report: PNG and SVG, the same bytes for the same data."""

import math
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.baselines.spec import PREFIX
from firth.evaluate.metrics import Floats, Metric
from firth.evaluate.results import Evaluation
from firth.evaluate.rows import Sample
from firth.evaluate.tables import Layout
from firth.evaluate.task import TASKS
from firth.run.errors import MissingExtraError
from firth.run.files import write_atomically

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("Plots of an evaluation", "plots") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS, HEAT, SCATTER = "bars", "heat", "scatter"
_ENDINGS: Any = {"png": {"Software": None}, "svg": {"Date": None}}
"""Ending → metadata that would else differ between two equal plots."""

_COLOURS = ("#2a6f97", "#bc6c25", "#606c38", "#9d4edd", "#c1121f", "#577590", "#b5838d", "#6c584c")
_STYLE: Any = {"svg.hashsalt": "firth", "font.family": "DejaVu Sans", "font.size": 9}
_COLUMNS = 4
_LONGEST = 34


def write_plots(folder: Path, layout: Layout, evaluations: Sequence[Evaluation]) -> None:
    """Write `bars`, `heat` and a `scatter-TASK-SPLIT` for each set, each as .png and .svg."""
    samples = _by_set(evaluations)
    with mpl.rc_context(_STYLE):
        figures = {BARS: plot_bars(layout), HEAT: plot_heat(layout)}
        figures |= {name: plot_scatter(found) for name, found in samples.items()}
        for name, figure in figures.items():
            for ending, metadata in _ENDINGS.items():
                with write_atomically(folder / f"{name}.{ending}") as partial:
                    figure.savefig(partial, format=ending, dpi=150, metadata=metadata)


def _by_set(evaluations: Sequence[Evaluation]) -> dict[str, list[tuple[str, Sample]]]:
    """Name of a scatter plot → models and their samples of the set."""
    found: dict[str, list[tuple[str, Sample]]] = {}
    for one in evaluations:
        for sample in (item.sample for item in one.scored):
            name = f"{SCATTER}-{sample.task}-{sample.split}"
            found.setdefault(name, []).append((one.model, sample))
    return found


def plot_bars(layout: Layout) -> Figure:
    """One panel a column of the table, one bar a system, whiskers for the 95 % intervals."""
    names = [_short(name) for name, _ in layout.rows]
    figure, panels = _grid(
        len(layout.headings), width=2.3, height=0.6 + 0.24 * len(names), margin=_margin(names)
    )
    places = np.arange(len(names))[::-1]
    right = max((c.high or c.value or 0 for _, cells in layout.rows for c in cells), default=0)
    for column, (heading, axes) in enumerate(zip(layout.headings, panels, strict=True)):
        for (_, cells), place, colour in zip(layout.rows, places, cycle(_COLOURS), strict=False):
            cell = cells[column]
            if cell.value is None:
                axes.text(1, place, "\u2013", va="center", color="#888888")
                continue
            axes.barh(place, cell.value, height=0.72, color=colour, alpha=0.85)
            end = cell.value
            if cell.low is not None and cell.high is not None:
                # An interval of few resamples may lie beside the value.
                whiskers = [[max(0, cell.value - cell.low)], [max(0, cell.high - cell.value)]]
                axes.errorbar(
                    cell.value, place, xerr=whiskers, color="#222222", capsize=2, linewidth=1
                )
                end = cell.high
            axes.text(end + 1.5, place, f"{cell.value:.1f}", va="center", fontsize=7.5)
        axes.set_title(heading, fontsize=10)
        axes.set_yticks(places, names if column % _COLUMNS == 0 else [""] * len(names))
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlim(right=max(right, 10) + 18)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", alpha=0.25)
        axes.set_axisbelow(True)
    figure.supxlabel("times 100, with 95 % bootstrap intervals", fontsize=8)
    return figure


def plot_heat(layout: Layout) -> Figure:
    """System × set, the value in each cell, its colour the distance from the mean of the column."""
    names = [_short(name) for name, _ in layout.rows]
    values = np.array(
        [[np.nan if c.value is None else c.value for c in cells] for _, cells in layout.rows]
    )
    shades = _shades(values)
    size = (_margin(names) + 0.75 * values.shape[1] + 0.3, 0.9 + 0.34 * len(names))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    colours = mpl.colormaps["YlGnBu"].with_extremes(bad="#eeeeee")
    axes.imshow(np.ma.masked_invalid(shades), cmap=colours, vmin=-0.15, vmax=1.3, aspect="auto")
    for row, column in np.ndindex(values.shape):
        known = np.isfinite(values[row, column])
        text = f"{values[row, column]:.1f}" if known else "\u2013"
        colour = "white" if known and shades[row, column] > 0.66 else "#222222"
        axes.text(column, row, text, ha="center", va="center", color=colour)
    axes.set_xticks(range(len(layout.headings)), layout.headings, rotation=30, ha="left")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def plot_scatter(samples: Sequence[tuple[str, Sample]]) -> Figure:
    """One panel a system: human score against similarity, a dot a pair.

    Of triplets, similarity to the positive against that to the negative; right ones lie below the
    line.
    """
    first = samples[0][1]
    triplets = Metric.ACCURACY in first.metrics
    figure, panels = _grid(len(samples), width=2.5, height=2.4)
    for (name, sample), axes, colour in zip(samples, panels, cycle(_COLOURS), strict=False):
        # Dots become an image in the SVG too, which would else hold thousands of shapes.
        alpha = min(0.6, max(0.08, 350 / len(sample.x)))
        axes.scatter(sample.x, sample.y, s=5, alpha=alpha, color=colour, edgecolors="none",
                     rasterized=True)  # fmt: skip
        if triplets:
            low, high = (f(np.nanmin(sample.y), np.nanmax(sample.x)) for f in (min, max))
            axes.plot([low, high], [low, high], color="#222222", linewidth=0.8)
        axes.set_title(_short(name), fontsize=9)
        axes.grid(alpha=0.2)
    title = TASKS[first.task].title if first.task in TASKS else first.task
    figure.suptitle(f"{title}, {first.split} ({len(first.x):,})", fontsize=10)
    figure.supxlabel("similarity to the positive" if triplets else "human score", fontsize=8)
    figure.supylabel("similarity to the negative" if triplets else "similarity", fontsize=8)
    return figure


def _grid(
    count: int, width: float, height: float, margin: float = 0.4
) -> "tuple[Figure, list[Axes]]":
    columns = min(_COLUMNS, count)
    rows = math.ceil(count / columns)
    size = (margin + width * columns, 0.4 + height * rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels[:count]


def _shades(values: Floats) -> Floats:
    """Distance from the mean of the column on one scale for all columns, in [0, 1]."""
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, values, 0).sum(axis=0) / counts
    apart = values - means
    widest = max(float(np.max(np.abs(np.where(known, apart, 0)), initial=0)), 1.0)
    return np.asarray(0.5 + apart / (2 * widest), dtype=np.float64)


def _margin(names: Sequence[str]) -> float:
    return 0.3 + 0.075 * max(map(len, names))


def _short(name: str) -> str:
    """A name that fits beside a plot: its end tells models of one folder apart."""
    name = name.removeprefix(PREFIX)
    return name if len(name) <= _LONGEST else "…" + name[-_LONGEST + 1 :]
