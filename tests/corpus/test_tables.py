"""CSV and TSV: line numbers to the byte, and one bad row costs one row."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.records import Reason
from firth.lexical.words import words

from .conftest import packed, read, table

LIMIT = 2_000
CELL = st.text(max_size=30).filter(lambda text: "\0" not in text and "\r" not in text)
GOOD = CELL.filter(lambda text: bool(words(text)))
BAD_ROWS: dict[bytes, Reason] = {
    b'k,"closed"too early': Reason.BROKEN_ROW,
    b"k": Reason.BROKEN_ROW,
    b"k,a,b": Reason.BROKEN_ROW,
    b"k,byte \xff": Reason.INVALID_UTF8,
    b"k,a \0 NUL": Reason.NUL,
    b"k,": Reason.EMPTY,
    b"k," + b"long " * 500: Reason.TOO_LONG,
}


@settings(max_examples=100, deadline=None)
@given(
    entries=st.lists(
        st.one_of(st.tuples(CELL, GOOD), st.sampled_from(sorted(BAD_ROWS))), max_size=10
    ),
    ending=st.sampled_from(["", ".gz", ".zst"]),
)
def test_csv_keeps_all_good_records(
    entries: list[tuple[str, str] | bytes], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any mixture, with line ends and quotes inside fields: good rows stay, bad ones are named."""
    rows = [e + b"\n" if isinstance(e, bytes) else table([e]) for e in entries]
    starts, line = [], 2
    for row in rows:
        starts.append(line)
        line += row.count(b"\n")
    path = tmp_path_factory.mktemp("csv") / f"a.csv{ending}"
    path.write_bytes(packed(b"key,text\n" + b"".join(rows), ending))
    records, problems = read(path, max_record_bytes=LIMIT)
    placed = list(zip(starts, entries, strict=True))
    assert [(r.line, r.text) for r in records] == [
        (n, e[1]) for n, e in placed if isinstance(e, tuple)
    ]
    assert [(p.line, p.reason) for p in problems] == [
        (n, BAD_ROWS[e]) for n, e in placed if isinstance(e, bytes)
    ]


@pytest.mark.parametrize("follow", ["plain words", '"quoted, words"', '"two\nlines"'])
def test_an_open_quote_costs_one_row(tmp_path: Path, follow: str) -> None:
    """After a quote that is never closed, the rows it would swallow are read after all."""
    path = tmp_path / "a.csv"
    path.write_text(f'key,text\n1,First.\n2,"never closed\n3,{follow}\n4,Last one.\n')
    records, problems = read(path)
    assert [r.text for r in records] == ["First.", follow.strip('"'), "Last one."]
    assert [(p.line, p.reason) for p in problems] == [(3, Reason.BROKEN_ROW)]


def test_an_open_quote_in_a_long_file(tmp_path: Path) -> None:
    """The search for the closing quote ends at max_record_bytes, and nothing is lost."""
    path = tmp_path / "a.csv"
    rows = [f"{i},Row number {i}." for i in range(500)]
    path.write_text("\n".join(["key,text", '0,"open', *rows]) + "\n")
    records, problems = read(path, max_record_bytes=LIMIT)
    assert [r.text for r in records] == [f"Row number {i}." for i in range(500)]
    assert [(p.line, p.reason) for p in problems] == [(2, Reason.TOO_LONG)]


def test_tsv_has_no_quoting(tmp_path: Path) -> None:
    """A quotation at the start of a field is text, as everywhere in tab-separated files."""
    path = tmp_path / "a.tsv"
    path.write_text('id\ttext\ttitle\na\t"Yes," he said.\tT\nb\tAn inch is 1".\t"\n')
    records, problems = read(path)
    assert not problems
    assert [(r.id, r.text, r.title) for r in records] == [
        ("a", '"Yes," he said.', "T"),
        ("b", 'An inch is 1".', '"'),
    ]


def test_columns_by_name(tmp_path: Path) -> None:
    """Fields are found by the first row, wherever they stand, whatever the line ends."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbf body , key\r\n"One,\r\n\r\ntwo.",k1\r\nThree\rfour.,k2\r\n')
    records, problems = read(path, text_field="body", id_field="key")
    assert not problems
    assert [(r.id, r.line, r.text) for r in records] == [
        ("k1", 2, "One,\n\ntwo."),
        ("k2", 5, "Three four."),
    ]


@pytest.mark.parametrize("header", ["key,body", 'key,"te"xt'])
def test_a_table_without_a_text_column(tmp_path: Path, header: str) -> None:
    """The file is one problem, not one for each of its rows."""
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,One.\n2,Two.\n")
    records, problems = read(path)
    assert not records
    assert [p.line for p in problems] == [1]
