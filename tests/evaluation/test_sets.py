"""Sets: splits, samples, overlaps; the order of rows decides nothing."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.evaluation.files import Row
from firth.evaluation.metrics import BINARY, CORRELATIONS, Metric
from firth.evaluation.sets import EvaluationSet, evaluation_set, load_set, load_sets
from firth.run.errors import InputError
from firth.text.words import normal_form

HEADER = ("sentence1", "sentence2", "score", "subtask", "split")


def write_table(
    path: Path, rows: Sequence[Sequence[object]], header: Sequence[str] = HEADER
) -> None:
    """Write rows as tab-separated text, and the folder above."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) + "\n" for row in (header, *rows)]
    path.write_text("".join(lines), encoding="utf-8")


def made_of(pairs: Sequence[tuple[str, str]], name: str = "sts13", seed: int = 0) -> EvaluationSet:
    """Return pairs with random scores and subsets."""
    rng = random.Random(seed)
    rows = [
        Row(texts=pair, score=rng.uniform(0, 5), subset=rng.choice(["x", "y"])) for pair in pairs
    ]
    return evaluation_set(name, "test", rows, CORRELATIONS, "made up")


def texts_of(data: EvaluationSet) -> set[tuple[str, ...]]:
    return {row.texts for row in data.rows}


# The plain form.


def test_a_public_set_is_read_by_split(tmp_path: Path) -> None:
    """Subsets get their reported names, and `test` is taken unless another split is named."""
    rows = [(f"{split} a", f"{split} b", 3.5, f"main-{genre}/x", split)
            for split in ("train", "dev", "test") for genre in ("news", "forums")]  # fmt: skip
    write_table(tmp_path / "STSb" / "pairs.tsv", rows)
    data = load_set("sts-b", tmp_path)
    assert (data.id, data.metrics, list(data.subsets)) == (
        "sts-b:test", CORRELATIONS, ["forums", "news"],
    )  # fmt: skip
    assert load_set("sts-b:dev", tmp_path).rows[0].texts == ("dev a", "dev b")
    assert data.scores.tolist() == [3.5, 3.5]
    with pytest.raises(InputError, match=r"no split .trial.. It has: train \(2\), dev \(2\)"):
        load_set("sts-b:trial", tmp_path)


def test_sets_say_what_they_lack(tmp_path: Path) -> None:
    """Rows that are missing, and rows that are there and not counted."""
    rows = [(f"a{i}", f"b{i}", 1, "SMT" if i % 2 else "OnWN", "test") for i in range(6)]
    write_table(tmp_path / "STS13" / "pairs.tsv", rows)
    data = load_set("sts13", tmp_path)
    assert {row.subset for row in data.rows} == {"OnWN"}
    assert any("3 rows; 1,500 were published" in note for note in data.notes)
    assert any("without SMT" in note for note in data.notes)


def test_triplets_and_substitutes(tmp_path: Path) -> None:
    """A substitute for the published set says so; pairs are asked positives first."""
    path = tmp_path / "WikiSections-substitute" / "triplets.tsv"
    write_table(path, [("a", "b", "c", "test")], ("anchor", "positive", "negative", "split"))
    data = load_set("wiki-sections", tmp_path)
    assert (data.is_triplets, data.metrics) == (True, (Metric.ACCURACY,))
    assert data.pairs == [("a", "b"), ("a", "c")]
    positive, negative = data.columns(np.array([0.9, 0.1]))
    assert (positive.tolist(), negative.tolist()) == ([0.9], [0.1])
    assert any("not comparable" in note for note in data.notes)


def test_any_folder_of_the_plain_form_is_a_set(tmp_path: Path) -> None:
    """So languages need no code; and the case of a folder's name does not count."""
    rows = [("jirgi ya tashi", "jirgin ya bar", 0.7, "hau", split) for split in ("dev", "test")]
    write_table(tmp_path / "hau" / "pairs.tsv", rows)
    write_table(tmp_path / "MRPC" / "pairs.tsv", [("a", "b", 1), ("c", "d", 0)],
                ("sentence1", "sentence2", "label"))  # fmt: skip
    assert [load_set(name, tmp_path).id for name in ("hau", "hau:dev", "mrpc")] == [
        "hau:test", "hau:dev", "mrpc:all",
    ]  # fmt: skip
    mrpc = load_set("mrpc", tmp_path)
    assert mrpc.metrics == BINARY
    assert sorted(mrpc.scores.tolist()) == [0, 1]
    with pytest.raises(InputError, match="no split 'trial'"):
        load_set("hau:trial", tmp_path)


