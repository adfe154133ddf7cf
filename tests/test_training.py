"""`firth.training`: a run that was stopped ends where it would have ended."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from firth.training import History, Schedule, train

SCHEDULE = Schedule(
    steps=20, learning_rate=0.05, warmup=3, checkpoint_steps=4, seed=3, report_steps=5
)


def new_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))


def batch_at(step: int) -> Tensor:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(16, 4, generator=generator)


def run(model: nn.Module, folder: Path, stop_at: int | None = None) -> History:
    def loss_of(batch: Tensor) -> Tensor:
        target: Tensor = batch.sum(dim=1, keepdim=True)
        loss: Tensor = ((model(batch) - target) ** 2).mean()
        return loss

    def batches(step: int) -> Tensor:
        if step == stop_at:
            raise KeyboardInterrupt
        return batch_at(step)

    return train(model, batches, loss_of, SCHEDULE, folder, "test")


@pytest.mark.parametrize("stop_at", [3, 4, 9, 19])
def test_resumed_equals_uninterrupted(tmp_path: Path, stop_at: int) -> None:
    """Stopped at any step and started again: the same weights and the same history, bit by bit."""
    whole, resumed = new_model(), new_model()
    expected = run(whole, tmp_path / "whole")
    assert expected[-1]["loss"] < expected[0]["loss"]
    with pytest.raises(KeyboardInterrupt):
        run(resumed, tmp_path / "resumed", stop_at)
    resumed = new_model()
    assert run(resumed, tmp_path / "resumed") == expected
    for one, two in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, two)


def test_the_rate_rises_and_falls() -> None:
    """The learning rate is positive, peaks after the warm-up and never exceeds its peak."""
    rates = [SCHEDULE.rate(step) for step in range(SCHEDULE.steps)]
    assert all(0 < rate <= SCHEDULE.learning_rate for rate in rates)
    assert max(rates) == rates[2]
    assert rates[3:] == sorted(rates[3:], reverse=True)
