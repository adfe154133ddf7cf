"""Eqs. 3 and 4: a weighted sum, and a similarity that is symmetric and in range."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firth.paper.fits import EQUAL, TERMS, Terms, compare, contributions, fit, resolved
from firth.paper.settings import Measure, Weights
from firth.run.errors import InputError
from firth.text.types import Floats

FITS = st.floats(-50, 0, allow_nan=False).map(lambda x: round(x, 6))
PAIR = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=FITS), hnp.arrays(np.float64, n, elements=FITS)
    )
)
Both = tuple[Floats, Floats]
MEASURES = pytest.mark.parametrize("measure", ["cosine", "centered"])


def test_fit_is_the_weighted_sum() -> None:
    """S(s, c) is linear in the weights, and of each context alone."""
    terms: Terms = -np.random.default_rng(0).random((6, 4)).astype(np.float32)
    full = fit(terms, Weights(coherence=1, sentence=2, left=3, right=4))
    assert full == pytest.approx(terms @ [1, 2, 3, 4], rel=1e-6)
    only = Weights(coherence=0, sentence=0, left=1, right=0)
    assert fit(terms, only) == pytest.approx(terms[:, 2])
    parts = [fit(one, EQUAL) for one in (terms[:2], terms[2:], terms[:0])]
    assert np.concatenate(parts).tolist() == fit(terms, EQUAL).tolist()


@MEASURES
@given(pair=PAIR)
def test_symmetric_in_range_and_independent_of_order(measure: Measure, pair: Both) -> None:
    """sim(a, b) = sim(b, a) in [-1, 1], exactly, and any order of the contexts gives the same."""
    v1, v2 = pair
    score = compare(v1, v2, measure)
    assert -1 <= score <= 1
    assert compare(v2, v1, measure) == score
    assert compare(v1[::-1], v2[::-1], measure) == score
    assert compare(v1, v1, measure) == 1
    assert math.fsum(contributions(v1, v2, measure)) == pytest.approx(score, abs=1e-9)


@given(pair=PAIR, shift=st.floats(-20, 0), scale=st.floats(0.1, 10))
def test_centered_is_pearson(pair: Both, shift: float, scale: float) -> None:
    """It equals NumPy's correlation, and ignores level and scale."""
    v1, v2 = pair
    assume(v1.std() > 1e-3 and v2.std() > 1e-3)
    score = compare(v1, v2, "centered")
    assert score == pytest.approx(np.corrcoef(v1, v2)[0, 1], abs=1e-9)
    assert compare(v1 * scale + shift, v2, "centered") == pytest.approx(score, abs=1e-6)


def test_vectors_without_information() -> None:
    """No variation gives 0, not a division by zero."""
    flat, other = np.full(5, -3.3), np.array([-1.0, -2, -3, -4, -5])
    assert compare(flat, other, "centered") == 0
    assert compare(np.zeros(5), other, "cosine") == 0
    assert contributions(flat, other, "centered").tolist() == [0] * 5
    assert contributions(flat, flat, "centered").sum() == pytest.approx(1)


def test_a_term_whose_model_did_not_learn_has_no_weight() -> None:
    """Unless it is set; what learned is divided by its deviation; without a term there is none."""
    learned = dict.fromkeys(TERMS, True) | {"coherence": False}
    weights = resolved(Weights(left=3), learned, {"left": 2.0, "right": 0.5, "coherence": 4.0})
    assert dict(weights) == {"coherence": 0, "sentence": 1, "left": 1.5, "right": 2}
    weights = resolved(Weights(coherence=2), learned, {"coherence": 4.0})
    assert weights.coherence == 0.5
    with pytest.raises(InputError, match="no term of Eq"):
        resolved(Weights(), dict.fromkeys(TERMS, False), {})
