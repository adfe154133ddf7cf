"""Every command and every Python example of the README and docs/ runs as it is printed.

Blocks fenced as ```console are run line by line (lines that begin with `$ `), blocks fenced as
```python are executed; both in a folder that holds `texts/`, `pairs.tsv` and a finished tiny run
`run/`. A block that cannot run here (it needs a hub, a large corpus, minutes) is fenced as ```text.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> Iterator[str]:
    for found, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if found == kind:
            yield text


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
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, here: Path) -> None:
    """Each `$ firth …` line of a page exits with 0."""
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if not line.startswith("$ "):
                continue
            program, *arguments = shlex.split(line.removeprefix("$ "), comments=True)
            if program != "firth":
                continue
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_runs(page: Path, here: Path) -> None:
    """The Python blocks of a page run one after the other, sharing their names."""
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_the_pages_hold_examples() -> None:
    """The premise: the pattern finds commands and Python in the pages."""
    assert sum(1 for page in PAGES for _ in blocks(page, "console")) >= 8
    assert sum(1 for page in PAGES for _ in blocks(page, "python")) >= 6
