"""Files of pairs: every format is the same file, columns are recognized, problems come together."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firth.evaluation.files import NLI, Content, read_pair_file
from firth.run.errors import InputError

SCORED = [
    {"sentence1": "A ship sailed.", "sentence2": "The ship left.", "score": "4.5"},
    {"sentence1": 'He said "no".', "sentence2": "It's, well, a cow", "score": "1"},
]


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    header, kind = list(rows[0]), path.name.split(".")[1]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
        elif kind == "json":
            json.dump(list(rows), file)
        elif kind == "jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        elif kind == "csv":
            csv.writer(file).writerows([header, *(row.values() for row in rows)])
        else:
            lines = [header, *(map(str, row.values()) for row in rows)]
            file.writelines("\t".join(line) + "\n" for line in lines)
    return path


@pytest.mark.parametrize(
    "name", ["a.tsv", "a.txt", "a.csv", "a.csv.gz", "a.tsv.gz", "a.jsonl", "a.json", "a.parquet"]
)
def test_every_format_is_the_same_file(tmp_path: Path, name: str) -> None:
    """Quotation marks, commas, compression: the rows are equal except for their lines."""
    file = read_pair_file(write(tmp_path / name, SCORED))
    assert file.content is Content.SCORED
    assert [(row.texts, row.score) for row in file.rows] == [
        ((row["sentence1"], row["sentence2"]), float(row["score"])) for row in SCORED
    ]
    assert [row.line for row in file.rows] == (
        [2, 3] if name[:5] in ("a.tsv", "a.txt", "a.csv") else [1, 2]
    )


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
def test_columns_are_recognized_by_their_usual_names(
    tmp_path: Path, header: str, content: Content
) -> None:
    """With other columns around them, in any order."""
    names = header.split()
    values = {"id": "7", **dict(zip(names, ("one", "two", "1"), strict=False))}
    file = read_pair_file(write(tmp_path / "a.csv", [dict(reversed(values.items()))]))
    assert file.content is content
    assert file.rows[0].texts[:2] == ("one", "two")
    assert set(file.columns.values()) == set(names)


def test_the_column_of_subsets_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"s1": "one", "s2": "two", "topic": "x", "where": "sea"}])
    assert (read_pair_file(path).rows[0].subset, read_pair_file(path, "where").rows[0].subset) == (
        "x", "sea",
    )  # fmt: skip
    with pytest.raises(InputError, match=r"line 1: no column c\. Got: s1, s2"):
        read_pair_file(path, "c")
    path = write(tmp_path / "b.csv", [{"a": "one", "b": "two"}])
    with pytest.raises(InputError, match=r"got the columns a, b\. Expected anchor, positive"):
        read_pair_file(path)


@pytest.mark.parametrize(
    ("labels", "similar"),
    [
        (["0", "1"], "1"),
        (["-1", "1"], "1"),
        (["duplicate", "not_duplicate"], "duplicate"),
        (["Yes", "no"], "yes"),
        (list(NLI), "entailment"),
        (["ship", "cow"], None),
        (["0", "1", "2"], None),
    ],
)
def test_which_label_means_similar(tmp_path: Path, labels: list[str], similar: str | None) -> None:
    """One of two labels, or of inference; other sets of labels do not say."""
    rows = [{"sentence1": "a", "sentence2": "b", "label": label} for label in labels]
    file = read_pair_file(write(tmp_path / "a.tsv", rows))
    assert set(file.labels) == {label.lower() for label in labels}
    assert file.similar_label == similar


@pytest.mark.parametrize("column", ["gold_label", "score"])
def test_rows_without_a_label_are_counted(tmp_path: Path, column: str) -> None:
    """SNLI's `-`, also where the plain form has the labels of inference in `score`."""
    rows = [
        {"premise": "a", "hypothesis": "b", column: label, "split": "validation"}
        for label in (*NLI, "-")
    ]
    file = read_pair_file(write(tmp_path / "a.jsonl", rows))
    assert (file.labels, len(file.rows), file.unlabelled) == (NLI, 3, 1)
    assert {row.split for row in file.rows} == {"dev"}


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    """Each with its line; no row is left out silently."""
    good = SCORED[0]
    broken = [{**good, "score": "high"}, {**good, "sentence2": " "}, {**good, "score": "nan"}]
    with pytest.raises(InputError) as caught:
        read_pair_file(write(tmp_path / "a.csv", [good, *broken]))
    message = str(caught.value)
    assert "a.csv: 3 problems:" in message
    assert "line 3: score 'high' is not a number" in message
    assert "line 4: no text in sentence2" in message
    assert "line 5: score nan is not a finite number" in message
    with pytest.raises(InputError, match="and 30 more"):
        read_pair_file(write(tmp_path / "b.csv", [broken[0]] * 50))
    triplet = {"anchor": "a", "positive": "b", "negative": "b"}
    with pytest.raises(InputError, match="line 1: positive and negative are the same text"):
        read_pair_file(write(tmp_path / "a.jsonl", [triplet]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"sentence1\tsentence2\tscore\n", "the file has no rows"),
        ("a.tsv", b"", "the file is empty"),
        (
            "a.tsv",
            b"a\tb\tscore\n1\t2\n1\t2\t3\t4\n",
            "2 problems:\n  - line 2: broken row \\(2 cells",
        ),
        ("a.tsv", b"a\tb\ta\n", "a column name occurs twice"),
        ("a.jsonl", b"[1]\nx\n", "2 problems:\n  - line 1: not a JSON object"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_pair_file(tmp_path / name)
    assert name in str(caught.value)
    for path in (tmp_path / "pears.tsv", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_pair_file(path)
