"""Skip-thought: padding, the sampled softmax, and what the loss reads."""

import numpy as np
import pytest
import torch

from firth.baselines.skip_thought import Sampled, SkipThought, padded, sampled_cost

ROWS = [np.array([3, 1, 2]), np.array([4]), np.array([5, 6, 1, 1, 2])]


@pytest.fixture
def model() -> SkipThought:
    """Eight words, small sizes."""
    torch.manual_seed(1)
    return SkipThought(8, 5, 6)


def whole(size: int) -> Sampled:
    """Every word, all equally likely."""
    return Sampled(torch.arange(size), torch.zeros(size))


def test_padding_changes_nothing(model: SkipThought) -> None:
    """A sentence in a rectangle has the vector it has alone, and costs what it costs alone."""
    together = model(padded(ROWS))
    for row, vector in zip(ROWS, together, strict=True):
        torch.testing.assert_close(model(padded([row]))[0], vector)
    costs = [model.loss(*(padded([row]),) * 3, whole(8)) * len(row) for row in ROWS]
    expected = torch.stack(costs).sum() / sum(map(len, ROWS))
    torch.testing.assert_close(model.loss(*(padded(ROWS),) * 3, whole(8)), expected)


def test_all_words_sampled_is_the_full_softmax() -> None:
    """Then the cost is cross-entropy; with fewer words it is an estimate of it."""
    torch.manual_seed(2)
    states, output, targets = torch.randn(7, 6), torch.randn(50, 6), torch.randint(50, (7,))
    full = torch.nn.functional.cross_entropy(states @ output.T, targets, reduction="none")
    torch.testing.assert_close(sampled_cost(states, targets, output, whole(50)), full)
    share = torch.full((50,), 0.5)
    estimates = []
    for _ in range(300):
        drawn = torch.nonzero(torch.rand(50) < share)[:, 0]
        estimates.append(
            sampled_cost(states, targets, output, Sampled(drawn, share.log())).mean().item()
        )
    assert np.mean(estimates) == pytest.approx(full.mean().item(), rel=0.15)
    assert np.std(estimates) > 0, "premise: the samples differ"


def test_words_are_written_left_to_right(model: SkipThought) -> None:
    """A word's cost depends on the centre and on the words before it, not on those after it."""
    centre, one, two = padded([np.array([3, 1])]), np.array([2, 5, 7]), np.array([2, 5, 1])
    vectors = model(centre)
    costs = [model._written(model.before, vectors, padded([row]), whole(8)) for row in (one, two)]
    torch.testing.assert_close(costs[0][:2], costs[1][:2])
    assert costs[0][2] != costs[1][2]
    other = model._written(model.before, model(padded([np.array([4])])), padded([one]), whole(8))
    assert (other != costs[0]).all()
