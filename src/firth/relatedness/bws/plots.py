"""The plot of a reliability: PNG and SVG, the same bytes for the same data."""

from pathlib import Path
from typing import Any

import numpy as np

from firth.relatedness.bws.reliability import Reliability
from firth.run.errors import MissingExtraError
from firth.run.files import write_atomically

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawing
except ImportError as error:
    raise MissingExtraError("The plot of a reliability", "report") from error

NAME = "reliability"
_STYLE: Any = {"svg.hashsalt": "firth", "font.family": "DejaVu Sans", "font.size": 9}
_COLOURS = {"Spearman": "#2a6f97", "Pearson": "#bc6c25"}


def write_plot(folder: Path, found: Reliability) -> list[Path]:
    """Write `reliability.png` and `reliability.svg`: the splits, and how they grow with answers."""
    written = []
    with mpl.rc_context(_STYLE):
        drawing = plot_reliability(found)
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = folder / f"{NAME}.{ending}"
            with write_atomically(path) as partial:
                drawing.savefig(partial, format=ending, dpi=150, metadata=metadata)
            written.append(path)
    return written


def plot_reliability(found: Reliability) -> Drawing:
    """Left, a histogram of the splits; right, mean and 95 % of splits by answers per tuple."""
    panels = 2 if len(found.by_answers) > 1 else 1
    drawing = Drawing(figsize=(3.6 * panels, 2.9), layout="constrained")
    axes = drawing.subplots(1, panels, squeeze=False)[0]
    pairs = (("Spearman", found.correlations.spearman), ("Pearson", found.correlations.pearson))
    for name, values in pairs:
        known = values[np.isfinite(values)]
        axes[0].hist(known, bins=30, alpha=0.7, color=_COLOURS[name], label=name)
    axes[0].set_xlabel("correlation of the two halves")
    axes[0].set_ylabel(f"of {found.splits:,} splits")
    axes[0].legend(frameon=False)
    if panels == 2:
        numbers = [level.answers for level in found.by_answers]
        for name in _COLOURS:
            levels = [getattr(level, name.lower()) for level in found.by_answers]
            means = np.array([one.mean for one in levels])
            ends = np.array([[one.low, one.high] for one in levels]).T
            axes[1].errorbar(
                numbers, means, yerr=np.abs(ends - means), color=_COLOURS[name], marker="o",
                capsize=3, label=name,
            )  # fmt: skip
        axes[1].set_xticks(numbers)
        axes[1].set_xlabel("answers per tuple")
        axes[1].set_ylabel("split-half reliability")
        axes[1].grid(alpha=0.25)
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return drawing
