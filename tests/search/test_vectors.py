"""`firth.search.vectors`: codes and lists find what an exact comparison would."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firth.search import vectors as module
from firth.search.vectors import Rotation, candidates, similar_pairs
from firth.text.near import Pairs


def vectors(n: int, d: int, seed: int) -> np.ndarray:
    """Draw unit vectors around a few centers."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((20, d))[rng.integers(20, size=n)] + rng.standard_normal((n, d))
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)


@pytest.mark.parametrize("d", [3, 64, 200])
def test_a_code_is_that_of_many(d: int) -> None:
    """One vector at a time or all at once give the same codes, of d bits."""
    rows = vectors(50, d, 1)
    rotation = Rotation.fit(rows, seed=13)
    np.testing.assert_allclose(rotation.matrix @ rotation.matrix.T, np.eye(d), atol=1e-5)
    codes = rotation.codes(rows)
    assert codes.shape == (50, -(-d // 64))
    assert all((rotation.code(row) == code).all() for row, code in zip(rows, codes, strict=True))
    assert np.bitwise_count(codes).sum(axis=1).max() <= d
    again = Rotation.fit(rows, seed=13)
    assert again.matrix.tobytes() == rotation.matrix.tobytes()


@pytest.mark.parametrize("share", [1 << 18, 700])
def test_the_nearest_are_among_the_candidates(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the ten nearest of 3,000 vectors nearly all are among 150 candidates."""
    monkeypatch.setattr(module, "_SHARE", share)
    rows = vectors(3_000, 512, 2)
    rotation = Rotation.fit(rows, seed=13)
    codes = np.ascontiguousarray(rotation.codes(rows).T)
    hits = 0
    with ThreadPoolExecutor(2) as threads:
        for query in (rows[:20] + vectors(20, 512, 3)) / np.float32(np.sqrt(2)):
            best = np.argsort(-(rows @ query))[:10]
            chosen = candidates(codes, rotation.code(query), 150, threads)
            assert 150 <= len(chosen) < 400
            assert (np.diff(chosen) > 0).all()
            hits += np.isin(best, chosen).sum()
    assert hits >= 190


@pytest.mark.parametrize("word", [0, 1, 2, 3])
def test_every_word_of_a_code_counts(word: int) -> None:
    """Of codes that differ in one word of four, those come that differ in fewest bits of it."""
    order = np.random.default_rng(word).permutation(60)
    codes = np.zeros((4, 60), np.uint64)
    codes[word] = (np.uint64(1) << order.astype(np.uint64)) - np.uint64(1)
    with ThreadPoolExecutor(1) as threads:
        chosen = candidates(codes, np.zeros(4, np.uint64), 15, threads)
    assert sorted(order[chosen].tolist()) == [*range(15)]


def test_equal_vectors_do_not_all_become_candidates() -> None:
    """Of any number of equal sentences the first are compared, and the nearest is among them."""
    rows = np.concatenate([np.repeat(vectors(1, 64, 5), 3_000, axis=0), vectors(50, 64, 6)])
    codes = np.ascontiguousarray(Rotation.fit(rows, 1).codes(rows).T)
    with ThreadPoolExecutor(1) as threads:
        assert candidates(codes, codes[:, 0], 20, threads).tolist() == [*range(200)]
        assert candidates(codes[:, :0], codes[:, 0], 5, threads).tolist() == []
        chosen = candidates(codes, codes[:, 3_010], 20, threads)
    assert len(chosen) <= 200
    assert 3_010 in chosen


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
    monkeypatch.setattr("firth.search.vectors._TILE", 64)
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
    monkeypatch.setattr("firth.search.vectors.EXACT", 500)
    rows = unit_rows(2_000, 64, 2)
    expected = expected_pairs(rows, 0.8)
    hits = found_pairs(similar_pairs(rows.__getitem__, len(rows), 0.8, seed=13))
    assert hits <= expected
    assert len(hits) > 0.97 * len(expected) > 300


def test_of_too_many_pairs_the_most_similar_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold rises above what is left out."""
    rows = unit_rows(300, 8, 3)
    everything = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    monkeypatch.setattr("firth.search.vectors.LIMIT", 100)
    some = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    assert len(everything) > 200
    assert 50 < len(some) <= 100
    assert some.threshold > 0.2
    assert found_pairs(some) == found_pairs(
        everything.where(everything.scores >= np.float32(some.threshold))
    )
