"""Files in, documents out, and bad records named: a bad one never loses a good one."""

import json
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import grows

from firth.corpus import files as module
from firth.corpus.document import Reason
from firth.corpus.files import Line, Source, read_lines
from firth.text.words import has_word

from .conftest import PACKINGS, json_lines, packed, read, table

LIMIT = 2_000


def lines_of(path: Path, packing: str, max_bytes: int = 1 << 20) -> list[Line]:
    return list(read_lines(Source("a", str(path), "text", packing), max_bytes, lambda _: None))


def numbered(count: int) -> bytes:
    """Return lines that do not compress well, so that a cut falls in the middle of many."""
    rng = random.Random(3)
    return b"".join(f"{i} {rng.getrandbits(256):x}\n".encode() for i in range(count))


# --- Lines -------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(data=st.binary(max_size=400) | st.text("ab\n\r", max_size=60).map(str.encode))
def test_any_bytes_give_their_lines(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compressed or not, lines are those of the whole content, with their numbers."""
    folder, mark = tmp_path_factory.mktemp("lines"), b"\xef\xbb\xbf"
    expected = data.removeprefix(mark).split(b"\n")
    if not expected[-1] and data != mark:  # A byte order mark alone makes an empty line.
        expected.pop()
    for packing in PACKINGS:
        path = folder / f"a.txt{packing}"
        path.write_bytes(packed(data, packing))
        lines = lines_of(path, packing)
        assert [line.content for line in lines] == [e.removesuffix(b"\r") for e in expected]
        assert [line.number for line in lines] == list(range(1, len(expected) + 1))
        assert all(line.flaw is None for line in lines)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_long_line_is_named_and_costs_no_memory(tmp_path: Path, packing: str) -> None:
    """A line of 60 MB is never held, compressed or not; its neighbors stay."""
    path = tmp_path / f"a.txt{packing}"
    content = b"before\n" + b"x" * 60_000_000 + b"\nafter\n" + b"y" * 5_000_000
    path.write_bytes(packed(content, packing))
    assert not packing or path.stat().st_size < 200_000  # the premise: little becomes much
    del content
    tracemalloc.start()
    lines = lines_of(path, packing)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.number, line.content, line.flaw) for line in lines] == [
        (1, b"before", None),
        (2, b"", Reason.TOO_LONG),
        (3, b"after", None),
        (4, b"", Reason.TOO_LONG),
    ]
    assert peak < 45_000_000


@pytest.mark.parametrize("packing", PACKINGS[1:])
@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_a_truncated_file_keeps_what_came_before(
    tmp_path: Path, packing: str, share: float
) -> None:
    """Every whole line before the break is there, and the break is named once, at the end."""
    data = numbered(30_000)
    whole = packed(data, packing)
    path = tmp_path / f"a.txt{packing}"
    path.write_bytes(whole[: max(1, int(len(whole) * share) - 1)])
    *lines, last = lines_of(path, packing)
    assert all(line.flaw is None for line in lines)
    assert (last.flaw, last.number) == (Reason.TRUNCATED, len(lines) + 1)
    kept = b"\n".join([line.content for line in lines] + [last.content])
    assert data.startswith(kept)
    block = 1_000_000 if packing == ".bz2" else 300_000  # bytes that are packed together
    assert len(kept) >= len(data) * share - block


@pytest.mark.parametrize("packing", PACKINGS[1:])
def test_a_packed_file_has_a_bound(
    tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few hundred bytes can unpack to gigabytes: the lines before the bound stay."""
    monkeypatch.setattr(module, "_MOST_UNPACKED", 1 << 23)
    monkeypatch.setattr(module, "_TIMES", 1)
    path, line = tmp_path / f"a.txt{packing}", b"x" * 999 + b"\n"
    path.write_bytes(packed(line * 20_000, packing))
    *lines, last = lines_of(path, packing)
    assert 3_000 < len(lines) < 8_500
    assert last.flaw is Reason.COSTLY


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_a_corrupt_member_keeps_the_members_before(tmp_path: Path, packing: str) -> None:
    """A file may have several members; those before garbage are kept."""
    first, second = b"one\ntwo\n", b"three\n"
    path = tmp_path / f"a.txt{packing}"
    broken = b"\x28\xb5\x2f\xfd" if packing == ".zst" else b"\x1f\x8b"
    path.write_bytes(
        packed(first, packing) + packed(second, packing) + broken + b"\xff no packed data at all"
    )
    *lines, last = lines_of(path, packing)
    assert [line.content for line in lines] == [b"one", b"two", b"three"]
    assert last.flaw is Reason.CORRUPT


def test_members_frames_and_padding(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(
        packed(b"one\ntw", ".gz") + b"\0" * 700 + packed(b"o\nthree", ".gz") + b"\0" * 20
    )
    skippable = (0x184D2A50).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"abcd"
    frame = zstd.compress(b"o\nthree", options={zstd.CompressionParameter.checksum_flag: 1})
    (tmp_path / "a.txt.zst").write_bytes(skippable + packed(b"one\ntw", ".zst") + frame)
    for packing in (".gz", ".zst"):
        lines = lines_of(tmp_path / f"a.txt{packing}", packing)
        assert [line.content for line in lines] == [b"one", b"two", b"three"]
        assert all(line.flaw is None for line in lines)


# --- JSON --------------------------------------------------------------------------------------

GOOD = st.text(max_size=40).filter(lambda text: "\0" not in text and has_word(text))
BAD_JSON: dict[bytes, Reason] = {
    b'{"text": "cut off': Reason.BROKEN_JSON,
    b"not json at all": Reason.BROKEN_JSON,
    b"[" * 1_900: Reason.BROKEN_JSON,
    b'{"text": "raw \0 NUL"}': Reason.BROKEN_JSON,
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


@settings(max_examples=60)
@given(
    entries=st.lists(st.one_of(GOOD, st.sampled_from(sorted(BAD_JSON)), st.just(b"")), max_size=12),
    packing=st.sampled_from(PACKINGS),
)
def test_json_lines_keep_all_good_records(
    entries: list[str | bytes], packing: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each good record is there, each bad one is named by its line; blank lines are neither."""
    lines = [e if isinstance(e, bytes) else json.dumps({"text": e}).encode() for e in entries]
    path = tmp_path_factory.mktemp("json") / f"a.jsonl{packing}"
    path.write_bytes(packed(b"\n".join(lines), packing))
    documents, problems = read(path, max_record_bytes=LIMIT)
    good = [(n, e) for n, e in enumerate(entries, 1) if isinstance(e, str)]
    bad = [(n, BAD_JSON[e]) for n, e in enumerate(entries, 1) if isinstance(e, bytes) and e]
    assert [(d.line, d.text) for d in documents] == good
    assert [(p.line, p.reason) for p in problems] == bad


ROWS = [{"subject": "Locked out", "body": "I cannot log in."}, {"subject": "Thanks", "body": None}]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_text_of_several_fields(tmp_path: Path, form: str) -> None:
    """Each begins a paragraph, in the order in which they are named; what one lacks, others may
    have. A table must have all the columns, and a record one of the fields."""
    path = tmp_path / f"a.{form}"
    if form == "jsonl":
        path.write_bytes(json_lines(ROWS))
    elif form == "csv":
        path.write_text("subject,body\nLocked out,I cannot log in.\nThanks,\n")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    documents, problems = read(path, text_field="body, subject")
    assert not problems
    assert [d.text.strip() for d in documents] == ["I cannot log in.\n\nLocked out", "Thanks"]
    documents, problems = read(path, text_field="subject,answer")
    assert len(documents) == (2 if form == "jsonl" else 0)
    assert [p.reason for p in problems] == [Reason.MISSING_FIELD] * (not documents)
    _, problems = read(path, text_field="question,answer")
    assert {p.reason for p in problems} == {Reason.MISSING_FIELD}
    assert "--text" in problems[0].detail


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "records"])
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (
            {"ID": "a", "Subject": "Lost key", "Body": "Where is it?", "created_at": "2024-05-01"},
            ("a", "Lost key\n\nWhere is it?", "Lost key", "2024-05-01"),
        ),
        ({"question": "Who?", "answer": "Ann."}, (None, "Who?\n\nAnn.", "", "")),
        ({"text": "One.", "body": "Two.", "headline": "News"}, (None, "One.", "News", "")),
    ],
)
def test_usual_names_are_looked_for(
    tmp_path: Path, form: str, record: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    """A field called as firth calls it comes first, and a setting before all."""
    path: Any = tmp_path / f"a.{form}"
    if form == "jsonl":
        path.write_bytes(json_lines([record, record]))
    elif form == "csv":
        path.write_bytes(table([[*record], [*record.values()], [*record.values()]]))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist([record, record]), path)
    else:
        path = [record]
    documents, problems = read(path)
    found = documents[0]
    assert not problems
    assert (expected[0] or found.id, *expected[1:]) == (
        found.id, found.text, found.title, found.date
    )  # fmt: skip
    last = [*record][-1]
    named, _ = read(path, text_field=last, title_field=last)
    assert named[0].text == named[0].title == record[last]


# --- Text --------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    paragraphs=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=5), max_size=30),
    limit=st.integers(70, 400),
)
def test_long_text_files_are_split_in_parts(
    paragraphs: list[list[int]], limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Parts lose nothing, are within the limit, and begin at the line that they name."""
    path = tmp_path_factory.mktemp("parts") / "a.txt"
    lines: list[str] = []
    for number, lengths in enumerate(paragraphs):
        lines += [f"{number}" + "w" * (length - 1) for length in lengths] + [""]
    path.write_text("\n".join(lines))
    documents, problems = read(path, max_record_bytes=limit)
    assert not paragraphs or not problems
    assert [w for d in documents for w in d.text.split()] == [line for line in lines if line]
    for document in documents:
        assert len(document.text.encode()) <= limit
        assert document.text.split("\n")[0] == lines[document.line - 1]
        assert document.id == ("a.txt" if len(documents) == 1 else f"a.txt:{document.line}")


def test_truncated_text_keeps_its_last_line(tmp_path: Path) -> None:
    """A text file of one long line is not lost for its missing end, nor for half a character."""
    path = tmp_path / "a.txt.zst"
    text = "Fähre und Kähne. " * 30_000
    whole = packed(text.encode(), ".zst")
    path.write_bytes(whole[: len(whole) - 3])
    documents, problems = read(path)
    assert [(p.line, p.reason) for p in problems] == [(1, Reason.TRUNCATED)]
    assert all(text.startswith(d.text) for d in documents)


# --- Tables ------------------------------------------------------------------------------------

CELL = st.text(max_size=30).filter(lambda text: "\0" not in text and "\r" not in text)
BAD_ROWS: dict[bytes, Reason] = {
    b'k,"closed"too early': Reason.BROKEN_ROW,
    b"k": Reason.BROKEN_ROW,
    b"k,a,b": Reason.BROKEN_ROW,
    b"k,byte \xff": Reason.INVALID_UTF8,
    b"k,a \0 NUL": Reason.NUL,
    b"k,": Reason.EMPTY,
    b"k," + b"long " * 500: Reason.TOO_LONG,
}


@settings(max_examples=60)
@given(
    entries=st.lists(
        st.one_of(
            st.tuples(CELL, CELL.filter(lambda text: has_word(text))),
            st.sampled_from(sorted(BAD_ROWS)),
        ),
        max_size=10,
    ),
    packing=st.sampled_from(PACKINGS),
)
def test_csv_keeps_all_good_records(
    entries: list[tuple[str, str] | bytes], packing: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With line ends and quotes inside fields: good rows stay, bad ones are named."""
    rows = [e + b"\n" if isinstance(e, bytes) else table([e]) for e in entries]
    starts, line = [], 2
    for row in rows:
        starts.append(line)
        line += row.count(b"\n")
    path = tmp_path_factory.mktemp("csv") / f"a.csv{packing}"
    path.write_bytes(packed(b"key,text\n" + b"".join(rows), packing))
    documents, problems = read(path, max_record_bytes=LIMIT)
    placed = list(zip(starts, entries, strict=True))
    good = [(n, e[1]) for n, e in placed if isinstance(e, tuple)]
    bad = [(n, BAD_ROWS[e]) for n, e in placed if isinstance(e, bytes)]
    assert [(d.line, d.text) for d in documents] == good
    assert [(p.line, p.reason) for p in problems] == bad


# --- By hand -----------------------------------------------------------------------------------

LINES = [b"One.", b"byte \xff here", b"Two.", b"a \0 NUL", b"Three.", b"x" * 3_000, b"Four."]
LONG = [f"{i},Row number {i}." for i in range(500)]
KEYED = {"text_field": "body", "id_field": "key"}
BY_HAND: dict[str, tuple[str, bytes, dict[str, Any], list[str], list[tuple[int, Reason]]]] = {
    "a misspelt id is not replaced by the place": (
        "a.jsonl", b'{"body": "One.", "key": "k1"}\n{"body": "Two.", "id": "2"}\n', KEYED,
        ["k1:1 One."], [(2, Reason.MISSING_FIELD)],
    ),
    "a break just after a record keeps it": (
        "a.jsonl.gz", packed(json_lines(["One.", "Two."])[:-1], ".gz")[:-4], {},
        ["a.jsonl.gz:1:1 One.", "a.jsonl.gz:2:2 Two."], [(2, Reason.TRUNCATED)],
    ),
    "an array whose line ends mean nothing": (
        "a.json", b'[{"text":\n"One."}, 7,\n{"text": "Two."}]', {},
        ["a.json:1:1 One.", "a.json:3:3 Two."], [(2, Reason.NOT_AN_OBJECT)],
    ),
    "the only array of an object": (
        "a.json", b'{"data": [{"text": "One."}], "count": 1}', {}, ["a.json:1:1 One."], [],
    ),
    "an object with text": ("a.json", b'{"text": "One.", "tags": []}', {}, ["a.json:1:1 One."], []),
    "two arrays": ("a.json", b'{"a": [], "b": []}', {}, [], [(1, Reason.MISSING_FIELD)]),
    "no object": ("a.json", b'"text"', {}, [], [(1, Reason.NOT_AN_OBJECT)]),
    "a text, whatever its line ends and byte order mark": (
        "a.txt", b"\xef\xbb\xbfOne.\r\n\r\nTwo.\r\n", {}, ["a.txt:1 One.\n\nTwo."], [],
    ),
    "bad lines of a text leave paragraph borders": (
        "a.txt", b"\n".join(LINES), {}, ["a.txt:1 One.\n\nTwo.\n\nThree.\n\nFour."],
        [(2, Reason.INVALID_UTF8), (4, Reason.NUL), (6, Reason.TOO_LONG)],
    ),
    "an empty file": ("a.txt", b"", {}, [], [(1, Reason.EMPTY)]),
    "a text without words": ("a.txt", b" * * *\n", {}, [], [(1, Reason.EMPTY)]),
    "an open quote costs the rows up to the next one": (
        "a.csv", b'key,text\n1,First.\n2,"never closed\n3,lost\n4,"Fourth."\n5,Last.\n', {},
        ["a.csv:2:2 First.", "a.csv:6:6 Last."], [(3, Reason.BROKEN_ROW)],
    ),
    "or all others": (
        "a.csv", "\n".join(["key,text", "0,First.", '1,"open', *LONG]).encode(), {},
        ["a.csv:2:2 First."], [(3, Reason.BROKEN_ROW)],
    ),
    "a .tsv file has no quoting": (
        "a.tsv", b'id\ttext\na\t"Yes," he said.\nb\tAn inch is 1".\n', {},
        ['a:2 "Yes," he said.', 'b:3 An inch is 1".'], [],
    ),
    "columns in any order, with any line ends": (
        "a.csv", b'\xef\xbb\xbf body , key\r\n"One,\r\n\r\ntwo.",k1\r\nThree\rfour.,k2\r\n',
        KEYED, ["k1:2 One,\n\ntwo.", "k2:5 Three four."], [],
    ),
    "no column of text": ("a.csv", b"key,corpus\n1,One.\n", {}, [], [(1, Reason.MISSING_FIELD)]),
    "each line is a document": (
        "a.txt", b"One.\n\n  \n\xff\nTwo.", {"lines": True}, ["a.txt:1:1 One.", "a.txt:5:5 Two."],
        [(4, Reason.INVALID_UTF8)],
    ),
    "an equal text is read once": (
        "a.jsonl", b'{"title": "One.", "body": "One. ", "more": "Two."}\n',
        {"text_field": "title,body,more"}, ["a.jsonl:1:1 One. \n\nTwo."], [],
    ),
    "junk": ("a.parquet", b"not parquet at all", {}, [], [(1, Reason.CORRUPT)]),
    "a page that is not UTF-8": (
        "a.htm", "<p>A caf\u00e9.</p>".encode("latin-1"), {}, ["a.htm:1 A caf\u00e9."], [],
    ),
    "a broken first row": ("a.csv", b'key,"te"xt\n1,One.\n', {}, [], [(1, Reason.BROKEN_ROW)]),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_files_give_these_documents_and_problems(tmp_path: Path, case: str) -> None:
    name, content, given, expected, bad = BY_HAND[case]
    (tmp_path / name).write_bytes(content)
    documents, problems = read(tmp_path / name, max_record_bytes=LIMIT, **given)
    assert [f"{d.id}:{d.line} {d.text}" for d in documents] == expected
    assert [(p.line, p.reason) for p in problems] == bad


# --- Parquet -----------------------------------------------------------------------------------


def test_a_small_parquet_file_of_many_equal_rows_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary holds the text once; the rows before the bound are kept, and the next file."""
    monkeypatch.setattr(module, "_MOST_UNPACKED", 1 << 20)
    path, text = tmp_path / "a.parquet", "It rained all day. " * 50
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"text": rows}), path)
    unpacked = 20_000 * len(text)
    assert unpacked > 2 * module._TIMES * path.stat().st_size, "the premise"
    (tmp_path / "b.txt").write_text("The next file.")
    documents, (problem,) = read(tmp_path)
    assert (problem.source, problem.reason) == (f"{tmp_path.name}/a.parquet", Reason.COSTLY)
    assert 0 < sum(len(document.text) for document in documents) < unpacked / 2
    assert documents[-1].text == "The next file."


def test_bad_parquet_rows_are_named(tmp_path: Path) -> None:
    """Null, empty and invalid UTF-8; the others are kept."""
    valid = pa.array([b"Good one.", b"bad \xff", None, b"", b"Good two."], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 5, valid.buffers())
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": text}), path)
    documents, problems = read(path)
    assert [(d.line, d.text) for d in documents] == [(1, "Good one."), (5, "Good two.")]
    assert [(p.line, p.reason) for p in problems] == [
        (2, Reason.INVALID_UTF8),
        (3, Reason.NOT_TEXT),
        (4, Reason.EMPTY),
    ]


def test_a_broken_row_group_loses_no_other(tmp_path: Path) -> None:
    """Garbage in one row group leaves the others, and rows keep their numbers."""
    path, rows = tmp_path / "a.parquet", range(1_000)
    texts = [f"Row number {row} of the table." for row in rows]
    columns = {"id": [f"r{row}" for row in rows], "text": texts, "title": ["T"] * len(rows)}
    pq.write_table(pa.table(columns), path, row_group_size=300, compression="none")
    data = path.read_bytes()
    place = data.index(b"Row number 350 ")
    path.write_bytes(data[: place - 4_000] + b"\xff" * 3_000 + data[place - 1_000 :])
    documents, problems = read(path)
    lines = {d.line for d in documents}
    assert set(range(1, 301)) | set(range(601, 1_001)) <= lines
    assert len(lines) < 1_000
    assert problems
    assert all(300 < p.line <= 600 for p in problems)


@pytest.mark.parametrize("wide", [0, 1])
def test_dates_that_python_cannot_hold_cost_nothing(tmp_path: Path, wide: int) -> None:
    dates = pa.array([10**9, 3], pa.date32()), pa.array([2**55, 3], pa.timestamp("ms"))
    path = tmp_path / "a.parquet"
    columns = {"text": ["One good.", "Two good."], "date": dates[wide], "when": dates[wide]}
    pq.write_table(pa.table(columns), path)
    with pytest.raises((ValueError, OverflowError)):  # the premise
        pq.read_table(path).to_pylist()
    documents, (problem,) = read(path)
    assert [d.text for d in documents] == ["One good.", "Two good."]
    assert [d.date[:10] for d in documents] == ["", "1970-01-04" if wide == 0 else "1970-01-01"]
    assert problem.reason is Reason.BAD_DATE


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())],
)
def test_every_kind_of_string_column_is_text(tmp_path: Path, kind: pa.DataType) -> None:
    """Arrow has many; numbers are ids, and lists of texts are fields."""
    path = tmp_path / "a.parquet"
    texts = pa.array(["Ünï one.", "Two."]).cast(kind)
    tags = [["a", "b"], None]
    pq.write_table(pa.table({"text": texts, "id": [7, 8], "tags": tags}), path)
    documents, problems = read(path, fields=("tags",))
    assert not problems
    assert [(d.id, d.text) for d in documents] == [("7", "Ünï one."), ("8", "Two.")]
    assert [d.fields for d in documents] == [{"tags": ("a", "b")}, {}]


