"""Draw lines; the same values give the same bytes."""

import io
from typing import Any

from firth.errors import MissingExtraError
from firth.reproduce.report import Lines

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
            values = [float("nan") if v is None else v for v in lines.values[name]]
            dashed = name in lines.dashed
            own = next((i for i, other in enumerate(solid) if name.startswith(other)), number)
            axes.plot(
                range(len(values)),
                values,
                "--" if dashed else "-",
                marker="o",
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
