"""HTML and PDF read by a process that may be lost: a bad file costs nothing but itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from firth.corpus.inputs import Problem, Reason
from firth.corpus.readers import apart
from firth.corpus.readers.markup import UnreadableError, html_text, pdf_pages
from firth.corpus.records import Record
from firth.run.errors import InputError

from ..conftest import read
from .test_pages import PAGE, TEXT, pdf


def read_all(folder: Path, **settings: object) -> tuple[list[Record], list[Problem]]:
    """Everything in the files of a folder, in their order."""
    found = [read(path, **settings) for path in sorted(folder.iterdir())]
    return [r for records, _ in found for r in records], [p for _, ps in found for p in ps]


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Processes of this test alone; limits are those of their start."""
    monkeypatch.setattr(apart, "_free", None)
    yield monkeypatch
    if apart._free is not None:
        apart._free.kill()
        apart._free.communicate()


def test_the_same_as_here(tmp_path: Path) -> None:
    """What comes back is what the functions give in this process, any characters included."""
    page = PAGE + "<p>\u2028 \U0001f6a2 \x85 \ufffe</p>"
    assert apart.html_text(page) == html_text(page)
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["The ship."], [], ["The harbour."]))
    assert list(apart.pdf_pages(str(path))) == list(pdf_pages(str(path))) != []
    path.write_bytes(b"junk")
    with pytest.raises(UnreadableError) as here:
        list(pdf_pages(str(path)))
    with pytest.raises(UnreadableError) as there:
        list(apart.pdf_pages(str(path)))
    assert str(there.value) == str(here.value)


def test_what_takes_too_long_is_given_up(anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tags nested so deep that the time grows with their square; the next file is read."""
    anew.setattr(apart, "SECONDS", 1)
    (tmp_path / "a.html").write_text("<div>" * 200_000 + "A word.")
    (tmp_path / "b.html").write_text(PAGE)
    records, (problem,) = read_all(tmp_path)
    assert [record.text for record in records] == [TEXT]
    assert (problem.source, problem.reason) == ("a.html", Reason.COSTLY)
    assert "more than 1 s of processor" in problem.detail


def test_what_needs_too_much_memory_is_given_up(anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page of so many lines; what stands on the pages before is kept, the next file is read."""
    anew.setattr(apart, "MEMORY", 100 << 20)
    lines = ["A word."] * 300_000
    (tmp_path / "a.pdf").write_bytes(pdf(["It rained."], lines, ["Never read."]))
    (tmp_path / "b.pdf").write_bytes(pdf(lines))
    (tmp_path / "c.pdf").write_bytes(pdf(["The ship."]))
    records, problems = read_all(tmp_path)
    assert [record.text for record in records] == ["It rained.", "The ship."]
    assert [(p.source, p.reason) for p in problems] == [
        ("a.pdf", Reason.COSTLY),
        ("b.pdf", Reason.COSTLY),
    ]
    assert "after 1 readable" in problems[0].detail
    assert "100 MiB of memory" in problems[0].detail


def test_pages_without_end_are_cut_off(tmp_path: Path) -> None:
    """A text over the limit is given up there; the next file has an answer of its own."""
    whole = pdf(*([f"Page {number}."] for number in range(200)))
    (tmp_path / "a.pdf").write_bytes(whole)
    (tmp_path / "b.html").write_text(PAGE)
    records, (problem,) = read_all(tmp_path, max_record_bytes=500)
    assert len("".join(map(str, pdf_pages(str(tmp_path / "a.pdf"))))) > 1_000  # the premise
    assert [record.text for record in records] == [TEXT]
    assert (problem.source, problem.reason) == ("a.pdf", Reason.TOO_LONG)


def test_a_process_that_is_gone_is_named(anew: pytest.MonkeyPatch) -> None:
    """As for any signal: one file is lost, and the next has a new process."""
    apart.html_text(PAGE)
    assert apart._free is not None
    apart._free.kill()
    with pytest.raises(apart.CostlyError, match="exit status -9"):
        apart.html_text(PAGE)
    assert apart.html_text(PAGE)[1] == TEXT


def test_without_a_process_no_file_is_blamed(anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is skipped where nothing can be read: the run ends."""
    (tmp_path / "a.html").write_text(PAGE)
    anew.setattr(apart, "_BEGIN", "raise SystemExit(3)")
    with pytest.raises(InputError, match=r"did not start: .* status 3"):
        read(tmp_path / "a.html")
