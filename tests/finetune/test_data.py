"""The rows that are learned from: apart from all others, and as each objective takes them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.finetune.conftest import Write, inference_rows, scored_rows

from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import TASKS
from firth.finetune.calibration import Line
from firth.finetune.data import Examples, divided_by_groups, examples_of, gather
from firth.finetune.recipe import Kind, Objective, Recipe
from firth.finetune.sets import CLASSES, Places, read_sets
from firth.finetune.train import plan
from firth.lexical.words import normal_form
from firth.run.errors import InputError


def pair(row: Row) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, row.texts)))


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.25, 0.4]))
def test_no_pair_is_in_two_parts(
    tmp_path_factory: pytest.TempPathFactory, seed: int, share: float
) -> None:
    """Whatever is drawn, though a third of the rows stand twice: train, dev and test share no pair
    of texts, and no distinct pair is lost."""
    rows = scored_rows(60)
    path = tmp_path_factory.mktemp("own") / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *rows[:20]]))
    data = gather(Kind.PAIRS, [str(path)], None, None, Places(), share, seed)
    parts = [{pair(row) for row in one.rows} for one in data.parts.values()]
    assert len(parts) == 3
    assert sum(map(len, parts)) == len(set.union(*parts))
    (whole,) = read_sets(str(path), Kind.PAIRS, Places()).values()
    assert set.union(*parts) == {pair(row) for row in whole.rows}
    assert data.drawn == ("test", "dev")


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=7),
    st.floats(0.01, 0.4),
    st.integers(0, 99),
)
def test_groups_are_drawn_whole(sizes: list[int], share: float, seed: int) -> None:
    """No group is in both parts and none is lost; the drawn ones have the share that was asked for
    and no group more than that takes, but for the last, which stays to be learned from."""
    names = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    rows = tuple(Row((f"a{n}", f"b{n}"), n, name) for n, name in enumerate(names))
    whole = EvaluationSet(TASKS["sts-b"], "train", rows, "")
    rest, drawn = divided_by_groups(whole, share, seed, "dev")
    if len(sizes) == 1:
        assert drawn is None
        assert rest is whole
        return
    assert drawn is not None
    left, taken = ({row.subtask for row in one.rows} for one in (rest, drawn))
    assert left
    assert taken
    assert not left & taken
    assert sorted((*rest.rows, *drawn.rows), key=lambda row: row.score) == list(rows)
    wanted = share * len(rows)
    assert len(drawn.rows) >= wanted or len(left) == 1
    assert len(drawn.rows) - max(sizes[int(name)] for name in taken) < wanted


def test_splits_of_a_file_are_taken(write: Write) -> None:
    """A column `split` says what chooses and what measures; nothing is drawn then."""
    splits = ["train"] * 20 + ["dev"] * 8 + ["test"] * 8
    rows = [{**row, "split": split} for row, split in zip(scored_rows(36), splits, strict=True)]
    data = gather(Kind.PAIRS, [str(write(rows))], None, None, Places(), 0.1, 13)
    assert [len(one.rows) for one in data.parts.values()] == [20, 8, 8]
    assert data.drawn == ()


def test_groups_are_kept_apart(write: Write) -> None:
    """Of `by` whole topics are drawn; too few of them are refused."""
    rows = scored_rows(90)
    data = gather(Kind.PAIRS, [str(write(rows))], None, None, Places(by="topic"), 0.1, 13)
    topics = [{row.subtask for row in one.rows} for one in data.parts.values()]
    assert sum(map(len, topics)) == len(set.union(*topics)) == 4
    assert data.drawn == ("test", "dev")
    few = [row for row in rows if row["topic"] in ("sea", "farm")]
    with pytest.raises(InputError, match="no group is left for dev"):
        gather(Kind.PAIRS, [str(write(few))], None, None, Places(by="topic"), 0.1, 13)


@pytest.mark.parametrize("split", ["test", "dev"])
def test_what_only_measures_is_not_learned_from_unasked(write: Write, split: str) -> None:
    """A set of which only such a split can be had is refused, with what can be done; by name it is
    learned from, and what measures is drawn."""
    path = write([{**row, "split": split} for row in scored_rows(40)])
    with pytest.raises(InputError, match=rf"(?s)only its split {split}.*{path.name}:{split}"):
        gather(Kind.PAIRS, [str(path)], None, None, Places(), 0.1, 13)
    data = gather(Kind.PAIRS, [f"{path}:{split}"], None, None, Places(), 0.1, 13)
    assert data.drawn == ("test", "dev")


def test_scores_of_different_ranges_meet(write: Write) -> None:
    """Of two files with other scales each score is a place between its own lowest and highest."""
    one = write(scored_rows(20), "one.csv")
    two = write([{**row, "score": 100 * float(str(row["score"]))} for row in scored_rows(20, 4)],
                "two.csv")  # fmt: skip
    data = gather(Kind.PAIRS, [str(one), str(two)], None, None, Places(), 0, 13)
    labels = examples_of(data.train, Kind.PAIRS, Objective.L2).columns["label"]
    assert (min(labels), max(labels)) == (0, 1)
    assert len(labels) == len(data.train.rows) == 40


@pytest.mark.parametrize("numbers", [False, True])
def test_labels_are_words_or_numbers(write: Write, numbers: bool) -> None:
    """Words and SNLI's numbers are the same rows; `-` and -1 are no label, and are counted."""
    rows = inference_rows(10)
    names = {"entailment": "0", "neutral": "1", "contradiction": "2", "-": "-1"}
    rows += [{"premise": "A ship left.", "hypothesis": "A ship sank.", "gold_label": "-"}]
    if numbers:
        rows = [{**row, "gold_label": names[str(row["gold_label"])]} for row in rows]
    (data,) = read_sets(str(write(rows)), Kind.NLI, Places()).values()
    assert sorted({row.score for row in data.rows}) == sorted(CLASSES)
    assert len(data.rows) == 30
    assert "1 rows without a label left out" in data.notes
    softmax = examples_of(data, Kind.NLI, Objective.SOFTMAX)
    assert softmax.classes == 3
    assert sorted(set(softmax.columns["label"])) == [0, 1, 2]


