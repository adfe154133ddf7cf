"""Eq. 4 and its centred form: symmetric, in range, and blind to what it should be blind to."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firth.paper.settings import Measure
from firth.paper.similarity import Vector, compare, influence

FITS = st.floats(-50, 0, allow_nan=False).map(lambda x: round(x, 6))
PAIR = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=FITS), hnp.arrays(np.float64, n, elements=FITS)
    )
)
MEASURES = pytest.mark.parametrize("measure", list(Measure))


@MEASURES
@given(pair=PAIR)
def test_symmetric_in_range_and_independent_of_order(
    measure: Measure, pair: tuple[Vector, Vector]
) -> None:
    """sim(a, b) = sim(b, a) ∈ [-1, 1], exactly, and any order of the contexts gives the same."""
    v1, v2 = pair
    score = compare(v1, v2, measure)
    assert -1 <= score <= 1
    assert compare(v2, v1, measure) == score
    assert compare(v1[::-1], v2[::-1], measure) == score
    assert compare(v1, v1, measure) == 1


@given(pair=PAIR)
def test_centred_is_pearson(pair: tuple[Vector, Vector]) -> None:
    """The centred measure equals NumPy's correlation wherever that is defined."""
    v1, v2 = pair
    if v1.std() > 1e-3 and v2.std() > 1e-3:
        assert compare(v1, v2, Measure.CENTRED) == pytest.approx(
            np.corrcoef(v1, v2)[0, 1], abs=1e-9
        )


@given(pair=PAIR, shift=st.floats(-20, 0), scale=st.floats(0.1, 10))
def test_centring_ignores_level_and_scale(
    pair: tuple[Vector, Vector], shift: float, scale: float
) -> None:
    """A sentence that fits everything worse by a constant keeps its centred similarities."""
    v1, v2 = pair
    if v1.std() > 1e-3 and v2.std() > 1e-3:
        moved = compare(v1 * scale + shift, v2, Measure.CENTRED)
        assert moved == pytest.approx(compare(v1, v2, Measure.CENTRED), abs=1e-6)


def test_raw_cosine_hides_opposite_profiles() -> None:
    """The trap of Eq. 4: profiles that are opposite have a cosine near 1, but not centred."""
    rng = np.random.default_rng(0)
    v1 = -4 + 0.5 * rng.standard_normal(200)
    v2 = -8 - v1
    assert compare(v1, v2, Measure.COSINE) > 0.95
    assert compare(v1, v2, Measure.CENTRED) == pytest.approx(-1)


def test_vectors_that_tell_nothing() -> None:
    """No variation gives 0, not a division by zero."""
    flat, other = np.full(5, -3.3), np.array([-1.0, -2, -3, -4, -5])
    assert compare(flat, other, Measure.CENTRED) == 0
    assert compare(np.zeros(5), other, Measure.COSINE) == 0


@MEASURES
@given(pair=PAIR, data=st.data())
def test_influence_is_leave_one_out(
    measure: Measure, pair: tuple[Vector, Vector], data: st.DataObject
) -> None:
    """Each entry is the score minus the score computed without any column of that context."""
    v1, v2 = pair
    drawn = data.draw(st.lists(st.integers(0, 5), min_size=len(v1), max_size=len(v1)))
    names, groups = np.unique(drawn, return_inverse=True)
    assume(len(names) > 1)
    moved = influence(v1, v2, measure, groups)
    whole = compare(v1, v2, measure)
    assert moved.shape == names.shape
    for group in range(len(names)):
        kept = np.flatnonzero(groups != group)
        rest = compare(v1[kept], v2[kept], measure)
        assert math.isclose(moved[group], whole - rest, abs_tol=1e-12)


def test_influence_of_a_single_context() -> None:
    """With nothing to leave, the context accounts for the whole score, also if it stands twice."""
    v1, v2 = np.array([-2.0, -2.0]), np.array([-4.0, -4.0])
    assert influence(v1[:1], v2[:1], Measure.COSINE, np.array([0])).tolist() == [1.0]
    assert influence(v1, v2, Measure.COSINE, np.array([0, 0])) == pytest.approx([1.0])
