"""Baselines by name: what may be asked for, what is trained, and that it is reused."""

from pathlib import Path

import numpy as np
import pytest

from firth.model import open_scorer
from firth.reproduce.averaged import WordBag, averaged
from firth.reproduce.baselines import build_baseline, open_baseline, stage_of
from firth.reproduce.settings import ReproduceSettings
from firth.run.errors import InputError
from firth.run.run import Run

PAIRS = [
    ("The ship saw the boat.", "A boat left the harbor."),
    ("The ship saw the boat.", "The farmer saw wheat."),
    ("The ship saw the boat.", "The ship saw the boat."),
    ("", "Zzz."),
]
TEXTS = ["a ship, a boat.", "the storm!", "cow cow field", "", "nothing known"]
CORPUS = ("skip-gram", "cbow", "siamese-cbow", "cbos")


def test_averages_of_word_vectors() -> None:
    """Mean and maximum are over known words; a text without one has the zero vector."""
    names, rng = ("a", "ship", "boat", "storm"), np.random.default_rng(1)
    vectors = {name: rng.standard_normal(5).astype(np.float32) for name in names}
    mean, largest = (averaged(vectors.get, 5, pool)(TEXTS) for pool in ("mean", "max"))
    stack = np.array([vectors[name] for name in ("a", "ship", "a", "boat")], np.float64)
    np.testing.assert_allclose(mean[0], stack.mean(axis=0))
    np.testing.assert_allclose(largest[0], stack.max(axis=0))
    np.testing.assert_allclose(mean[1], vectors["storm"], rtol=1e-6)
    assert not mean[2:].any()


def test_a_saved_bag_gives_the_same_scores(tmp_path: Path) -> None:
    """A repeated word counts again, and a saved bag is the same."""
    bag = WordBag("title", ["ship", "sail", "cow"], np.eye(3, dtype=np.float32), "porter")
    np.testing.assert_array_equal(bag.encode(["Ships sailing, ships"])[0], [2, 1, 0])
    bag.save(tmp_path)
    loaded = WordBag.load(tmp_path)
    np.testing.assert_array_equal(loaded.encode(TEXTS), bag.encode(TEXTS))
    assert (loaded.title, loaded.stemmer) == ("title", "porter")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("glove+best", "no option [+]best"),
        ("cbos", "@RUN"),
        ("cbos=FILE", "without a source"),
        ("cbow+max", "takes no option"),
    ],
)
def test_what_is_not_taken_is_refused(name: str, problem: str) -> None:
    """The message says what the name takes."""
    with pytest.raises(InputError, match=problem):
        open_baseline(name, None)


@pytest.mark.parametrize("name", CORPUS)
def test_a_baseline_is_trained_once_and_opened_by_name(run: Run, name: str) -> None:
    """A text is equal to itself, a text without known words has 0, and a second call reuses."""
    outcome = build_baseline(run, name)
    assert outcome.manifest.stage == stage_of(name).name
    assert build_baseline(run, name).reused
    before = (run.path / "config.yaml").read_bytes()
    scorer = open_scorer(f"baseline:{name}@{run.path}")
    scores = scorer.similarities(PAIRS)
    assert scores[2] == pytest.approx(1, abs=1e-6)
    assert scores[3] == 0
    assert np.ptp(scores[:3]) > 0
    assert (run.path / "config.yaml").read_bytes() == before


def test_settings_decide_whether_a_baseline_is_trained_again(run: Run) -> None:
    """Another setting trains again; tables and other baselines play no part."""
    build_baseline(run, "cbos")
    other = run.changed({"reproduce": {"tables": {"contexts": 3}, "cbow": {"epochs": 9}}})
    assert build_baseline(other, "cbos").reused
    own = run.wing("reproduce", ReproduceSettings).cbos
    assert not build_baseline(run, "cbos", own.model_copy(update={"epochs": 1})).reused


def test_pools_of_a_transformer(tiny_bert: Path) -> None:
    """Each pool opens, and only the usual one is the mean."""
    usual, *others = (
        open_scorer(f"baseline:bert={tiny_bert}{pool}").similarities(PAIRS[:2])
        for pool in ("", "+mean", "+max", "+cls", "+first-last")
    )
    assert [np.allclose(usual, other) for other in others] == [True, False, False, False]
