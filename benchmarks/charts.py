"""Charts of the pages, drawn from stored figures: accuracy against speed, and by language.

usage: python benchmarks/charts.py

Writes `docs/images/accuracy.svg` and `docs/images/languages.svg`. It needs matplotlib.
"""

import json
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from figures import ROOT, STORED

IMAGES = ROOT / "docs" / "images"
SYSTEMS = ("best n-grams", "n-grams of stems", "scorer", "encoder")
MARKERS = "|xo^"


def cells(name: str) -> dict[str, dict[str, Any]]:
    """Return the cells of a stored table by row and by heading."""
    stored = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    headings = stored["columns"][1:]
    return {row: dict(zip(headings, each, strict=True)) for row, each in stored["rows"].items()}


def accuracy() -> None:
    """Draw the correlation on STSb test, with its interval, over pairs scored per second."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, row in cells("accuracy-short").items():
        found, speed = row["STSb test"], row["pairs/s"]
        ends = [[found["value"] - found["low"]], [found["high"] - found["value"]]]
        axes.errorbar(speed, found["value"], ends, fmt="o", color="#3f51b5", capsize=3)
        axes.annotate(name, (speed, found["value"]), (6, 4), textcoords="offset points")
    axes.set_xscale("log")
    axes.margins(x=0.35)
    axes.set_xlabel("pairs scored per second of one core")
    axes.set_ylabel("Spearman x 100, STSb test")
    figure.savefig(IMAGES / "accuracy.svg", metadata={"Date": None})


def languages() -> None:
    """Draw the correlation of each system in each language."""
    one, two = cells("languages"), cells("languages-others")
    rows = {name: one[name] | two.get(name, {}) for name in reversed(one)}
    figure, axes = plt.subplots(figsize=(6.4, 0.34 * len(rows) + 1), layout="constrained")
    for system, marker in zip(SYSTEMS, MARKERS, strict=True):
        values = [row[system]["value"] for row in rows.values()]
        axes.plot(values, list(rows), marker, label=system, markersize=8, markerfacecolor="none")
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel("Spearman x 100, test")
    figure.legend(loc="outside upper center", ncols=len(SYSTEMS), frameon=False)
    figure.savefig(IMAGES / "languages.svg", metadata={"Date": None})


if __name__ == "__main__":
    mpl.rcParams |= {"svg.hashsalt": "firth", "font.size": 9, "svg.fonttype": "none"}
    IMAGES.mkdir(exist_ok=True)
    accuracy()
    languages()
