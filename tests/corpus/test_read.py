"""Records in, and bad records named: a bad one never loses a good one."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.inputs import Reason
from firth.corpus.readers.text import plain_text
from firth.lexical.words import words

from .conftest import json_lines, packed, read, table

LIMIT = 2_000
GOOD = st.text(max_size=40).filter(lambda text: "\0" not in text and bool(words(text)))
BAD_JSON: dict[bytes, Reason] = {
    b'{"text": "cut off': Reason.BROKEN_JSON,
    b"not json at all": Reason.BROKEN_JSON,
    b"[" * 1_900: Reason.BROKEN_JSON,
    b'{"text": "raw \0 NUL"}': Reason.BROKEN_JSON,
    b'{"text": ' + b"9" * 100 + b"e}": Reason.BROKEN_JSON,
    b'["text"]': Reason.NOT_AN_OBJECT,
    b"null": Reason.NOT_AN_OBJECT,
    b'{"txet": "a word"}': Reason.MISSING_FIELD,
    b'{"text": null}': Reason.NOT_TEXT,
    b'{"text": ["a", "b"]}': Reason.NOT_TEXT,
    b'{"text": 7}': Reason.NOT_TEXT,
    b'{"text": "byte \xff"}': Reason.INVALID_UTF8,
    b'{"text": "half a pair \\ud800"}': Reason.INVALID_UTF8,
    b'{"text": "escaped \\u0000 NUL"}': Reason.NUL,
    b'{"text": ""}': Reason.EMPTY,
    b'{"text": " \\n --- \\u00a0"}': Reason.EMPTY,
    b'{"text": "' + b"long " * 500 + b'"}': Reason.TOO_LONG,
}


@settings(max_examples=100)
@given(
    entries=st.lists(st.one_of(GOOD, st.sampled_from(sorted(BAD_JSON)), st.just(b"")), max_size=12),
    ending=st.sampled_from(["", ".gz", ".zst"]),
)
def test_json_lines_keep_all_good_records(
    entries: list[str | bytes], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any mixture: each good record is there, each bad one is named by its line; blanks are not."""
    lines = [e if isinstance(e, bytes) else json.dumps({"text": e}).encode() for e in entries]
    path = tmp_path_factory.mktemp("json") / f"a.jsonl{ending}"
    path.write_bytes(packed(b"\n".join(lines), ending))
    records, problems = read(path, max_record_bytes=LIMIT)
    good = [(n, e) for n, e in enumerate(entries, 1) if isinstance(e, str)]
    bad = [(n, BAD_JSON[e]) for n, e in enumerate(entries, 1) if isinstance(e, bytes) and e]
    assert [(record.line, record.text) for record in records] == good
    assert [(problem.line, problem.reason) for problem in problems] == bad


def test_fields_of_a_record(tmp_path: Path) -> None:
    """Names: the id where there is one (numbers too), else file and line; titles are kept."""
    objects = [
        {"text": "One.", "id": "x-1", "title": " A  title "},
        {"text": "Two.", "id": 7, "title": None},
        {"text": "Three.", "id": ["no", "name"]},
        {"text": "Four.", "id": True},
        {"text": "Five."},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(fields) + "\n" for fields in objects))
    records, problems = read(path)
    assert not problems
    assert [r.id for r in records] == ["x-1", "7", "a.jsonl:3", "a.jsonl:4", "a.jsonl:5"]
    assert [r.title for r in records] == ["A title", "", "", "", ""]


def test_a_named_id_field_must_be_there(tmp_path: Path) -> None:
    """A misspelt --id-field is told, not silently replaced by file and line."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "One.", "key": "k1"}\n{"body": "Two.", "id": "2"}\n')
    records, problems = read(path, text_field="body", id_field="key")
    assert [(r.id, r.text) for r in records] == [("k1", "One.")]
    assert [(p.line, p.reason) for p in problems] == [(2, Reason.MISSING_FIELD)]
    assert "'key'" in problems[0].detail
    assert "'body', 'id'" in problems[0].detail


ROWS = [{"subject": "Locked out", "body": "I cannot log in."}, {"subject": "Thanks", "body": None}]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_text_of_several_fields(tmp_path: Path, form: str) -> None:
    """Each begins a paragraph, in the order in which they are asked for; what one lacks, others
    may have. A table has to have all the columns, and a record one of the fields."""
    path = tmp_path / f"a.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif form == "csv":
        path.write_text("subject,body\nLocked out,I cannot log in.\nThanks,\n")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    records, problems = read(path, text_field="body, subject")
    assert not problems
    texts = [record.text.strip() for record in records]
    assert texts == ["I cannot log in.\n\nLocked out", "Thanks"]
    records, problems = read(path, text_field="subject,answer")
    assert len(records) == (2 if form == "jsonl" else 0)
    assert [problem.reason for problem in problems] == [Reason.MISSING_FIELD] * (not records)
    _, problems = read(path, text_field="question,answer")
    assert {problem.reason for problem in problems} == {Reason.MISSING_FIELD}
    assert "--text-field" in problems[0].detail


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_truncated_json_lines(tmp_path: Path, ending: str) -> None:
    """What came before the break is kept, and the break is one problem, whatever line it cuts."""
    texts = [f"Document number {i} speaks of {i * 7919 % 1000} things." for i in range(30_000)]
    whole = packed(json_lines(texts), ending)
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    records, problems = read(path)
    assert [r.text for r in records] == texts[: len(records)]
    assert len(records) > 10_000
    assert [(p.line, p.reason) for p in problems] == [(len(records) + 1, Reason.TRUNCATED)]


def test_a_break_just_after_a_record_keeps_it(tmp_path: Path) -> None:
    """The last record is whole though the packed file is not: both are told."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed(json_lines(["One.", "Two."])[:-1], ".gz")[:-4])
    records, problems = read(path)
    assert [r.text for r in records] == ["One.", "Two."]
    assert [(p.line, p.reason) for p in problems] == [(2, Reason.TRUNCATED)]


