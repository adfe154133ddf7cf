"""Records that belong together become one document; others are as they were."""

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from firth.corpus.corpus import Corpus
from firth.run.errors import InputError

FILES = ("documents.arrow", "sentences.arrow", "document_bounds.npy", "paragraph_bounds.npy")


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts(corpus: Corpus) -> list[list[str]]:
    """Sentences of each document."""
    bounds = corpus.document_bounds.tolist()
    return [corpus.texts(range(start, end)) for start, end in pairwise(bounds)]


def test_distinct_values_are_no_grouping(tmp_path: Path) -> None:
    """The same bytes, bad records, duplicates and dates included."""
    rows: list[dict[str, object]] = [
        {"text": f"Text {n % 25} stands here. And more.", "thread": n, "date": "2024-05-01"}
        for n in range(30)
    ]
    rows.insert(7, {"thread": 99})
    rows[9]["date"] = "never"
    path = write(tmp_path / "a.jsonl", rows)
    grouped = Corpus.build(path, tmp_path / "grouped", group_by="thread")
    Corpus.build(path, tmp_path / "alone")
    names = (*FILES, "skipped.jsonl", "duplicates.jsonl", "bad_dates.jsonl", "sources.jsonl")
    for name in names:
        found, expected = (tmp_path / run / "corpus" / name for run in ("grouped", "alone"))
        assert found.read_bytes() == expected.read_bytes(), name
    assert grouped.n_documents == 24  # of 25 different ones the 20th is held out


def test_records_of_one_value_are_one_document(tmp_path: Path) -> None:
    """In the order of reading, across files; what has no value stands alone."""
    questions: list[dict[str, object]] = [
        {"id": "q1", "text": "Why one?", "q": 1},
        {"id": "q2", "text": "Why two?", "q": 2, "title": "Two"},
        {"id": "x", "text": "Nothing else."},
    ]
    answers: list[dict[str, object]] = [
        {"id": "a2", "text": "Two is so.", "q": "2", "title": "Not this"},
        {"id": "a1", "text": "One is so.", "q": "1"},
        {"id": "y", "text": "Nor here.", "q": " "},
    ]
    inputs = [write(tmp_path / "q.jsonl", questions), write(tmp_path / "r.jsonl", answers)]
    corpus = Corpus.build(inputs, tmp_path / "run", group_by="q")
    expected = [["Why one?", "One is so."], ["Why two?", "Two is so."], ["Nothing else."]]
    assert texts(corpus) == [*expected, ["Nor here."]]
    assert corpus.document_ids() == ["q1", "q2", "x", "y"]
    assert [corpus.document_title(d) for d in range(4)] == ["", "Two", "", ""]
    assert corpus.n_paragraphs == 6
    again = Corpus.build(inputs, tmp_path / "again", group_by="q")
    assert texts(again) == texts(corpus)
    for name in FILES:
        found, expected_file = (tmp_path / run / "corpus" / name for run in ("again", "run"))
        assert found.read_bytes() == expected_file.read_bytes()


def test_dates_order_the_records(tmp_path: Path) -> None:
    """Those without one come last; the document's place is that of the record read first."""
    rows = [
        {"id": "b", "text": "Second post.", "t": "x", "date": "2024-05-02"},
        {"id": "c", "text": "No date.", "t": "x"},
        {"id": "z", "text": "Another thread.", "t": "z"},
        {"id": "a", "text": "First post.", "t": "x", "date": "2024-05-01"},
    ]
    corpus = Corpus.build(write(tmp_path / "a.jsonl", rows), tmp_path / "run", group_by="t")
    assert texts(corpus) == [["First post.", "Second post.", "No date."], ["Another thread."]]
    assert corpus.document_ids() == ["a", "z"]
    assert corpus.document_date(0) == "2024-05-01"


def test_a_long_document_ends_and_another_begins(tmp_path: Path) -> None:
    """None is longer than a record may be; nothing is lost."""
    rows = [{"id": f"p{n}", "text": f"Post number {n:02} stands here.", "a": 1} for n in range(9)]
    path = write(tmp_path / "a.jsonl", rows)
    corpus = Corpus.build(path, tmp_path / "run", group_by="a", max_record_bytes=100)
    assert [len(some) for some in texts(corpus)] == [3, 3, 3]
    assert corpus.document_ids() == ["p0", "p3", "p6"]


def test_a_field_that_no_record_has_is_refused(tmp_path: Path) -> None:
    """Rather than nothing grouped without a word."""
    path = write(tmp_path / "a.jsonl", [{"text": "One text here."}])
    with pytest.raises(InputError, match="no record has the field 'thread'"):
        Corpus.build(path, tmp_path / "run", group_by="thread")
    with pytest.raises(InputError, match="no usable field 'body'"):  # which is to blame then
        Corpus.build(path, tmp_path / "run", group_by="thread", text_field="body")
