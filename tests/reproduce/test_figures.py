"""Figures as SVG: every pair is in them, and names of subsets are shown as they are."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from firth.evaluation.sets import load_set
from firth.reproduce.cli import app
from firth.reproduce.figures import draw, histogram, scatter
from firth.run.errors import InputError


def test_bars_hold_all_pairs(data_dir: Path) -> None:
    """Bars of subsets stand on each other: together they are as tall as there are pairs."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    data, axes = load_set("str-2021", data_dir), figure.subplots()
    histogram(data, axes)
    bars = [bar for group in axes.containers for bar in group]
    assert sum(bar.get_height() for bar in bars) == len(data.rows) == 60
    assert len({bar.get_facecolor() for bar in bars}) == len(data.subsets) == 3
    tops: dict[float, float] = {}
    for bar in bars:
        assert bar.get_y() == tops.get(bar.get_x(), 0.0)
        tops[bar.get_x()] = bar.get_y() + bar.get_height()
    assert len(tops) == 20, "bins"


def test_a_dot_for_each_pair(tmp_path: Path) -> None:
    """The place is that of overlap and score; names of subsets are no markup and no formula."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    path = tmp_path / "rated.csv"
    path.write_text("sentence1,sentence2,score,subset\na b,a b,1,<x>\na b,c d,0,$y$\n")
    axes = figure.subplots()
    scatter(load_set(str(path)), axes)
    places = np.concatenate([dots.get_offsets() for dots in axes.collections])
    assert sorted(places.tolist()) == [[0, 0], [1, 1]]
    text = draw("str-figure2", str(path))
    shown = "".join(ET.fromstring(text).itertext())
    assert all(name in shown for name in ("<x>", "$y$", "word overlap", "score"))
    assert text == draw("str-figure2", str(path)), "the same bytes"


def test_the_command_writes_a_file(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.svg"
    options = ["--data-dir", str(data_dir), "--out", str(out), "--quiet"]
    assert CliRunner().invoke(app, ["figure", "str-figure1", *options]).exit_code == 0
    assert "<svg" in out.read_text()
    with pytest.raises(InputError, match="str-figure1, str-figure2"):
        draw("str-figure3", data_dir=data_dir)
