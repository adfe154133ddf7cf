"""Figures 1 and 2 of Abdalla et al. (STR-2021) as SVG, of their pairs or of others."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firth.evaluation.baselines import Dice
from firth.evaluation.sets import EvaluationSet, load_set
from firth.reproduce.settings import TableSettings
from firth.run.errors import InputError, require
from firth.text.types import Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 20


def draw(name: str, pairs: str = TableSettings().pairs, data_dir: str | Path | None = None) -> str:
    """Return a figure as SVG: `str-figure1` or `str-figure2`.

    Args:
        name: The figure.
        pairs: Set or file of rated pairs; STR-2021 by default.
        data_dir: Folder of evaluation sets.

    Raises:
        InputError: There is no such figure or set.
    """
    if name not in FIGURES:
        raise InputError(f"{name}: no such figure. Expected one of {', '.join(FIGURES)}")
    matplotlib = require("matplotlib.figure", "reproduce", "Drawing a figure")
    from matplotlib import rc_context

    data, text = load_set(pairs, data_dir), io.StringIO()
    # The same pairs give the same bytes, and a name of a subset is no formula.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "text.parse_math": False}):
        figure = matplotlib.Figure(layout="constrained")
        axes = figure.subplots()
        FIGURES[name](data, axes)
        figure.legend(loc="outside right upper")
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def histogram(data: EvaluationSet, axes: "Axes") -> None:
    """Draw how many pairs have each score, by subset: bars of subsets stand on each other."""
    subsets = _subsets(data)
    scores = [data.scores[rows] for rows in subsets.values()]
    axes.hist(scores, _BINS, stacked=True, label=list(subsets))
    axes.set(xlabel="score", ylabel="pairs")


def scatter(data: EvaluationSet, axes: "Axes") -> None:
    """Draw the score of each pair over its word overlap (Dice); colors are subsets."""
    dice = Dice().similarities(data.pairs)
    for subset, rows in _subsets(data).items():
        axes.scatter(dice[rows], data.scores[rows], s=4, label=subset)
    axes.set(xlabel="word overlap", ylabel="score")


def _subsets(data: EvaluationSet) -> dict[str, Ints]:
    return data.subsets or {data.name: np.arange(len(data.rows))}


FIGURES: Mapping[str, Callable[[EvaluationSet, "Axes"], None]] = {
    "str-figure1": histogram,
    "str-figure2": scatter,
}
"""What draws each figure."""
