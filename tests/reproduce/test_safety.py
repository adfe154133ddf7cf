"""Nothing of the user's is replaced, nothing half-made left, and what is missing said first."""

from pathlib import Path

import pytest

from firth.corpus import CORPUS
from firth.paper.coherence import COHERENCE
from firth.pipeline import bring_up_to_date
from firth.reproduce import derived
from firth.reproduce import options as module
from firth.reproduce.options import Options
from firth.reproduce.registry import reproduce
from firth.reproduce.report import WRITTEN, Lines, Report, row
from firth.run.code import import_closure
from firth.run.errors import DamagedError, InputError, MissingExtraError
from firth.run.run import Run
from firth.run.stage import Stage

SMALL = {"pairs": 10, "contexts": 2, "shortlist": 4}


def test_missing_extras_are_named_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, and before the run is even looked at."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    for name, extras in (
        ("cbos-table1", "plots,baselines"),
        ("table7", "plots"),
        ("str-table5", "plots"),
    ):
        with pytest.raises(MissingExtraError) as caught:
            reproduce(name, tmp_path / "no-run", out=tmp_path / "out")
        assert f"firth[{extras}]" in str(caught.value)
    monkeypatch.setattr(module, "find_spec", lambda name: name == "matplotlib" or None)
    with pytest.raises(MissingExtraError, match="relatedness,glove"):
        reproduce("str-table4", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_results_replace_nothing_foreign(tmp_path: Path) -> None:
    """A file called as a result is refused before any work; a second report replaces the first."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "table.md").write_text("mine")
    with pytest.raises(InputError, match=r"holds table\.md.*--out.*--force"):
        reproduce("table8", _a_run(tmp_path), tmp_path, out)
    plot = Lines("x", "y", ["a"], {"ours": [1.0]})
    found = Report("trial", "A trial", ("name", "one", "two"), [row("a", 1.0)], plot, [], {})
    with pytest.raises(InputError, match=r"holds table\.md"):
        found.save(out)
    assert (out / "table.md").read_text() == "mine"
    found.save(out, force=True)
    found.save(out)
    assert {path.name for path in out.iterdir()} == {*WRITTEN, "manifest.json"}


def state_of(folder: Path) -> dict[str, bytes | None]:
    """Every folder and file but locks."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name != ".lock"
    }


def _a_run(folder: Path) -> Path:
    from firth.run.config import Config

    return Run.create(folder / "run", Config()).path


def test_what_is_refused_leaves_nothing(whole_run: Run, stsb: Path, tmp_path: Path) -> None:
    """A base, a model or a part of the corpus that cannot be used: the run is as it was."""
    run, before = whole_run.path, state_of(whole_run.path)
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    for name in ("config.json", "pytorch_model.bin"):
        (pickled / name).write_text("{}")
    for name, asked in (
        ("table7", Options(pairs=10, base="/no/such/encoder")),
        ("table7", Options(pairs=10, base=str(pickled))),
        ("siamese-vs-cross", Options(pairs=10, base=str(pickled))),
        ("table5", Options(**SMALL, sizes=("50%",), model="/no/such")),  # type: ignore[arg-type]
        ("table8", Options(**SMALL, model="/no/such/model")),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError):
            reproduce(name, run, stsb, options=asked)
        assert state_of(run) == before, name


def test_a_part_that_is_too_small_leaves_nothing(
    whole_run: Run, stsb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents and corpus of a part that a later stage refuses are gone again."""
    before = state_of(whole_run.path)

    def refuse(run: Run, *stages: Stage) -> None:
        bring_up_to_date(run, CORPUS)
        assert (run.path / "corpus" / "manifest.json").is_file()
        raise InputError("too small")

    monkeypatch.setattr(derived, "bring_up_to_date", refuse)
    with pytest.raises(InputError, match="too small"):
        reproduce("table5", whole_run, stsb, options=Options(**SMALL, sizes=("10%",)))  # type: ignore[arg-type]
    assert state_of(whole_run.path) == before


def test_a_damaged_stage_of_the_base_is_noticed(whole_run: Run, stsb: Path) -> None:
    """A stage built in a derived run reads the base's stages, and verifies their bytes."""
    weights = next(whole_run.folder(COHERENCE).glob("*.safetensors"))
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    with pytest.raises(DamagedError, match=weights.name):
        reproduce("table8", whole_run, stsb, options=Options(**SMALL))  # type: ignore[arg-type]


def test_terms_do_not_hang_on_how_they_are_shown() -> None:
    """The hours that the terms of Eq. 3 take are not spent again when a table or plot changes."""
    read = import_closure("firth.reproduce.context_fits")
    assert "firth.paper.generation.open" in read
    assert not {"firth.reproduce.report", "firth.reproduce.ablation", "firth.evaluate"} & read
