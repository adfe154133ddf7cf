"""Training: the best look is kept, and a killed distillation ends with the bytes of a quiet one."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.surrogate.conftest import contents
from torch import nn

from firth.run.run import Run
from firth.surrogate.distill import distill
from firth.surrogate.training import Best

DRIVER = """
import os, signal, sys
from firth.run import progress
from firth.run.run import Run
from firth.surrogate import training
from firth.surrogate.distill import build_surrogate

progress.set_quiet(True)
steps = 0

def die(self, *given, **named):
    global steps
    steps += 1
    if steps == 2:
        os.kill(os.getpid(), signal.SIGKILL)

training.Progress.on_step_end = die
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
        best.look(step)
    at(99)
    best.restore()
    ranked = [-99.0 if figure is None else figure for figure in figures]
    assert best.step == ranked.index(max(ranked))
    assert model.weight.item() == pytest.approx(best.step)
    assert [one["step"] for one in best.seen] == list(range(len(figures)))
    assert [one["spearman"] for one in best.seen] == figures


def test_killed_while_distilling_and_resumed(fresh: Callable[..., Run]) -> None:
    """SIGKILL leaves no finished stage and no trace in what the next start builds."""
    quiet, killed = fresh("quiet"), fresh("killed")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(killed.path)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert (killed.path / ".surrogate.work" / "scratch").is_dir()
    assert not (killed.path / "surrogate").exists()
    assert not distill(killed).reused
    assert contents(killed.path / "surrogate") == contents(distill(quiet).path)
    assert not (killed.path / ".surrogate.work").exists()
