"""`firth.run.training`: a run that was stopped ends where it would have ended."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from firth.run.errors import InputError
from firth.run.training import History, Schedule, train

SCHEDULE = Schedule(
    steps=20, learning_rate=0.05, warmup=3, checkpoint_steps=4, seed=3, report_steps=5
)


WIDTH, ROWS = 256, 192
"""Large enough for torch to share a layer's values out to threads: more than 32,768 of them."""


@pytest.fixture
def one_thread_again() -> Iterator[None]:
    """Puts back the number of threads that all other tests have."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def new_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, WIDTH), nn.Dropout(0.5), nn.Linear(WIDTH, 1))


def batch_at(step: int) -> Tensor:
    generator = torch.Generator().manual_seed(step)
    return torch.randn(ROWS, 4, generator=generator)


def run(
    model: nn.Module, folder: Path, stop_at: int | None = None, schedule: Schedule = SCHEDULE
) -> History:
    def loss_of(batch: Tensor) -> Tensor:
        target: Tensor = batch.sum(dim=1, keepdim=True)
        loss: Tensor = ((model(batch) - target) ** 2).mean()
        return loss

    def batches(step: int) -> Tensor:
        if step == stop_at:
            raise KeyboardInterrupt
        return batch_at(step)

    return train(model, batches, loss_of, schedule, folder, "test")


@pytest.mark.usefixtures("one_thread_again")
@pytest.mark.parametrize(("stop_at", "threads"), [(3, 1), (4, 1), (9, 1), (19, 1), (9, 2)])
def test_resumed_equals_uninterrupted(tmp_path: Path, stop_at: int, threads: int) -> None:
    """Stopped at any step and started again: the same weights and the same history, bit by bit."""
    torch.set_num_threads(threads)
    whole, resumed = new_model(), new_model()
    expected = run(whole, tmp_path / "whole")
    assert expected[-1]["loss"] < expected[0]["loss"]
    with pytest.raises(KeyboardInterrupt):
        run(resumed, tmp_path / "resumed", stop_at)
    resumed = new_model()
    assert run(resumed, tmp_path / "resumed") == expected
    for one, two in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, two)


def cut(data: bytes) -> bytes:
    """Without its end."""
    return data[:-7]


def flipped_number(data: bytes) -> bytes:
    """A bit in the last number."""
    return data[:-1] + bytes([data[-1] ^ 1])


def flipped_name(data: bytes) -> bytes:
    """A bit in the name of a tensor."""
    place = data.index(b'"weight/') + 1
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("damaged", [cut, flipped_number, flipped_name])
def test_a_damaged_checkpoint_is_not_believed(
    tmp_path: Path, damaged: Callable[[bytes], bytes]
) -> None:
    """What it held is trained again, to the same end."""
    whole, resumed = new_model(), new_model()
    expected = run(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(resumed, tmp_path / "resumed", stop_at=9)
    path = tmp_path / "resumed" / "checkpoint.safetensors"
    path.write_bytes(damaged(path.read_bytes()))
    resumed = new_model()
    assert run(resumed, tmp_path / "resumed") == expected
    for one, two in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, two)


def test_moments_lie_beside_their_parameters(tmp_path: Path) -> None:
    """A training resumed in another number format (as on another device) has its moments there."""
    first = new_model()
    with pytest.raises(KeyboardInterrupt):
        run(first, tmp_path, stop_at=9)
    resumed = new_model().double()
    seen: list[torch.dtype] = []

    def loss_of(batch: Tensor) -> Tensor:
        loss: Tensor = (resumed(batch.double()) ** 2).mean()
        seen.append(loss.dtype)
        return loss

    history = train(resumed, batch_at, loss_of, SCHEDULE, tmp_path, "test")
    assert len(seen) == SCHEDULE.steps - 8  # the premise: it went on from the checkpoint
    assert set(seen) == {torch.float64}
    assert history[-1]["step"] == SCHEDULE.steps


def test_gradients_of_batches_add_up(tmp_path: Path) -> None:
    """Three batches a step are one of three times the size, but for rounding; and what is resumed
    is, bit by bit, what was not stopped."""
    several = replace(SCHEDULE, accumulate=3)

    def trained(schedule: Schedule, folder: str, stop_at: int | None = None) -> nn.Module:
        model = new_model().eval()
        model.train = lambda mode=True: model  # type: ignore[method-assign]

        def batches(number: int) -> Tensor:
            if number == stop_at:
                raise KeyboardInterrupt
            if schedule is several:
                return batch_at(number)
            return torch.cat([batch_at(3 * number + i) for i in range(3)])

        def loss_of(batch: Tensor) -> Tensor:
            loss: Tensor = ((model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean()
            return loss

        history = train(model, batches, loss_of, schedule, tmp_path / folder, "test")
        assert history[-1]["loss"] < 0.1 * history[0]["loss"], "the premise: it learns"
        return model

    whole, together = trained(several, "several"), trained(SCHEDULE, "one")
    for one, two in zip(whole.parameters(), together.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    with pytest.raises(KeyboardInterrupt):
        trained(several, "resumed", stop_at=3 * 9 + 1)
    resumed = trained(several, "resumed")
    assert all(map(torch.equal, whole.parameters(), resumed.parameters()))


def test_what_cannot_be_shared_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step goes to processes evenly, or nobody trains: before any connection."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    asked = replace(SCHEDULE, parts=3, shared_by="test.parts")
    with pytest.raises(InputError, match=r"2 processes cannot share .* test\.parts, which is 3,"):
        run(new_model(), tmp_path, schedule=asked)


def test_an_infinite_loss_ends_training(tmp_path: Path) -> None:
    """It is named with its step, and the rate that may be too high; no such weights are kept."""
    asked = replace(SCHEDULE, learning_rate=1e30, warmup=0, clip=float("inf"), checkpoint_steps=1)
    with pytest.raises(InputError, match=r"test: step \d+: the loss became infinite.* 1e\+30"):
        run(new_model(), tmp_path, schedule=asked)


def test_what_is_enough_ends_training(tmp_path: Path) -> None:
    """Asked at each history entry; the last one is of the step that it ended with."""
    model, steps = new_model(), []

    def enough(history: History) -> bool:
        steps.append(history[-1]["step"])
        return len(history) == 2

    history = train(model, batch_at, lambda batch: model(batch).mean(), SCHEDULE, tmp_path, "test",
                    enough=enough)  # fmt: skip
    assert steps == [entry["step"] for entry in history] == [5.0, 10.0]


def test_the_rate_rises_and_falls() -> None:
    """The learning rate is positive, peaks after the warm-up and never exceeds its peak."""
    rates = [SCHEDULE.rate(step) for step in range(SCHEDULE.steps)]
    assert all(0 < rate <= SCHEDULE.learning_rate for rate in rates)
    assert max(rates) == rates[2]
    assert rates[3:] == sorted(rates[3:], reverse=True)


def own_memory() -> int:
    """Bytes that this process has of its own."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="what other systems do with freed memory is theirs"
)
def test_freed_memory_is_given_back(tmp_path: Path) -> None:
    """Even where what is left of it lies in pieces between what is still needed."""
    blocks = [bytearray(b"x" * 65_536) for _ in range(3_000)]
    kept = blocks[::50]
    whole = own_memory()
    del blocks
    held = own_memory()
    assert whole - held < 50_000_000  # the premise: of 200 MB, the allocator keeps most
    run(new_model(), tmp_path)
    assert held - own_memory() > 100_000_000
    assert len(kept) == 60
