"""Runs: a stage sees what it declares; settings are kept when a stage was built with them."""

import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from filelock import FileLock
from pydantic import Field

from firth.run.errors import (
    ConfigError,
    DamagedError,
    InputError,
    MissingExtraError,
    MissingStageError,
    require,
)
from firth.run.run import CONFIG, Run, opened_with
from firth.run.settings import Count, Section, Settings
from firth.run.stage import Stage, damage_of_opened

ONE = Stage("one", 1)
TWO = Stage("wing/two", 1, extra="torch", command="firth wing build")


class Coherence(Section):
    hidden: Count = 300
    steps: Annotated[int, Field(ge=0)] = 5


class Wing(Section):
    window: Count = 1
    coherence: Coherence = Coherence()


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    (workspace / "data.txt").write_text(f"{run.settings.seed}")
    return {}


def nothing(run: Run, workspace: Path) -> Mapping[str, Any]:
    return {}


def build_one(run: Run, **options: Any) -> bool:
    return run.build(ONE, fill, **{"settings": ["seed"], **options}).reused


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "a run", Settings())


# --- What a stage sees -------------------------------------------------------------------------


def test_a_stage_sees_only_what_it_declares(run: Run) -> None:
    """Other settings and stages raise; a field of a section can be declared by itself."""
    build_one(run)
    seen: dict[str, Any] = {}

    def look(given: Run, workspace: Path) -> Mapping[str, Any]:
        seen["words"] = given.settings.corpus.min_words
        seen["epochs"] = given.settings.words.epochs
        seen["one"] = given.folder(ONE)
        seen["has"] = given.has(ONE), given.has(TWO)
        for undeclared in (
            lambda: given.settings.seed,
            lambda: given.settings.corpus.max_words,
            lambda: given.settings.encoder.model,
            lambda: given.folder(TWO),
        ):
            with pytest.raises(RuntimeError, match="stage wing/two"):
                undeclared()
        return {}

    options: dict[str, Any] = {"reads": [ONE], "settings": ["corpus.min_words", "words"]}
    run.build(TWO, look, **options, inputs={"corpus": "digest"})
    assert seen == {
        "words": Settings().corpus.min_words, "epochs": None, "one": run.path / "one",
        "has": (True, False),
    }  # fmt: skip


def test_inputs_and_versions_make_a_stage_stale(run: Run) -> None:
    """A stage that was read, an input from outside, a declared setting, and the stage's version."""
    build_one(run)
    run.build(TWO, nothing, reads=[ONE], inputs={"corpus": "a"})
    assert run.build(TWO, nothing, reads=[ONE], inputs={"corpus": "a"}).reused
    assert not run.build(TWO, nothing, reads=[ONE], inputs={"corpus": "b"}).reused
    newer = Stage(TWO.name, 2)
    assert not run.build(newer, nothing, reads=[ONE], inputs={"corpus": "b"}).reused
    assert build_one(run.changed({"corpus": {"min_words": 4}})), "it is not declared"
    assert not build_one(run.changed({"seed": 14}))
    assert not run.build(newer, nothing, reads=[ONE], inputs={"corpus": "b"}).reused


def test_a_stage_of_another_version_is_not_read(run: Run) -> None:
    """The message has both versions, and the command that builds the stage again."""
    build_one(run)
    assert run.folder(ONE) == run.path / "one"
    newer = Stage(ONE.name, 2)
    expected = r"one: has version 1, and this firth reads 2\. Build it again: firth build --run"
    with pytest.raises(DamagedError, match=expected):
        run.folder(newer)
    with pytest.raises(DamagedError, match=expected):
        run.build(TWO, nothing, reads=[newer])


def test_a_wing_has_its_settings(run: Run) -> None:
    """Checked as a whole, and seen by a stage in the parts that it names among its inputs."""
    run = run.changed({"paper": {"coherence": {"hidden": 8}}})
    assert run.wing("paper", Wing) == Wing(coherence=Coherence(hidden=8))

    def look(given: Run, workspace: Path) -> Mapping[str, Any]:
        wing = given.wing("paper", Wing)
        with pytest.raises(RuntimeError, match="reads the setting window"):
            _ = wing.window
        return {"hidden": wing.coherence.hidden, "steps": wing.coherence.steps}

    outcome = run.build(TWO, look, inputs={"paper.coherence": "fingerprint"})
    assert outcome.manifest.summary == {"hidden": 8, "steps": 5}
    with pytest.raises(ConfigError) as raised:
        run.changed({"paper": {"windw": 1, "coherence": {"hidden": 0}}}).wing("paper", Wing)
    assert len(raised.value.problems) == 2
    assert "paper.windw: no such setting; did you mean paper.window?" in str(raised.value)
    assert "paper.coherence.hidden: got 0" in str(raised.value)


