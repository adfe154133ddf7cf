"""Markdown, HTML and PDF: running text, and what cannot be read loses no other file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firth
from firth.corpus import pages
from firth.corpus.document import Document, Problem, Reason
from firth.corpus.pages import joined, markdown_blocks
from firth.corpus.read import find_inputs
from firth.run.errors import InputError, MissingExtraError

from .conftest import built, packed, read

PAGE = """<html><head><title>The  harbour</title><script>var evil = 1;</script></head><body>
<a href="#main">Skip to main content</a><header>The site</header><button>Dark</button>
<nav><a href="/">Home</a></nav><div class=menu><a>One</a> | <a>Two</a></div>
<h1>Ships</h1><p hidden>Not this.</p><div role=search>Nor this.</div>
<div><p>The ship reached the <b>har</b>bour\nin the evening.</p>A tail.<br>
It rained &amp; blew.</div>
<ul><li>One anchor</li><li>Two anchors</ul><table><tr><td>7</td></tr></table>
<footer>Copyright</footer></body></html>"""
SMALL = {"words": {"min_count": 1, "dimensions": 8}, "static": {"dimensions": 16}}
TEXT = (
    "Ships\n\nThe ship reached the harbour in the evening.\n\nA tail. It rained & blew."
    "\n\nOne anchor\n\nTwo anchors"
)


def pdf(*sheets: list[str]) -> bytes:
    """Return a PDF file with lines of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(sheets)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(sheets)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, lines in enumerate(sheets):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        content = f"BT /F1 12 Tf 50 700 Td {shown} ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents "
            f"{5 + 2 * n} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    written, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{written}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    ).encode()


def read_all(folder: Path, **given: Any) -> tuple[list[Document], list[Problem]]:
    """Read every file of a folder as the only input, in order."""
    results = [read(path, **given) for path in sorted(folder.iterdir())]
    return [d for documents, _ in results for d in documents], [p for _, ps in results for p in ps]


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let the test start its own process, whose limits are those of its start."""
    monkeypatch.setattr(pages, "_free", None)
    yield monkeypatch
    if pages._free is not None:
        pages._free.kill()
        pages._free.communicate()


PLAIN = st.lists(st.sampled_from(["It", "rained", "all", "day.", "We", "stayed,"]), min_size=1)


@settings(max_examples=40)
@given(paragraphs=st.lists(PLAIN.map(" ".join), min_size=1, max_size=5))
def test_markdown_without_markup_is_its_text(paragraphs: list[str]) -> None:
    """However its lines are wrapped."""
    expected = "\n\n".join(paragraphs)
    for text in (expected, "\n\n".join(p.replace(" ", "\n") for p in paragraphs)):
        assert joined(markdown_blocks(text))[0] == expected


def test_markdown_keeps_running_text_only(tmp_path: Path) -> None:
    """Headings, paragraphs, quotations and items stay; code, tables, HTML and marks do not."""
    path = tmp_path / "a.md"
    path.write_text(
        "---\ntitle: Not this\n---\n\n# The *tide*\n\nIt [rose](http://a.b 'c') to `high`\n"
        "water &amp; **fell** <b>again</b>.![no](x.png)  \nThen it \\* turned.\n\n"
        "```python\nprint('no')\n```\n\n    not = this\n\n| no | no |\n|--|--|\n| no | no |\n\n"
        "<div>\nno\n</div>\n\n<!-- no -->\n\n- One item.\n- Another\n  item.\n\n> He said so.\n\n"
        "Setext\n======\n\nThe [end].\n\n[end]: http://a.b\n"
    )
    ((document,), problems) = read(path)
    assert not problems
    assert (document.id, document.line) == ("a.md", 1)
    assert document.text.split("\n\n") == [
        "The tide",
        "It rose to high water & fell again.\nThen it * turned.",
        "One item.",
        "Another item.",
        "He said so.",
        "Setext",
        "The end.",
    ]
    path.write_text("---\n\nA rule comes first.\n\n---\n\nAnd last.\n")
    assert read(path)[0][0].text == "A rule comes first.\n\nAnd last."
    path.write_text("```\nonly code\n```\n")
    assert [problem.reason for problem in read(path)[1]] == [Reason.EMPTY]


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_html_becomes_running_text(packing: str, tmp_path: Path) -> None:
    """Blocks are paragraphs; what is no text of the page is left out; the title is kept."""
    path = tmp_path / f"a.html{packing}"
    path.write_bytes(packed(PAGE.encode(), packing))
    (document,), problems = read(path)
    assert (document.title, document.text, problems) == ("The harbour", TEXT, [])
    assert document.headings == (0,)


@pytest.mark.parametrize("element", ["main", "div role=main", "article"])
def test_the_main_text_of_a_page_is_that_of_its_only_main(element: str, tmp_path: Path) -> None:
    """What stands outside is left out; a heading in its header stays, and a link in a sentence."""
    path = tmp_path / "a.html"
    page = (
        f"<body><div>Press ? for help.</div><{element}><header><h1>Ships</h1></header>"
        f"<h2>At <a>sea</a></h2><p><a>They sailed.</a></p></{element.split()[0]}>Made by us.</body>"
    )
    path.write_text(page)
    (document,), _ = read(path)
    assert document.text == "Ships\n\nAt sea\n\nThey sailed."
    assert document.headings == (0, 1)
    path.write_text(page.replace("They sailed.", " ") + page)
    assert "Press ? for help." in read(path)[0][0].text, "two of them are no main text"


def test_a_heading_is_context_and_no_hit(tmp_path: Path) -> None:
    """Its words find the text below; a document of headings alone is found by them."""
    (tmp_path / "a.md").write_text("# Refund policy\n\nMoney comes back in five days.\n\nBye now.")
    (tmp_path / "b.md").write_text("# Harbour opening hours\n\n## Refund policy of the harbour")
    (tmp_path / "c.md").write_text("Nothing of the kind is said here.\n\nThe sea is calm today.")
    model = firth.build(tmp_path, quiet=True, settings=SMALL)
    hits = model.search("refund policy")
    assert "Refund policy" not in [hit.text for hit in hits]
    assert "Money comes back in five days." in [hit.text for hit in hits]
    assert "Refund policy of the harbour" in [hit.text for hit in hits]
    texts = [hit.text for hit in model.search("refund policy", unit="document")]
    assert "Money comes back in five days." in texts


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["<p>", "</p>", "<div", ">", "<!--", "a ", "<b>", "&", "</body>"])))
def test_broken_html_is_read(pieces: list[str]) -> None:
    title, blocks = pages._html_text("".join(pieces))
    assert title == ""
    assert all(text.strip() for text, _ in blocks)


def test_a_page_of_pdf_is_a_paragraph(tmp_path: Path) -> None:
    """Its lines are joined, and words divided at their ends; pages without a word count."""
    path = tmp_path / "a.pdf"
    first = ["The ship reached the har-", "bour in the", "evening. No sail was seen."]
    path.write_bytes(pdf([], first, [], ["..."], ["It rained."], []))
    (document,), problems = read(path)
    said = "The ship reached the harbour in the evening. No sail was seen."
    assert document.text == f"{said}\n\nIt rained."
    assert document.pages == (2, 5)
    assert problems == []
    (tmp_path / "b.txt").write_text("A text. It has no pages.")
    corpus, _ = built(tmp_path / "run", [path, tmp_path / "b.txt"])
    assert [corpus.page(number) for number in range(len(corpus))] == [2, 2, 5, 0, 0]
    assert corpus.paragraph_bounds.tolist() == [0, 0, 2, 2, 2, 3, 5]
    assert corpus.paragraph_of(range(5)).tolist() == [1, 1, 4, 5, 5]
    assert not corpus.headings.any()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("junk.pdf", b"junk", Reason.CORRUPT),
        ("empty.pdf", b"", Reason.CORRUPT),
        ("cut.pdf", pdf(["A word."])[:60], Reason.CORRUPT),
        ("scan.pdf", pdf([]), Reason.EMPTY),
        ("empty.html", b"", Reason.EMPTY),
        ("long.html", b"<p>" + b"long " * 1_000, Reason.TOO_LONG),
        ("long.pdf", pdf(*([f"Page {n} of many."] for n in range(200))), Reason.TOO_LONG),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, name: str, content: bytes, reason: Reason) -> None:
    """By its reason, without a document; the next file is read."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.html").write_text("<p>It rained.")
    documents, problems = read_all(tmp_path, max_record_bytes=2_000)
    assert [d.text for d in documents] == ["It rained."]
    assert [(p.source, p.reason) for p in problems] == [(name, reason)]


