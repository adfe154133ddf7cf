"""The training loop: exact resumption, shared steps, and what learned."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.run.errors import DamagedError, InputError
from firth.run.settings import derive_seed
from firth.train.loop import Best, History, Schedule, mean_of, train, verdict

SCHEDULE = Schedule(steps=12, rate=0.05, warmup=3, checkpoint_steps=4, seed=5, report_steps=3)


class Net(nn.Module):
    """Two layers with dropout, a frozen part, and a part that no loss reaches."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 1)
        self.frozen, self.idle = nn.Linear(8, 8).requires_grad_(False), nn.Linear(2, 2)
        self.dropout = nn.Dropout(0.2)

    def vectors(self, rows: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(torch.tanh(self.frozen(self.first(rows))))
        return vectors

    def forward(self, rows: Tensor) -> Tensor:
        sums: Tensor = self.second(self.vectors(rows)).squeeze(1)
        return sums


def batch(step: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(derive_seed(3, "batch", step))
    rows = torch.from_numpy(rng.standard_normal((4, 6), np.float32))
    return rows, rows.sum(dim=1)


def learned(
    folder: Path, schedule: Schedule = SCHEDULE, stop: int | None = None
) -> tuple[dict[str, Tensor], History]:
    """Train, killed after `stop` steps where that is given."""
    model = Net()

    def batch_of_step(number: int) -> tuple[Tensor, Tensor]:
        if number == stop:
            raise KeyboardInterrupt
        return batch(number)

    def loss(some: tuple[Tensor, Tensor]) -> Tensor:
        return functional.mse_loss(model(some[0]), some[1])

    history = train(model, batch_of_step, loss, schedule, folder, "Test")
    return model.state_dict(), history


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, two[name]) for name, value in one.items())


def test_what_can_learn_learns(tmp_path: Path) -> None:
    """The loss falls; frozen parts, and those that no loss reaches, stay as they are."""
    weights, history = learned(tmp_path, replace(SCHEDULE, steps=60))
    start = Net().state_dict()
    for name, value in weights.items():
        assert torch.equal(value, start[name]) == name.startswith(("frozen", "idle"))
    assert [entry["step"] for entry in history] == list(range(3, 61, 3))
    assert history[-1]["loss"] < history[0]["loss"] / 2


@pytest.mark.parametrize("stop", [2, 4, 7, 11])
def test_a_stopped_training_ends_with_the_same_bytes(tmp_path: Path, stop: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        learned(tmp_path / "stopped", stop=stop)
    assert (tmp_path / "stopped" / "checkpoint.safetensors").is_file() == (stop >= 4)
    resumed, history = learned(tmp_path / "stopped")
    whole, expected = learned(tmp_path / "whole")
    assert same(resumed, whole)
    assert history == expected


def test_a_damaged_checkpoint_starts_from_the_first_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        learned(tmp_path, stop=7)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:-20])
    assert same(learned(tmp_path)[0], learned(tmp_path / "whole")[0])
    assert "damaged" in capsys.readouterr().err


def test_an_infinite_loss_ends_with_a_message(tmp_path: Path) -> None:
    model, rows = nn.Linear(1, 1), torch.ones(1, 1)
    schedule = Schedule(steps=9, rate=1e30, warmup=0, checkpoint_steps=1, seed=1)
    with pytest.raises(InputError, match=r"infinite in step 2\. Lower the learning rate.*1e\+30"):
        train(model, lambda _: rows, lambda x: model(x).pow(4).sum(), schedule, tmp_path, "")


def test_accumulated_batches_are_one_larger_batch(tmp_path: Path) -> None:
    def trained(accumulate: int, rows_of: Callable[[int], Tensor]) -> Any:
        torch.manual_seed(1)
        model: Any = nn.Linear(6, 1)
        schedule, scratch = replace(SCHEDULE, accumulate=accumulate), tmp_path / str(accumulate)
        train(model, rows_of, lambda rows: model(rows).pow(2).mean(), schedule, scratch, "")
        return model.weight.detach()

    one = trained(3, lambda number: batch(number)[0])
    other = trained(1, lambda step: torch.cat([batch(3 * step + part)[0] for part in range(3)]))
    torch.testing.assert_close(one, other)


