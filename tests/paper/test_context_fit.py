"""Eq. 3: a weighted sum, term by term."""

import numpy as np
import pytest

from firth.paper.context_fit import Terms
from firth.paper.settings import Weights
from firth.run.config import Config
from firth.run.errors import ConfigError


def some_terms(n: int = 6, seed: int = 0) -> Terms:
    rows = -np.random.default_rng(seed).random((4, n)).astype(np.float32)
    return Terms(*rows)


def test_fit_is_the_weighted_sum() -> None:
    """S(s, c) is linear in the weights, and each weight moves its own term."""
    terms = some_terms()
    full = terms.fit(Weights(coherence=1, sentence=2, left=3, right=4))
    expected = terms.coherence + 2.0 * terms.sentence + 3.0 * terms.left + 4.0 * terms.right
    assert full == pytest.approx(expected, rel=1e-6)
    only_left = terms.fit(Weights(coherence=0, sentence=0, left=1, right=0))
    assert only_left == pytest.approx(terms.left)


def test_parts_and_wholes_agree() -> None:
    """Cutting terms and joining them again changes nothing."""
    terms = some_terms()
    joined = Terms.concatenate([terms[:2], terms[np.arange(2, 6)]])
    assert len(joined) == 6
    assert joined.fit(Weights()).tolist() == terms.fit(Weights()).tolist()


def test_all_weights_zero_is_refused() -> None:
    """Eq. 3 without any term is a mistake of the configuration."""
    zero = {"coherence": 0, "sentence": 0, "left": 0, "right": 0}
    with pytest.raises(ConfigError, match="no term"):
        Config().changed({"paper": {"weights": zero}}, "test")
