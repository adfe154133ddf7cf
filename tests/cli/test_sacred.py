"""The user's files are sacred: what firth did not write is where it was, whatever is asked for."""

import json
from pathlib import Path

import pytest

from firth.run.run import CONFIG

from .test_refusals import A, B, call

TEXT = "The ship left. The crew sang a song. The harbour was empty. It rained all night.\n"
DATA = ("--data-dir", "{tmp}")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_folder_named_like_a_stage_keeps_its_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`firth corpus build corpus --run .` beside one's own `corpus/`: refused, nothing changes."""
    (tmp_path / "corpus").mkdir()
    for number in range(4):
        (tmp_path / "corpus" / f"{number}.txt").write_text(f"{number}. {TEXT}")
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    status, out, err = call(monkeypatch, capsys, "corpus", "build", "corpus", "--run", ".")
    assert (status, out) == (1, "")
    assert "--run" in err
    assert contents(tmp_path) == before
    status, _, err = call(monkeypatch, capsys, "corpus", "build", "corpus", "--run", "mine", "-q")
    assert status == 0, err
    assert before.items() <= contents(tmp_path).items()


def test_a_config_of_another_program_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder with somebody's config.yaml does not become a run."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / CONFIG).write_text("database: postgres\n")
    (tmp_path / "text.txt").write_text(TEXT)
    given = ("corpus", "build", tmp_path / "text.txt", "--run", tmp_path / "app")
    before = contents(tmp_path)
    status, _, err = call(monkeypatch, capsys, *given)
    assert status == 1
    assert "database" in err
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("similarity", "--pairs", "{tmp}/pairs.tsv", "--run", "{run}", "--out", "{mine}"),
        (
            "evaluate",
            "baseline:dice",
            "--task",
            "sts-b",
            "--data-dir",
            "{tmp}",
            "--out",
            "{tmp}/own",
        ),
        ("leakage", "{run}", "--task", "sts-b", "--data-dir", "{tmp}", "--out", "{mine}"),
        ("demo", "--out", "{tmp}/own"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_writes_over_what_is_there(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    """A file or folder of the user's under the name given: one message, before any work."""
    (tmp_path / "pairs.tsv").write_text(f"{A}\t{B}\n")
    (tmp_path / "mine.txt").write_text("ten years of work")
    (tmp_path / "own").mkdir()
    for name in ("thesis.txt", "table.md"):
        (tmp_path / "own" / name).write_text("ten years of work")
    (tmp_path / "STSb").mkdir()
    rows = "".join(f"{A}\t{B}\t{n}.0\ttoy\ttest\n" for n in range(4))
    (tmp_path / "STSb" / "pairs.tsv").write_text(
        f"sentence1\tsentence2\tscore\tsubtask\tsplit\n{rows}"
    )
    before = contents(tmp_path)
    names = {"run": tiny_run, "tmp": tmp_path, "mine": tmp_path / "mine.txt"}
    status, out, err = call(monkeypatch, capsys, *[each.format(**names) for each in arguments])
    assert (status, out) == (1, ""), err
    assert "mine.txt" in err or "own" in err
    assert contents(tmp_path) == before


def test_a_flipped_bit_is_no_traceback(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sizes are all that opening compares; what a library says of other bytes is told by its
    cause, with the command that builds the stage again."""
    import shutil

    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    path = run / "coherence" / "vectors.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:9] + bytes([whole[9] ^ 4]) + whole[10:])
    status, out, err = call(monkeypatch, capsys, "similarity", A, B, "--run", run)
    assert (status, out) == (1, "")
    assert "Traceback" not in err
    assert "coherence: damaged: vectors.npy has other bytes than were written" in err
    assert f"firth train coherence --run {run}" in err


def test_check_run_names_what_is_damaged(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whole runs end with status 0; a flipped byte is named, and the stage built again."""
    import shutil

    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    status, out, _ = call(monkeypatch, capsys, "check-run", run)
    assert status == 0
    assert "corpus: whole" in out
    path = run / "corpus" / "sentences.arrow"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    status, out, err = call(monkeypatch, capsys, "check-run", run, "--json")
    assert status == 1
    assert json.loads(out)["corpus"] == ["sentences.arrow has other bytes than were written"]
    assert "corpus" in err
    status, _, err = call(monkeypatch, capsys, "run", run / CONFIG, "--run", run, "-q")
    assert status == 0, err
    assert path.read_bytes() == whole
    assert call(monkeypatch, capsys, "check-run", run)[0] == 0
