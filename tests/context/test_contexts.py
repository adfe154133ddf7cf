"""Decorrelated contexts: what they add sums to the cosine, whatever the contexts are."""

from pathlib import Path

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from firth.context.contexts import Contexts
from firth.context.encoder import unit


def contexts_of(rows: np.ndarray) -> Contexts:
    return Contexts(np.arange(len(rows)), unit(rows).astype(np.float32))


@given(st.integers(0, 10_000), st.integers(6, 40))
def test_fits_sum_to_the_cosine(seed: int, count: int) -> None:
    """Eq. 4 over all contexts is x · y: the whole point of decorrelating."""
    rng = np.random.default_rng(seed)
    # Far from evenly spread, so that plain fits would not do.
    contexts = contexts_of(rng.standard_normal((count, 5)) * [9, 3, 1, 0.5, 0.2] + [4, 0, 0, 0, 0])
    spread = np.linalg.eigvalsh(contexts.vectors.T.astype(float) @ contexts.vectors)
    assume(spread[0] > 1e-5 * spread[-1])  # a direction in which they hardly differ is left out
    one, two = unit(rng.standard_normal((2, 5)))
    fits = contexts.decorrelated()
    assert np.isclose((fits @ one) @ (fits @ two) / count, one @ two, atol=1e-4)
    plain = contexts.vectors.astype(float)
    assert count < 30 or not np.isclose((plain @ one) @ (plain @ two) / count, one @ two, atol=1e-4)


def test_fewer_contexts_than_dimensions_explain_what_they_can_see() -> None:
    """Directions that no context has are left out, and nothing becomes infinite."""
    fits = contexts_of(np.eye(6)[:3]).decorrelated()
    assert np.isfinite(fits).all()
    seen, unseen = np.eye(6)[1], np.eye(6)[5]
    assert np.isclose((fits @ seen) @ (fits @ seen) / 3, 1.0)
    assert np.allclose(fits @ unseen, 0.0)


def test_contexts_come_back_from_disk(tmp_path: Path) -> None:
    """Saved and loaded, bit by bit."""
    contexts = contexts_of(np.random.default_rng(0).standard_normal((7, 3)))
    contexts.save(tmp_path)
    again = Contexts.load(tmp_path)
    assert (again.positions == contexts.positions).all()
    assert again.vectors.tobytes() == contexts.vectors.tobytes()
