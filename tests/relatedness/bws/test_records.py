"""What is written is read back; what cannot be used is named with its line, all of it at once."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.relatedness.bws.records import (
    Annotation,
    Gold,
    Item,
    Tuple,
    read_annotations,
    read_gold,
    read_items,
    read_tuples,
    write_annotations,
    write_gold,
    write_items,
    write_tuples,
)
from firth.run.errors import InputError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: text.strip() and not text.startswith("\ufeff")
)
SCORES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@settings(max_examples=50)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, unique_by=lambda row: row[0]), st.data())
def test_items_are_read_as_written(
    folder: Path, rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    """Any texts and ids, with quotes, commas, line feeds and odd line ends, come back."""
    items = [Item(name, (one, two), data.draw(SCORES)) for name, one, two in rows]
    write_items(folder / "items.csv", items, ("left", "right"))
    assert read_items(folder / "items.csv") == items


@settings(max_examples=50)
@given(st.lists(st.lists(TEXT, min_size=4, max_size=4, unique=True), min_size=1), st.data())
def test_answers_are_read_as_written(
    folder: Path, members: list[list[str]], data: st.DataObject
) -> None:
    """Tuples, gold questions and annotations (also incomplete ones) come back."""
    tuples = [Tuple(f"t{n}", tuple(items)) for n, items in enumerate(members)]
    gold = [Gold(one.id, one.items[1], one.items[3]) for one in tuples]
    answers = [
        Annotation(one.id, data.draw(TEXT), one.items[0], "", data.draw(st.just("") | TEXT))
        for one in tuples
    ]
    write_tuples(folder / "tuples.csv", tuples)
    write_gold(folder / "gold.csv", gold)
    write_annotations(folder / "annotations.csv", answers)
    assert read_tuples(folder / "tuples.csv") == tuples
    assert read_gold(folder / "gold.csv", tuples) == gold
    assert read_annotations(folder / "annotations.csv") == answers


def test_annotations_know_their_line(tmp_path: Path) -> None:
    """The line is where an editor shows it, blank lines counted."""
    path = tmp_path / "a.csv"
    path.write_text("tuple,annotator,best,worst\n\nt1,ann,a,b\nt2,ann,,\n")
    assert [one.line for one in read_annotations(path)] == [3, 4]


def test_pairs_get_their_row_number(tmp_path: Path) -> None:
    """A pairs TSV needs no id; quotation marks are characters; other columns are left alone."""
    path = tmp_path / "pairs.tsv"
    rows = "".join(f'"He said\tso {n}\t0.{n}\tx\n' for n in range(10))
    path.write_text("sentence1\tsentence2\tscore\tsubset\r\n" + rows)
    items = read_items(path)
    assert [items[0].id, items[9].id] == ["01", "10"]
    assert items[3] == Item("04", ('"He said', "so 3"), 0.3)


def test_single_texts(tmp_path: Path) -> None:
    """A text file has an item a line, a CSV may have any columns."""
    (tmp_path / "a.txt").write_text("one\n\ntwo\u2028still two\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text('id,tweet\nx,one\ny,"two\nlines"\n')
    assert read_items(tmp_path / "a.txt") == [
        Item("1", ("one",)),
        Item("2", ("two\u2028still two",)),
    ]
    assert read_items(tmp_path / "b.csv") == [Item("x", ("one",)), Item("y", ("two\nlines",))]


BROKEN: dict[str, tuple[str | bytes, list[str]]] = {
    "items.csv": (
        "id,text,score\na,x,1\na,,y\n,z,nan\n",
        ["line 3: item 'a' again; it stands in line 2", "line 3: text is empty", "score 'y'",
         "line 4: the id of the item is empty", "score 'nan'"],
    ),
    "cells.csv": ("id,text\na,x,1\nb\n", ["line 2: 3 cells", "line 3: 1 cells; the header has 2"]),
    "quotes.csv": ('id,text\na,"x\n', ["not CSV"]),
    "none.csv": ("id,score\na,1\n", ["no column of texts"]),
    "twice.csv": ("id,text,text\na,1,2\n", ["occurs twice in the header"]),
    "header.csv": ("id,text\n", ["no item"]),
    "empty.csv": ("", ["empty"]),
    "latin.csv": (b"id,text\na,\xe4\n", ["line 2: not UTF-8"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_items_are_named(tmp_path: Path, name: str) -> None:
    """Every problem of a file is in the message, with its line."""
    content, expected = BROKEN[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_items(tmp_path / name)
    for part in [name, *expected]:
        assert part in str(caught.value)


def test_broken_tuples_are_named(tmp_path: Path) -> None:
    """Repeated items, unknown items and gaps, all at once."""
    path = tmp_path / "tuples.csv"
    path.write_text("tuple,item1,item2,item3\nt,a,b,a\nt,a,b,\nu,a,b,q\n")
    with pytest.raises(InputError, match="4 problems") as caught:
        read_tuples(path, ["a", "b", "c"])
    for part in ["line 2: an item occurs twice", "line 3: tuple 't' again", "an item is empty"]:
        assert part in str(caught.value)
    assert "no such item: q" in str(caught.value)
    path.write_text("tuple,item1,item2,item3,item5\nt,a,b,c,d\n")
    with pytest.raises(InputError, match="item1 to item5 are not all there"):
        read_tuples(path)


def test_broken_gold_is_named(tmp_path: Path) -> None:
    """A gold question must be answerable: its tuple known, its items in it and distinct."""
    path = tmp_path / "gold.csv"
    path.write_text("tuple,best,worst\nt,a,a\nu,a,b\nv,a,z\nw,a,\nt,a,b\n")
    known = [Tuple(name, ("a", "b", "c")) for name in "tvw"]
    with pytest.raises(InputError, match="5 problems") as caught:
        read_gold(path, known)
    for part in ["the same item, 'a'", "no such tuple: 'u'", "'z' is not in tuple 'v'", "again"]:
        assert part in str(caught.value)


def test_annotations_without_names_are_refused(tmp_path: Path) -> None:
    """Who answered what must be known; a missing column is named with what was got."""
    path = tmp_path / "a.csv"
    path.write_text("tuple,annotator,best,worst\n,ann,a,b\nt,,a,b\n")
    with pytest.raises(InputError, match=r"line 2: tuple is empty\n.*line 3: annotator is empty"):
        read_annotations(path)
    path.write_text("tuple,worker,best,worst\nt,ann,a,b\n")
    with pytest.raises(InputError, match=r"no column annotator. Got: tuple, worker"):
        read_annotations(path)


def test_many_problems_are_counted(tmp_path: Path) -> None:
    """A message stays readable: the first twenty, and how many more."""
    path = tmp_path / "a.csv"
    path.write_text("tuple,annotator,best,worst\n" + ",x,,\n" * 50)
    with pytest.raises(InputError, match=r"50 problems(.*\n)*.*and 30 more"):
        read_annotations(path)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Tuples of two sizes have no header, items must fit their columns, folders are no files."""
    with pytest.raises(InputError, match="one size"):
        write_tuples(tmp_path / "t.csv", [Tuple("t", ("a", "b", "c")), Tuple("u", tuple("abcd"))])
    with pytest.raises(InputError, match="2 texts; expected 1"):
        write_items(tmp_path / "i.csv", [Item("a", ("x", "y"))], ("text",))
    with pytest.raises(InputError, match="cannot be written"):
        write_gold(tmp_path, [Gold("t", "a", "b")])
    assert list(tmp_path.iterdir()) == []


def test_what_never_ends_is_not_read(tmp_path: Path) -> None:
    """Pipes, devices and folders are refused at once, also behind a link."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe.csv", tmp_path / "zero.txt", tmp_path):
        with pytest.raises(InputError, match=r"cannot be read \(not a file\)"):
            read_items(path)
