"""A user's own file: every format is the same file, columns are found, all faults said at once."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from firth.evaluate.own_files import Content, OwnFile, OwnRow, read_own
from firth.lexical.labels import NLI
from firth.run.errors import InputError

SCORED = [
    {"sentence1": "A ship sailed.", "sentence2": "The ship left.", "score": "4.5"},
    {"sentence1": 'He said "no".', "sentence2": "It's, well, a cow", "score": "1"},
]
FORMATS = ("a.tsv", "a.txt", "a.csv", "a.csv.gz", "a.tsv.zst", "a.jsonl", "a.parquet")


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Rows in the format of a file's ending."""
    header = list(rows[0])
    kind = path.name.split(".")[1]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
        return path
    plain = path.with_name("plain")
    with plain.open("w", encoding="utf-8", newline="") as file:
        if kind == "jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        elif kind == "csv":
            csv.writer(file).writerows([header, *(row.values() for row in rows)])
        else:
            lines = [header, *(map(str, row.values()) for row in rows)]
            file.writelines("\t".join(line) + "\n" for line in lines)
    data = plain.read_bytes()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":
        data = zstandard.ZstdCompressor().compress(data)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_the_same_file(tmp_path: Path, name: str) -> None:
    """Quotation marks, commas, packing: the rows are equal, but for the line they stand in."""
    found = read_own(write(tmp_path / name, SCORED))
    assert found.content is Content.SCORED
    assert [(row.texts, row.score) for row in found.rows] == [
        ((row["sentence1"], row["sentence2"]), float(row["score"])) for row in SCORED
    ]
    assert [row.line for row in found.rows] == [1, 2] if name in FORMATS[-2:] else [2, 3]


@pytest.mark.parametrize(
    ("header", "content"),
    [
        ("sentence1 sentence2 score", Content.SCORED),
        ("text_a text_b similarity_score", Content.SCORED),
        ("Sentence_A Sentence_B relatedness_score", Content.SCORED),
        ("premise hypothesis gold_label", Content.LABELLED),
        ("question1 question2 is_duplicate", Content.LABELLED),
        ("anchor positive negative", Content.TRIPLETS),
        ("anchor positive", Content.PAIRS),
    ],
)
def test_columns_are_found_by_their_usual_names(
    tmp_path: Path, header: str, content: Content
) -> None:
    """With others around them, in any order."""
    names = header.split()
    values = {"id": "7", **dict(zip(names, ("one", "two", "1"), strict=False))}
    found = read_own(write(tmp_path / "a.csv", [dict(reversed(values.items()))]))
    assert found.content is content
    assert found.rows[0].texts[:2] == ("one", "two")
    assert set(found.columns.values()) == set(names)


def test_columns_of_any_name_are_given(tmp_path: Path) -> None:
    """What is given goes before what is usual, and decides what the rows are."""
    row = {"a": "one", "b": "two", "score": "3", "label": "1", "where": "sea"}
    path = write(tmp_path / "a.csv", [row, {**row, "label": "0"}])
    ours = {"sentence1": "a", "sentence2": "b", "group": "where"}
    scored, labelled = read_own(path, ours), read_own(path, {**ours, "label": "label"})
    assert (scored.content, scored.rows[0].score, scored.rows[0].group) == (
        "scored pairs",
        3,
        "sea",
    )
    assert (labelled.content, labelled.labels) == ("labelled pairs", ("0", "1"))
    assert read_own(path, ours, Content.LABELLED) == labelled
    with pytest.raises(InputError, match=r"line 1: no column c\. Got: a, b"):
        read_own(path, {"sentence1": "c"})
    with pytest.raises(InputError, match="columns: no sentence3"):
        read_own(path, {"sentence3": "c"})
    with pytest.raises(InputError, match=r"got the columns a, b, .* Expected anchor, positive"):
        read_own(path)
    both = write(tmp_path / "both.csv", [{"s1": "a", "text1": "b", "s2": "c", "score": 1}])
    with pytest.raises(InputError, match="s1, text1: each could be sentence1"):
        read_own(both)