def test_inference_as_triplets(write: Write) -> None:
    """A premise with what follows and what contradicts; nothing neutral, and each text is used."""
    rows = inference_rows(12)
    alone = {"premise": "Alone.", "hypothesis": "It follows.", "gold_label": "entailment"}
    (data,) = read_sets(str(write([*rows, alone])), Kind.NLI, Places()).values()
    found = examples_of(data, Kind.NLI, Objective.IN_BATCH)
    of = {
        label: {(row["premise"], row["hypothesis"]) for row in rows if row["gold_label"] == label}
        for label in ("entailment", "contradiction")
    }
    texts = [found.row(number) for number in range(len(found))]
    assert {(premise, yes) for premise, yes, _ in texts} == of["entailment"]
    assert {(premise, no) for premise, _, no in texts} == of["contradiction"]


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 3), st.integers(0, 99))
def test_each_epoch_has_every_row_once(rows: int, size: int, epochs: int, seed: int) -> None:
    """Batches are as large as asked, but for the last of an epoch."""
    examples = Examples({"sentence1": [str(n) for n in range(rows)]})
    found = plan(examples, Recipe(Kind.PAIRS, epochs=epochs, batch=size), seed)
    assert sorted(row for batch in found for row in batch) == sorted([*range(rows)] * epochs)
    assert all(len(batch) <= size for batch in found)
    assert len(found) == epochs * -(-rows // size)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30),
    st.integers(2, 8),
    st.integers(0, 99),
)
def test_no_text_is_twice_in_a_batch(rows: list[tuple[int, int]], size: int, seed: int) -> None:
    """Where a batch gives the negatives; no row comes twice, and few are left over."""
    columns = {"anchor": [f"a{a}" for a, _ in rows], "positive": [f"p{p}" for _, p in rows]}
    examples = Examples(columns)
    recipe = Recipe(Kind.TRIPLETS, Objective.IN_BATCH, epochs=1, batch=size)
    found = plan(examples, recipe, seed)
    used = [row for batch in found for row in batch]
    assert len(used) == len(set(used))
    for batch in found:
        assert 2 <= len(batch) <= size
        texts = [text for row in batch for text in examples.row(row)]
        assert len(texts) == len(set(texts))


def test_a_line_and_its_error() -> None:
    """Slope and intercept are least squares'; the error is that of lines fitted without each pair
    in turn, one by one."""
    rng = np.random.default_rng(5)
    cosines = rng.random(15)
    scores = 3 * cosines + rng.standard_normal(15)
    line = Line.fit(cosines, scores, -9, 9)
    assert (line.slope, line.intercept) == pytest.approx(np.polyfit(cosines, scores, 1), abs=1e-5)
    off, constant = [], []
    for left in range(15):
        some = np.arange(15) != left
        slope, intercept = np.polyfit(cosines[some], scores[some], 1)
        off.append(scores[left] - slope * cosines[left] - intercept)
        constant.append(scores[left] - scores[some].mean())
    assert line.error == pytest.approx(np.sqrt(np.mean(np.square(off))), abs=1e-5)
    assert line.constant_error == pytest.approx(np.sqrt(np.mean(np.square(constant))), abs=1e-5)


def test_known_sets_are_found(tmp_path: Path) -> None:
    """In a folder of evaluation sets: inference by its words, scored pairs by splits; a set of
    another kind is refused by name."""
    (tmp_path / "SNLI").mkdir()
    lines = [
        f"{r['premise']}\t{r['hypothesis']}\t{r['gold_label']}\tdev" for r in inference_rows(9)
    ]
    header = "sentence1\tsentence2\tscore\tsplit\n"
    (tmp_path / "SNLI" / "pairs.tsv").write_text(header + "\n".join(lines) + "\n")
    places = Places(tmp_path)
    assert {*read_sets("snli", Kind.NLI, places)} == {"dev"}
    with pytest.raises(InputError, match="no split 'train'"):
        read_sets("snli:train", Kind.NLI, places)
    with pytest.raises(InputError, match="cannot be learned"):
        read_sets("snli", Kind.PAIRS, places)
    with pytest.raises(InputError, match="expected subtask"):
        read_sets("snli", Kind.NLI, Places(tmp_path, by="topic"))
