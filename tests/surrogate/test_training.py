"""Training: the best look is kept, and a killed distillation ends with the bytes of a quiet one."""

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from tests.surrogate.conftest import contents
from torch import nn

from firth.run.errors import DamagedError
from firth.run.run import Run
from firth.surrogate.distill import distill
from firth.surrogate.training import Best, PairBatches

DRIVER = """
import os, signal, sys
from firth.run import progress
from firth.run.run import Run
from firth.surrogate import training
from firth.surrogate.distill import build_surrogate

progress.set_quiet(True)
asked = training.PairBatches.__call__

def die(self, step):
    if step == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return asked(self, step)

training.PairBatches.__call__ = die
build_surrogate(Run.open(sys.argv[1]))
"""


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float)), min_size=1, max_size=8))
def test_the_best_look_is_kept(
    tmp_path_factory: pytest.TempPathFactory, figures: list[float | None]
) -> None:
    """Weights are those of the highest figure; an undefined one is below all others."""
    model = nn.Linear(1, 1)
    values = iter(figures)

    def at(step: int) -> None:
        with torch.no_grad():
            model.weight.fill_(float(step))

    at(0)
    best = Best(model, lambda: next(values), tmp_path_factory.mktemp("best"))
    for step in range(1, len(figures)):
        at(step)
        assert best.look(step) == figures[step]
    assert best.first == figures[0]
    at(99)
    best.restore()
    ranked = [-99.0 if figure is None else figure for figure in figures]
    assert best.step == ranked.index(max(ranked))
    assert model.weight.item() == pytest.approx(best.step)


@given(st.data())
def test_best_weights_that_were_damaged_are_not_believed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Training that goes on knows the best weights so far; where a bit of them or of their figure
    has changed, or some are missing, it does not go on."""
    folder = tmp_path_factory.mktemp("best")

    def again() -> Best:
        return Best(nn.Linear(2, 1), lambda: 0.5, folder)

    again().take(3, 0.75)
    assert again().step == 3
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        bit = 1 << data.draw(st.integers(0, 7))
        file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
    else:
        file.write_bytes(whole[:place])
    with pytest.raises(DamagedError, match="begins anew"):
        again()


MANY_STEPS = {"epochs": 2, "batch": 100, "checkpoint_steps": 3, "looks": 4}
"""Twelve steps of the harvested run's 600 pairs."""


def test_killed_while_distilling_and_resumed(
    fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL leaves no finished stage; the next start continues from the last checkpoint, and
    builds the same bytes."""
    quiet, killed = fresh("quiet", **MANY_STEPS), fresh("killed", **MANY_STEPS)
    killed.save()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(killed.path)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert (killed.path / ".surrogate.work" / "scratch").is_dir()
    assert not (killed.path / "surrogate").exists()
    asked = steps_asked(monkeypatch)
    assert not distill(killed).reused
    assert asked == list(range(6, 12))
    assert contents(killed.path / "surrogate") == contents(distill(quiet).path)
    assert asked[6:] == list(range(12)), "the premise"
    assert not (killed.path / ".surrogate.work").exists()


@pytest.mark.parametrize(
    ("base", "stop"), [("static", 2), ("static", 3), ("static", 11), ("transformer", 7)]
)
def test_stopped_anywhere_and_resumed(
    fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, base: str, stop: int
) -> None:
    """Before the first checkpoint, on one, after the last; with dropout too."""
    settings = MANY_STEPS | {"base": base, "layers": 1}
    quiet, stopped = fresh("quiet", **settings), fresh("stopped", **settings)
    with monkeypatch.context() as patched:
        steps_asked(patched, stop)
        with pytest.raises(KeyboardInterrupt):
            distill(stopped)
    first = steps_asked(monkeypatch)
    assert contents(distill(stopped).path) == contents(distill(quiet).path)
    assert first[0] == stop // 3 * 3


def steps_asked(patched: pytest.MonkeyPatch, stop: int | None = None) -> list[int]:
    """The steps whose batches are asked for from now on, at one of which it stops."""
    asked: list[int] = []
    batch_at = PairBatches.__call__

    def watched(self: PairBatches, step: int) -> Any:
        if step == stop:
            raise KeyboardInterrupt
        asked.append(step)
        return batch_at(self, step)

    patched.setattr(PairBatches, "__call__", watched)
    return asked


@given(st.integers(1, 40), st.integers(1, 12))
def test_an_epoch_has_each_pair_once(count: int, size: int) -> None:
    """In another order each; a step is its own, whichever was asked before."""
    columns = {name: [str(n) for n in range(count)] for name in ("sentence1", "sentence2")}
    pairs = Dataset.from_dict(columns | {"label": [n / count for n in range(count)]})
    batches = PairBatches(pairs, size, 5)
    epochs = [
        [batches(epoch * batches.steps + step)["label"] for step in range(batches.steps)]
        for epoch in range(2)
    ]
    for epoch in epochs:
        drawn = [label for batch in epoch for label in batch]
        assert sorted(drawn) == pairs["label"][:]
        assert all(len(batch) == size for batch in epoch[:-1])
    assert batches(0)["label"] == epochs[0][0]
    assert epochs[0] != epochs[1] or count < 8
