"""Thresholds: the share of chance that was asked for, also where it must be extrapolated."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.drawn import Pairs
from firth.lexical.levels import Levels
from firth.reuse.chance import chance_threshold, pairs_within, scale_threshold, sentence_threshold
from firth.run.config import Config
from firth.run.run import Run
from firth.scale.scale import Scale


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_the_promised_share_holds_on_new_scores(share: float) -> None:
    """Of other scores by chance as many are above the threshold as promised, within noise."""
    rng = np.random.default_rng(1)
    threshold = chance_threshold(rng.normal(0, 0.1, 100_000), share)
    held = (rng.normal(0, 0.1, 100_000) >= threshold).mean()
    assert held == pytest.approx(share, rel=0.5)


def test_an_exponential_tail_is_extrapolated() -> None:
    """Beyond what can be counted the truth is met: -0.05 ln(share)."""
    scores = np.random.default_rng(2).exponential(0.05, 20_000)
    assert chance_threshold(scores, 1e-5) == pytest.approx(-0.05 * np.log(1e-5), rel=0.2)


def test_thresholds_rise_as_less_is_allowed_and_end_at_one() -> None:
    """Whatever the number of scores, one included."""
    for n in (1, 5, 200, 10_000):
        scores = np.random.default_rng(n).uniform(0, 0.9, n)
        found = [chance_threshold(scores, share) for share in (0.5, 0.1, 1e-2, 1e-4, 1e-9)]
        assert found == sorted(found)
        assert found[-1] <= 1


def test_pairs_within_are_of_one_document() -> None:
    """Two different sentences each, and none where every document has one."""
    documents = np.array([0, 1, 1, 2, 3, 3, 3])
    pairs = pairs_within(documents, 200, 1)
    assert (documents[pairs[:, 0]] == documents[pairs[:, 1]]).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert {*pairs.ravel().tolist()} == {1, 2, 4, 5, 6}
    assert pairs_within(np.arange(5), 200, 1).shape == (0, 2)


@pytest.mark.parametrize("size", [1, 5])
def test_a_threshold_comes_of_documents_of_any_size(size: int) -> None:
    """Of one sentence or of several; a larger rate has a lower threshold."""
    vectors = np.random.default_rng(3).normal(size=(1_000, 30)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    documents = np.arange(1_000) // size
    low, high = (sentence_threshold(vectors, documents, rate, 1) for rate in (0.1, 0.001))
    assert 0 < low < high <= 1


@pytest.mark.parametrize("quoted", [0, 100, 10_000])
def test_sentences_that_are_quoted_say_nothing_of_chance(
    quoted: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However many pairs of the scale are the same sentence twice: of the others the promised share
    reaches the threshold."""
    others = np.random.default_rng(4).normal(0.2, 0.1, 20_000)
    assert others.max() < 0.99
    levels = Levels.of(np.concatenate((others, np.ones(quoted))))
    scale = Scale({Pairs.SAME_DOCUMENT: levels}, None)
    monkeypatch.setattr(Scale, "current", lambda *_: scale)
    threshold = scale_threshold(Run.create(tmp_path / "run", Config()), 0.005)
    assert threshold is not None
    assert (others >= threshold).mean() == pytest.approx(0.005, rel=0.05)
