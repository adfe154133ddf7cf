"""The docs as a site: whole, without dead links, and without a request to any other host."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from firth.cli.main import app
from firth.run.config import Config

ROOT = Path(__file__).parents[2]
_OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^>]*>"""
    r"""|@import\s*["'(]|url\(["']?(?:https?:)?//[^)]*\)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: what mkdocs would warn of (a link or an anchor that leads nowhere,
    a page that no menu names) fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_is_built_and_asks_no_other_host(site: Path) -> None:
    """Every page is there; none has a script, a picture, a style or a font from elsewhere."""
    pages = list(site.rglob("*.html"))
    sources = list((ROOT / "docs").rglob("*.md"))
    assert len(pages) > len(sources)
    for path in [*pages, *site.rglob("*.css")]:
        assert not _OUTSIDE.findall(path.read_text(encoding="utf-8")), path


def test_what_would_ask_is_seen() -> None:
    """The premise: the pattern knows a script, a style and a font of another host, and no link."""
    for outside in (
        '<script async src="https://example.org/x.js"></script>',
        '<link rel="stylesheet" href="//example.org/font.css">',
        "src: url(https://example.org/a.woff2)",
        '@import "x.css"',
    ):
        assert _OUTSIDE.search(outside)
    assert not _OUTSIDE.search('<a href="https://example.org">a link</a>')


def test_the_reference_names_everything(site: Path) -> None:
    """All commands, options, settings and what Python offers, out of the code."""
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    whole: Any = get_command(app)
    for name, command in whole.commands.items():
        assert f"firth {name}" in commands
        for parameter in [] if hasattr(command, "commands") else command.params:
            assert all(option in commands for option in parameter.opts if option.startswith("--"))
    settings = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for path in names(Config().model_dump()):
        assert f"<code>{path}</code>" in settings
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for part in ("compare_documents", "Origin", "similarities", "Raises"):
        assert part in python


def names(tree: dict[str, object], prefix: str = "") -> list[str]:
    """Dotted names of all settings."""
    found = []
    for name, value in tree.items():
        inner = names(value, f"{prefix}{name}.") if isinstance(value, dict) and value else None
        found += inner or [f"{prefix}{name}"]
    return found
