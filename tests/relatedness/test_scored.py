"""Scored pairs from files and by name: what is read, what is left out, what is refused."""

import csv
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.relatedness.scored import load_pairs
from firth.run.errors import InputError

ROWS = [
    ("A ship sailed.", "The ship left.", "0.9", "sea"),
    ('He said "no".', "It's, well, a cow", "0.25", "farm"),
    ("A judge spoke.", "A barn stood.", "0", "sea"),
]
HEADER = ("sentence1", "sentence2", "score", "subtask")


def write_tsv(
    path: Path, rows: Sequence[tuple[str, ...]], header: tuple[str, ...] = HEADER
) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")
    return path


def write_csv(
    path: Path, rows: Sequence[tuple[str, ...]], header: tuple[str, ...] = HEADER
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_tsv_and_csv_give_the_same(tmp_path: Path) -> None:
    """Quotation marks and commas are text in both; the order of columns is free."""
    one = load_pairs(write_tsv(tmp_path / "pairs.tsv", ROWS))
    two = load_pairs(write_csv(tmp_path / "pairs.csv", ROWS))
    turned = [row[::-1] for row in ROWS]
    three = load_pairs(write_csv(tmp_path / "turned.csv", turned, HEADER[::-1]))
    assert one.rows == two.rows == three.rows
    assert one.rows[1].texts == ROWS[1][:2]
    assert list(one.subtasks) == ["all", "farm", "sea"]


def test_line_ends_and_byte_order_marks(tmp_path: Path) -> None:
    """A file saved by a spreadsheet on Windows is the same file."""
    plain = load_pairs(write_tsv(tmp_path / "pairs.tsv", ROWS))
    text = (tmp_path / "pairs.tsv").read_text(encoding="utf-8")
    (tmp_path / "windows.tsv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load_pairs(tmp_path / "windows.tsv").rows == plain.rows


def test_another_column_names_the_domain(tmp_path: Path) -> None:
    """`--domain` takes any column; without it rows of a file have no domain."""
    header = (*HEADER[:3], "genre")
    path = write_tsv(tmp_path / "pairs.tsv", ROWS, header)
    assert list(load_pairs(path).subtasks) == ["all"]
    assert list(load_pairs(path, domain="genre").subtasks) == ["all", "farm", "sea"]
    with pytest.raises(InputError, match=r"line 1: no column topic\. Got: sentence1"):
        load_pairs(path, domain="topic")


def test_by_name_and_by_mistake(tmp_path: Path) -> None:
    """Names of sets go to their loader; triplets, misspelt names and other files are refused."""
    assert len(load_pairs("lee").rows) == 1225
    with pytest.raises(InputError, match="neither a file nor an evaluation set"):
        load_pairs("pears.tsv")
    with pytest.raises(InputError, match="a set of triplets"):
        load_pairs("wiki-sections")
    path = tmp_path / "latin.tsv"
    path.write_bytes("sentence1\tsentence2\tscore\na\tcaf\xe9\t1\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        load_pairs(path)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]))
            .map(lambda text: f"w{text}"),
            st.just("b"),
            st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
            st.sampled_from(["x", "y"]),
        ),
        min_size=1,
        max_size=5,
    )
)  # fmt: skip
def test_what_is_written_is_read(rows: list[tuple[str, ...]]) -> None:
    """Any text without tabs and control characters comes back as it was, from both formats."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        one = load_pairs(write_tsv(Path(folder) / "a.tsv", rows))
        two = load_pairs(write_csv(Path(folder) / "a.csv", rows))
    assert one.rows == two.rows
    assert [(*row.texts, repr(row.score), row.subtask) for row in one.rows] == rows


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\x0b", "\x1c"])
def test_only_line_ends_end_a_row(tmp_path: Path, end: str) -> None:
    """Other signs that Python takes for line ends are text, in CSV as in TSV."""
    rows = [(f"a ship{end}sailed", "it left", "1.0", "x"), ("a", "b", "2.0", "y")]
    for found in (write_tsv(tmp_path / "a.tsv", rows), write_csv(tmp_path / "a.csv", rows)):
        assert [(*row.texts, str(row.score), row.subtask) for row in load_pairs(found).rows] == rows


def test_cells_beyond_all_measure_are_refused(tmp_path: Path) -> None:
    """A quotation mark that never closes swallows the rest of a large file: one message."""
    path = tmp_path / "open.csv"
    path.write_text('sentence1,sentence2,score\na,"b,1\n' + "c,d,2\n" * 50_000)
    with pytest.raises(InputError, match=r"open\.csv, line \d+: not CSV"):
        load_pairs(path)


def test_a_header_of_thousands_of_cells_is_a_short_message(tmp_path: Path) -> None:
    """Lines of `a","b` are one row to a CSV; they are read in time that grows with their number,
    and not listed in full."""
    from firth.relatedness.bws.records import read_items
    from firth.relatedness.pairs.sentences import SentenceSource

    path = tmp_path / "odd.csv"
    path.write_text('a","b\n' * 100_000 + '"\n')
    start = time.process_time()
    for read in (load_pairs, read_items, lambda path: list(SentenceSource(path).read(1, 9))):
        with pytest.raises(InputError) as caught:
            read(path)
        assert len(str(caught.value)) < 3_000
    assert time.process_time() - start < 10
