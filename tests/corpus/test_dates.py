"""Dates of documents: read where they are of ISO 8601, kept, and never the loss of a document."""

import json
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus.conftest import read

from firth.corpus import CORPUS
from firth.corpus.build import BAD_DATES
from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.corpus.records import iso_date
from firth.corpus.stats import corpus_stats
from firth.run.errors import InputError
from firth.run.run import Run


@given(st.lists(st.one_of(st.dates(), st.datetimes()), min_size=2, max_size=9))
def test_dates_sort_as_they_follow_each_other(moments: list[date]) -> None:
    """A day sorts before its hours."""
    told = sorted(iso_date(moment.isoformat()) for moment in moments)
    assert all(told)
    whole = [
        moment if isinstance(moment, datetime) else datetime.combine(moment, datetime.min.time())
        for moment in moments
    ]
    assert [datetime.fromisoformat(text) for text in told] == sorted(whole)


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
def test_one_form(given: str, kept: str) -> None:
    """Times with a zone are told in UTC; what is no date of ISO 8601 is none."""
    assert iso_date(given) == kept


def test_a_bad_date_is_counted_and_loses_nothing(tmp_path: Path) -> None:
    """Nor do values that are no text."""
    dates = ["2024-05-01", "May", "", None, 1.5, {"day": 1}, 20240502]
    rows = [{"id": f"d{n}", "text": f"Text {n} here.", "date": d} for n, d in enumerate(dates)]
    rows.append({"id": "d7", "text": "Text without one."})
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = Corpus.build(tmp_path / "a.jsonl", tmp_path / "run", held_out=0)
    assert corpus.document_dates() == ["2024-05-01", "", "", "", "", "", "2024-05-02", ""]
    assert corpus.document_date(6) == "2024-05-02"
    folder = Run.open(tmp_path / "run").folder(CORPUS)
    (bad,) = map(json.loads, (folder / BAD_DATES).read_text().splitlines())
    assert (bad["line"], bad["detail"]) == (2, "'May'")
    found = corpus_stats(tmp_path / "run")
    assert (found.dated, found.bad_dates, sum(found.skipped.values())) == (2, 1, 0)
    with pytest.raises(InputError, match="'May'"):
        Corpus.build(tmp_path / "a.jsonl", tmp_path / "strict", strict=True)


def test_parquet_has_dates_of_its_own(tmp_path: Path) -> None:
    """Days, and moments with and without a zone; one beyond the calendar is bad."""
    moment = datetime.fromisoformat("2024-05-01T10:00:00")
    columns = {
        "day": pa.array([moment.date(), None]),
        "naive": pa.array([moment, None], pa.timestamp("ns")),
        "zoned": pa.array([moment, None], pa.timestamp("us", "America/New_York")),
        "far": pa.array([9_000_000, None], pa.date32()),
    }
    table = {"text": ["One text here.", "Another text."], **columns}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    expected = ("2024-05-01", "2024-05-01T10:00:00", "2024-05-01T10:00:00", "")
    for field, kept in zip(columns, expected, strict=True):
        records, problems = read(tmp_path / "a.parquet", date_field=field)
        assert not problems
        assert [record.date for record in records] == [kept, ""]
        assert (records[0].flaw is None) == bool(kept)


def test_a_corpus_of_an_earlier_firth_has_no_dates(tmp_path: Path) -> None:
    """Its file of documents lacks the column."""
    (tmp_path / "a.jsonl").write_text('{"text": "One text here.", "date": "2024-05-01"}\n')
    assert Corpus.build(tmp_path / "a.jsonl", tmp_path / "run").document_dates() == ["2024-05-01"]
    folder = tmp_path / "run" / "corpus"
    with pa.ipc.open_file(folder / "documents.arrow") as file:
        old = file.read_all().drop_columns(["date"])
    with pa.ipc.new_file(folder / "documents.arrow", old.schema) as file:
        file.write_table(old)
    assert Corpus(folder).document_dates() == [""]
    assert Library([Corpus(folder)]).document_date(0) == ""