def test_numbers_under_label_are_scores_where_they_form_a_scale(tmp_path: Path) -> None:
    """As in the sets of the hub; two or three whole numbers are classes."""
    rows: list[dict[str, object]] = [
        {"sentence1": "a", "sentence2": "b", "label": value} for value in (0, 1, 2, 3)
    ]
    assert read_own(write(tmp_path / "a.jsonl", rows)).content is Content.SCORED
    assert read_own(write(tmp_path / "b.jsonl", rows[:3])).content is Content.LABELLED
    assert read_own(write(tmp_path / "c.jsonl", rows[:3]), None, Content.SCORED).rows[2].score == 2
    rows[0]["label"] = 0.5
    assert read_own(write(tmp_path / "d.jsonl", rows[:3])).content is Content.SCORED


@pytest.mark.parametrize(
    ("labels", "alike"),
    [
        ({"0", "1"}, "1"),
        ({"-1", "1"}, "1"),
        ({"duplicate", "not_duplicate"}, "duplicate"),
        ({"Yes", "no"}, "yes"),
        (set(NLI), "entailment"),
        ({"ship", "cow"}, None),
        ({"0", "1", "2"}, None),
    ],
)
def test_which_label_means_alike(tmp_path: Path, labels: set[str], alike: str | None) -> None:
    """Of two, or of inference; other sets of labels do not say."""
    rows = [{"sentence1": "a", "sentence2": "b", "label": label} for label in sorted(labels)]
    found = read_own(write(tmp_path / "a.tsv", rows))
    assert set(found.labels) == {label.lower() for label in labels}
    assert found.alike == alike


def test_rows_without_a_label_are_counted(tmp_path: Path) -> None:
    """SNLI's `-`; and of splits, the hub's names are ours."""
    rows = [
        {"premise": "a", "hypothesis": "b", "gold_label": label, "split": "validation"}
        for label in (*NLI, "-")
    ]
    found = read_own(write(tmp_path / "a.jsonl", rows))
    assert (found.labels, len(found.rows), found.unlabelled) == (NLI, 3, 1)
    assert {row.split for row in found.rows} == {"dev"}


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Each with its line; nothing is left out in silence."""
    good = SCORED[0]
    broken = [{**good, "score": "high"}, {**good, "sentence2": " "}, {**good, "score": "nan"}]
    with pytest.raises(InputError) as caught:
        read_own(write(tmp_path / "a.csv", [good, *broken]))
    message = str(caught.value)
    assert "a.csv: 3 problems:" in message
    assert "line 3: score 'high' is not a number" in message
    assert "line 4: no text in sentence2" in message
    assert "line 5: score nan is not a finite number" in message
    triplet = {"anchor": "a", "positive": "b", "negative": "b"}
    with pytest.raises(InputError, match="row 1: positive and negative are the same text"):
        read_own(write(tmp_path / "a.parquet", [triplet]))
    (tmp_path / "none.tsv").write_text("sentence1\tsentence2\tscore\n")
    with pytest.raises(InputError, match="no row in it"):
        read_own(tmp_path / "none.tsv")
    with pytest.raises(InputError, match="no such file"):
        read_own(tmp_path / "pears.tsv")


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.zst", "a.parquet", "a.jsonl"])
def test_files_that_are_not_what_they_are_called(tmp_path: Path, name: str) -> None:
    """One message, that names the file."""
    (tmp_path / name).write_text("nonsense\n")
    with pytest.raises(InputError, match=name):
        read_own(tmp_path / name)


@given(st.lists(st.tuples(st.text(min_size=1), st.floats(allow_nan=False, allow_infinity=False))))
def test_json_keeps_every_text(rows: list[tuple[str, float]]) -> None:
    """Any text with something in it and any number come back as they were."""
    import tempfile

    rows = [(text, score) for text, score in rows if text.strip()] or [("a", 1.0)]
    with tempfile.TemporaryDirectory() as folder:
        written = [{"sentence1": text, "sentence2": "b", "score": score} for text, score in rows]
        found = read_own(write(Path(folder) / "a.jsonl", written))
    assert [(row.texts[0], row.score) for row in found.rows] == rows


def test_an_own_file_is_data() -> None:
    """Made in Python as well as read."""
    rows = tuple(OwnRow(("a", "b"), line, label=str(line % 2)) for line in (1, 2))
    assert OwnFile(Path("made"), Content.LABELLED, rows, {}).alike == "1"
