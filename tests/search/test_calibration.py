"""`firth.search.calibration`: rates hold on average, and drawn queries have their chance."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import build_encoder, documents

from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.search import calibrate
from firth.search.calibrate import build_calibration, draw_pairs
from firth.search.calibration import (
    LENGTHS,
    RANDOM,
    SAME_DOCUMENT,
    UNMATCHED,
    Calibration,
    scripts_of,
)
from firth.search.index import INDEX
from firth.text.types import Floats

Make = Callable[..., Run]
SCORES = st.lists(st.sampled_from([x / 20 for x in range(21)]), min_size=1, max_size=60)


def calibration(scores: Sequence[float] | Floats, kind: str = RANDOM) -> Calibration:
    """A calibration of drawn scores."""
    return Calibration({kind: np.sort(np.asarray(scores, float))})


@given(SCORES, st.floats(-0.1, 1.1))
def test_a_chance_is_the_share_that_is_as_high(scores: list[float], evidence: float) -> None:
    """Equal evidence counts, and the share is never 0."""
    best = np.tile(np.sort(scores), (len(LENGTHS), 1))
    chance = Calibration({"sentence": best}).chance(evidence, "sentence", 4)
    as_high = np.sum(np.array(scores) >= evidence - 1e-9)
    assert chance == pytest.approx((1 + as_high) / (1 + len(scores)))


@given(SCORES, st.floats(0.02, 0.98))
def test_a_threshold_keeps_its_rate(scores: list[float], rate: float) -> None:
    """At most k of n scores reach it, with k / (n + 1) at most the rate; a lower one has more."""
    calibrated, n = calibration(scores), len(scores)
    if rate * (n + 1) < 1 - 1e-9:
        with pytest.raises(InputError, match=r"calibration\.pairs"):
            calibrated.threshold(rate)
        return
    threshold = calibrated.threshold(rate)
    assert (np.array(scores) >= threshold).sum() <= rate * (n + 1) + 1e-6
    lower = [score for score in scores if score < threshold]
    if lower:
        assert (np.array(scores) >= max(lower)).sum() > rate * (n + 1) - 1e-6


def test_a_rate_holds_on_average_over_draws() -> None:
    """Thresholds from one sample have the promised rate on another."""
    rng = np.random.default_rng(7)
    for rate in (0.1, 0.01):
        reached = [
            np.mean(rng.normal(size=5_000) >= calibration(rng.normal(size=500)).threshold(rate))
            for _ in range(200)
        ]
        assert rate / 1.3 < np.mean(reached) <= 1.1 * rate


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, 1e-9])
def test_a_rate_that_cannot_be_kept_is_refused(rate: float) -> None:
    """Nothing is extrapolated for a promised rate."""
    with pytest.raises(InputError, match="expected one from"):
        calibration(np.arange(100.0)).threshold(rate)


def test_a_tail_is_extrapolated_where_scores_are_few() -> None:
    """Of exponential scores, the rate beyond the sample is met."""
    rng = np.random.default_rng(3)
    for rate, n in ((0.01, 50_000), (1e-3, 2_000), (1e-4, 2_000)):
        thresholds = [
            calibration(rng.exponential(0.05, size=n), SAME_DOCUMENT).threshold_within(rate)
            for _ in range(50)
        ]
        assert np.mean([t for t in thresholds if t]) == pytest.approx(-0.05 * np.log(rate), rel=0.1)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12), st.sampled_from((RANDOM, SAME_DOCUMENT))
)
def test_drawn_pairs_are_of_their_kind(lengths: list[int], kind: str) -> None:
    """Two different sentences: of any documents, or of one."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    if bounds[-1] < 2:
        return
    one, two = draw_pairs(bounds, kind, 50, seed=13)
    again = draw_pairs(bounds, kind, 50, seed=13)
    assert (one == again[0]).all()
    assert (two == again[1]).all()
    assert (one != two).all()
    if len(one):
        assert min(one.min(), two.min()) >= 0
        assert max(one.max(), two.max()) < bounds[-1]
    same = np.searchsorted(bounds, one, "right") == np.searchsorted(bounds, two, "right")
    if kind is not RANDOM:
        assert same.all()
        assert (len(one) > 0) == any(n > 1 for n in lengths)


def test_the_calibration_of_a_run(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the vectors it was drawn from, and longer queries have less evidence."""
    monkeypatch.setattr(calibrate, "SENTENCES", 50)
    run = make(documents(), calibration={"pairs": 2_000})
    assert Calibration.current(run) is None
    with pytest.raises(MissingStageError, match="firth build"):
        Calibration.open(run)
    build_calibration(run)
    drawn = Calibration.open(run)
    shapes = {kind: scores.shape for kind, scores in drawn.scores.items()}
    (within,) = shapes.pop(SAME_DOCUMENT)
    assert within == pytest.approx(24 * 10, abs=5)  # equal ones go
    queries = (len(LENGTHS), calibrate.QUERIES)
    expected = {RANDOM: (2_000,), UNMATCHED: (50,), "sentence": queries, "document": queries}
    assert shapes == expected
    assert drawn.scripts == {"LATIN"}
    medians = np.median(drawn.scores["sentence"], axis=1)
    assert medians[1] > medians[3] > medians[5]
    assert drawn.threshold(0.01) > drawn.threshold(0.1)
    threshold = drawn.threshold(0.1, UNMATCHED)
    assert threshold > drawn.threshold(0.1)
    assert drawn.false_match_rate(threshold) <= 0.1 + 1 / 50
    assert drawn.as_dict()["thresholds"]["0.01"] == drawn.threshold(0.01)
    assert "best of all" in drawn.text()

    build_encoder(run, seed=4)
    run.build(INDEX, lambda _, workspace: {})
    assert Calibration.current(run) is None


def test_scripts_are_those_of_enough_letters() -> None:
    """A single foreign letter does not count."""
    texts = ["A ship left the harbor. " * 50, "\u03b1"]
    assert scripts_of(texts, share=0.01) == {"LATIN"}
    assert scripts_of(texts) == {"LATIN", "GREEK"}
    assert scripts_of(["12, 13"]) == frozenset()


def test_a_threshold_within_documents_is_set_or_not() -> None:
    """Too few pairs, or documents that repeat themselves, set none."""
    rng = np.random.default_rng(2)

    def within(scores: Floats) -> float | None:
        return calibration(scores, SAME_DOCUMENT).threshold_within(0.001)

    scores = rng.normal(0.2, 0.1, 50_000)
    threshold = within(scores)
    assert threshold is not None
    assert np.mean(scores >= threshold) == pytest.approx(0.001, rel=0.05)
    assert within(scores[:500]) is None
    assert within(np.concatenate([scores, np.full(500, 0.97)])) is None
    assert Calibration({}).threshold_within(0.001) is None
