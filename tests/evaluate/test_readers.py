"""Readers: odd files are read right, broken rows are named, broken files refused."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firth.evaluate.load import load_set
from firth.evaluate.readers import read_table
from firth.evaluate.rows import Row
from firth.evaluate.task import ALL, TASKS
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


# The organisers' files give the rows that the tab-separated layout gives.

TEXTS = [
    ('He said: "no".', "She said no."),
    ("One, two.", "Two; one."),
    ("Crème brûlée", "A dessert"),
]


def year(folder: Path) -> None:
    """STS 2015's layout: most pairs have no gold score; 2016 adds columns."""
    home = folder / "STS15" / "test_evaluation_task2a"
    home.mkdir(parents=True)
    lines = [f"{a}\t{b}\tsource\tsource\n" for a, b in TEXTS]
    (home / "STS.input.belief.txt").write_text("".join([*lines, "no\tgold\n"]), "utf-8")
    (home / "STS.gs.belief.txt").write_text("1.0\n2.5\n5\n\n")


def benchmark(folder: Path) -> None:
    """Tab-separated in spite of its name, quotes unescaped, sources after the sentences."""
    home = folder / "stsbenchmark"
    home.mkdir()
    rows = zip(TEXTS, (1.0, 2.5, 5), strict=True)
    lines = [
        f"main-news\tMSRpar\t2012test\t{i}\t{s}\t{a}\t{b}\n" for i, ((a, b), s) in enumerate(rows)
    ]
    (home / "sts-test.csv").write_text("".join(lines), "utf-8")


def sick(folder: Path) -> None:
    """One file for all splits."""
    home = folder / "SICK"
    home.mkdir()
    head = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    rows = zip(TEXTS, (1.0, 2.5, 5), strict=True)
    lines = [f"{i}\t{a}\t{b}\tNEUTRAL\t{s}\tTEST\n" for i, ((a, b), s) in enumerate(rows)]
    (home / "SICK.txt").write_text(head + "".join(lines) + "9\ta\tb\tNEUTRAL\t3\tTRIAL\n", "utf-8")


def relatedness(folder: Path) -> None:
    """Quoted, the two sentences in one cell of two lines."""
    home = folder / "STR-2021"
    home.mkdir()
    rows = [
        f'Wiki_pp_{i},"{a.replace(chr(34), chr(34) * 2)}\n{b}",{s}\n'
        for i, ((a, b), s) in enumerate(zip(TEXTS, (0.1, 0.25, 1), strict=True))
    ]
    (home / "sem_text_rel_ranked.csv").write_text("PairID,Text,Score\n" + "".join(rows), "utf-8")


def arguments(folder: Path) -> None:
    """A quoted file a topic."""
    home = folder / "AFS" / "data"
    home.mkdir(parents=True)
    rows = [
        f'{s},x,"{a.replace(chr(34), chr(34) * 2)}","{b}"\n'
        for (a, b), s in zip(TEXTS, (1.0, 2.5, 5), strict=True)
    ]
    head = "Regression_Label,other,Sentence_1,Sentence_2\n"
    (home / "ArgPairs_GM.csv").write_text(head + "".join(rows), "utf-8")


LAYOUTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "sts15": (year, "belief"),
    "sts-b": (benchmark, "news"),
    "sick-r": (sick, ""),
    "str-2021": (relatedness, "Wikipedia"),
    "afs": (arguments, "gay_marriage"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_come_out_as_they_were_published(tmp_path: Path, name: str) -> None:
    """Texts verbatim, scores, subtasks by their reported names; nothing is called broken."""
    write, subtask = LAYOUTS[name]
    write(tmp_path)
    found = load_set(TASKS[name], tmp_path)
    scores = (0.1, 0.25, 1.0) if name == "str-2021" else (1.0, 2.5, 5.0)
    expected = [Row(texts, score, subtask) for texts, score in zip(TEXTS, scores, strict=True)]
    assert list(found.rows) == expected
    assert found.skipped == 0
    assert "organisers' files" in found.source


def test_sick_counts_the_whole_set_as_a_split_too(tmp_path: Path) -> None:
    """`all` holds the rows of every split."""
    sick(tmp_path)
    assert len(load_set(TASKS["sick-r"], tmp_path, ALL).rows) == 4
    assert len(load_set(TASKS["sick-r"], tmp_path, "trial").rows) == 1


def test_our_layout_is_taken_first(tmp_path: Path) -> None:
    """A pairs.tsv beside the organisers' files wins."""
    year(tmp_path)
    (tmp_path / "STS15" / "pairs.tsv").write_text(
        "sentence1\tsentence2\tscore\tsubtask\tsplit\na b\tc d\t1\tbelief\ttest\n"
    )
    assert len(load_set(TASKS["sts15"], tmp_path).rows) == 1


def test_training_rows_of_2012_are_told_by_their_folder(tmp_path: Path) -> None:
    """`train/` and `test-gold/`, as the archives unpack."""
    for folder in ("train", "test-gold"):
        home = tmp_path / "STS2012" / folder
        home.mkdir(parents=True)
        (home / "STS.input.MSRpar.txt").write_text(f"a {folder}\tb\n")
        (home / "STS.gs.MSRpar.txt").write_text("3\n")
    for split, folder in (("train", "train"), ("test", "test-gold")):
        (row,) = load_set(TASKS["sts12"], tmp_path, split).rows
        assert row.texts == (f"a {folder}", "b")


def test_older_files_in_latin_1_are_read(tmp_path: Path) -> None:
    """Where UTF-8 fails."""
    home = tmp_path / "STS14"
    home.mkdir()
    (home / "STS.input.images.txt").write_bytes("café\tbar\n".encode("latin-1"))
    (home / "STS.gs.images.txt").write_text("3\n")
    assert load_set(TASKS["sts14"], tmp_path).rows[0].texts == ("café", "bar")


def test_broken_files_are_named(tmp_path: Path) -> None:
    """Gold scores missing or of another number; a column that is not there; a broken row."""
    year(tmp_path)
    home = tmp_path / "STS15" / "test_evaluation_task2a"
    (home / "STS.gs.belief.txt").write_text("1.0\n9\n3\n\n")
    found = load_set(TASKS["sts15"], tmp_path)
    assert found.skipped == 1
    assert any("belief.txt, line 2: score 9 is outside" in note for note in found.notes)
    (home / "STS.gs.belief.txt").write_text("1.0\n")
    with pytest.raises(InputError, match="4 lines, but"):
        load_set(TASKS["sts15"], tmp_path)
    (home / "STS.gs.belief.txt").unlink()
    with pytest.raises(InputError, match="gold scores are missing"):
        load_set(TASKS["sts15"], tmp_path)
    arguments(tmp_path)
    file = tmp_path / "AFS" / "data" / "ArgPairs_GM.csv"
    file.write_text(file.read_text("utf-8").replace("Sentence_2", "Text"), "utf-8")
    with pytest.raises(InputError, match="no column sentence_2"):
        load_set(TASKS["afs"], tmp_path)


@pytest.fixture
def short_fields() -> Iterator[None]:
    """Python's own limit of a field, which other libraries raise for the whole process."""
    raised = csv.field_size_limit(1 << 17)
    yield
    csv.field_size_limit(raised)


@pytest.mark.usefixtures("short_fields")
def test_quoted_files_that_are_none(tmp_path: Path) -> None:
    """A stray carriage return breaks its row alone; a quote that nothing closes is one message."""
    arguments(tmp_path)
    file = tmp_path / "AFS" / "data" / "ArgPairs_GM.csv"
    whole = file.read_text("utf-8")
    known = len(load_set(TASKS["afs"], tmp_path).rows)
    file.write_text(whole + "1.0,x\r,a,b\n", "utf-8", newline="")
    found = load_set(TASKS["afs"], tmp_path)
    assert (len(found.rows), found.skipped) == (known, 2)
    file.write_text(whole + '1.0,x,"' + "a" * 200_000, "utf-8")
    with pytest.raises(InputError, match="field larger than field limit"):
        load_set(TASKS["afs"], tmp_path)
