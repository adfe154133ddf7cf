"""Figures 1 and 2 of Abdalla et al. (STR-2021) as SVG, of their pairs or of others."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

import numpy as np

from firth.evaluation.baselines import Dice
from firth.evaluation.sets import EvaluationSet, load_set
from firth.reproduce.settings import TableSettings
from firth.run.errors import InputError
from firth.text.types import Ints

_BINS = 20
_WIDTH, _HEIGHT, _MARGIN = 480, 300, 44


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
    return FIGURES[name](load_set(pairs, data_dir))


def histogram(data: EvaluationSet) -> str:
    """Draw how many pairs have each score, by subset: bars of subsets stand on each other."""
    low, high = float(data.scores.min()), float(data.scores.max())
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    counts = {
        subset: np.histogram(data.scores[rows], edges)[0] for subset, rows in _subsets(data).items()
    }
    top = int(sum(counts.values()).max())  # type: ignore[union-attr]
    tall = (_HEIGHT - 2 * _MARGIN) / top
    wide = (_WIDTH - 2 * _MARGIN) / _BINS
    floor, shapes = np.zeros(_BINS), []
    for color, (subset, heights) in zip(_colors(counts), counts.items(), strict=True):
        for number, height in enumerate(heights.tolist()):
            x, y = _MARGIN + number * wide, _HEIGHT - _MARGIN - (floor[number] + height) * tall
            shapes.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" '
                f'height="{height * tall:.1f}" fill="{color}"><title>{escape(subset)}: '
                f"{height}</title></rect>"
            )
        floor += heights
    ends = ((f"{edges[0]:g}", f"{edges[-1]:g}"), ("0", f"{top:,}"))
    return _framed(shapes, "score", "pairs", ends, _colors(counts))


def scatter(data: EvaluationSet) -> str:
    """Draw the score of each pair over its word overlap (Dice); colors are subsets."""
    dice, scores = Dice().similarities(data.pairs), data.scores
    low, high = float(scores.min()), float(scores.max())
    subsets, shapes = _subsets(data), []
    for color, rows in zip(_colors(subsets), subsets.values(), strict=True):
        for overlap, score in zip(dice[rows].tolist(), scores[rows].tolist(), strict=True):
            x = _MARGIN + overlap * (_WIDTH - 2 * _MARGIN)
            share = (score - low) / ((high - low) or 1)
            y = _HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN)
            shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.5" fill="{color}"/>')
    ends = (("0", "1"), (f"{low:g}", f"{high:g}"))
    return _framed(shapes, "word overlap", "score", ends, _colors(subsets))


def _subsets(data: EvaluationSet) -> dict[str, Ints]:
    return data.subsets or {data.name: np.arange(len(data.rows))}


def _colors(subsets: Mapping[str, object]) -> dict[str, str]:
    """Return color → subset, with hues that are equally far apart."""
    return {
        f"hsl({round(360 * number / len(subsets))}, 60%, 45%)": name
        for number, name in enumerate(subsets)
    }


def _framed(
    shapes: list[str],
    across: str,
    upward: str,
    ends: tuple[tuple[str, str], tuple[str, str]],
    legend: Mapping[str, str],
) -> str:
    """Return the SVG of shapes with axes, their names and ends, and what the colors mean."""
    left, right, top, bottom = _MARGIN, _WIDTH - _MARGIN, _MARGIN, _HEIGHT - _MARGIN
    words = [
        (left, bottom + 16, "start", ends[0][0]),
        (right, bottom + 16, "end", ends[0][1]),
        ((left + right) / 2, bottom + 32, "middle", across),
        (left - 4, bottom, "end", ends[1][0]),
        (left - 4, top + 4, "end", ends[1][1]),
        (left, top - 8, "start", upward),
    ]
    marks = [
        f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
        for x, y, anchor, text in words
    ]
    for number, (color, name) in enumerate(legend.items()):
        y = top + 14 * number
        marks.append(f'<rect x="{right + 10}" y="{y}" width="8" height="8" fill="{color}"/>')
        marks.append(f'<text x="{right + 22}" y="{y + 8}">{escape(name)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + 90} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="11">\n'
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#333"/>\n'
        + "\n".join([*shapes, *marks])
        + "\n</svg>\n"
    )


FIGURES: Mapping[str, Callable[[EvaluationSet], str]] = {
    "str-figure1": histogram,
    "str-figure2": scatter,
}
"""What draws each figure."""