# --- Time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line"),
    [("a.csv", 'a","b\n'), ("a.csv", '"a\n'), ("a.csv", 'a,"\n'), ("a.csv", 'a,"b"",""c\n')]
    + [("a.md", piece) for piece in ("[", "*a ", "<a ", "> ", "`` `", "- x\n", "|a|\n|-|\n")],
)
def test_reading_takes_time_in_proportion(tmp_path: Path, name: str, line: str) -> None:
    def work(text: str) -> None:
        for end in ("", 'c"\n'):
            (tmp_path / name).write_text(f"key,text\n{text}{end}")
            read(tmp_path / name)

    assert not grows(work, line, 500 * len(line), 4_000 * len(line), 24)


def test_any_bytes_in_any_format_end_without_an_error(tmp_path: Path) -> None:
    """Random bytes are problems, and at most documents."""
    rng = random.Random(5)
    names: list[Any] = ["a.txt", "a.md", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.parquet"]
    names += [f"a.jsonl{packing}" for packing in PACKINGS[1:]]
    for name in names:
        for _ in range(10):
            (tmp_path / name).write_bytes(rng.randbytes(300))
            _, problems = read(tmp_path / name)
            assert problems, name


READER = """
def read_notes(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        if line == "broken":
            raise ValueError("cannot go on")
        name, _, text = line.partition(": ")
        yield {"id": name, "text": text} if text else line
"""
JOB = """
import sys
import firth

model = firth.build((sys.argv[1],), sys.argv[2], settings={"words.min_count": 1}, quiet=True)
found = model.built.corpus
assert (found.documents, found.sentences) == (2, 2), found
assert model.search("ship")[0].document == "one"
try:
    firth.build((sys.argv[1] + "/../other.nothing",), quiet=True)
except firth.InputError as error:
    assert ".zst) .note" in str(error), error
else:
    raise AssertionError("a file without a reader was read")
"""


@pytest.mark.parametrize("extension", ["note", ".note"])
def test_a_reader_of_another_package(tmp_path: Path, extension: str) -> None:
    """One file and one registration; what is wrong in it loses no good record."""
    site = tmp_path / "site"
    record = site / "notes-1.dist-info"
    record.mkdir(parents=True)
    (site / "notes_reader.py").write_text(READER)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: notes\nVersion: 1\n")
    (record / "entry_points.txt").write_text(
        f"[firth.readers]\n{extension} = notes_reader:read_notes\n"
    )
    file = tmp_path / "texts" / "a.note"
    file.parent.mkdir()
    (tmp_path / "other.nothing").touch()
    file.write_text(
        "one: The ship left.\nno record\ntwo: A boat came back.\nbroken\nthree: Gone.\n"
    )
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n{JOB}"
    command = [sys.executable, "-c", code, str(file.parent), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    skipped = (tmp_path / "run" / "skipped.jsonl").read_text()
    assert "expected an object" in skipped
    assert "cannot go on" in skipped
