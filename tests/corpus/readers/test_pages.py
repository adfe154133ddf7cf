"""HTML and PDF: running text, and what cannot be read loses no other."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import formats
from firth.corpus.inputs import Reason, find_inputs
from firth.corpus.readers.markup import html_text
from firth.run.errors import MissingExtraError

from ..conftest import packed, read

PAGE = """<html><head><title>The  harbour</title><script>var evil = 1;</script></head><body>
<nav><a href="/">Home</a></nav><h1>Ships</h1>
<div><p>The ship reached the <b>har</b>bour\nin the evening.</p>A tail.<br>
It rained &amp; blew.</div>
<ul><li>One anchor</li><li>Two anchors</ul><table><tr><td>7</td></tr></table>
<footer>Copyright</footer></body></html>"""
TEXT = (
    "Ships\n\nThe ship reached the harbour in the evening.\n\nA tail. It rained & blew."
    "\n\nOne anchor\n\nTwo anchors"
)


def pdf(*pages: list[str]) -> bytes:
    """A PDF file with lines of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, lines in enumerate(pages):
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


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_html_becomes_running_text(ending: str, tmp_path: Path) -> None:
    """Blocks are paragraphs; what is no text of the page is left out; the title is kept."""
    path = tmp_path / f"a.html{ending}"
    path.write_bytes(packed(PAGE.encode(), ending))
    (record,), problems = read(path)
    assert (record.title, record.text, problems) == ("The harbour", TEXT, [])


def test_html_of_another_encoding_is_read(tmp_path: Path) -> None:
    """What is not UTF-8 is Western."""
    (tmp_path / "a.htm").write_bytes("<p>A caf\u00e9.</p>".encode("latin-1"))
    assert read(tmp_path / "a.htm")[0][0].text == "A caf\u00e9."


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["<p>", "</p>", "<div", ">", "<!--", "a ", "<b>", "&", "</body>"])))
def test_broken_html_is_read(pieces: list[str]) -> None:
    """Whatever it is, it gives some text."""
    title, text = html_text("".join(pieces))
    assert title == ""
    assert "\0" not in text


def test_pdf_becomes_running_text(tmp_path: Path) -> None:
    """A page is a paragraph; its lines are joined, and words divided at their ends."""
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["The ship reached the har-", "bour in the", "evening."], ["It rained."]))
    (record,), problems = read(path)
    assert record.text == "The ship reached the harbour in the evening.\n\nIt rained."
    assert problems == []


def test_what_is_broken_is_named(tmp_path: Path) -> None:
    """Each by its reason; there is no record of it."""
    whole = pdf(["A word."])
    for name, content, reason in (
        ("junk.pdf", b"junk", Reason.CORRUPT),
        ("empty.pdf", b"", Reason.CORRUPT),
        ("cut.pdf", whole[:60], Reason.CORRUPT),
        ("scan.pdf", pdf([]), Reason.EMPTY),
        ("empty.html", b"", Reason.EMPTY),
        ("long.html", b"<p>" + b"long " * 1_000, Reason.TOO_LONG),
    ):
        (tmp_path / name).write_bytes(content)
        records, problems = read(tmp_path / name, max_record_bytes=2_000)
        assert (name, records, [problem.reason for problem in problems]) == (name, [], [reason])


def test_without_the_extra_they_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any work, with what installs it; other files need none."""
    (tmp_path / "a.txt").write_text("A word.")
    (tmp_path / "b.pdf").write_bytes(pdf(["A word."]))
    assert importlib.util.find_spec("pypdfium2")  # the premise
    monkeypatch.setattr(formats, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"b\.pdf.*firth\[documents\]"):
        find_inputs([tmp_path])
    assert len(find_inputs([tmp_path / "a.txt"])[0]) == 1
