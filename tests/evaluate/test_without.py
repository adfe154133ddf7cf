"""Sets without the rows that another set holds: which rows go, and what is said of it."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.conftest import PAIR_COLUMNS, made_up_pairs, table
from typer.testing import CliRunner

from firth import evaluate
from firth.cli.main import app
from firth.evaluate.comparison import compare, compare_saved
from firth.evaluate.evaluate import evaluate_models
from firth.evaluate.load import load_set, select_sets
from firth.evaluate.readers import gensim_files, read_lee
from firth.evaluate.rows import EvaluationSet, Excluded, Row
from firth.evaluate.task import TASKS
from firth.lexical.words import normal_form
from firth.run.errors import InputError

SHARED = 7
"""Rows of sts13 that dev of sts-b holds."""
DEV = "sts-b:dev"

TEXTS = st.sampled_from(["The ship.", "the ship", "A storm!", "a  storm", "Old sea", "It was 3.5"])
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)


def made_of(pairs: Sequence[tuple[str, str]], name: str = "sts13", seed: int = 0) -> EvaluationSet:
    """Pairs under random scores and subtasks."""
    rng = random.Random(seed)
    rows = tuple(Row(pair, rng.uniform(0, 5), rng.choice(["x", "y"])) for pair in pairs)
    return EvaluationSet(TASKS[name], "test", rows, "made up")


@pytest.fixture
def overlapping(data_dir: Path) -> Path:
    """The evaluation folder, in which dev of sts-b begins with rows of sts13: turned, in capitals,
    under other scores."""
    rows = made_up_pairs(40, "test", ["FNWN", "OnWN"])
    texts = {frozenset(map(str, row[:2])) for row in rows}
    assert len(texts) == len(rows), "premise: pairs tell rows apart"
    dev = made_up_pairs(30, "dev", ["main-news/x"], seed=99)
    assert not texts & {frozenset(map(str, row[:2])) for row in dev}, "premise: others are others"
    shared = [(f"{row[1]}.", str(row[0]).upper(), 2.5, "main-news/x", "dev") for row in rows]
    file = data_dir / "STSb" / "pairs.tsv"
    kept = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    kept = [row for row in kept if row[-1] != "dev"]
    file.write_text(table(PAIR_COLUMNS, [*kept, *shared[:SHARED], *dev]))
    return data_dir


@given(ours=PAIRS, theirs=PAIRS)
def test_exactly_the_shared_pairs_go(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> None:
    """Left are, in their order, the rows whose two texts, case and punctuation aside, are not those
    of a row of the other set in either order; if there is none, that is an error."""
    held = {frozenset(map(normal_form, pair)) for pair in theirs}
    data, other = made_of(ours), made_of(theirs, "sts14", seed=1)
    expected = [row for row in data.rows if frozenset(map(normal_form, row.texts)) not in held]
    if not expected:
        with pytest.raises(InputError, match="no row is left without those of sts14:test"):
            data.without(other)
        return
    found = data.without(other)
    assert list(found.rows) == expected
    gone = len(data.rows) - len(expected)
    assert found.excluded == (Excluded("sts14", "test", other.fingerprint, gone),)
    assert f"left out {gone:,} of {len(ours):,} rows" in found.notes[-1]
    assert (found.fingerprint == data.fingerprint) == (gone == 0)
    turned = made_of([(two, one) for one, two in theirs], "sts14", seed=2)
    assert data.without(turned).rows == found.rows


@given(ours=PAIRS, theirs=PAIRS)
def test_again_changes_nothing_and_the_order_of_sets_does_not_matter(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> None:
    """Leaving out is idempotent and commutes, whichever set a row is counted under."""
    apart = ("One of our own.", "No other has it.")
    data = made_of([*ours, apart])
    one, two = made_of(theirs[::2] or theirs, "sts14"), made_of(theirs[1::2] or theirs, "sts15")
    both = data.without(one).without(two)
    assert both.rows == data.without(two).without(one).rows == both.without(one).rows
    assert sum(item.rows for item in both.excluded) == len(data.rows) - len(both.rows)


def test_a_set_without_itself_is_refused(overlapping: Path) -> None:
    """Nothing is left: an error that names both, and under `all` a set that is left out."""
    with pytest.raises(InputError, match="sts-b dev: no row is left without those of sts-b:dev"):
        evaluate("baseline:dice", [DEV], overlapping, without=[DEV])
    sets, left_out = select_sets(["all", "sts13:test"], overlapping, "dev", [DEV])
    assert [(data.task.name, len(data.rows)) for data in sets] == [("sts13", 40 - SHARED)]
    (reason,) = (item.reason for item in left_out if item.name == "sts-b")
    assert "no row is left without those of sts-b:dev" in reason


def test_triplets_are_compared_with_triplets(data_dir: Path) -> None:
    """Two texts are never three: pairs leave triplets as they are, and triplets pairs."""
    pairs, triplets = (load_set(TASKS[name], data_dir) for name in ("sts13", "wiki-sections"))
    assert triplets.without(pairs).rows == triplets.rows
    assert pairs.without(triplets).rows == pairs.rows
    half = replace(triplets, rows=triplets.rows[:9])
    assert triplets.without(half).rows == triplets.rows[9:]


def test_units_follow_the_rows_that_are_left() -> None:
    """A row of Lee names the texts that it names in the whole set."""
    folder = gensim_files()
    assert folder is not None, "premise: gensim is installed"
    whole = read_lee(folder)
    left = whole.without(replace(whole, rows=whole.rows[::2]))
    assert whole.units is not None
    assert left.units is not None
    assert left.rows == whole.rows[1::2]
    assert np.array_equal(left.units, whole.units[1::2])


def test_the_rest_keeps_its_similarities(overlapping: Path, tmp_path: Path) -> None:
    """Of a model that learns nothing from the set; figures are those of the rest, and a cache that
    knows the whole set gives no other."""
    arguments = "baseline:dice", ["sts13"], overlapping
    whole = evaluate(*arguments, cache=tmp_path)
    cold = evaluate(*arguments, without=[DEV])
    warm = evaluate(*arguments, without=[DEV], cache=tmp_path)
    again = evaluate(*arguments, without=[DEV], cache=tmp_path)
    assert cold.results == warm.results == again.results
    assert {r.n for r in cold.results if r.subtask == "all"} == {40 - SHARED}
    assert whole.results == evaluate(*arguments, cache=tmp_path).results
    of_whole, of_rest = (
        dict(zip([row.texts for row in one.scored[0].data.rows], one.scored[0].similarities,
                 strict=True))
        for one in (whole, cold)
    )  # fmt: skip
    assert len(of_whole) == 40, "premise: texts tell rows apart"
    assert of_rest == {texts: of_whole[texts] for texts in of_rest}


def test_what_was_left_out_is_said_everywhere(overlapping: Path, tmp_path: Path) -> None:
    """On the screen, in the JSON, in the tables of the folder: of each set, how many rows."""
    options = ["evaluate", "baseline:dice", "--task", "sts13", "wiki-sections", "--data-dir",
               str(overlapping), "--without", DEV, "sts-b:test", "--no-cache"]  # fmt: skip
    out = tmp_path / "out"
    screen = CliRunner().invoke(app, [*options, "--out", str(out)])
    assert screen.exit_code == 0, screen.output
    said = (
        f"sts13 test: left out {SHARED} of 40 rows, whose texts stand in a row of {DEV} (37 rows)"
    )
    none = "sts13 test: left out 0 of 33 rows, whose texts stand in a row of sts-b:test (30 rows)"
    shown = CliRunner().invoke(app, [*options, "--json"]).stdout
    table_of_folder = (out / "table.md").read_text()
    for text in (said, none, "wiki-sections test: left out 0 of 20 rows"):
        assert text in " ".join(screen.output.split())
        assert text in shown
        assert text in table_of_folder
    values = json.loads(shown)
    saved = json.loads((out / "results.json").read_text())
    assert saved["data"] == values["data"]
    (of_sts13,) = (one for one in values["data"] if one["task"] == "sts13")
    assert of_sts13["rows"] == 40 - SHARED
    names = [(gone["task"], gone["split"], gone["rows"]) for gone in of_sts13["without"]]
    assert names == [("sts-b", "dev", SHARED), ("sts-b", "test", 0)]
    dev = load_set(TASKS["sts-b"], overlapping, "dev")
    assert of_sts13["without"][0]["fingerprint"] == dev.fingerprint


def test_results_of_other_rows_are_not_compared(overlapping: Path, tmp_path: Path) -> None:
    """Saved or fresh: with and without are different data, without and without are the same."""
    models = ["baseline:dice", "baseline:tfidf"]
    for name, without, model in (("a", [DEV], 0), ("b", [DEV], 1), ("whole", [], 1)):
        report = evaluate_models([models[model]], ["sts13"], overlapping, without=without)
        report.write(tmp_path / name)
    one = evaluate(models[0], ["sts13"], overlapping, without=[DEV])
    two = evaluate(models[1], ["sts13"], overlapping, without=[DEV])
    saved = compare_saved(tmp_path / "a", tmp_path / "b")
    assert list(saved.differences) == compare(one, two)
    assert {d.difference.n for d in saved.differences} == {40 - SHARED}
    with pytest.raises(InputError, match=r"rows differ in sts13 test .*leave out the same rows"):
        compare_saved(tmp_path / "a", tmp_path / "whole")
    with pytest.raises(InputError, match="rows differ in sts13 test"):
        compare(one, evaluate(models[1], ["sts13"], overlapping))


def test_random_rows_are_taken_of_what_is_left(overlapping: Path) -> None:
    """`pairs` counts rows that are evaluated."""
    found = evaluate("baseline:dice", ["sts13"], overlapping, without=[DEV], pairs=30)
    (of_sts13,) = found.scored
    held = select_sets([DEV], overlapping, None)[0][0]
    assert len(of_sts13.data.rows) == 30
    assert of_sts13.data.without(held).rows == of_sts13.data.rows


def test_sets_that_cannot_be_left_out_are_named(overlapping: Path) -> None:
    """Unknown names, unknown splits, data that is not there, and what is no list of names."""
    for without, problem in {
        ("sts-c",): "sts-c: no such task",
        ("all",): "all: no such task",
        ("sts-b:trial",): "sts-b: no split 'trial'",
        ("sts14",): r"sts14: nowhere to be found \(split test\)",
    }.items():
        for tasks in (["sts13"], ["all"]):
            with pytest.raises(InputError, match=problem):
                evaluate("baseline:dice", tasks, overlapping, without=without)
    with pytest.raises(InputError, match="without: got 'sts-b:dev'; expected a list"):
        evaluate("baseline:dice", ["sts13"], overlapping, without=DEV)
