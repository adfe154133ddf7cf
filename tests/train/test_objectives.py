"""What a student learns: the teacher's order of a batch, and labels of scores."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from firth.run.errors import InputError
from firth.text.arrays import Singles, unit
from firth.train.objectives import Batches, label_map, linear_fit, listwise, near_groups


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


def test_gradients_lead_to_the_teacher() -> None:
    teacher = torch.from_numpy(units(8, 4, 1))
    student = torch.from_numpy(units(8, 4, 2)).requires_grad_()
    optimizer = torch.optim.Adam([student], lr=0.05)
    first = listwise(student, teacher @ teacher.T).item()
    for _ in range(100):
        optimizer.zero_grad()
        loss = listwise(student, teacher @ teacher.T)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert loss.item() < first / 10


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


@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=50, unique=True))
@pytest.mark.parametrize("calibration", ["quantile", "zscore", "none", "match"])
def test_labels_keep_the_order_of_scores(calibration: str, scores: list[float]) -> None:
    values = np.array(scores, np.float64)
    label = label_map(values, calibration, np.array([0.2, 0.4, 0.9]))
    asked = np.sort(np.concatenate((values, [-2.0, 2.0])))
    labels = label(asked)
    assert (np.diff(labels) >= 0).all()
    low = -1.0 if calibration == "match" else 0.0
    assert low <= labels.min() <= labels.max() <= 1
    if calibration == "quantile":
        ranks = (np.argsort(np.argsort(values)) + 0.5) / len(values)
        assert label(values) == pytest.approx(ranks)


def test_quantiles_of_many_scores_are_close() -> None:
    scores = np.random.default_rng(1).standard_normal(20_000)
    label = label_map(scores, "quantile", np.zeros(0))
    exact = (np.argsort(np.argsort(scores)) + 0.5) / len(scores)
    assert np.abs(label(scores) - exact).max() <= 1 / 1_000


def test_match_has_mean_and_deviation_of_the_first_cosines() -> None:
    scores = np.random.default_rng(1).uniform(0, 0.01, 500)
    cosines = np.random.default_rng(2).normal(0.3, 0.1, 400)
    labels = label_map(scores, "match", cosines)(scores)
    assert labels.mean() == pytest.approx(cosines.mean(), abs=1e-6)
    assert labels.std() == pytest.approx(cosines.std(), abs=1e-6)


@pytest.mark.parametrize("scores", [[1.0, 1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_scores_that_teach_nothing_are_refused(scores: list[float]) -> None:
    with pytest.raises(InputError, match="2 training pairs are all equal, or not finite"):
        label_map(np.array(scores), "quantile", np.zeros(0))
    with pytest.raises(InputError, match="first cosines are all equal"):
        label_map(np.array([1.0, 2.0]), "match", np.ones(4))


def test_cosine_loss_is_the_one_of_sentence_transformers() -> None:
    one, two = (torch.from_numpy(units(5, 3, seed)) for seed in (1, 2))
    labels = torch.rand(5)
    cosines = functional.cosine_similarity(one, two)
    expected = ((one * two).sum(dim=1) - labels).pow(2).mean()
    torch.testing.assert_close(functional.mse_loss(cosines, labels), expected)
