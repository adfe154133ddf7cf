"""The report page: self-contained, escaped, and the same twice."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from firth.context.themes import Theme
from firth.origin.evidence import ContextShare, Knowledge, Meeting, Part, ThemeShare, Word
from firth.origin.reasons import Reasons
from firth.report.beside import Beside, Placed
from firth.report.page import Level, Report, Searched, write_page
from firth.search.search import Hit

HOSTILE = """<script>alert("x")</script> & 'quoted' </td></table>"""

COLUMNS = ("model", "task", "split", "metric", "value", "low", "high", "n")


def report(text: str) -> Report:
    """A report with `text` in every place that can hold text of others."""
    context = ContextShare(text, text, 3, -0.5, -0.25, 0.125)
    theme = ThemeShare(Theme((text,), (text,)), 0.25, 0.5, 0.25, 0.1, (context,))
    word = Word(text, 0.125, False, False, False, None)
    explanation = Reasons(
        sentence1=text,
        sentence2=text,
        similarity=0.125,
        parts={text: Part(0.5, 0.125)},
        themes=(theme,),
        alone1=(),
        alone2=(),
        meetings=(Meeting(text, text, 1.0, 0.25),),
        words1=(word,),
        words2=(word,),
        exact=True,
        knowledge=Knowledge.BOTH,
    )
    hit = Hit(0.75, 0.75, 0.0, None, 3, text, text, text, text, 1, meaning=text)
    placed = Placed(text, text, 0.9, 0.8, 0.1)
    labels = {"pairs": 9, "components": {text: 0.5}, "tfidf": None, "warnings": [text]}
    labels["histogram"] = {"edges": [-0.5, 0.0, 0.5], "counts": [3, 6]}
    return Report(
        title=text,
        lead=text,
        verdicts=[text],
        check=[{"name": text, "value": 68.5, "low": 60.5, "high": 75.5}],
        left_out={text: 4321},
        stages=[{"name": text, "summary": text, "figures": {}, "stale": True}],
        levels=[Level(text, 0.001, 0.375, None), Level(text, 0.01, 0.25, 0.5)],
        labels={**labels, "length": 0.25},
        lacking=[(text, text)],
        facts={text: text},
        curves={text: (text, {text: [(1.0, 0.5), (2.0, 0.25)], "other": [(1.0, 0.75)]})},
        distilled=[(0.1, 0.3), (0.2, 0.5)],
        pairs=[(text, text, 0.25, 0.5)],
        explanations=[explanation],
        searches=[Searched(text, (hit,), (hit,), 100), Searched(text, (), (), 100)],
        beside=[Beside(text, 1225, text, 700, 500, (placed,), (placed,))],
        results=[
            dict(zip(COLUMNS, (text, text, text, text, 61.25, 58.0, 64.0, 1225), strict=True)),
            dict(zip(COLUMNS, ("m", "t", "dev", "r", None, None, None, 2), strict=True)),
        ],
        remarks=[text],
        notes=[text],
        settings=text,
    )


class Tags(HTMLParser):
    """Every tag and attribute of a page, and whether each tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page full of hostile text."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(path, report(HOSTILE))
    return path.read_text(encoding="utf-8")


def test_text_is_escaped_everywhere(page: str) -> None:
    """Text of others is shown, never run: no script, and the page's own tags stay in balance."""
    assert page.count("&lt;script&gt;") >= 30
    parsed = Tags(page)
    assert "script" not in parsed.tags
    assert not parsed.open


def test_no_character_acts(tmp_path: Path) -> None:
    """Escape sequences and changes of writing direction are spelt out, also of the plots."""
    write_page(tmp_path / "a.html", report("\x1b]52;c;aGk=\x07 \u202eabc"))
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not {"\x1b", "\x07", "\u202e"} & set(page)
    assert "\\x1b]52" in page


def test_the_page_needs_nothing_else(page: str) -> None:
    """No attribute and no style points outside the page."""
    links = [
        value
        for name, value in Tags(page).attributes
        if name in ("src", "href", "xlink:href", "action", "data") and not value.startswith("#")
    ]
    assert links == []
    assert not re.search(r"@import|url\((?!['\"]?#)", page)
    assert "viewport" in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_shows_the_figures(tmp_path: Path) -> None:
    """What is in the report is on the page; an undefined figure is called so."""
    write_page(tmp_path / "a.html", report("plain words"))
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    for figure in ("61.2", "58.0", "64.0", "1,225", "undefined", "0.250", "0.500", "0.750",
                   "90 %", "80 %", "10 %", "nearer to people's for 700",
                   "4,321", "68.5 [60.5, 75.5]", "0.1 %", "50 %"):  # fmt: skip
        assert figure in text
    assert text.count("<svg") == 3  # a point alone makes no line
    for told in ("from 0.500 to 0.250 in 2 steps", "most between 0.00 and 0.50", "Stale"):
        assert told in text


def test_two_pages_have_the_same_bytes(tmp_path: Path) -> None:
    """No date, no random identifier."""
    for name in ("a.html", "b.html"):
        write_page(tmp_path / name, report("plain words"))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_what_a_run_lacks_has_no_heading(tmp_path: Path) -> None:
    """A part that is empty is left out, its title too; what would add it is named."""
    nothing = Report(
        title="mine", lead="", verdicts=(), check=(), facts={"documents": "3"}, left_out={},
        stages=(), levels=(), labels=None, curves={}, distilled=(), pairs=(),
        explanations=(), searches=(), beside=(), results=(), remarks=(), notes=(),
        lacking=[("Search", "firth index --run mine")], settings="seed: 13",
    )  # fmt: skip
    write_page(tmp_path / "a.html", nothing)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings == ["What is not here", "What was read", "On the way", "Settings"]
    assert "firth index --run mine" in page
    assert not Tags(page).open
    assert "<svg" not in page