def test_what_a_stage_sees_can_be_sent_to_a_worker(run: Run) -> None:
    """It sees the same there; a stage that was built again in the meantime is refused."""
    build_one(run)
    sent: list[bytes] = []

    def send(given: Run, workspace: Path) -> Mapping[str, Any]:
        sent.append(pickle.dumps(given))
        return {}

    run.build(TWO, send, reads=[ONE], settings=["seed"])
    there: Run = pickle.loads(sent[0])
    assert (there.folder(ONE), there.settings.seed) == (run.path / ONE.name, 13)
    for undeclared in (lambda: there.folder(TWO), lambda: there.settings.corpus):
        with pytest.raises(RuntimeError, match="does not declare"):
            undeclared()
    build_one(run.changed({"seed": 14}))
    with pytest.raises(DamagedError, match="changed while stage wing/two was built"):
        there.folder(ONE)


# --- Settings ----------------------------------------------------------------------------------


def test_a_failed_build_leaves_no_settings(run: Run) -> None:
    """Neither does one that finds the run locked; a finished one keeps its settings."""

    def refused(given: Run, workspace: Path) -> Mapping[str, Any]:
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        run.build(ONE, refused)
    assert not (run.path / CONFIG).exists()
    build_one(run)
    before = (run.path / CONFIG).read_bytes()
    with pytest.raises(InputError, match="no"):
        run.changed({"seed": 99}).build(ONE, refused, settings=["seed"])
    with FileLock(run.path / ".lock"), pytest.raises(InputError, match="another firth process"):
        build_one(run.changed({"seed": 99}))
    assert (run.path / CONFIG).read_bytes() == before
    build_one(run.changed({"seed": 99}))
    assert Run.open(run.path).settings.seed == 99


@pytest.mark.parametrize("text", ["name = 'my app'\n", "seed = 5\n", "\x00"])
def test_settings_that_firth_did_not_write_are_not_replaced(run: Run, text: str) -> None:
    """A settings.toml of the user's stays as it is, even one that could be firth's."""
    run.path.mkdir()
    (run.path / CONFIG).write_text(text)
    with pytest.raises(InputError, match="firth did not write it"):
        build_one(run)
    assert (run.path / CONFIG).read_text() == text
    assert not (run.path / "one").exists()


def test_a_run_is_opened_with_a_file_and_options(run: Run, tmp_path: Path) -> None:
    """Options are laid over files, files over values, and these over the run; the rest stays."""
    config = tmp_path / "mine.toml"
    config.write_text("corpus.language = 'de'\nseed = 2\n")
    opened = opened_with(run.path, ["seed=3", str(config)], {"seed": 5, "words.epochs": 7})
    assert not run.path.exists()
    assert (opened.settings.corpus.language, opened.settings.seed) == ("de", 3)
    assert opened.settings.words.epochs == 7
    build_one(run.changed({"seed": 4, "words": {"epochs": 1}}))
    opened = opened_with(run.path, [str(config)])
    assert (opened.settings.seed, opened.settings.words.epochs) == (2, 1)
    for text, options, source in (("seed = -1", [], str(config)), ("", ["seed=-1"], "--set")):
        config.write_text(text)
        with pytest.raises(ConfigError) as raised:
            opened_with(run.path, [str(config), *options])
        assert raised.value.source == source


# --- Missing, damaged, locked ------------------------------------------------------------------


def test_what_is_missing_names_the_command(run: Run) -> None:
    """With the run's name quoted for a shell, and the extra that the stage needs."""
    with pytest.raises(MissingStageError, match=r"firth build --run '.*a run'$"):
        run.folder(ONE)
    with pytest.raises(
        MissingStageError, match=r"firth wing build --run .*pip install .*\[torch\]"
    ):
        run.manifest(TWO)
    assert not run.has(ONE)
    with pytest.raises(InputError, match=r"not a run .*firth build DOCUMENTS --run '.*a run'"):
        Run.open(run.path)
    run.path.write_text("a file")
    with pytest.raises(InputError, match="expected the folder of a run"):
        build_one(run)


