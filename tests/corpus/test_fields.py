"""Fields of records that are kept: of every format, of groups, of documents that come later."""

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firth.corpus.add import build_added
from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.corpus.stats import corpus_stats
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run

ROWS: list[dict[str, object]] = [
    {"text": "One is here.", "author": " Ann ", "stars": 3, "tags": ["a", "b", "a"], "ok": True},
    {"text": "Two is here.", "author": None, "stars": 2.5, "tags": [], "ok": False},
    {"text": "Three is here.", "author": "", "tags": {"x": 1}},
]
FIELDS = ("author", "stars", "tags", "ok")
EXPECTED = [
    [("Ann",), (), ()],
    [("3",), ("2.5",), ()],
    [("a", "b"), (), ()],
    [("true",), ("false",), ()],
]


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_json_lines(tmp_path: Path) -> None:
    """Texts, numbers, truth values and lists; what is none of them, or empty, is no value."""
    corpus = Corpus.build(lines(tmp_path / "a.jsonl", ROWS), tmp_path / "run", fields=FIELDS)
    assert corpus.fields == FIELDS
    assert [corpus.document_field(name) for name in FIELDS] == EXPECTED
    assert corpus.document_field("author", [0, 2, 0]) == [("Ann",), (), ("Ann",)]
    assert corpus.document_field("other") == [()] * 3
    assert corpus_stats(tmp_path / "run").fields == {"author": 1, "stars": 2, "tags": 1, "ok": 2}
    library = Library.open(tmp_path / "run")
    assert library.document_fields(0) == {
        "author": ("Ann",), "stars": ("3",), "tags": ("a", "b"), "ok": ("true",)
    }  # fmt: skip
    assert library.document_fields(2) == {}


def test_tables(tmp_path: Path) -> None:
    """Of .csv text; of Parquet numbers, dates and lists, too."""
    (tmp_path / "a.csv").write_text("text,author,year\nOne is here.,Ann,1999\nTwo is.,,2001\n")
    corpus = Corpus.build(tmp_path / "a.csv", tmp_path / "csv", fields=("author", "year"))
    assert corpus.document_field("author") == [("Ann",), ()]
    assert corpus.document_field("year") == [("1999",), ("2001",)]
    table = {
        "text": ["One is here.", "Two is here."],
        "stars": [3, None],
        "price": [2.5, 4.0],
        "day": [date(2020, 5, 1), None],
        "tags": [["a", "b"], None],
        "author": ["Ann", "Bo"],
    }
    pq.write_table(pa.table(table), tmp_path / "b.parquet")
    names = ("stars", "price", "day", "tags", "author")
    corpus = Corpus.build(tmp_path / "b.parquet", tmp_path / "parquet", fields=names)
    assert [corpus.document_field(name) for name in names] == [
        [("3",), ()],
        [("2.5",), ("4.0",)],
        [("2020-05-01",), ()],
        [("a", "b"), ()],
        [("Ann",), ("Bo",)],
    ]


def test_a_group_has_the_values_of_all_its_records(tmp_path: Path) -> None:
    """In the order of the records, each once; files without fields have none."""
    rows: list[dict[str, object]] = [
        {"text": f"Text {n} is here.", "thread": n % 2, "author": author}
        for n, author in enumerate(["Ann", "Bo", "Cy", "Bo", "Ann"])
    ]
    (tmp_path / "note.txt").write_text("A note is here.")
    inputs = [lines(tmp_path / "a.jsonl", rows), tmp_path / "note.txt"]
    corpus = Corpus.build(inputs, tmp_path / "run", group_by="thread", fields=("author",))
    assert corpus.document_field("author") == [("Ann", "Cy"), ("Bo",), ()]


def test_documents_that_come_later_have_them(tmp_path: Path) -> None:
    """Those of the corpus' own fields."""
    Corpus.build(lines(tmp_path / "a.jsonl", ROWS), tmp_path / "run", fields=("author",))
    more = lines(tmp_path / "b.jsonl", [{"text": "Four is here.", "author": "Di", "stars": 1}])
    build_added(Run.open(tmp_path / "run"), [str(more)])
    last = lines(tmp_path / "c.jsonl", [{"text": "Five is here."}])
    build_added(Run.open(tmp_path / "run"), [str(last)])
    library = Library.open(tmp_path / "run")
    assert library.fields == ("author",)
    assert library.document_field("author") == [("Ann",), (), (), ("Di",), ()]


def test_fields_that_cannot_be_kept(tmp_path: Path) -> None:
    """What is kept anyway, twice the same, none that a record has."""
    file = lines(tmp_path / "a.jsonl", ROWS)
    for wrong in (("date",), ("author", "author"), ("",)):
        with pytest.raises(ConfigError):
            Corpus.build(file, tmp_path / "run", fields=wrong)
    with pytest.raises(InputError, match="no record has a value of 'autor'"):
        Corpus.build(file, tmp_path / "other", fields=("author", "autor"))
    assert not (tmp_path / "other" / "corpus").exists()
