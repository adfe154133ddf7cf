"""`firth.run.stage`: what is written is whole, and what is reused is what was asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firth.run import stage as artifacts
from firth.run.errors import InputError
from firth.run.files import write_atomically, write_json
from firth.run.stage import MANIFEST, SCRATCH, Manifest, Stage, execute

STAGE = Stage(name="toy", code=("words",), command="firth toy", libraries=("pydantic",))


class Builder:
    """Writes one file, and counts how often it was called."""

    def __init__(self, text: str = "one") -> None:
        self.calls = 0
        self.text = text

    def __call__(self, workspace: Path) -> Mapping[str, Any]:
        self.calls += 1
        (workspace / "data.txt").write_text(self.text)
        (workspace / SCRATCH).mkdir(exist_ok=True)
        (workspace / SCRATCH / "checkpoint").write_text("half")
        return {"letters": len(self.text)}


def build(run: Path, builder: Builder, **config: Any) -> artifacts.Outcome:
    return execute(run, STAGE, inputs={"text": "abc"}, config=config, build=builder)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """An exception while writing keeps the previous content and leaves nothing beside it."""
    path = tmp_path / "file.json"
    write_json(path, {"a": 1})

    def torn() -> None:
        with write_atomically(path) as partial:
            partial.write_text("torn")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        torn()
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]


def test_equal_values_give_equal_bytes(tmp_path: Path) -> None:
    """The order of keys does not change the file, nor the fingerprint."""
    one, two = {"a": 1, "b": [2, "é"]}, {"b": [2, "é"], "a": 1}
    assert list(one) != list(two)
    write_json(tmp_path / "one", one)
    write_json(tmp_path / "two", two)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert artifacts.fingerprint_value(one) == artifacts.fingerprint_value(two)


def test_a_finished_stage_is_reused(tmp_path: Path) -> None:
    """The same inputs, configuration and code build once; scratch does not survive."""
    builder = Builder()
    assert not build(tmp_path, builder, x=1).reused
    again = build(tmp_path, builder, x=1)
    assert again.reused
    assert builder.calls == 1
    assert set(again.manifest.outputs) == {"data.txt"}
    assert again.manifest.summary == {"letters": 3}
    assert {p.name for p in (tmp_path / "toy").iterdir()} == {"data.txt", MANIFEST}


def test_a_change_of_config_rebuilds(tmp_path: Path) -> None:
    """Another configuration replaces the stage, and its old files are gone."""
    build(tmp_path, Builder("one"), x=1)
    builder = Builder("other")
    assert not build(tmp_path, builder, x=2).reused
    assert (tmp_path / "toy" / "data.txt").read_text() == "other"
    assert [p.name for p in tmp_path.iterdir()] == ["toy"]


def test_a_change_of_code_rebuilds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other code asks for another artefact."""
    builder = Builder()
    build(tmp_path, builder)
    monkeypatch.setattr(artifacts, "fingerprint_code", lambda *_: "other")
    assert not build(tmp_path, builder).reused
    assert builder.calls == 2


def test_a_lost_file_rebuilds(tmp_path: Path) -> None:
    """A manifest whose files are gone is not believed."""
    builder = Builder()
    build(tmp_path, builder)
    (tmp_path / "toy" / "data.txt").unlink()
    assert not build(tmp_path, builder).reused
    assert (tmp_path / "toy" / "data.txt").is_file()


def test_an_interrupted_build_is_continued_only_for_the_same_request(tmp_path: Path) -> None:
    """Scratch of an interrupted build is found again, unless something else is asked for."""

    def interrupted(workspace: Path) -> Mapping[str, Any]:
        (workspace / SCRATCH).mkdir()
        (workspace / SCRATCH / "step").write_text("5")
        (workspace / ".data.txt.1.partial").write_text("torn")
        raise KeyboardInterrupt

    found: list[bool] = []

    def resumed(workspace: Path) -> Mapping[str, Any]:
        found.append((workspace / SCRATCH / "step").is_file())
        assert not list(workspace.glob(".*.partial"))
        (workspace / "data.txt").write_text("whole")
        return {}

    for config, expected in (({"x": 1}, True), ({"x": 2}, False)):
        with pytest.raises(KeyboardInterrupt):
            execute(tmp_path, STAGE, inputs={}, config={"x": 1}, build=interrupted)
        assert not (tmp_path / "toy").exists()
        execute(tmp_path, STAGE, inputs={}, config=config, build=resumed)
        assert found.pop() is expected
        assert list(Manifest.read(tmp_path / "toy").outputs) == ["data.txt"]  # type: ignore[union-attr]
        (tmp_path / "toy" / MANIFEST).unlink()
        (tmp_path / "toy" / "data.txt").unlink()
        (tmp_path / "toy").rmdir()


def test_a_stage_killed_between_sealing_and_renaming_is_moved_into_place(tmp_path: Path) -> None:
    """A sealed workspace is used as it is: nothing is built twice."""
    builder = Builder()
    build(tmp_path, builder)
    (tmp_path / "toy").rename(tmp_path / ".toy.work")
    assert not build(tmp_path, builder).reused
    assert builder.calls == 1
    assert (tmp_path / "toy" / "data.txt").is_file()


def test_the_digest_depends_on_the_outputs_only(tmp_path: Path) -> None:
    """A rebuild with the same bytes does not make later stages stale."""
    first = build(tmp_path, Builder("same"), x=1).manifest
    second = build(tmp_path, Builder("same"), x=2).manifest
    third = build(tmp_path, Builder("else"), x=2, y=1).manifest
    assert first.request != second.request
    assert first.digest == second.digest != third.digest


def test_comments_and_docstrings_are_not_code(tmp_path: Path) -> None:
    """The code fingerprint sees what runs, and only that."""
    import ast

    def dumped(source: str) -> str:
        return ast.dump(artifacts._without_docstrings(ast.parse(source)))

    plain = "def f(x):\n    return x"
    assert dumped(plain) == dumped('"""Page."""\ndef f(x):\n    "Doc."\n    # why\n    return x')
    assert dumped(plain) != dumped("def f(x):\n    return x + 1")


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    """The message says which file and which line."""
    path = tmp_path / "broken.json"
    path.write_text('{\n"a": }')
    with pytest.raises(InputError, match=r"broken\.json, line 2"):
        artifacts.read_json(path)
