"""How much of a term differs between two sentences: nothing, half, all."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from firth.paper.context_fit import Terms
from firth.paper.pair_fits import PairFits
from firth.paper.settings import Selection, Weights
from firth.reproduce.context_fits import SUM, TERMS, ContextFits, differing, differing_note
from firth.reproduce.options import all_ones

Values = npt.NDArray[np.float32]


def fits_of(second: Callable[[Values], Values]) -> ContextFits:
    """One pair over 4,000 contexts: the terms of s1 drawn at random, those of s2 made from them."""
    rng = np.random.default_rng(3)
    one = [rng.normal(-5, 1, 4_000).astype(np.float32) for _ in TERMS]
    two = [second(values) for values in one]
    positions = np.arange(2_000)
    first, last = slice(0, 2_000), slice(2_000, 4_000)
    pair = PairFits(
        "a", "b", positions, positions,
        own1=Terms(*(v[first] for v in one)), own2=Terms(*(v[last] for v in two)),
        cross1=Terms(*(v[last] for v in one)), cross2=Terms(*(v[first] for v in two)),
    )  # fmt: skip
    return ContextFits(None, Selection.TWO_STEP, 2_000, [pair], "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (lambda v: v, 0.0),
        (lambda v: v - 3, 0.0),
        (lambda v: np.random.default_rng(4).permutation(v), 0.5),
        (lambda v: -v, 1.0),
    ],
    ids=["equal", "another level", "unrelated", "opposite"],
)
def test_shares(second: Callable[[Values], Values], expected: float) -> None:
    """A level that differs counts for nothing; contexts in common make 0, none 0.5, a mirror 1."""
    found = differing(fits_of(second), all_ones())
    assert set(found) == {*TERMS, SUM}
    assert list(found.values()) == pytest.approx([expected] * 5, abs=0.02)


def test_the_sum_follows_the_weights() -> None:
    """With one λ the sum is that term."""
    fits = fits_of(lambda v: np.where(v > -5, v, 1).astype(np.float32))
    found = differing(fits, Weights(coherence=0, sentence=0, left=1, right=0))
    assert found[SUM] == found["left"] != found["right"]
    assert f"left {100 * found['left']:.2g}," in differing_note(found)


def test_what_never_varies() -> None:
    """A term that never varies has no share, and breaks nothing."""
    assert set(differing(fits_of(np.zeros_like), all_ones()).values()) == {0.5}
    flat = fits_of(np.zeros_like).pairs[0].own2
    pair = PairFits("a", "b", np.arange(2), np.arange(2), *([flat[np.arange(2)]] * 4))
    still = ContextFits(None, Selection.TWO_STEP, 2, [pair], "")  # type: ignore[arg-type]
    assert set(differing(still, all_ones()).values()) == {0.0}
