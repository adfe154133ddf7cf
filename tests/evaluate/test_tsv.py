"""Tab-separated files: odd ones are read right, broken rows are named, broken files refused."""

from pathlib import Path

import pytest

from firth.evaluate.readers import read_table
from firth.evaluate.task import TASKS
from firth.run.errors import InputError

STSB = TASKS["sts-b"]
HEADER = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
GOOD = "One cat.\tTwo cats.\t3.5\tmain-news/x\ttest\n"


def read(
    tmp_path: Path, content: bytes | str, task: str = "sts-b"
) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Texts of all rows, and the complaints."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read_table(path, TASKS[task])
    return [row.texts for rows in found.splits.values() for row in rows], found.broken


def test_rows_come_out_as_they_stand(tmp_path: Path) -> None:
    """Texts, score, split, and the subtask by its reported name."""
    path = tmp_path / "pairs.tsv"
    path.write_text(HEADER + GOOD)
    found = read_table(path, STSB)
    (row,) = found.splits["test"]
    assert row.texts == ("One cat.", "Two cats.")
    assert (row.score, row.subtask, found.broken) == (3.5, "news", ())


@pytest.mark.parametrize(
    "content",
    [
        (HEADER + GOOD).replace("\n", "\r\n"),
        "\ufeff" + HEADER + GOOD,
        HEADER + "\n" + GOOD + "\n\n",
        (HEADER + GOOD).rstrip("\n"),
    ],
    ids=["CRLF", "byte order mark", "blank lines", "no last line end"],
)
def test_odd_but_whole_files_read_the_same(tmp_path: Path, content: str) -> None:
    """Line ends, marks and blank lines change nothing, and nothing is complained about."""
    assert read(tmp_path, content) == ([("One cat.", "Two cats.")], ())


@pytest.mark.parametrize(
    "text",
    [
        '"Yes," he said',
        '"',
        "it's 'so'",
        " blanks around ",
        "a\u2028b\x0bc\x85d",
        "back\\slash \\t \\n",
        "#not a comment",
        "NA",
        "naïve ﬁ \U0001d518",
    ],
)
def test_sentences_are_kept_verbatim(tmp_path: Path, text: str) -> None:
    """No quoting, no escapes, no stripping, no other line separator, no missing-value words."""
    content = HEADER + f"{text}\tTwo cats.\t3.5\tmain-news/x\ttest\n" + GOOD
    rows, broken = read(tmp_path, content)
    assert rows == [(text, "Two cats."), ("One cat.", "Two cats.")]
    assert broken == ()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"One cat.\tTwo cats.\t3.5\ttest\n", "4 cells, the header has 5"),
        (b"One cat.\tTwo cats.\t3.5\tx\ttest\tmore\n", "6 cells, the header has 5"),
        (b"One cat.\t \t3.5\tx\ttest\n", "sentence2 is empty"),
        (b"One cat.\tTwo cats.\tgood\tx\ttest\n", "score 'good' is not a number"),
        (b"One cat.\tTwo cats.\t\tx\ttest\n", "score '' is not a number"),
        (b"One cat.\tTwo cats.\t5.1\tx\ttest\n", "score 5.1 is outside 0 to 5"),
        (b"One cat.\tTwo cats.\tnan\tx\ttest\n", "score nan is outside 0 to 5"),
        (b"One \xff cat.\tTwo cats.\t3.5\tx\ttest\n", "not UTF-8"),
    ],
)
def test_a_broken_row_is_named_and_skipped(tmp_path: Path, line: bytes, complaint: str) -> None:
    """Its neighbours survive; the complaint gives file and line."""
    content = HEADER.encode() + GOOD.encode() + line + GOOD.encode()
    rows, broken = read(tmp_path, content)
    assert len(rows) == 2
    assert len(broken) == 1
    assert "pairs.tsv, line 3:" in broken[0]
    assert complaint in broken[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sentence1\tsentence2\tsplit\na\tb\ttest\n", "no column score"),
        ("sentence1\tsentence2\tscore\na\tb\t1\n", "no column split"),
        ("sentence1,sentence2,score,split\na,b,1,test\n", "no column sentence1"),
        ("", "no column"),
        (HEADER, "only a header"),
        (HEADER + "a\tb\tx\tx\ttest\n", "line 2: score 'x'"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    """The error names the file, what is missing, and the first broken row."""
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, content)
    assert "pairs.tsv" in str(error.value)


def test_a_task_with_one_split_needs_no_split_column(tmp_path: Path) -> None:
    """STR-2021's only split holds every row, whatever columns there are."""
    rows, broken = read(tmp_path, "sentence2\tscore\tsentence1\nb\t0.5\ta\n", "str-2021")
    assert (rows, broken) == ([("a", "b")], ())


def test_triplets(tmp_path: Path) -> None:
    """Anchor, positive and negative, without any score."""
    content = "anchor\tpositive\tnegative\tsplit\na\tb\tc\ttest\na\t\tc\ttest\n"
    rows, broken = read(tmp_path, content, "wiki-sections")
    assert rows == [("a", "b", "c")]
    assert "line 3: positive is empty" in broken[0]
