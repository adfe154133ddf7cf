"""Labels: monotonic, in [0, 1], fitted on what is given, and mapped back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.run.errors import InputError
from firth.surrogate import calibration
from firth.surrogate.calibration import KNOTS, LabelMap
from firth.surrogate.settings import Calibration

COSINES = [0.3, 0.5, 0.4]
SCORES = st.lists(st.floats(-1, 1, allow_nan=False, width=32), min_size=2, max_size=60, unique=True)


@given(SCORES, st.sampled_from(Calibration))
def test_labels_are_monotonic_and_in_range(scores: list[float], kind: Calibration) -> None:
    """A higher score never gets a lower label, seen in training or not."""
    fitted = LabelMap.fit(scores, kind, COSINES)
    labels = fitted.apply(np.linspace(-2, 2, 101))
    assert labels.min() >= (-1 if kind is Calibration.MATCH else 0)
    assert labels.max() <= 1
    assert np.all(np.diff(labels) >= 0)


@given(SCORES)
def test_quantile_labels_go_back_to_the_scores(scores: list[float]) -> None:
    """invert(apply(x)) = x on the training scores."""
    fitted = LabelMap.fit(scores, Calibration.QUANTILE)
    np.testing.assert_allclose(fitted.invert(fitted.apply(scores)), scores, atol=1e-6)


def test_zscore_labels_go_back_to_the_scores() -> None:
    """The same for the normal distribution function, within its tails."""
    scores = np.random.default_rng(1).normal(0.9, 0.02, 500)
    fitted = LabelMap.fit(scores, Calibration.ZSCORE)
    np.testing.assert_allclose(fitted.invert(fitted.apply(scores)), scores, atol=1e-9)


def test_matched_labels_have_the_scale_of_the_cosines() -> None:
    """Mean and deviation are the cosines', the map is a line, and it goes back."""
    rng = np.random.default_rng(5)
    scores, cosines = rng.normal(0.1, 0.05, 500), rng.normal(0.4, 0.1, 300)
    fitted = LabelMap.fit(scores, Calibration.MATCH, cosines)
    labels = fitted.apply(scores)
    assert labels.mean() == pytest.approx(cosines.mean())
    assert labels.std() == pytest.approx(cosines.std())
    assert np.corrcoef(labels, scores)[0, 1] == pytest.approx(1)
    np.testing.assert_allclose(fitted.invert(labels), scores)
    assert fitted.apply([-99.0, 99.0]).tolist() == [-1, 1]


@pytest.mark.parametrize(("cosines", "said"), [([], "there are none"), ([0.5, 0.5], "alike")])
def test_matching_needs_cosines(cosines: list[float], said: str) -> None:
    """Where there is no scale to take, the error names what else there is."""
    with pytest.raises(InputError, match=f"{said}.*expected quantile"):
        LabelMap.fit([0.1, 0.2], Calibration.MATCH, cosines)


def test_many_scores_keep_their_ranks() -> None:
    """With more scores than knots, a label is the rank within 1 / (KNOTS - 1)."""
    scores = np.random.default_rng(2).gamma(0.3, 1, 20_000)
    fitted = LabelMap.fit(scores, Calibration.QUANTILE)
    assert len(fitted.scores) <= KNOTS < len(scores)
    ranks = (np.argsort(np.argsort(scores)) + 0.5) / len(scores)
    assert np.abs(fitted.apply(scores) - ranks).max() <= 1 / (KNOTS - 1)


def test_equal_scores_share_a_label() -> None:
    """Ties get the middle of their ranks."""
    assert LabelMap.fit([0, 0, 0, 1], Calibration.QUANTILE).apply([0, 1]).tolist() == [0.375, 0.875]


@pytest.mark.parametrize("kind", Calibration)
def test_a_map_survives_json(kind: Calibration) -> None:
    """What is saved is what was fitted."""
    fitted = LabelMap.fit([0.1, 0.2, 0.7], kind, COSINES)
    assert LabelMap.model_validate_json(json.dumps(fitted.model_dump(mode="json"))) == fitted


@pytest.mark.parametrize(
    ("scores", "said"),
    [([], "no training pair"), ([0.5, 0.5], "equal"), ([0.1, float("nan")], "1 of 2")],
)
def test_unusable_scores_are_refused(scores: list[float], said: str) -> None:
    """Nothing to learn from is an error with a reason."""
    with pytest.raises(InputError, match=said):
        LabelMap.fit(scores, Calibration.QUANTILE)


@given(
    st.lists(st.integers(-9, 9).map(lambda n: n / 7), min_size=2, max_size=80),
    st.integers(2, 12),
)
def test_knots_are_those_of_the_plain_way(scores: list[float], knots: int) -> None:
    """Equal to counting every distinct score, without holding more than a sorted copy."""
    values = np.array(scores)
    distinct, counts = np.unique(values, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(values)
    kept = np.arange(len(distinct))
    if len(distinct) > knots:
        places = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], knots))
        kept = np.unique(np.minimum(places, len(distinct) - 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(calibration, "KNOTS", knots)
        found = calibration._quantiles(values)
    assert found[0].tolist() == distinct[kept].tolist()
    assert found[1].tolist() == ranks[kept].tolist()