def test_what_takes_too_long_is_given_up(new_process: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tags nested so deep that the time grows with their square; the next file is read."""
    new_process.setattr(pages, "SECONDS", 1)
    new_process.setattr(pages, "SECONDS_OF_MB", 0)
    (tmp_path / "a.html").write_text("<div>" * 200_000 + "A word.")
    (tmp_path / "b.html").write_text(PAGE)
    documents, (problem,) = read_all(tmp_path)
    assert [d.text for d in documents] == [TEXT]
    assert problem.reason is Reason.COSTLY
    assert "more than 1 s of processor time" in problem.detail


def test_what_needs_too_much_memory_is_given_up(
    new_process: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next file is read."""
    new_process.setattr(pages, "MEMORY", 100 << 20)
    lines = ["A word."] * 300_000
    (tmp_path / "a.pdf").write_bytes(pdf(["It rained."], lines))
    (tmp_path / "b.pdf").write_bytes(pdf(["The ship."]))
    documents, (problem,) = read_all(tmp_path)
    assert [d.text for d in documents] == ["The ship."]
    assert (problem.source, problem.reason) == ("a.pdf", Reason.COSTLY)
    assert "100 MiB of memory" in problem.detail


def test_a_process_that_is_gone_costs_one_file(
    new_process: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next file has a new process."""
    path = tmp_path / "a.html"
    path.write_text(PAGE)
    read(path)
    assert pages._free is not None
    pages._free.kill()
    assert "exit status -9" in read(path)[1][0].detail
    assert read(path)[0][0].text == TEXT


def test_without_a_process_no_file_is_blamed(
    new_process: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is skipped where nothing can be read: the call ends."""
    (tmp_path / "a.html").write_text(PAGE)
    new_process.setattr(pages, "_PROGRAM", "raise SystemExit(3)")
    with pytest.raises(InputError, match=r"did not start: .* status 3"):
        read(tmp_path / "a.html")


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("b.pdf", "pypdfium2", "documents"), ("b.parquet", "pyarrow", "documents")],
)
def test_a_format_whose_library_is_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
) -> None:
    """Before any work, with what installs it; other files need none."""
    (tmp_path / "a.txt").write_text("A word.")
    (tmp_path / name).write_bytes(pdf(["A word."]))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{name}.*pip install .*\[{extra}\]"):
        find_inputs(tmp_path)
    assert len(find_inputs(tmp_path / "a.txt").sources) == 1