def test_the_rate_rises_over_the_warm_up_and_falls_to_zero() -> None:
    rates = [SCHEDULE.rate_at(step) for step in range(SCHEDULE.steps)]
    assert rates == pytest.approx([0.05 * min((n + 1) / 3, (12 - n) / 9) for n in range(12)])


def test_how_long_a_long_gradient_is_plays_no_part(tmp_path: Path) -> None:
    def trained(*factors: float) -> Any:
        torch.manual_seed(1)
        model: Any = nn.Linear(6, 1)

        def loss(step: int) -> Tensor:
            total: Tensor = factors[step % 2] * model(batch(step)[0]).sum()
            return total

        train(model, lambda step: step, loss, SCHEDULE, tmp_path / str(factors), "")
        return model.weight.detach()

    torch.testing.assert_close(trained(1e3, 1e6), trained(1e4, 1e4))


def test_best_keeps_the_highest_figure(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    figures = iter([0.5, None, 0.7, 0.6])
    best = Best(model, lambda: next(figures), tmp_path, "dev")
    for step in (1, 2, 3):
        nn.init.constant_(model.weight, step)
        best.look(step)
    assert (best.start, best.step) == (0.5, 2)
    best.restore()
    assert model.weight.item() == 2
    again = Best(model, lambda: 0.1, tmp_path, "dev")
    assert again.step == 2
    (tmp_path / "best.safetensors").write_bytes(b"torn")
    with pytest.raises(DamagedError, match="Remove"):
        Best(model, lambda: 0.1, tmp_path, "dev")


def stalled(figures: list[float], patience: int, warmup: int, chance: float, folder: Path) -> bool:
    """Return whether a training with these reports, one each step, would stop after the last."""
    best = Best(nn.Linear(1, 1), lambda: 0.5, folder, "dev", chance)
    history: History = [{"step": n, "dev": figure} for n, figure in enumerate(figures, 1)]
    return best.stalled(history, patience, warmup)


def test_patience_begins_when_there_is_something_to_lose(tmp_path: Path) -> None:
    """After the warm-up, and after a report above chance: overshooting first ends nothing."""
    below, late = [0.49] * 9, [0.49] * 9 + [0.57, 0.58, 0.57, 0.56]
    assert not stalled(below, 3, 0, 0.52, tmp_path)
    assert stalled(below, 3, 0, 0.4, tmp_path), "premise: above chance, it stops"
    assert not stalled(late, 3, 0, 0.52, tmp_path)
    assert stalled([*late, 0.57], 3, 0, 0.52, tmp_path)
    early = [0.6, 0.55, 0.55, 0.55, 0.56]
    assert stalled(early, 4, 0, 0.52, tmp_path)
    assert not stalled(early, 4, 2, 0.52, tmp_path), "the best report was in the warm-up"
    assert not stalled([0.6, 0.55, 0.54], 3, 0, 0.52, tmp_path)


def test_what_did_not_learn_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """It learned above chance by an interval over documents, from a step that is not its start."""
    documents = np.repeat(np.arange(40), 5)
    values = 0.6 + 0.2 * np.random.default_rng(1).standard_normal(200)
    good = mean_of(np.append(values, np.nan), np.append(documents, 7), 1)
    assert good.value == pytest.approx(100 * values.mean())
    assert verdict("It", 5, "text", good, 50) == {"learned": True}
    assert capsys.readouterr().err == ""
    start, low = verdict("It", 0, "text", good, 50), verdict("It", 5, "more text", good, 62)
    assert verdict("It", 5, "text")["learned"]
    assert not verdict("It", 0, "text")["learned"]
    assert start["lacks"] == "It did not learn: no step was better than its start. It lacks text"
    assert not low["learned"]
    assert f"{good} is not above 62 on held-out text. It lacks more text" in low["lacks"]
    assert "Warning: It did not learn" in capsys.readouterr().err
    none = mean_of(np.zeros(0), np.zeros(0, np.int64), 1)
    assert "nothing was held out" in verdict("It", 5, "text", none, 50)["lacks"]
    # Documents are resampled, not their sentences: equal sentences of a document add nothing.
    wide, narrow = (mean_of(np.repeat(values[:8], n), np.repeat(range(8), n), 1) for n in (50, 1))
    assert [wide.low, wide.high] == pytest.approx([narrow.low, narrow.high])
