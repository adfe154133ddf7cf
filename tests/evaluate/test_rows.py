"""Samples of a set: nested, of its own rows, and said."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.evaluate.evaluate import evaluate, evaluate_models
from firth.evaluate.load import load_set
from firth.evaluate.readers import gensim_files, read_lee
from firth.evaluate.task import TASKS
from firth.run.errors import InputError


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.tuples(st.integers(2, 50), st.integers(2, 50)), seed=st.integers(0, 9))
def test_samples_are_nested(data_dir: Path, sizes: tuple[int, int], seed: int) -> None:
    """A smaller sample begins a larger one; a row is taken once; only a real sample is noted."""
    whole = load_set(TASKS["sts13"], data_dir)
    small, large = (whole.sampled(size, seed) for size in sorted(sizes))
    assert large.rows[: len(small.rows)] == small.rows
    assert len(large.rows) == min(max(sizes), 40)
    assert len(set(large.rows)) == len(large.rows)
    assert set(large.rows) <= set(whole.rows)
    noted = any("random rows of 40" in note for note in small.notes)
    assert noted == (min(sizes) < 40)
    assert whole.sampled(None, seed) is whole


def test_units_follow_their_rows() -> None:
    """A row of Lee's sample names the texts that it names in the whole set."""
    folder = gensim_files()
    assert folder is not None, "premise: gensim is installed"
    whole = read_lee(folder)
    sample = whole.sampled(100, 13)
    assert whole.units is not None
    assert sample.units is not None
    known = {row.texts: tuple(unit) for row, unit in zip(whole.rows, whole.units, strict=True)}
    assert len(known) == len(whole.rows), "premise: texts tell rows apart"
    found = [known[row.texts] for row in sample.rows]
    assert found == [tuple(unit) for unit in sample.units]


def test_models_are_measured_on_one_sample(data_dir: Path) -> None:
    """Alone or together, every model gets the same rows, and the figures say how many."""
    report = evaluate_models(
        ["baseline:dice", "baseline:tfidf"], ["sts13"], data_dir, pairs=15, leakage=False
    )
    first, second = report.evaluations
    assert first.scored[0].data.rows == second.scored[0].data.rows
    assert {result.n for result in first.results if result.subtask == "all"} == {15}
    assert any("15 random rows of 40, seed 13" in note for note in first.notes)
    alone = evaluate("baseline:dice", ["sts13"], data_dir, pairs=15, leakage=False)
    assert alone.results == first.results
    other = evaluate("baseline:dice", ["sts13"], data_dir, pairs=15, seed=14, leakage=False)
    assert other.scored[0].data.rows != first.scored[0].data.rows


def test_a_sample_of_one_row_is_refused(data_dir: Path) -> None:
    """No correlation has one row."""
    with pytest.raises(InputError, match="pairs: got 1; expected at least 2"):
        evaluate("baseline:dice", ["sts13"], data_dir, pairs=1)