def test_text_file_is_one_document(tmp_path: Path) -> None:
    """A .txt is one document named after its file, whatever its line ends and byte order mark."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfOne.\r\n\r\nTwo.\r\n")
    records, problems = read(path)
    assert not problems
    assert [(r.id, r.line, r.text) for r in records] == [("a.txt", 1, "One.\n\nTwo.")]


def test_bad_lines_of_a_text_file_leave_paragraph_borders(tmp_path: Path) -> None:
    """Only the bad line is lost; what stood around it is not joined as if adjacent."""
    lines = [b"One.", b"byte \xff here", b"Two.", b"a \0 NUL", b"Three.", b"x" * 3_000, b"Four."]
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n".join(lines))
    records, problems = read(path, max_record_bytes=LIMIT)
    assert [r.text for r in records] == ["One.\n\nTwo.\n\nThree.\n\nFour."]
    assert [(p.line, p.reason) for p in problems] == [
        (2, Reason.INVALID_UTF8),
        (4, Reason.NUL),
        (6, Reason.TOO_LONG),
    ]
    assert "0xff at position 5" in problems[0].detail


@pytest.mark.parametrize("content", [b"", b"\n\n", b" * * *\n"])
def test_a_text_file_without_words_is_bad(tmp_path: Path, content: bytes) -> None:
    """An empty file is named rather than ignored."""
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    records, problems = read(path)
    assert not records
    assert [(p.line, p.reason) for p in problems] == [(1, Reason.EMPTY)]


@settings(max_examples=60)
@given(
    paragraphs=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=5), max_size=30),
    limit=st.integers(70, 400),
)
def test_long_text_files_are_split_in_parts(
    paragraphs: list[list[int]], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Parts lose nothing, are within the limit, and end at paragraph borders if they can."""
    path = tmp_path_factory.mktemp("parts") / "a.txt"
    lines: list[str] = []
    for number, lengths in enumerate(paragraphs):
        lines += [f"{number}" + "w" * (length - 1) for length in lengths] + [""]
    path.write_text("\n".join(lines))
    records, problems = read(path, max_record_bytes=limit)
    assert not paragraphs or not problems
    assert [w for r in records for w in r.text.split()] == [line for line in lines if line]
    for record in records:
        assert len(record.text.encode()) <= limit
        assert record.text.split("\n")[0] == lines[record.line - 1]
        assert record.id == ("a.txt" if len(records) == 1 else f"a.txt:{record.line}")
    for record in records[1:]:
        before = lines[record.line - 2], lines[record.line - 1]
        if all(before):  # cut inside a paragraph: it began where the part before began
            part = records[records.index(record) - 1].text
            assert "" not in part.split("\n")[1:] or not part.strip("\n").count("\n\n")


def test_truncated_text_keeps_its_last_line(tmp_path: Path) -> None:
    """A text file of one long line is not lost for its missing end, nor for half a character."""
    path = tmp_path / "a.txt.zst"
    text = "Fähre und Kähne. " * 30_000
    whole = packed(text.encode(), ".zst")
    path.write_bytes(whole[: len(whole) - 3])
    records, problems = read(path)
    assert [(p.line, p.reason) for p in problems] == [(1, Reason.TRUNCATED)]
    assert all(text.startswith(r.text) for r in records)


def parquet(path: Path, rows: int, group: int, change: Callable[[bytes], bytes]) -> list[str]:
    texts = [f"Row number {i} of the table." for i in range(rows)]
    columns = {"id": [f"r{i}" for i in range(rows)], "text": texts, "title": ["T"] * rows}
    pq.write_table(pa.table(columns), path, row_group_size=group, compression="none")
    path.write_bytes(change(path.read_bytes()))
    return texts


def test_parquet_rows(tmp_path: Path) -> None:
    """Rows are numbered from 1 over all row groups; ids and titles are read."""
    path = tmp_path / "a.parquet"
    texts = parquet(path, 1_000, 300, lambda data: data)
    records, problems = read(path)
    assert not problems
    assert [r.text for r in records] == texts
    assert [r.line for r in records] == list(range(1, 1_001))
    assert (records[500].id, records[500].title) == ("r500", "T")


