"""`build`: documents in, a run that can be searched out, and what is said of it is so."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from firth.check.items import Kind
from firth.cli.main import app
from firth.run.errors import ConfigError, InputError
from firth.search.search import Search
from firth.searchable import Searchable, build

TINY: dict[str, Any] = {
    "corpus": {"held_out": 4},
    "context": {"bag": {"dimensions": 12, "epochs": 2, "batch": 32}},
    "surrogate": {"dimensions": 16, "epochs": 1},
    "scale": {"pairs": 2_000, "origin_pairs": 50},
}
"""Settings with which all of it takes seconds."""


@pytest.fixture(scope="module")
def texts(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny documents, a record that is none, and a document twice."""
    folder = Path(shutil.copytree(tiny_folder, tmp_path_factory.mktemp("mine") / "texts"))
    shutil.copy(folder / "sea-0.txt", folder / "zz-again.txt")
    (folder / "bad.jsonl").write_text("{broken\n")
    return folder


@pytest.fixture(scope="module")
def built(texts: Path) -> Searchable:
    """A run built in one go. Do not change it."""
    return build(texts, texts.parent / "run", **TINY)


def test_what_is_built_can_be_searched(built: Searchable) -> None:
    """And holds what its summary says."""
    search = Search.open(built.run)
    assert search.search(built.examples[0], top=1)[0].text == built.examples[0]
    assert {"corpus", "context", "surrogate", "index", "scale"} <= set(built.built)
    assert built.corpus["duplicates"] == 1
    assert sum(built.corpus["skipped"].values()) == 1


def test_the_summary_tells_all_of_it(built: Searchable) -> None:
    """What was read, skipped and left out, the check's figures, the model, and what to type."""
    told = " ".join(built.text().replace(" \\\n", "\n").split())
    assert built.check is not None
    figures = [str(one.accuracy[Kind.NEXT]) for one in built.check.systems]
    for part in ("1 broken JSON", "1 document with the words of an earlier one", *figures):
        assert part in told
    assert all(command in told for command in built.commands())
    json.dumps(built.as_dict())


def test_verdicts_are_those_of_the_check(built: Searchable) -> None:
    """Ahead, behind and neither are told apart; without questions, nothing is claimed."""
    assert built.check is not None
    ours, theirs = built.check.systems
    told = set()
    for low, high in ((1.0, 2.0), (-2.0, -1.0), (-1.0, 1.0)):
        lead = replace(ours.ahead[Kind.NEXT], low=low, high=high)
        one = replace(ours, ahead={Kind.NEXT: lead})
        told.add(replace(built, check=replace(built.check, systems=(one, theirs))).text())
    told.add(replace(built, check=None).text())
    assert len(told) == 4


def test_again_builds_nothing_and_says_the_same(built: Searchable, texts: Path) -> None:
    """The same call finds everything up to date; the check's figures do not move."""
    again = build(texts, built.run, **TINY)
    assert again.built == ()
    assert again.check == built.check
    assert again.commands() == built.commands()


def test_the_commands_that_are_named_run(built: Searchable) -> None:
    """`Next:` can be typed as it stands."""
    for command in built.commands():
        program, *arguments = shlex.split(command)
        assert program == "firth"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"


def test_the_command_line_gives_json(built: Searchable, texts: Path) -> None:
    """`firth build --json` has the figures of the call in Python."""
    settings = [
        f"--set={section}.{name}={json.dumps(value)}"
        for section, values in TINY.items()
        for name, value in values.items()
    ]
    given = ["build", str(texts), "--run", str(built.run), "--json", "--quiet", *settings]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["corpus"] == built.corpus
    assert found["next"] == list(built.commands())


def test_what_is_wrong_is_said_before_any_work(tmp_path: Path) -> None:
    """An input or a setting that is not there leaves no run."""
    with pytest.raises(InputError, match="no such file"):
        build(tmp_path / "none", tmp_path / "run")
    (tmp_path / "a.txt").write_text("A ship. A cow.")
    with pytest.raises(ConfigError, match="dimension"):
        build(tmp_path / "a.txt", tmp_path / "run", surrogate={"dimension": 3})
    assert not (tmp_path / "run").exists()
