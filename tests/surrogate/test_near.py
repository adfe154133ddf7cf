"""Groups of sentences that stand near each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.arrays import Singles
from firth.surrogate import near
from firth.surrogate.near import near_groups


def around(centres: int, each: int, seed: int = 0) -> Singles:
    """Unit vectors, `each` in a row around a centre of their own."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.standard_normal((centres, 32)), each, axis=0)
    rows += 0.05 * rng.standard_normal(rows.shape)
    found: Singles = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return found


def test_neighbours_come_together() -> None:
    """Sentences around one centre are one group."""
    groups = near_groups(around(30, 4), np.ones(120, int), 4, 1)
    assert groups.shape == (30, 4)
    assert all(len(set(group // 4)) == 1 for group in groups)


@given(st.integers(1, 90), st.integers(1, 9), st.integers(0, 5))
def test_each_sentence_at_most_once(count: int, size: int, seed: int) -> None:
    """As many whole groups as there can be."""
    size = min(size, count)
    groups = near_groups(around(count, 1, seed), np.arange(count) % 7, size, seed)
    assert groups.shape == (count // size, size)
    assert len(np.unique(groups)) == groups.size


def test_blocks_keep_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many sentences only those of a block are compared, and none is lost to the numbering."""
    monkeypatch.setattr(near, "_BLOCK", 40)
    groups = near_groups(around(25, 4), np.ones(100, int), 4, 1)
    assert len(groups) == 25
    assert sorted(groups.ravel()) == list(range(100))
    assert all(len(set(group // 40)) == 1 for group in groups)


def test_groups_are_of_similar_length() -> None:
    """Of what is near: less padding than by nearness alone, and far nearer than by chance."""
    vectors, lengths = around(20, 24), np.random.default_rng(1).integers(3, 40, 480)
    groups = near_groups(vectors, lengths, 4, 1)
    nearest = near_groups(vectors, np.zeros(480, int), 4, 1)
    spread, plain = (np.ptp(lengths[found], axis=1).mean() for found in (groups, nearest))
    assert spread < 0.6 * plain
    same = np.mean([len(set(group // 24)) == 1 for group in groups])
    assert same > 0.6