def test_parquet_with_bad_rows(tmp_path: Path) -> None:
    """Null, empty and invalid UTF-8 are named by row; the rest is kept."""
    valid = pa.array([b"Good one.", b"bad \xff", None, b"", b"Good two."], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 5, valid.buffers())
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": text}), path)
    records, problems = read(path)
    assert [(r.line, r.text) for r in records] == [(1, "Good one."), (5, "Good two.")]
    assert [(p.line, p.reason) for p in problems] == [
        (2, Reason.INVALID_UTF8),
        (3, Reason.NOT_TEXT),
        (4, Reason.EMPTY),
    ]


def test_a_broken_row_group_loses_no_other(tmp_path: Path) -> None:
    """Garbage in one row group leaves the others, and rows keep their numbers."""
    path = tmp_path / "a.parquet"

    def break_second(data: bytes) -> bytes:
        at = data.index(b"Row number 350 ")
        return data[: at - 4_000] + b"\xff" * 3_000 + data[at - 1_000 :]

    parquet(path, 1_000, 300, break_second)
    records, problems = read(path)
    lines = {r.line for r in records}
    assert set(range(1, 301)) <= lines
    assert set(range(601, 1_001)) <= lines
    assert len(lines) < 1_000
    assert problems
    assert all(300 < p.line <= 600 for p in problems)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"not parquet at all", Reason.CORRUPT), (None, Reason.MISSING_FIELD)],
)
def test_unusable_parquet_files(tmp_path: Path, content: bytes | None, reason: Reason) -> None:
    """A file that is no Parquet, or has no text column, is one problem."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"body": ["x"]}), path)
    if content is not None:
        path.write_bytes(content)
    records, problems = read(path)
    assert not records
    assert [(p.line, p.reason) for p in problems] == [(1, reason)]


@pytest.mark.parametrize("wide", [0, 1])
def test_columns_that_python_cannot_hold_cost_nothing(tmp_path: Path, wide: int) -> None:
    """A date beyond the year 9999, in a column of any name, is never turned into a Python one."""
    dates = pa.array([10**9, 3], pa.date32()), pa.array([2**55, 3], pa.timestamp("ms"))
    columns = {"text": ["One good.", "Two good."], "id": dates[wide], "title": dates[wide]}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({**columns, "when": dates[wide]}), path)
    with pytest.raises((ValueError, OverflowError)):  # the premise
        pq.read_table(path).to_pylist()
    records, problems = read(path)
    assert not problems
    assert [(r.id, r.title, r.text) for r in records] == [
        ("a.parquet:1", "", "One good."),
        ("a.parquet:2", "", "Two good."),
    ]
    _, (problem,) = read(path, text_field="when")
    assert (problem.reason, problem.line) == (Reason.NOT_TEXT, 1)


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())],
)
def test_every_kind_of_string_column(tmp_path: Path, kind: pa.DataType) -> None:
    """Arrow has many; all are text."""
    path = tmp_path / "a.parquet"
    texts = pa.array(["Ünï one.", "Two."]).cast(kind)
    pq.write_table(pa.table({"text": texts, "id": [7, 8]}), path)
    records, problems = read(path)
    assert not problems
    assert [(r.id, r.text) for r in records] == [("7", "Ünï one."), ("8", "Two.")]


PLAIN = st.lists(st.sampled_from(["It", "rained", "all", "day.", "We", "stayed,"]), min_size=1)


@settings(max_examples=60)
@given(paragraphs=st.lists(PLAIN.map(" ".join), min_size=1, max_size=5))
def test_markdown_without_markup_is_its_text(paragraphs: list[str]) -> None:
    """What is no markup stays word for word, however its lines are wrapped."""
    assert plain_text("\n\n".join(paragraphs)) == "\n\n".join(paragraphs)
    assert plain_text("\n\n".join(p.replace(" ", "\n") for p in paragraphs)) == "\n\n".join(
        paragraphs
    )


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
    ((record,), problems) = read(path)
    assert not problems
    assert (record.id, record.line) == ("a.md", 1)
    assert record.text.split("\n\n") == [
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


def seconds(path: Path, content: str) -> float:
    path.write_text(content)
    start = time.process_time()
    read(path)
    return time.process_time() - start


@pytest.mark.parametrize(
    ("name", "line"),
    [("a.csv", 'a","b\n'), ("a.csv", '"a\n'), ("a.csv", 'a,"\n'), ("a.csv", 'a,"b"",""c\n')]
    + [("a.md", piece) for piece in ("[", "*a ", "<a ", "> ", "`` `", "- x\n", "|a|\n|-|\n")],
)
def test_reading_takes_time_in_proportion(tmp_path: Path, name: str, line: str) -> None:
    """Eight times the lines take far less than 64 times as long: once, 10,000 took minutes.

    The best of three, since a busy machine makes any single one slow.
    """
    small, large = (
        min(
            sum(seconds(tmp_path / name, "key,text\n" + line * n + end) for end in ("", 'c"\n'))
            for _ in range(3)
        )
        for n in (1_000, 8_000)
    )
    assert large < 24 * max(small, 0.005)


# Tables


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


@settings(max_examples=100)
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
