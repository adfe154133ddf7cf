"""The pages: commands exist, the quickstart runs, links lead somewhere, and the words are plain."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from firth.cli import main
from firth.evaluation.false_merges import TABLE
from firth.run.settings import Settings, parse_changes, wing_sections

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_GENERATED = re.compile(r"<!-- figures: \S+ -->\n.*?<!-- end -->", re.DOTALL)
_QUOTED = re.compile(r"`[^`]*`|\]\([^)]*\)")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+(?![\w]*\.\d)")
_BANNED = re.compile(
    r"\b(told|tells?|whoever|kept apart|thrown away|by the clock|learned by heart|ahead of|beside|"
    r"stands?|anew|of its own|another day|no accelerator|earlier|used to be|as before|no longer|"
    r"was tried|were tried)\b",
    re.IGNORECASE,
)
_LONGEST_SENTENCE, _LONGEST_PAGE, _README = 30, 2_000, 600
_OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^>]*>"""
    r"""|@import\s*["'(]|url\(["']?(?:https?:)?//[^)]*\)"""
)


def commands(page: Path) -> list[list[str]]:
    """Return the words of each `$ firth` line of a page."""
    text = page.read_text(encoding="utf-8")
    lines = [line for _, block in _BLOCK.findall(text) for line in block.splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ firth ")]


def python(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return [
        text for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")) if kind == "python"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_pages_exist(page: Path) -> None:
    """Every command of a page has such a name, such options, and such settings."""
    main.add_wings()
    for words in commands(page):
        command: Any = typer.main.get_command(main.app)
        rest = list(words)
        while hasattr(command, "commands"):
            assert rest[0] in command.commands, words
            command = command.commands[rest.pop(0)]
        context = command.make_context("firth", rest)
        parse_changes(context.params.get("changes") or [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_pages_compiles(page: Path) -> None:
    """Every block of Python is valid, and imports only names that exist."""
    for block in python(page):
        compile(block, str(page), "exec")
        for line in block.splitlines():
            if line.startswith(("from firth", "import firth")):
                exec(line, {})


def test_the_quickstart_runs(tmp_path: Path) -> None:
    """Each command of the page runs in order, and README's Python runs on the same run."""
    page = ROOT / "docs" / "quickstart.md"
    assert len(commands(page)) >= 5
    for words in commands(page):
        done = subprocess.run(
            [sys.executable, "-m", "firth", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    [block] = python(ROOT / "README.md")
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file, and every anchor a heading."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists() or file.startswith("../reference/"), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: no heading {anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_pages_exist(page: Path) -> None:
    """Modules and tests that a page names."""
    names = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", page.read_text(encoding="utf-8"))
    modules = [name for name in names if name.endswith(".py") or name.startswith("tests/")]
    places = ROOT, ROOT / "src" / "firth"
    assert [name for name in modules if not any((place / name).exists() for place in places)] == []


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose, without code, tables and headings."""
    lines = [
        "" if line.startswith(("|", "#", "<!--")) else re.sub(r"^(- |\d+\. )", "\n\n", line)
        for line in _FENCED.sub("\n\n", text).splitlines()
    ]
    prose = re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))
    return re.split(r"(?<=[.?!:])\s+(?=[A-Z`*\[\"])|\n\s*\n", prose)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_are_plain(page: Path) -> None:
    """Pages have no banned words, short sentences, and no more words than a reader has time for."""
    text = page.read_text(encoding="utf-8")
    assert _BANNED.findall(_FENCED.sub("", text)) == []
    assert [s for s in sentences(text) if len(s.split()) > _LONGEST_SENTENCE] == []
    counted = _GENERATED.sub("", text).split()
    assert len(counted) <= (_README if page.name == "README.md" else _LONGEST_PAGE)


@pytest.fixture(scope="module")
def figures() -> Any:
    """The script that writes stored figures into pages."""
    place = ROOT / "benchmarks" / "figures.py"
    spec = importlib.util.spec_from_file_location("figures", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(value: Any) -> set[str]:
    """Return all numbers of stored figures, as pages write them."""
    if isinstance(value, dict | list):
        return set().union(*map(numbers, value.values() if isinstance(value, dict) else value))
    if isinstance(value, int | float):
        return {str(value), f"{value:,}", f"{value:.1f}", f"{abs(value):.1f}", f"{value:.2f}"}
    return set(re.findall(r"\d[\d,]*\.\d+", str(value)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_are_stored(page: Path, figures: Any) -> None:
    """Tables are the stored ones, and every number with decimals in prose is a stored figure.

    Or it is the default of a setting. Published figures are in `printed.json`.
    """
    text = page.read_text(encoding="utf-8")
    assert figures.with_tables(text) == text, "run: python benchmarks/figures.py"
    stored = numbers(Settings().model_dump())
    for file in sorted((ROOT / "benchmarks" / "figures").glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        assert {"command", "data", "seed", "commit", "date", "machine"} <= set(content), file.name
        stored |= numbers(content)
    prose = _QUOTED.sub("", _GENERATED.sub("", _FENCED.sub("", text)))
    assert set(_NUMBER.findall(prose)) - stored == set()


def test_figures_of_older_stages_are_listed(
    figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage whose version is raised makes every figure measured with it an older one."""
    monkeypatch.setattr(figures, "STORED", tmp_path)
    figures.record("speed", ["", "s"], {"row": [1]}, command="", data="")
    rows = figures.older().splitlines()[2:]
    assert rows == []
    today = figures.versions()
    assert today.keys() >= {"words", "static", "index", "calibration"}
    monkeypatch.setattr(figures, "versions", lambda: today | {"static": today["static"] + 1})
    assert figures.older().splitlines()[2:] == [f"| static {today['static']} | `speed` |"]


def test_pairs_of_issues_have_an_address() -> None:
    """Each pair of the public set is there once, with a label, and a thread or `written`."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    assert len(rows) >= 250
    assert sum(row[4] != "en" for row in rows) >= 60
    assert len({(row[0], row[1]) for row in rows}) == len(rows)
    thread = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+|written")
    wrong = [row for row in rows if len(row) != 7 or row[2] not in "01"]
    assert wrong + [row for row in rows if not thread.fullmatch(row[3])] == []


def test_settings_named_in_pages_exist() -> None:
    """A dotted name of a section of the settings is a setting."""
    wings = {name: point.load()().model_dump() for name, point in wing_sections().items()}
    tree = Settings().model_dump() | wings
    found = 0
    for page in PAGES:
        for section, name in re.findall(r"`(?:--set )?(\w+)\.(\w+)[=`]", page.read_text("utf-8")):
            if section in tree and isinstance(tree[section], dict):
                assert name in tree[section] or name in ("py", "db", "tsv"), (
                    f"{page.name}: {section}.{name}"
                )
                found += 1
    assert found >= 3


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a dead link or a page outside the menu fails the build."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_asks_no_other_host(site: Path) -> None:
    """No page has a script, a picture, a style or a font from elsewhere."""
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        assert not _OUTSIDE.findall(path.read_text(encoding="utf-8")), path
    assert _OUTSIDE.search('<script src="https://example.org/x.js"></script>')


def test_the_reference_names_everything(site: Path) -> None:
    """Commands, settings and public names are generated from the code."""
    shown = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    whole: Any = typer.main.get_command(main.app)
    assert all(f"firth {name}" in shown for name in whole.commands)
    settings = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    for section, values in Settings().model_dump().items():
        for name in values if isinstance(values, dict) else ():
            assert f"<code>{section}.{name}</code>" in settings
    names = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert "compare_documents" in names
    assert "similarity" in names
