"""Plots as SVG that takes the colours and the width of the page it stands on."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.curves import Curve
from firth.run.errors import MissingExtraError
from firth.run.screen import escaped

try:
    import matplotlib as mpl
    from markupsafe import Markup
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("The report", "report") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#2a6f97", "#bc6c25", "#606c38", "#9d4edd")
# The size and the font belong to the page; colours of text and lines follow it, so that the plots
# can be read in light and in dark. Equal data give equal bytes.
_STYLE: Any = {"svg.hashsalt": "firth", "svg.fonttype": "none", "font.size": 10}


def lines(curves: Mapping[str, Curve], ylabel: str) -> Markup:
    """Lines over training steps; their names in a legend."""
    figure, axes = _figure("step", ylabel)
    for colour, (name, points) in zip(_COLOURS, curves.items(), strict=False):
        steps, values = zip(*points, strict=True) if points else ((), ())
        axes.plot(steps, values, color=colour, label=name, linewidth=1.8)
    return _svg(figure, axes, legend=len(curves) > 1)


def histogram(scores: Mapping[str, Sequence[float]]) -> Markup:
    """Overlaid histograms, one a kind of pair, on common bins."""
    figure, axes = _figure("similarity by the teacher", "pairs")
    together = [score for kind in scores.values() for score in kind]
    bins = np.linspace(min(together), max(together), 31).tolist()
    for colour, (name, values) in zip(_COLOURS, scores.items(), strict=False):
        axes.hist(values, bins=bins, alpha=0.55, color=colour, label=f"{name} ({len(values)})")
    return _svg(figure, axes, legend=True)


def scatter(x: Sequence[float], y: Sequence[float]) -> Markup:
    """One dot a pair."""
    figure, axes = _figure("similarity by the teacher", "Surrogate cosine")
    axes.scatter(x, y, s=14, alpha=0.6, color=_COLOURS[0], edgecolors="none")
    return _svg(figure, axes, legend=False)


def _figure(xlabel: str, ylabel: str) -> "tuple[Figure, Axes]":
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    return figure, axes


def _svg(figure: Figure, axes: "Axes", legend: bool) -> Markup:
    if legend:
        axes.legend(frameon=False, fontsize=9)
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Black is the page's own colour of text; fixed sizes give way to the width of the page.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"(stroke|fill): #(000000|b0b0b0)", r"\1: currentColor", svg)
    return Markup(escaped(svg.replace("<text ", '<text fill="currentColor" ')))
