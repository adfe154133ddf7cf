"""Figures as SVG: every pair is in them, names are escaped, and a set of one kind has a legend."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.evaluation.sets import load_set
from firth.reproduce.cli import app
from firth.reproduce.figures import draw
from firth.run.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_hold_all_pairs(data_dir: Path) -> None:
    """The numbers that bars are titled with sum to the pairs, and subsets have own colors."""
    root = ET.fromstring(draw("str-figure1", data_dir=data_dir))
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    data = load_set("str-2021", data_dir)
    assert sum(int(text.rpartition(": ")[2]) for text in titles) == len(data.rows) == 60
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert len({bar.get("fill") for bar in bars}) == len(data.subsets) == 3
    floor = max(float(bar.get("y", 0)) + float(bar.get("height", 0)) for bar in bars)
    assert min(float(bar.get("y", 0)) for bar in bars) >= 43.9
    assert floor <= 256.1


def test_a_dot_for_each_pair(tmp_path: Path) -> None:
    """The place is that of overlap and score; names of subsets are escaped."""
    path = tmp_path / "rated.csv"
    path.write_text("sentence1,sentence2,score,subset\na b,a b,1,<x>\na b,c d,0,y\n")
    text = draw("str-figure2", str(path))
    dots = list(ET.fromstring(text).iter(f"{SVG}circle"))
    places = {(dot.get("cx"), dot.get("cy")) for dot in dots}
    assert places == {("436.0", "44.0"), ("44.0", "256.0")}
    assert "&lt;x&gt;" in text


def test_the_command_writes_a_file(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.svg"
    options = ["--data-dir", str(data_dir), "--out", str(out), "--quiet"]
    assert CliRunner().invoke(app, ["figure", "str-figure1", *options]).exit_code == 0
    assert out.read_text().startswith("<svg")
    with pytest.raises(InputError, match="str-figure1, str-figure2"):
        draw("str-figure3", data_dir=data_dir)
