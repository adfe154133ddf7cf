"""`firth.search.calibration`: rates hold on average, and shares are never too high."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import build_encoder, documents

from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.run.stage import Stage
from firth.search import calibration as module
from firth.search.calibration import (
    NEIGHBORS,
    RANDOM,
    SAME_DOCUMENT,
    Calibration,
    build_calibration,
    draw_pairs,
    fit_probability,
    percent,
    read_labels,
)
from firth.search.index import INDEX
from firth.search.search import Search
from firth.text.arrays import Floats
from firth.text.pairs import TextPair

Make = Callable[..., Run]
SCORES = st.lists(st.sampled_from([x / 20 for x in range(21)]), min_size=1, max_size=60)


class FakeScorer:
    """Replaces the scorer of a run: the share of common words."""

    name = "common words"
    number_penalty = 0.25

    @classmethod
    def open(cls, run: Run) -> "FakeScorer":
        """Open it."""
        return cls()

    @staticmethod
    def reads(run: Run) -> tuple[Stage, ...]:
        """It needs no stage."""
        return ()

    @staticmethod
    def settings(run: Run) -> tuple[str, ...]:
        """It depends on a setting."""
        return ("scorer.number_penalty",)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Share of common words."""
        sets = [[set(text.lower().split()) for text in pair] for pair in pairs]
        return np.array([len(a & b) / len(a | b) for a, b in sets])


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Scorer", FakeScorer)


def calibration(scores: Sequence[float] | Floats, kind: str = RANDOM) -> Calibration:
    """A calibration of drawn scores."""
    return Calibration({kind: np.sort(np.asarray(scores, float))})


@given(SCORES, st.floats(-0.1, 1.1))
def test_a_percentile_is_the_share_that_scores_lower(scores: list[float], score: float) -> None:
    """Equal scores are not lower."""
    share = calibration(scores).percentiles(score)[RANDOM]
    assert share == pytest.approx(np.mean(np.array(scores) < score))


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


def test_percentages_are_never_rounded_up() -> None:
    """A share below 1 is never shown as all."""
    for share in (0.5, 0.9899999, 0.99, 0.999, 0.9999999):
        shown = float(percent(share, 10**9).split()[0])
        assert shown <= 100 * share
        assert shown < 100


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.sampled_from((RANDOM, SAME_DOCUMENT, NEIGHBORS)),
)
def test_drawn_pairs_are_of_their_kind(lengths: list[int], kind: str) -> None:
    """Two different sentences: of any documents, of one, or neighbors without repetition."""
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
    if kind is NEIGHBORS:
        assert (two == one + 1).all()
        assert len(np.unique(one)) == len(one) == min(50, sum(max(n - 1, 0) for n in lengths))
    if kind is not RANDOM:
        assert same.all()
        assert (len(one) > 0) == any(n > 1 for n in lengths)


def test_a_probability_is_calibrated_and_better_than_a_constant() -> None:
    """The curve is the one that the labels were drawn from."""
    rng = np.random.default_rng(5)
    scores = rng.uniform(size=3_000)
    labels = (rng.uniform(size=3_000) < 1 / (1 + np.exp(-(8 * scores - 4)))).astype(np.int64)
    fitted = fit_probability(scores, labels, seed=13)
    assert fitted.of(0.5) == pytest.approx(0.5, abs=0.05)
    assert fitted.slope == pytest.approx(8, rel=0.15)
    assert 0 < fitted.brier < 0.8 * fitted.constant_brier
    assert (fitted.n, fitted.matches) == (3_000, labels.sum())
    with pytest.raises(InputError, match="no higher"):
        fit_probability(-scores, labels, seed=13)


def test_labels_that_separate_give_a_finite_curve() -> None:
    """A score that is always right has no infinite slope."""
    fitted = fit_probability(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]), seed=1)
    assert 0 < fitted.of(0.1) < 0.3 < 0.7 < fitted.of(0.9) < 1


def test_labels_are_read_from_a_file_of_pairs(tmp_path: Path) -> None:
    """Two labels are needed, one of which says that texts match."""
    path = tmp_path / "labels.tsv"
    path.write_text("sentence1\tsentence2\tlabel\na\tb\t1\nc\td\t0\ne\tf\t0\ng\th\t1\n")
    pairs, labels = read_labels(path)
    assert pairs == [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    assert labels.tolist() == [1, 0, 0, 1]
    path.write_text("sentence1\tsentence2\tlabel\na\tb\t1\nc\td\t0\ne\tf\t0\n")
    with pytest.raises(InputError, match="1 pairs of one label"):
        read_labels(path)
    path.write_text("sentence1\tsentence2\tlabel\na\tb\tcow\nc\td\tship\n")
    with pytest.raises(InputError, match="cow, ship"):
        read_labels(path)


def test_the_calibration_of_a_run(make: Make, tmp_path: Path) -> None:
    """It belongs to the vectors and settings it was built with, and hits show it."""
    run = make(documents(), calibration={"pairs": 2_000})
    assert Calibration.current(run) is None
    with pytest.raises(MissingStageError, match="firth build"):
        Calibration.open(run)
    build_calibration(run)
    encoder, scorer = Calibration.open(run), Calibration.open(run, "scorer")
    counts = {kind: len(scores) for kind, scores in encoder.scores.items()}
    assert counts.pop(SAME_DOCUMENT) == pytest.approx(24 * 10, abs=5)  # equal ones go
    assert counts == {RANDOM: 2_000, NEIGHBORS: 24 * 4}
    assert len(scorer.scores[RANDOM]) == 100
    assert encoder.threshold(0.01) > encoder.threshold(0.1)
    assert encoder.as_dict()["thresholds"]["0.01"] == encoder.threshold(0.01)
    assert "threshold" in encoder.text()

    hit = Search.open(run).search("a ship left the harbor", top=1)[0]
    assert hit.percentiles == encoder.percentiles(hit.dense_score)
    assert hit.score_note == encoder.describe(hit.dense_score)
    assert hit.score_note.startswith("higher than 9")

    labels = tmp_path / "labels.tsv"
    labels.write_text(
        "sentence1\tsentence2\tlabel\n"
        "a ship\tthe ship\t1\na port\tport\t1\na ship\ta cow\t0\na jury\tthe violin\t0\n"
    )
    build_calibration(run, labels)
    judged = Calibration.open(run)
    assert judged.percentiles(0.9)["probability"] > judged.percentiles(0.1)["probability"]
    assert "probability" in judged.describe(0.9)
    assert "4 judged pairs" in judged.text()

    changed = run.changed({"scorer": {"number_penalty": 0.5}})
    assert Calibration.current(changed, "scorer") is None
    assert Calibration.current(changed) is not None
    build_encoder(run, seed=4)
    run.build(INDEX, lambda _, workspace: {})
    assert Calibration.current(run) is None


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