def test_a_file_of_ones_choice_is_a_set(tmp_path: Path) -> None:
    """It is called by its name; its labels become scores."""
    path = tmp_path / "mine.csv"
    path.write_text("premise,hypothesis,label\na,b,entailment\nc,d,neutral\ne,f,contradiction\n")
    data = load_set(str(path))
    assert (data.id, data.metrics) == ("mine:all", BINARY)
    assert {row.texts[0]: row.score for row in data.rows} == {"a": 1, "c": 0, "e": 0}
    path.write_text("anchor,positive,split\na,b,dev\n")
    with pytest.raises(InputError, match="pairs without scores cannot be evaluated"):
        load_set(f"{path}:dev")
    path.write_text("sentence1,sentence2,label\na,b,cow\na,c,ship\n")
    with pytest.raises(InputError, match="got the labels cow, ship"):
        load_set(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sts-c", "no such set.*the public sets are sts12, sts13"),
        ("sts12", "has no STS12/pairs.tsv$"),
        ("wiki-sections", "has no WikiSections/triplets.tsv$"),
        ("pears.tsv", "pears.tsv: no such file"),
        ("some/folder", "no such file"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_set(name, tmp_path)
    with pytest.raises(InputError, match=r"no such file|give the folder that holds"):
        load_set(name)
    with pytest.raises(InputError, match=r"no such file|nowhere: no such folder"):
        load_set(name, tmp_path / "nowhere")


# Sets as values.

PAIRS = st.lists(
    st.tuples(*[st.sampled_from(["The ship.", "the ship", "A storm!", "a  storm", "Old sea"])] * 2),
    min_size=1,
    max_size=12,
)


@given(pairs=PAIRS, seed=st.integers(0, 9))
def test_the_order_of_rows_decides_nothing(pairs: list[tuple[str, str]], seed: int) -> None:
    data = made_of(pairs)
    rows = list(data.rows)
    random.Random(seed).shuffle(rows)
    mixed = evaluation_set("sts13", "test", rows, CORRELATIONS, "made up")
    assert (mixed.rows, mixed.fingerprint) == (data.rows, data.fingerprint)


def test_fingerprints_know_texts_scores_and_subsets() -> None:
    one = Row(texts=("a", "b"), score=1.0, subset="x")
    others = [
        Row(texts=("a", "c"), score=1.0, subset="x"),
        Row(texts=("a", "b"), score=2.0, subset="x"),
        Row(texts=("a", "b"), score=1.0, subset="y"),
        Row(texts=("ab", ""), score=1.0, subset="x"),
    ]
    prints = {
        evaluation_set("s", "test", [row], CORRELATIONS, "").fingerprint for row in (one, *others)
    }
    assert len(prints) == 5
    named = Row(texts=("a", "b"), score=1.0, subset="x", line=7, split="dev")
    assert evaluation_set("t", "dev", [named], CORRELATIONS, "").fingerprint in prints


@given(ours=PAIRS, theirs=PAIRS)
def test_exactly_the_shared_pairs_are_excluded(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> None:
    """Rows remain whose two texts, case and punctuation aside, are in no row of the other set."""
    held = {frozenset(map(normal_form, pair)) for pair in theirs}
    data, other = made_of(ours), made_of(theirs, "sts14", seed=1)
    expected = [row for row in data.rows if frozenset(map(normal_form, row.texts)) not in held]
    if not expected:
        with pytest.raises(InputError, match="no row is left, because sts14:test has"):
            data.without(other)
        return
    rest = data.without(other)
    assert list(rest.rows) == expected
    assert f"{len(ours) - len(expected)} of {len(ours)} rows left out" in rest.notes[-1]
    assert rest.without(other).rows == rest.rows
    turned = made_of([(two, one) for one, two in theirs], "sts14", seed=2)
    assert data.without(turned).rows == rest.rows


@given(small=st.integers(2, 40), large=st.integers(2, 40), seed=st.integers(0, 5))
def test_samples_are_nested(small: int, large: int, seed: int) -> None:
    """A smaller sample is part of a larger one, and the same whatever the order of the file."""
    data = made_of([(f"text {i}", f"text {i + 1}") for i in range(30)])
    again = evaluation_set("sts13", "test", data.rows[::-1], CORRELATIONS, "")
    one, two = (data.sampled(size, seed) for size in sorted((small, large)))
    assert len(one.rows) == min(small, large, 30)
    assert texts_of(one) <= texts_of(two)
    assert texts_of(again.sampled(small, seed)) == texts_of(data.sampled(small, seed))


def test_several_sets_are_loaded(tmp_path: Path) -> None:
    """`all` stands for the public sets that are there; a set that is named must be there."""
    rows = [(f"a{i}", f"b{i}", 1, "x", "test") for i in range(30)]
    write_table(tmp_path / "STS14" / "pairs.tsv", rows)
    write_table(tmp_path / "STS12" / "pairs.tsv", rows[:20])
    write_table(tmp_path / "held" / "pairs.tsv", rows[:5])
    assert [data.id for data in load_sets(["all", "held"], tmp_path)] == [
        "sts12:test", "sts14:test", "held:test",
    ]  # fmt: skip
    for names, message in (
        (["sts13"], "sts13: .* has no"),
        ([], "expected a list of names"),
        ("sts14", "expected a list of names"),
    ):
        with pytest.raises(InputError, match=message):
            load_sets(names, tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no public set: sts12"):
        load_sets(["all"], tmp_path / "empty")
