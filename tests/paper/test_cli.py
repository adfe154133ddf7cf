"""The commands `firth paper ...`: options reach the settings, and results are printed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from firth.paper.cli import app
from firth.run.files import write_json

from .conftest import tiny_documents

PAIR = ("The ship reached the harbour.", "The sailor feared the storm.")
SIZES = (
    "paper.contexts={size = 3, shortlist = 5}", "paper.coherence={hidden = 8, passes = 0.1}",
    "paper.generator={layers = 1, width = 16, passes = 0.08, shared = true}",
    "paper.window=2", "paper.harvest={pairs = 40, shard_pairs = 20}",
    "paper.fits.weights={coherence = 1, sentence = 1, left = 1, right = 1}",
    "paper.surrogate={base = \"transformer\", dimensions = 32, layers = 1, epochs = 1}",
)  # fmt: skip


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--quiet"], catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that one command built from documents to the Surrogate, by the preset `paper`."""
    path = tmp_path_factory.mktemp("cli")
    write_json(path / "documents.json", tiny_documents())
    sets = [word for size in SIZES for word in ("--set", size)]
    options = ["--run", str(path / "run"), "--preset", "paper", "--to", "surrogate", *sets]
    result = invoke("build", str(path / "documents.json"), *options)
    assert result.exit_code == 0, result.output
    assert "paper/surrogate" in result.stdout
    return path / "run"


def test_a_second_build_changes_nothing(folder: Path) -> None:
    result = invoke("build", "--run", str(folder), "--to", "surrogate")
    assert result.stdout.count("unchanged") == 7


def test_explanations_are_printed_and_written(folder: Path, tmp_path: Path) -> None:
    """The score of raw cosines, the contexts that add most, and a file."""
    out = tmp_path / "why.html"
    result = invoke("explain", *PAIR, "--run", str(folder), "--top", "2", "--out", str(out))
    assert "similarity" in result.stdout
    assert out.read_text().startswith("<!")
    value = json.loads(invoke("explain", *PAIR, "--run", str(folder), "--json").stdout)
    assert value["score"] == pytest.approx(sum(row["contribution"] for row in value["rows"]))
