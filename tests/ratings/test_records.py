"""What is written is read back, and all problems of a file are named together."""

from pathlib import Path

import pytest

from firth.ratings.records import (
    Annotation,
    Gold,
    Item,
    Tuple,
    read_annotations,
    read_gold,
    read_items,
    read_tuples,
    write_annotations,
    write_table,
    write_tuples,
)
from firth.run.errors import InputError

AWKWARD = 'a "quoted", text\nof two lines'


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    items = [Item("a", (AWKWARD, "é")), Item("b", ("x", "y"))]
    tuples = [Tuple("t1", ("a", "b", "c")), Tuple("t2", ("c", "a", "b"))]
    gold = [Gold("t2", "c", "a")]
    annotations = [Annotation("t1", "Zoë", "a", ""), Annotation("t2", "w, 2", "c", "c")]
    rows = [[item.id, *item.texts, 0.5] for item in items]
    write_table(tmp_path / "items.csv", ("id", "sentence1", "sentence2", "overlap"), rows)
    write_tuples(tmp_path / "tuples.csv", tuples)
    write_table(tmp_path / "gold.csv", ("tuple", "best", "worst"), [("t2", "c", "a")])
    write_annotations(tmp_path / "annotations.csv", annotations)
    assert read_items(tmp_path / "items.csv") == items
    assert read_tuples(tmp_path / "tuples.csv", ["a", "b", "c"]) == tuples
    assert read_gold(tmp_path / "gold.csv", tuples) == gold
    assert read_annotations(tmp_path / "annotations.csv") == annotations
    assert [one.line for one in read_annotations(tmp_path / "annotations.csv")] == [2, 3]


def test_items_without_ids_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n" + "".join(f"text {n}\n\n" for n in range(10)))
    assert [item.id for item in read_items(tmp_path / "a.csv")][::9] == ["01", "10"]
    (tmp_path / "b.csv").write_text("left,right\nx,y\n")
    assert read_items(tmp_path / "b.csv") == [Item("1", ("x", "y"))]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("id,text\na,\na,x\na,y\n", ["line 2: text is empty", "line 4: 'a' occurs already"]),
        ("id,score\na,1\n", ["no column of texts"]),
        ("id,text\n", ["no rows"]),
    ],
)
def test_problems_of_items(text: str, problems: list[str], tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_items(path)
    for problem in problems:
        assert problem in str(caught.value)


def test_problems_of_tuples(tmp_path: Path) -> None:
    path = tmp_path / "tuples.csv"
    path.write_text("tuple,item1,item2,item3\nt,a,b,a\nu,a,,c\nv,a,b,z\nt,a,b,c\n,a,b,c\n")
    with pytest.raises(InputError) as caught:
        read_tuples(path, ["a", "b", "c"])
    for problem in (
        "line 2: an item occurs twice",
        "line 3: an item is empty",
        "line 4: no such item: z",
        "line 6: the id is empty",
    ):
        assert problem in str(caught.value)
    path.write_text("tuple,item1,item2\nt,a,b\n")
    with pytest.raises(InputError, match="expected the columns tuple, item1, item2, item3"):
        read_tuples(path)


def test_problems_of_gold_and_annotations(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text("tuple,best,worst\nt,a,a\nu,a,b\nt,a,z\n")
    with pytest.raises(InputError, match=r"same item(.|\n)*no such tuple(.|\n)*'z' is not in"):
        read_gold(path, [Tuple("t", ("a", "b", "c"))])
    path.write_text("tuple,annotator,best,worst\n,x,a,b\nt,,a,b\n")
    with pytest.raises(InputError, match=r"line 2: tuple(.|\n)*line 3: annotator"):
        read_annotations(path)
