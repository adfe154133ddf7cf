"""`firth.search.codes`: codes select what an exact comparison would find."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firth.search import codes as module
from firth.search.codes import Rotation, candidates


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


def test_few_vectors_are_all_candidates() -> None:
    """Nothing is lost where as many are wanted as there are."""
    rows = vectors(30, 64, 4)
    codes = np.ascontiguousarray(Rotation.fit(rows, 1).codes(rows).T)
    with ThreadPoolExecutor(1) as threads:
        assert candidates(codes, codes[:, 0], 30, threads).tolist() == [*range(30)]
        assert candidates(codes[:, :0], codes[:, 0], 5, threads).tolist() == []


def test_equal_vectors_do_not_all_become_candidates() -> None:
    """Of any number of equal sentences the first are compared, and the nearest is among them."""
    rows = np.concatenate([np.repeat(vectors(1, 64, 5), 3_000, axis=0), vectors(50, 64, 6)])
    codes = np.ascontiguousarray(Rotation.fit(rows, 1).codes(rows).T)
    with ThreadPoolExecutor(1) as threads:
        assert candidates(codes, codes[:, 0], 20, threads).tolist() == [*range(200)]
        chosen = candidates(codes, codes[:, 3_010], 20, threads)
    assert len(chosen) <= 200
    assert 3_010 in chosen
