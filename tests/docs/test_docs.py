"""Every command and every Python example of the README and docs/ runs as it is printed.

Blocks fenced as ```console are run line by line (lines that begin with `$ `), blocks fenced as
```python are executed; both in a folder that holds `docs/`, `examples/`, `README.md`, `texts/`,
`pairs.tsv` and a finished tiny run `run/`; where a page names the speeches that firth carries, also
the run `mine/` of them, so that they are learned from once. A block that cannot run here (it needs
a hub, a large corpus, minutes) is fenced as ```text.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from firth import build
from firth.cli.main import app
from firth.demo.texts import write_example
from firth.scale import SCALE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOK = ROOT / "examples" / "start.ipynb"
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """(console or python, text) of each block that must run, in order."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def uses_the_speeches(page: Path) -> bool:
    return "speeches.jsonl" in "".join(text for _, text in blocks(page))


@pytest.fixture(scope="session")
def mine(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The run that the five-minute start builds, built once for all workers; not to be changed."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "start"
    folder.mkdir(exist_ok=True)
    with FileLock(f"{folder}.lock"), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        if not Path("mine", SCALE.name, "manifest.json").is_file():
            write_example(Path("speeches.jsonl"))
            build("speeches.jsonl", "mine")
    return folder / "mine"


@pytest.fixture
def here(
    tiny_run: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder the examples assume, entered."""
    shutil.copytree(tiny_run, tmp_path / "run")
    shutil.copytree(tiny_folder, tmp_path / "texts")
    (tmp_path / "pairs.tsv").write_text(
        "The ship reached the harbour.\tThe sailor found the island.\n"
        "The judge praised the jury.\tThe cow left the barn.\n",
        encoding="utf-8",
    )
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, here: Path, request: pytest.FixtureRequest) -> None:
    """Each `$ firth …` line of a page exits with 0, and what it prints fits 80 columns; its Python
    runs; one after the other, as they stand, the Python blocks sharing their names. (`.ci/run` runs
    README's in a new environment.)"""
    if uses_the_speeches(page):
        shutil.copytree(request.getfixturevalue("mine"), here / "mine")
    names: dict[str, object] = {"__name__": "example"}
    for kind, block in blocks(page):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "), comments=True) or [""]
            if line.startswith("$ ") and program == "firth":
                result = CliRunner().invoke(app, arguments)
                assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
                if "--json" not in arguments:  # what stands in one word, as a path, is not broken
                    wide = [one for one in result.stdout.splitlines() if len(one) > 80]
                    assert not [one for one in wide if " " in one.strip()], line


def test_the_notebook_runs(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cells run in order; those print something that are stored with what they printed."""
    shutil.copytree(mine, tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "notebook"}
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 4
    for cell in code:
        exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
        stored = "".join(text for output in cell["outputs"] for text in output["text"])
        assert bool(capsys.readouterr().out) == bool(stored)


def test_the_pages_hold_examples() -> None:
    """The premise: the pattern finds commands and Python in the pages."""
    kinds = [kind for page in PAGES for kind, _ in blocks(page)]
    assert kinds.count("console") >= 8
    assert kinds.count("python") >= 6
    assert uses_the_speeches(ROOT / "README.md")
