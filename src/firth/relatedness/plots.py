"""The plots of this package: the same data give the same bytes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.run.errors import MissingExtraError
from firth.run.files import write_atomically
from firth.run.progress import note

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_STYLE: Any = {"svg.hashsalt": "firth", "font.family": "DejaVu Sans", "font.size": 9}
_COLOURS = ("#2a6f97", "#bc6c25")


def save(draw: "Callable[[], Drawing]", *paths: Path, what: str = "A plot") -> list[Path]:
    """Write a drawing to `.png` and `.svg` files, and return them; without matplotlib none, and a
    note says so of `what`.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        note(str(MissingExtraError(what, "plots")))
        return []
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        with mpl.rc_context(_STYLE), write_atomically(path) as partial:
            draw().savefig(partial, format=path.suffix[1:], dpi=150, metadata=metadata)
    return list(paths)


def draw_reliability(
    splits: Mapping[str, Floats],
    answers: Sequence[int],
    levels: Mapping[str, Sequence[tuple[float, float, float]]],
) -> "Drawing":
    """Left, a histogram of the splits: measure → its value in each, (splits,). Right, where there
    are two or more `answers` per tuple (ascending): measure → for each of them the mean, lower and
    upper end of 95 % of the splits.
    """
    panels = 2 if len(answers) > 1 else 1
    drawing, axes = _axes(3.6 * panels, 2.9, panels)
    for (name, values), colour in zip(splits.items(), _COLOURS, strict=True):
        axes[0].hist(values[np.isfinite(values)], bins=30, alpha=0.7, color=colour, label=name)
    axes[0].set(xlabel="correlation of the two halves",
                ylabel=f"of {len(next(iter(splits.values()))):,} splits")  # fmt: skip
    axes[0].legend(frameon=False)
    if panels == 2:
        for (name, found), colour in zip(levels.items(), _COLOURS, strict=True):
            means, *ends = np.array(found).T
            axes[1].errorbar(answers, means, yerr=np.abs(np.array(ends) - means), color=colour,
                             marker="o", capsize=3, label=name)  # fmt: skip
        axes[1].set_xticks(answers)
        axes[1].set(xlabel="answers per tuple", ylabel="split-half reliability")
        axes[1].grid(alpha=0.25)
    return drawing


def draw_overlaps(chosen: Ints, pool: Ints, label: str) -> "Drawing":
    """The chosen pairs as bars, and all there were to choose from as a line on the same scale; both
    by overlap from 0 to 1, shape (bins,).
    """
    edges = np.linspace(0, 1, len(chosen) + 1)
    drawing, (axes,) = _axes(6.4, 3.6)
    axes.bar(edges[:-1], chosen, width=1 / len(chosen), align="edge", color=_COLOURS[0],
             edgecolor="white", label=f"chosen ({int(chosen.sum()):,})")  # fmt: skip
    if pool.sum() > chosen.sum():
        scaled = pool * (chosen.sum() / pool.sum())
        label_of_pool = f"candidates ({pool.sum():,}), scaled"
        axes.stairs(scaled, edges, color=_COLOURS[1], label=label_of_pool)
    axes.set(xlim=(0, 1), xlabel=label, ylabel="pairs")
    axes.legend(fontsize=8)
    return drawing


def draw_scatter(
    overlap: Floats, scores: Floats, domains: Mapping[str, Ints], title: str
) -> "Drawing":
    """Figure 2: lexical overlap (Dice) against score, both (n,), a dot a pair, a colour for the
    rows of each domain.
    """
    drawing, (axes,) = _axes(5.6, 4.6)
    alpha = min(0.7, max(0.15, 900 / len(scores)))
    for number, (name, rows) in enumerate((domains or {"": np.arange(len(scores))}).items()):
        # Dots become an image in the SVG too, which would else hold thousands of shapes.
        axes.scatter(overlap[rows], scores[rows], s=6, alpha=alpha, color=f"C{number % 10}",
                     edgecolors="none", rasterized=True, label=_plain(name))  # fmt: skip
    axes.set(xlabel="lexical overlap (Dice)", ylabel="score")
    axes.set_title(_plain(title), fontsize=10)
    axes.grid(alpha=0.2)
    if domains:
        for handle in axes.legend(fontsize=7, markerscale=2).legend_handles:
            handle.set_alpha(1)
    return drawing


def _axes(width: float, height: float, panels: int = 1) -> tuple["Drawing", Any]:
    """A drawing of so many inches, and its panels side by side, without a frame."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width, height), layout="constrained")
    axes = drawing.subplots(1, panels, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return drawing, axes


def _plain(text: str) -> str:
    """Text that matplotlib takes for no formula, whatever a user's file calls its domains."""
    return text.replace("$", r"\$")
