"""What is written is read back, and all problems of a file are named together."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from firth.ratings.records import (
    Annotation,
    Gold,
    Item,
    Tuple,
    questions,
    read_annotations,
    read_gold,
    read_items,
    read_tuples,
    write_table,
)
from firth.run.errors import InputError

AWKWARD = 'a "quoted", text\nof two lines'


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    items = [Item("a", (AWKWARD, "é")), Item("b", ("x", "y"))]
    tuples = [Tuple("t1", ("a", "b", "c")), Tuple("t2", ("c", "a", "b"))]
    gold = [Gold("t2", "c", "a")]
    annotations = [Annotation("t1", "Zoë", "a", ""), Annotation("t2", "w, 2", "c", "c")]

    def written(header: str, *rows: Sequence[object]) -> Path:
        write_table(tmp_path / "table.csv", header.split(), rows)
        return tmp_path / "table.csv"

    rows = [(item.id, *item.texts, 0.5) for item in items]
    assert read_items(written("id sentence1 sentence2 overlap", *rows)) == items
    path = written("tuple item1 item2 item3", *((one.id, *one.items) for one in tuples))
    assert read_tuples(path, ["a", "b", "c"]) == tuples
    assert read_gold(written("tuple best worst", ("t2", "c", "a")), tuples) == gold
    answers = (("t1", "Zoë", "a", ""), ("t2", "w, 2", "c", "c"))
    found = read_annotations(written("tuple annotator best worst", *answers))
    assert (found, [one.line for one in found]) == (annotations, [2, 3])


def test_items_without_ids_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n" + "".join(f"text {n}\n\n" for n in range(10)))
    assert [item.id for item in read_items(tmp_path / "a.csv")][::9] == ["01", "10"]
    (tmp_path / "b.csv").write_text("left,right\nx,y\n")
    assert read_items(tmp_path / "b.csv") == [Item("1", ("x", "y"))]


@pytest.mark.parametrize(
    ("read", "text", "problems"),
    [
        (read_items, "id,text a, a,x a,y", "line 2: text is empty; line 4: 'a' occurs already"),
        (read_items, "id,score a,1", "no column of texts"),
        (read_items, "id,text", "no rows"),
        (lambda path: read_tuples(path, [*"abc"]),
         "tuple,item1,item2,item3 t,a,b,a u,a,,c v,a,b,z t,a,b,c ,a,b,c",
         "line 2: an item occurs twice; line 3: an item is empty; line 4: no such item: z; "
         "line 6: the id is empty"),
        (read_tuples, "tuple,item1,item2 t,a,b", "expected the columns tuple, item1, item2, item3"),
        (lambda path: read_gold(path, [Tuple("t", (*"abc",))]),
         "tuple,best,worst t,a,a u,a,b t,a,z",
         "same item; no such tuple; 'z' is not in"),
        (read_annotations, "tuple,annotator,best,worst ,x,a,b t,,a,b",
         "line 2: tuple; line 3: annotator"),
        (read_annotations, "tuple,best,worst t,a,b", "no column annotator"),
    ],
)  # fmt: skip
def test_all_problems_are_named(
    read: Callable[[Path], object], text: str, problems: str, tmp_path: Path
) -> None:
    """A line of the file is a word of the text."""
    (tmp_path / "table.csv").write_text(text.replace(" ", "\n"))
    with pytest.raises(InputError) as caught:
        read(tmp_path / "table.csv")
    assert [one for one in problems.split("; ") if one not in str(caught.value)] == []


def test_results_of_a_crowd_platform(tmp_path: Path) -> None:
    """Answers are those of the named columns; rejected ones do not count, and lines are kept."""
    header = ("HITId", "WorkerId", "AssignmentStatus", "Input.tuple", "Input.item1_text1")
    write_table(
        tmp_path / "batch.csv",
        (*header, "Answer.best", "Answer.worst"),
        [
            ("h1", "w1", "Approved", "t1", AWKWARD, "a", "b"),
            ("h1", "w2", "Rejected", "t1", AWKWARD, "b", "a"),
            ("h2", "w1", "Submitted", "t2", "x", "c", ""),
        ],
    )
    found = read_annotations(tmp_path / "batch.csv")
    assert found == [Annotation("t1", "w1", "a", "b"), Annotation("t2", "w1", "c", "")]
    (tmp_path / "batch.csv").write_text("WorkerId,Input.tuple\nw,t\n")
    with pytest.raises(InputError, match="no column tuple, annotator"):
        read_annotations(tmp_path / "batch.csv")


def test_questions_hold_the_texts_of_their_items() -> None:
    items = [Item(name, (f"{name} one", AWKWARD)) for name in "abc"]
    (record,) = questions(items, [Tuple("t1", ("c", "a", "b"))])
    assert [record["tuple"], record["item1"], record["item3"]] == ["t1", "c", "b"]
    assert (record["item1_text1"], record["item2_text2"]) == ("c one", AWKWARD)
    assert len(record) == 1 + 3 * 3
