"""Every command and every Python example of the README and docs/ runs as it is printed.

Blocks fenced as ```console are run line by line (lines that begin with `$ `), blocks fenced as
```python are executed; both in a folder that holds `docs/`, `examples/`, `README.md`, `texts/`,
`pairs.tsv` and a finished tiny run `run/`. A block that cannot run here (it needs a hub, a large
corpus, minutes) is fenced as ```text.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """(console or python, text) of each block that must run, in order."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


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
def test_examples_run(page: Path, here: Path) -> None:
    """Each `$ firth …` line of a page exits with 0, and what it prints fits 80 columns; its Python
    runs; one after the other, as they stand, the Python blocks sharing their names. (`.ci/run` runs
    README's in a new environment.)"""
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


def test_the_pages_hold_examples() -> None:
    """The premise: the pattern finds commands and Python in the pages."""
    kinds = [kind for page in PAGES for kind, _ in blocks(page)]
    assert kinds.count("console") >= 8
    assert kinds.count("python") >= 6
