"""What commands print: sentences and tables that fit a screen, and JSON from every one of them."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from firth.cli.main import app
from firth.pipeline import STEPS
from firth.run.run import Run
from firth.run.screen import WIDTH
from firth.scale import SCALE
from firth.summaries import _TOLD, many, sentences_of

A, B = "The ship reached the harbour.", "The sailor found the island."


def leaves(of: Any = None, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command that does something, by the words that call it."""
    command = of or get_command(app)
    inner = getattr(command, "commands", None)
    if inner is None:
        return {path: command}
    return {
        key: value for name in inner for key, value in leaves(inner[name], (*path, name)).items()
    }


@pytest.mark.parametrize("words", leaves(), ids=" ".join)
def test_every_command_has_json(words: tuple[str, ...]) -> None:
    """`--json` is an option of all of them."""
    options = {name for option in leaves()[words].params for name in option.opts}
    assert "--json" in options


def test_every_stage_has_sentences(tiny_run: Path) -> None:
    """What was built is told in sentences that end; a stage without any is told by its figures."""
    assert {step.stage.name for step in STEPS} == set(_TOLD)
    run, told = Run.open(tiny_run), 0
    for step in STEPS:
        if run.has(step.stage):
            text = sentences_of(step.stage.name, run.manifest(step.stage).summary)
            assert text.endswith("."), text
            assert not set("{}") & set(text)
            told += 1
    assert told > 10
    assert sentences_of("baseline bag", {"vocabulary": 1_200, "losses": [2.5, 1.25]}) == (
        "vocabulary 1,200; losses 2.5 to 1.25"
    )
    assert many(1, "word") == "1 word"


Firth = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tiny_run: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, its texts, pairs, and a questionnaire with answers."""
    here = tmp_path_factory.mktemp("output")
    shutil.copytree(tiny_run, here / "run")
    shutil.copytree(tiny_folder, here / "texts")
    rows = "".join(f"{A[:-1]} {n}.\t{B[:-1]} {n}.\t{n / 40}\n" for n in range(40))
    (here / "items.tsv").write_text("sentence1\tsentence2\tscore\n" + rows)
    return here


@pytest.fixture
def firth(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Firth:
    """Runs `firth ARGUMENTS…` in the folder, on a screen of 80 columns; returns what it printed."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    def call(*arguments: str) -> str:
        found = CliRunner().invoke(app, [*arguments, "--quiet"])
        assert found.exit_code == 0, f"{arguments}\n{found.output}\n{found.exception!r}"
        return found.stdout

    return call


def broken(text: str) -> list[str]:
    """Lines that are too wide though a space is in them, or end within an interval."""
    return [
        line
        for line in text.splitlines()
        if (len(line) > WIDTH and " " in line.strip()) or re.search(r"\[[-+\d., \u2212]*$", line)
    ]


ENSEMBLE = ("--set", "origin.method=ensemble")
TUPLES = ("--tuples", "tuples/tuples.csv")
ANSWERS = (*TUPLES, "--annotations", "answers/annotations.csv")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("corpus", "build", "texts", "--run", "other"),
    ("corpus", "stats", "--run", "run"),
    ("run", "run/config.yaml", "--run", "run"),
    ("train", "context", "--run", "run"),
    ("train", "coherence", "--run", "run"),
    ("train", "generator", "--run", "run"),
    ("train", "baseline", "bag", "--run", "run", "--set", "baselines.bag.epochs=1"),
    ("harvest", "--run", "run"),
    ("distill", "--run", "run"),
    ("index", "--run", "run"),
    ("scale", "--run", "run"),
    ("check-run", "run"),
    ("push", "run", "there"),
    ("pull", "there", "back"),
    ("check", "run", "run/surrogate", "baseline:tfidf@run", "baseline:dice", "--run", "run"),
    ("search", "run", A),
    ("search", "run", A, "--documents", "--why"),
    ("similarity", A, B, "--run", "run"),
    ("explain", A, B, "--run", "run", *ENSEMBLE),
    ("explain", A, B, "--run", "run", "--model", "run/surrogate"),
    ("explain", A, B, "--run", "run"),
    ("contexts", A, "--run", "run"),
    ("duplicates", "run", "--kind", "near", "--min-words", "4"),
    ("duplicates", "run"),
    ("mine", "run", "--rate", "0.1"),
    ("compare-documents", "texts/court-10.txt", "texts/court-14.txt", "--run", "run"),
    ("encode", "run", "--out", "vectors.npy", "--force"),
    ("report", "run", "--out", "report.html", "--force"),
    ("bws", "tuples", "items.tsv", "--out", "tuples"),
    ("bws", "simulate", "items.tsv", *TUPLES, "--out", "answers", "--annotators", "9",
     "--gold", "3"),
    ("bws", "score", *ANSWERS, "--gold", "answers/gold.csv", "--out", "scores",
     "--resamples", "20"),
    ("bws", "reliability", *ANSWERS, "--splits", "20", "--out", "reliability"),
    ("bws", "crowd", *TUPLES, "--items", "items.tsv", "--out", "crowd.csv", "--force"),
    ("pairs", "sample", "run", "--strategy", "overlap", "--pairs", "20", "--out", "chosen.tsv",
     "--force"),
)  # fmt: skip
"""In this order: later ones read what earlier ones wrote."""
NEW_IN_JSON = {
    "corpus build", "run", "train context", "train coherence", "train generator", "train baseline",
    "harvest", "distill", "index", "scale", "encode", "push", "pull", "bws tuples", "bws simulate",
    "bws score", "bws reliability", "bws crowd",
}  # fmt: skip
"""Whose JSON no other test asks for."""
ELSEWHERE = {
    ("build",), ("adapt",), ("evaluate",), ("compare",), ("leakage",), ("relatedness", "features"),
    ("relatedness", "models"), ("bws", "plan"), ("corpus", "add"), ("finetune",), ("plan",),
    ("demo",), ("mteb",), ("reproduce",), ("relatedness", "bins"),  # their tables are of the kind
    ("example",), ("serve",), ("bws", "serve"), ("bws", "export"),  # a line
}  # fmt: skip


def test_all_commands_fit_the_screen(firth: Firth) -> None:
    """At 80 columns no line is wider, and no interval broken; --json prints JSON alone."""
    for command in COMMANDS:
        text = firth(*command)
        assert text, command
        assert broken(text) == [], f"{command}\n{text}"
        if NEW_IN_JSON & {command[0], " ".join(command[:2])}:
            assert isinstance(json.loads(firth(*command, "--json")), dict), command


def test_nearly_all_commands_are_looked_at() -> None:
    """The premise: what is not run above is named, with where it is."""
    known = leaves()
    seen = {path for path in known for command in COMMANDS if command[: len(path)] == path}
    assert set(known) - seen == ELSEWHERE
    assert broken("a [1.0,\n 2.0] b\n" + "word " * 20) != []


def test_built_stages_keep_their_keys_in_json(firth: Firth) -> None:
    """Stage → whether it was up to date, and its summary as the manifest has it."""
    found = json.loads(firth("scale", "--run", "run", "--json"))
    assert found["scale"]["reused"] is True
    assert found["scale"]["summary"] == Run.open("run").manifest(SCALE).summary
    assert firth("scale", "--run", "run").startswith("scale (up to date): Cosines of ")