def test_damage_is_seen_on_opening_and_all_of_it_on_building(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes and small files on opening; every byte by the stage that builds on it, and `verify`."""
    monkeypatch.setattr("firth.run.stage._opened", {})  # Other tests damage what they opened.
    build_one(run)
    path = run.path / "one" / "data.txt"
    assert run.verify() == {"one": []}
    assert len(path.read_text()) == 2, "the premise: the size stays the same"
    path.write_text("14")
    with pytest.raises(DamagedError, match=r"data\.txt has other bytes"):
        run.folder(ONE)
    monkeypatch.setattr("firth.run.stage._SMALL", 1)
    assert run.folder(ONE) == path.parent
    assert "data.txt has other bytes" in str(damage_of_opened())
    assert run.verify() == {"one": ["data.txt has other bytes than were written"]}
    with pytest.raises(DamagedError, match=r"data\.txt.*Build it again: firth build --run"):
        run.build(TWO, nothing, reads=[ONE])
    path.write_text("1")
    with pytest.raises(DamagedError, match="1 bytes, not 2"):
        run.folder(ONE)
    assert not build_one(run)
    assert run.verify() == {"one": []}
    assert damage_of_opened() is None
    manifest = path.parent / "manifest.json"
    manifest.write_text("[]")
    assert "not a manifest" in run.verify()["one"][0]
    with pytest.raises(DamagedError, match="Build it again: firth build --run"):
        run.folder(ONE)


def test_a_half_done_replacement_is_settled_before_anything_is_read(run: Run) -> None:
    """By whoever looks first: opening, asking or building."""
    looks: list[Any] = [
        lambda: run.folder(TWO),
        lambda: run.has(TWO),
        lambda: run.inputs(TWO),
        lambda: run.build(TWO, nothing),
    ]
    run.build(TWO, nothing)
    for look in looks:
        (run.path / "wing" / "two").rename(run.path / "wing" / ".two.stale")
        with FileLock(run.path / ".lock"), pytest.MonkeyPatch.context() as patch:
            patch.setattr("firth.run.run._PATIENCE", 0.0)
            with pytest.raises(InputError, match="another firth process"):
                look()
        assert look()
        assert run.manifest(TWO).stage == TWO.name
    assert run.verify() == {"wing/two": []}


def test_a_finished_run_is_read_without_writing(run: Run) -> None:
    build_one(run)
    (run.path / ".lock").unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in [run.path, *run.path.rglob("*")]}
    opened = Run.open(run.path)
    assert opened.folder(ONE).is_dir()
    assert build_one(opened)
    assert opened.verify() == {"one": []}
    after = {path: path.stat().st_mtime_ns for path in [run.path, *run.path.rglob("*")]}
    assert after == before


def test_a_lock_may_be_nested_and_keeps_others_out(run: Run) -> None:
    """Other processes; a thread that holds it builds stages inside."""
    with run.locked(), run.locked():
        assert not build_one(run)
        code = (
            "import sys; from firth.run.run import Run\n"
            "with Run.open(sys.argv[1]).locked(): print('in')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, run.path], capture_output=True, text=True, check=False
        )
        assert "another firth process builds this run" in done.stderr
    with run.locked():
        pass


def test_opening_a_run_imports_nothing_heavy() -> None:
    """The core starts fast: numpy and rich wait until they are used."""
    code = (
        "import sys; import firth.run.run, firth.run.executor, firth.run.outputs\n"
        "heavy = {'numpy', 'scipy', 'rich', 'torch', 'ray', 'typer'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_optional_library_is_imported_or_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that is there and lacks another one is not reported as missing itself."""
    assert require("json", "torch", "x").loads("1") == 1
    with pytest.raises(MissingExtraError, match=r"An encoder needs .* pip install .*\[onnx\]"):
        require("no_such_library.part", "onnx", "An encoder")
    (tmp_path / "half_installed.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        require("half_installed", "onnx", "An encoder")
