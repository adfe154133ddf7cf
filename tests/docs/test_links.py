"""Links between pages lead somewhere: to a file that is there, and to a heading in it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made where the pages are read."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def links(page: Path) -> list[tuple[Path, str]]:
    """The files and anchors that a page's relative links name."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    parts = [link.partition("#") for link in _LINK.findall(text) if "://" not in link]
    return [(page.parent / file if file else page, anchor) for file, _, anchor in parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file, and every anchor a heading."""
    for target, anchor in links(page):
        assert target.exists(), f"{page.name}: {target} is not there"
        assert not anchor or anchor in anchors(target), f"{page.name}: no heading {anchor}"


def test_links_are_found() -> None:
    """The premise: the pages link to each other, and to headings."""
    found = [link for page in PAGES for link in links(page)]
    assert len(found) > 50
    assert sum(bool(anchor) for _, anchor in found) > 10
