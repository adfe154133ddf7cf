"""`firth.run.run`: a stage is handed what it declares; what was built with, is kept."""

import os
import pickle
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from firth.run.config import Config
from firth.run.errors import (
    ConfigError,
    DamagedError,
    InputError,
    MissingExtraError,
    MissingStageError,
)
from firth.run.run import CONFIG, Run
from firth.run.stage import Stage

ONE, TWO = Stage("one", "firth one --run"), Stage("two", "firth two --run")


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    (workspace / "data.txt").write_text(f"{run.config.seed}")
    return {}


def build_one(run: Run, **more: Any) -> bool:
    return run.build(ONE, fill, **{"settings": ["seed"], **more}).reused


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run", Config())


def test_a_stage_sees_only_what_it_declares(run: Run) -> None:
    """Settings and stages that are not declared cannot be read; those that are, can, with the
    fields of a section one by one."""
    build_one(run)
    seen: dict[str, Any] = {}

    def look(handed: Run, workspace: Path) -> Mapping[str, Any]:
        seen["words"] = handed.config.corpus.min_words
        seen["tune"] = handed.config.context.tune.steps
        seen["one"] = handed.folder(ONE)
        for undeclared in (
            lambda: handed.config.seed,
            lambda: handed.config.corpus.max_words,
            lambda: handed.config.context.model,
            lambda: handed.folder(TWO),
            lambda: handed.changed({"seed": 3}),
        ):
            with pytest.raises(RuntimeError, match="two"):
                undeclared()
        return fill(build_free, workspace)

    build_free = Run(run.path, run.config)
    run.build(TWO, look, reads=[ONE], settings=["corpus.min_words", "context.tune"])
    config = run.config
    assert seen == {
        "words": config.corpus.min_words, "tune": config.context.tune.steps,
        "one": run.path / "one",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reused"),
    [({"seed": 14}, False), ({"corpus": {"min_words": 4}}, True)],
)
def test_only_declared_settings_make_a_stage_stale(
    run: Run, change: dict[str, Any], reused: bool
) -> None:
    """A setting that a stage cannot read does not rebuild it, all others do."""
    build_one(run)
    assert build_one(run.changed(change)) is reused


def test_what_was_handed_over_is_the_same_wherever_it_is_opened(run: Run) -> None:
    """It travels; a stage that was built again meanwhile, or is another there, is refused."""
    build_one(run)
    handed = run.handed(TWO, [ONE], ["seed"])
    there: Run = pickle.loads(pickle.dumps(handed))
    assert (there.folder(ONE), there.config.seed) == (run.path / ONE.name, 13)
    for undeclared in (lambda: there.folder(TWO), lambda: there.config.corpus):
        with pytest.raises(RuntimeError, match="two"):
            undeclared()
    build_one(run.changed({"seed": 14}))
    with pytest.raises(DamagedError, match="another than the one that stage two was begun with"):
        there.folder(ONE)


