"""`firth.search.similar`: similar vectors are nearly all found."""

import numpy as np
import pytest

from firth.search.similar import similar_pairs
from firth.text.near import Pairs


def unit_rows(n: int, d: int, seed: int) -> np.ndarray:
    """Draw unit vectors, a third of which are near an earlier one."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    copies = rng.choice(np.arange(1, n), n // 3, replace=False)
    rows[copies] = rows[copies - 1] + 0.3 * rng.standard_normal((len(copies), d))
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float16).astype(np.float32)


def expected_pairs(rows: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    """Compare all vectors with each other."""
    i, j = np.nonzero(np.triu(rows @ rows.T >= threshold, 1))
    return set(zip(i.tolist(), j.tolist(), strict=True))


def found_pairs(pairs: Pairs) -> set[tuple[int, int]]:
    """The pairs by number."""
    return set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def test_similar_pairs_are_exact_where_vectors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles change nothing, and a zero vector is similar to none."""
    monkeypatch.setattr("firth.search.similar._TILE", 64)
    rows = unit_rows(300, 32, 1)
    rows[7] = 0
    pairs = similar_pairs(rows.__getitem__, len(rows), 0.7, seed=13)
    assert found_pairs(pairs) == expected_pairs(rows, 0.7)
    assert len(pairs) > 50
    assert (pairs.scores >= 0.7).all()
    assert (pairs.left < pairs.right).all()
    assert (np.lexsort((pairs.right, pairs.left)) == np.arange(len(pairs))).all()


def test_lists_find_nearly_all_similar_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the exact size few pairs are missed, and none is invented."""
    monkeypatch.setattr("firth.search.similar.EXACT", 500)
    rows = unit_rows(2_000, 64, 2)
    expected = expected_pairs(rows, 0.8)
    hits = found_pairs(similar_pairs(rows.__getitem__, len(rows), 0.8, seed=13))
    assert hits <= expected
    assert len(hits) > 0.97 * len(expected) > 300


def test_of_too_many_pairs_the_most_similar_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold rises above what is left out."""
    rows = unit_rows(300, 8, 3)
    everything = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    monkeypatch.setattr("firth.search.similar.LIMIT", 100)
    some = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    assert len(everything) > 200
    assert 50 < len(some) <= 100
    assert some.threshold > 0.2
    assert found_pairs(some) == found_pairs(
        everything.where(everything.scores >= np.float32(some.threshold))
    )
