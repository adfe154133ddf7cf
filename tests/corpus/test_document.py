"""Records become documents; what cannot is named."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from firth.corpus.document import Reason, iso_date, record_of
from firth.run.settings import CorpusSettings

from .conftest import apart


def read_rows(rows: Sequence[Mapping[str, Any]], **settings: Any) -> Any:
    """Return the documents and problems of records."""
    given = CorpusSettings(**settings)
    return apart(i for n, row in enumerate(rows, 1) for i in record_of(row, "a", n, given))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T23:30:00-02:00", "2024-05-02T01:30:00"),
        ("2024-05-01 10:00", "2024-05-01T10:00:00"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00"),
        ("0001-01-01T00:00:00+05:00", ""),
        ("1 May 2024", ""),
        ("", ""),
    ],
)
def test_a_date_has_one_form(given: str, kept: str) -> None:
    """Times with a zone are in UTC; what is no date of ISO 8601 is none."""
    assert iso_date(given) == kept


def test_a_record_without_id_has_its_place_as_id() -> None:
    """Ids are strings or whole numbers; titles are strings."""
    rows: list[dict[str, object]] = [
        {"text": "One.", "id": "x-1", "title": " A  title "},
        {"text": "Two.", "id": 7, "title": None},
        {"text": "Three.", "id": ["no", "name"]},
        {"text": "Four.", "id": True},
        {"text": "Five."},
    ]
    documents, problems = read_rows(rows)
    assert not problems
    assert [d.id for d in documents] == ["x-1", "7", "a:3", "a:4", "a:5"]
    assert [d.title for d in documents] == ["A title", "", "", "", ""]


def test_a_bad_date_loses_no_document() -> None:
    """It is named, and the document has none; values that are no text are no dates."""
    dates = ["2024-05-01", "May", "", None, 1.5, {"day": 1}, 20240502, date(2020, 1, 2)]
    rows = [{"text": "A text.", "date": given} for given in dates]
    documents, (problem,) = read_rows(rows)
    kept = ["2024-05-01", "", "", "", "", "", "2024-05-02", "2020-01-02"]
    assert [d.date for d in documents] == kept
    assert (problem.line, problem.reason, problem.detail) == (2, Reason.BAD_DATE, "'May'")


def test_fields_are_kept_as_text() -> None:
    fields = ("author", "stars", "tags", "ok", "day")
    rows: list[dict[str, object]] = [
        {"author": " Ann ", "stars": 3, "tags": ["a", "b", "a"], "ok": True},
        {"author": None, "stars": 2.5, "tags": [], "ok": False, "day": date(2020, 5, 1)},
        {"author": "", "tags": {"x": 1}, "stars": float("nan")},
    ]
    documents, _ = read_rows([{"text": "A text.", **row} for row in rows], fields=fields)
    assert [d.fields for d in documents] == [
        {"author": ("Ann",), "stars": ("3",), "tags": ("a", "b"), "ok": ("true",)},
        {"stars": ("2.5",), "ok": ("false",), "day": ("2020-05-01",)},
        {},
    ]
