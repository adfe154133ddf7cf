"""The histogram of overlap; the same values give the same bytes."""

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.run.errors import MissingExtraError

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("A plot", "report") from error

_STYLE: Any = {"font.family": "DejaVu Sans", "font.size": 9}


def draw(chosen: npt.NDArray[np.int64], pool: npt.NDArray[np.int64], label: str) -> bytes:
    """The chosen pairs as bars, and all there were to choose from as a line on the same scale.

    Args:
        chosen: Pairs by overlap, shape (bins,), from 0 to 1.
        pool: The same of the candidates.
        label: Of the x axis.
    """
    edges = np.linspace(0, 1, len(chosen) + 1)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.bar(edges[:-1], chosen, width=1 / len(chosen), align="edge", color="#2a6f97",
                 edgecolor="white", label=f"chosen ({int(chosen.sum()):,})")  # fmt: skip
        if pool.sum() > chosen.sum():
            scaled = pool * (chosen.sum() / pool.sum())
            axes.stairs(
                scaled, edges, color="#bc6c25", label=f"candidates ({pool.sum():,}), scaled"
            )
        axes.set_xlim(0, 1)
        axes.set_xlabel(label)
        axes.set_ylabel("pairs")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8)
        written = io.BytesIO()
        figure.savefig(written, format="png", dpi=130, metadata={"Software": None})
    return written.getvalue()
