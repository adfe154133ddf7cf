"""Draw lines; the same values give the same bytes."""

import io
from collections.abc import Sequence
from typing import Any

from firth.reproduce.report import Lines
from firth.run.errors import MissingExtraError

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as error:
    raise MissingExtraError("A plot", "report") from error

_STYLE: Any = {"svg.hashsalt": "firth", "font.size": 10}


def draw(lines: Lines, title: str, kind: str) -> bytes:
    """The plot as `png` or `svg`. A line of printed figures is dashed, in the colour of its own."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(max(6.4, 0.55 * len(lines.places) + 2.5), 4.4))
        axes = figure.subplots()
        solid = [name for name in lines.values if name not in lines.dashed]
        for number, name in enumerate((*solid, *sorted(lines.dashed))):
            values = _floats(lines.values[name])
            dashed = name in lines.dashed
            join = "--" if dashed else "-"
            style = join if lines.connected else "none"
            own = number
            if dashed:
                own = next((i for i, other in enumerate(solid) if name.startswith(other)), number)
            _band(axes, lines, name, values, f"C{own % 10}")
            known = [place for place, value in enumerate(values) if value == value]
            axes.plot(
                known,
                [values[place] for place in known],
                linestyle=style,
                marker="D" if dashed and not lines.connected else "o",
                markersize=3 if dashed else 4,
                linewidth=1 if dashed else 1.6,
                color=f"C{own % 10}",
                alpha=0.6 if dashed else 1,
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
        figure.savefig(written, format=kind, dpi=120, bbox_inches="tight", metadata=metadata)
    return written.getvalue()


def _floats(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _band(axes: Any, lines: Lines, name: str, values: Sequence[float], color: str) -> None:
    if name not in lines.bands:
        return
    low, high = (_floats([bounds[side] for bounds in lines.bands[name]]) for side in (0, 1))
    if lines.connected:
        known = [i for i, value in enumerate(low) if value == value]
        axes.fill_between(
            known, [low[i] for i in known], [high[i] for i in known], color=color, alpha=0.12
        )
    else:
        axes.vlines(range(len(values)), low, high, color=color, alpha=0.35)
