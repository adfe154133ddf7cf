"""What a user may get wrong: one message, before any work, and nothing left over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firth.cli import main as cli
from firth.run import progress
from firth.run.config import Config
from firth.run.run import CONFIG

A, B = "The ship reached the harbour.", "The sailor found the island."


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str, str]:
    """Run `firth ARGUMENTS…`; exit status, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["firth", *map(str, arguments)])
    status = 0
    try:
        cli.main()
    except SystemExit as stop:
        status = int(stop.code or 0)
    finally:
        progress.set_quiet(True)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


_TWICE = ("paper.contexts=3", "--set", "paper.contexts.more=4")
REFUSED = [
    (("similarity", A, B, "--out", "{tmp}/scores.tsv", "--run", "{run}"), "with --pairs"),
    (
        ("similarity", "--pairs", "{pairs}", "--out", "{pairs}/scores.tsv", "--run", "{run}"),
        "expected a folder",
    ),
    (("similarity", "--pairs", "{pairs}", "--out", "{tmp}", "--run", "{run}"), "a folder"),
    (("evaluate", "baseline:dice", "--task", "lee", "--out", "{pairs}"), "expected a folder"),
    (("compare", "{tmp}", "--out", "{pairs}/x.json"), "expected a folder"),
    (("run", "{tmp}"), "cannot be read"),
    (("similarity", A, B, "--run", "{run}", "--set", "origin", "--set", *_TWICE), "2 problems"),
    (("harvest", "--run", "{run}", "--set", "harvest.blocklist=file.txt"), "expected a list"),
    (("train", "generator", "--run", "{run}", "--model", "{tmp}"), ".safetensors"),
    (("train", "context", "--run", "{run}", "--model", "{tmp}"), ".safetensors"),
    (
        ("train", "generator", "--run", "{run}", "--model", "{tmp}", "--backend", "seq2seq"),
        "starts from no model",
    ),
]


@pytest.mark.parametrize(("arguments", "part"), REFUSED, ids=lambda x: " ".join(x)[:60])
def test_one_message_and_nothing_changes(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    part: str,
) -> None:
    """Exit status 1, nothing on standard output, no bar: refused before any work is done."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{A}\t{B}\n")
    before = (tiny_run / CONFIG).read_bytes()
    names = {"run": tiny_run, "tmp": tmp_path, "pairs": pairs}
    given = [argument.format(**names) for argument in arguments]
    status, out, err = call(monkeypatch, capsys, *given)
    assert (status, out) == (1, "")
    assert err.startswith("firth: ")
    assert part in err
    assert (tiny_run / CONFIG).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]


def test_a_refused_corpus_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inputs without a document start no run, so that later commands say what is missing."""
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    run = tmp_path / "run"
    status, _, err = call(monkeypatch, capsys, "corpus", "build", empty, "--run", run, "-q")
    assert status == 1
    assert "no document" in err
    status, _, err = call(monkeypatch, capsys, "similarity", A, B, "--run", run)
    assert status == 1
    assert "not a run" in err


def test_a_model_means_the_backend_that_takes_one(
    tiny_run: Path, tiny_llm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`train generator --model` adopts the model; it does not train another one beside it."""
    run = tmp_path / "run"
    run.mkdir()
    (run / CONFIG).write_bytes((tiny_run / CONFIG).read_bytes())
    assert Config.load(run / CONFIG).generator.model is None
    given = ("train", "generator", "--run", run, "--model", tiny_llm, "-q")
    status, out, err = call(monkeypatch, capsys, *given)
    assert status == 0, err
    assert "causal-lm" in out or "Llama" in out
    assert Config.load(run / CONFIG).generator.model == str(tiny_llm)


def test_what_the_system_refuses_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk or a read-only folder is told with the file's name, and without a trace."""

    def full(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "runs/mine/config.yaml")

    monkeypatch.setattr(cli, "app", full)
    status, out, err = call(monkeypatch, capsys)
    assert (status, out) == (1, "")
    assert "runs/mine/config.yaml: cannot be read or written (Permission denied)" in err


@pytest.mark.parametrize(
    "arguments",
    [("similarity", "--{evil}"), ("{evil}",), ("corpus", "{evil}"), ("check-run", "x", "{evil}"),
     ("run", "x", "--preset", "{evil}"),
     ("corpus", "build", "x", "--run", "{tmp}/{evil}")],
)  # fmt: skip
def test_errors_of_usage_are_escaped_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    """What typer says of arguments goes the same way to the screen: no command of a terminal, no
    change of direction; exit status 2."""
    evil = "\x1b]52;c;x\x07\x9b1m\u202e\u2066"
    (tmp_path / evil).write_text("a file where a folder is expected")
    given = [argument.format(evil=evil, tmp=tmp_path) for argument in arguments]
    status, out, err = call(monkeypatch, capsys, *given)
    assert (status, out) == (2, "")
    assert "x1b]52" in err
    assert "Error: " in err
    assert not set(err) & set("\x1b\x07\x9b\u202e\u2066")


def test_a_traceback_is_escaped_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no one foresaw may quote a document: shown whole, but without commands."""

    def broken(**_: object) -> None:
        raise AssertionError("\x1b]52;c;x\x07\u202e")

    monkeypatch.setattr(cli, "app", broken)
    status, out, err = call(monkeypatch, capsys)
    assert (status, out) == (1, "")
    assert err.startswith("Traceback ")
    assert err.endswith("AssertionError: \\x1b]52;c;x\\x07\\u202e\n")


def test_no_command_is_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`firth` and `firth corpus` list what there is."""
    for arguments in ((), ("corpus",)):
        status, out, err = call(monkeypatch, capsys, *arguments)
        assert status == 2
        assert "Usage: " in out + err
        assert "stats" in out + err or "similarity" in out + err


def test_a_full_disk_in_numpys_words_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """NumPy raises an OSError without a number; it is no traceback either."""

    def full(**_: object) -> None:
        raise OSError("401554 requested and 19424 written")

    monkeypatch.setattr(cli, "app", full)
    status, out, err = call(monkeypatch, capsys)
    assert (status, out) == (1, "")
    assert "19424 written" in err
    assert "space on its disk" in err


def test_a_full_disk_in_a_librarys_words_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """safetensors and SQLite raise errors of their own for it."""
    from safetensors import SafetensorError

    def full(**_: object) -> None:
        raise SafetensorError("Error while serializing: No space left on device (os error 28)")

    monkeypatch.setattr(cli, "app", full)
    status, out, err = call(monkeypatch, capsys)
    assert (status, out) == (1, "")
    assert "Traceback" not in err
    assert "No space left on device" in err


def test_a_closed_pipe_is_no_error_message(tiny_run: Path) -> None:
    """`firth … | head` ends without a word when the reader has seen enough."""
    command = [
        sys.executable,
        "-m",
        "firth.cli.main",
        "corpus",
        "stats",
        "--run",
        str(tiny_run),
        "--json",
    ]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b""


def test_an_interruption_says_how_to_go_on(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends with the shell's usual status, one line and no trace."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("firth.corpus.stats.corpus_stats", interrupted)
    status, out, err = call(monkeypatch, capsys, "corpus", "stats", "--run", tiny_run)
    assert (status, out) == (130, "")
    assert err == "firth: interrupted; the same command continues where it stopped\n"
