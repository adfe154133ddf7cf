"""Figure 2: lexical overlap against relatedness, a dot a pair; equal data give equal bytes."""

import io
from typing import Any

import numpy as np

from firth.evaluate.metrics import Floats
from firth.evaluate.rows import EvaluationSet
from firth.run.errors import MissingExtraError

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("The scatter plot", "report") from error

_STYLE: Any = {"svg.hashsalt": "firth", "font.family": "DejaVu Sans", "font.size": 9}


def draw_scatter(data: EvaluationSet, overlap: Floats, kind: str) -> bytes:
    """Dice (n,) on the x axis, score on the y axis, as `png` or `svg`.

    Pairs of several domains have a colour each.
    """
    scores = np.array([row.score for row in data.rows])
    domains = {name: rows for name, rows in data.subtasks.items() if name != "all"}
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(5.6, 4.6), layout="constrained")
        axes = figure.subplots()
        alpha = min(0.7, max(0.15, 900 / len(scores)))
        for number, (name, rows) in enumerate((domains or {"": np.arange(len(scores))}).items()):
            # Dots become an image in the SVG too, which would else hold thousands of shapes.
            axes.scatter(
                overlap[rows],
                scores[rows],
                s=6,
                alpha=alpha,
                color=f"C{number % 10}",
                edgecolors="none",
                rasterized=True,
                label=name,
            )
        axes.set_xlabel("lexical overlap (Dice)")
        axes.set_ylabel("score")
        axes.set_title(f"{data.task.title}: {len(scores):,} pairs", fontsize=10)
        axes.grid(alpha=0.2)
        axes.spines[["top", "right"]].set_visible(False)
        if domains:
            legend = axes.legend(fontsize=7, markerscale=2)
            for handle in legend.legend_handles:
                if handle is not None:
                    handle.set_alpha(1)
        written = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(written, format=kind, dpi=150, metadata=metadata)
    return written.getvalue()
