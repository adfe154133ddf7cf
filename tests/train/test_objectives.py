"""What a student learns: the teacher's order of a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.text.types import Singles, unit
from firth.train.objectives import Batches, linear_fit, listwise, near_groups


def units(n: int, d: int, seed: int) -> Singles:
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return unit(rows).astype(np.float32)


def test_the_divergence_is_zero_for_the_teacher_alone() -> None:
    vectors = torch.from_numpy(units(6, 4, 1)).requires_grad_()
    similarities = vectors.detach() @ vectors.detach().T
    assert listwise(3 * vectors, similarities).item() == pytest.approx(0, abs=1e-6)
    other = torch.from_numpy(units(6, 4, 2))
    assert listwise(other, similarities).item() > 0.1
    changed = similarities.clone().fill_diagonal_(0.3)  # A sentence's similarity to itself.
    assert listwise(3 * vectors, changed).item() == pytest.approx(0, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 5))
def test_groups_hold_each_sentence_once(count: int, size: int, seed: int) -> None:
    size = min(size, count)
    groups = near_groups(units(count, 5, seed), size, seed)
    assert groups.shape == (count // size, size)
    assert len(np.unique(groups)) == groups.size


def test_groups_are_nearer_than_chance() -> None:
    vectors = units(200, 8, 3)
    cosines = vectors @ vectors.T
    groups = near_groups(vectors, 4, 1)
    within = np.mean([cosines[np.ix_(group, group)].mean() for group in groups])
    chance = np.mean([cosines[np.ix_(group, group)].mean() for group in groups.T[:, :4]])
    assert within > chance + 0.1


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 40))
def test_an_epoch_holds_each_group_at_most_once(groups: int, width: int, size: int) -> None:
    rows = np.arange(groups * width).reshape(groups, width)
    batches = Batches(rows, size, 7)
    for epoch in range(2):
        steps = range(epoch * batches.epoch_steps, (epoch + 1) * batches.epoch_steps)
        seen = np.concatenate([batches(step) for step in steps])
        assert len(np.unique(seen)) == len(seen)
        assert len(seen) > groups * width - max(size, width)
        assert all(len(batches(step)) <= max(size, width) for step in steps)
    assert np.array_equal(batches(0), Batches(rows, size, 7)(0))


def test_a_linear_fit_recovers_a_linear_map() -> None:
    states, weight = units(300, 6, 1), np.random.default_rng(2).standard_normal((6, 3))
    wanted = (states @ weight + 0.5).astype(np.float32)
    result = linear_fit(states, wanted)(torch.from_numpy(states)).detach()
    torch.testing.assert_close(result, torch.from_numpy(wanted), atol=0.02, rtol=0)
    constant = linear_fit(np.ones((9, 2), np.float32), wanted[:9])
    assert torch.isfinite(constant.weight).all()