def test_places_can_be_read_and_do_not_count(run: Run) -> None:
    """Where a model lies is no part of the request; its fingerprint among the inputs is."""

    def look(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return {"model": handed.config.context.model}

    def built(model: str, content: str) -> bool:
        changed = run.changed({"context": {"model": model}})
        return changed.build(TWO, look, places=["context.model"], inputs={"m": content}).reused

    assert not built("here", "abc")
    assert built("there", "abc")
    assert not built("there", "other")


def test_what_cannot_be_built_leaves_no_configuration(run: Run) -> None:
    """A stage that fails, or a lock that another holds, keeps neither settings nor folder."""

    def refused(handed: Run, workspace: Path) -> Mapping[str, Any]:
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        run.build(ONE, refused)
    assert not (run.path / CONFIG).exists()
    build_one(run)
    before = (run.path / CONFIG).read_bytes()
    with pytest.raises(InputError, match="no"):
        run.changed({"seed": 99}).build(ONE, refused, settings=["seed"])
    with (
        FileLock(run.path / ".lock"),
        pytest.raises(InputError, match="another firth process"),
    ):
        build_one(run.changed({"seed": 99}))
    assert (run.path / CONFIG).read_bytes() == before
    build_one(run.changed({"seed": 99}))
    assert Run.open(run.path).config.seed == 99


def test_a_refused_first_stage_leaves_nothing(run: Run) -> None:
    """A run that could not be begun is not there."""
    with pytest.raises(InputError), run.locked():
        raise InputError("no")
    assert not run.path.exists()


@pytest.mark.parametrize("text", ["name: my own app\n", "seed: 5\n", "\x00", "- 1\n"])
def test_a_configuration_that_firth_did_not_write_is_not_replaced(run: Run, text: str) -> None:
    """A config.yaml of the user's, even one that could be firth's, stays as it is."""
    run.path.mkdir()
    (run.path / CONFIG).write_text(text)
    with pytest.raises(InputError, match="not written by firth"):
        build_one(run)
    assert (run.path / CONFIG).read_text() == text
    assert not (run.path / "one").exists()


def test_damage_is_seen_on_opening_and_all_of_it_on_checking(run: Run) -> None:
    """Another size stops whoever reads the stage; a flipped byte stops who builds on it, and
    `check` finds it."""
    build_one(run)
    path = run.path / "one" / "data.txt"
    assert run.check() == {"one": []}
    whole = path.read_text()
    path.write_text("14")
    assert len(whole) == 2  # the premise: the size is the same
    assert run.folder(ONE) == path.parent
    assert run.check() == {"one": ["data.txt has other bytes than were written"]}
    with pytest.raises(DamagedError, match=r"data\.txt.*firth one --run"):
        run.build(TWO, fill, reads=[ONE], settings=["seed"])
    path.write_text("1")
    with pytest.raises(DamagedError, match="1 bytes, not 2"):
        run.folder(ONE)
    assert not build_one(run)
    assert run.check() == {"one": []}
    manifest = path.parent / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"stage": "one"', '"stage": "two"'))
    assert run.check() == {"one": ["manifest.json is not as it was written"]}
    manifest.write_text("[]")
    assert "not a manifest" in run.check()["one"][0]
    with pytest.raises(DamagedError, match="Build the stage again: firth one --run"):
        run.folder(ONE)


def test_what_a_kill_left_of_a_configuration_goes(run: Run) -> None:
    """A file half written beside it is firth's, and of no use."""
    run.path.mkdir(exist_ok=True)
    (run.path / f".{CONFIG}.4711.partial").write_text("seed: 1")
    build_one(run)
    assert [path.name for path in run.path.glob(".*.partial")] == []
    assert (run.path / CONFIG).is_file()


def test_a_finished_run_can_be_read_where_nothing_can_be_written(run: Run) -> None:
    """Reading, checking and finding everything up to date write nothing."""
    build_one(run)
    (run.path / ".lock").unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in [run.path, *run.path.rglob("*")]}
    opened = Run.open(run.path)
    assert opened.folder(ONE).is_dir()
    assert build_one(opened)
    assert opened.check() == {"one": []}
    after = {path: path.stat().st_mtime_ns for path in [run.path, *run.path.rglob("*")]}
    assert after == before


def test_an_identity_follows_stages_settings_and_code(run: Run) -> None:
    """Something computed when asked is another thing when any of the three differs."""
    build_one(run)
    known = run.identity("firth.run.stage", [ONE], ["seed"])
    assert run.identity("firth.run.stage", [ONE], ["seed"]) == known
    assert run.changed({"seed": 3}).identity("firth.run.stage", [ONE], ["seed"]) != known
    assert run.identity("firth.run.files", [ONE], ["seed"]) != known
    build_one(run.changed({"seed": 3}))
    assert run.identity("firth.run.stage", [ONE], ["seed"]) != known


def test_what_is_missing_names_the_command(run: Run) -> None:
    """A stage that is not built, and a folder that is no run."""
    with pytest.raises(MissingStageError, match="firth one --run"):
        run.folder(ONE)
    with pytest.raises(InputError, match="not a run"):
        Run.open(run.path)
    with pytest.raises(ConfigError, match="seed"):
        run.changed({"seed": -1})


def test_a_library_that_is_not_there_names_its_extra(run: Run) -> None:
    """Before any work, in one message; that of a part of firth itself names firth."""
    for extra, part in (("baselines", r"firth\[baselines\]"), ("", "'firth'")):
        stage = Stage("one", "firth one --run", ("no-such-library",), extra)
        with pytest.raises(MissingExtraError, match=rf"firth one \(no-such-library\).*{part}"):
            run.build(stage, fill, settings=["seed"])
    assert not run.path.exists()


def test_files_of_a_stage_can_be_read_by_all(run: Run) -> None:
    """Whatever a library made of them."""

    def private(handed: Run, workspace: Path) -> Mapping[str, Any]:
        (workspace / "data.txt").touch(0o600)
        return {}

    run.build(ONE, private)
    assert stat.S_IMODE(os.stat(run.path / "one" / "data.txt").st_mode) == 0o644
