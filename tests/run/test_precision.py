"""Where to compute: what is asked for, or a message; by default what there is."""

import os

import pytest
import torch
from typer.testing import CliRunner

from firth.cli.main import app
from firth.run.errors import InputError
from firth.run.precision import device


@pytest.mark.parametrize(
    ("cuda", "mps", "found"),
    [(False, False, "cpu"), (False, True, "mps"), (True, False, "cuda"), (True, True, "cuda")],
)
def test_what_there_is(cuda: bool, mps: bool, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An accelerator goes before the processor, which is always there."""
    monkeypatch.delenv("FIRTH_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert device() == torch.device(found)
    monkeypatch.setenv("FIRTH_DEVICE", "cpu")
    assert device() == torch.device("cpu")


@pytest.mark.parametrize("variable", ["LOCAL_RANK", "FIRTH_WORKER"])
def test_each_process_has_its_own(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that torchrun starts on a machine, and of workers; they go round."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setenv("FIRTH_DEVICE", "auto")
    for number in (0, 3, 5):
        monkeypatch.setenv(variable, str(number))
        assert device() == torch.device("cuda", number % 4)


@pytest.mark.parametrize(
    ("asked", "message"),
    [("mps", "--device mps: torch .* finds none; it has cpu"), ("tpu", "FIRTH_DEVICE=tpu: expect")],
)
def test_what_is_not_there(asked: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is refused by name, instead of computing elsewhere."""
    for there in (torch.cuda, torch.backends.mps):
        monkeypatch.setattr(there, "is_available", lambda: False)
    monkeypatch.setenv("FIRTH_DEVICE", asked)
    with pytest.raises(InputError, match=message):
        device()


def test_the_option_is_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that processes that a command starts compute where it does."""
    monkeypatch.setenv("FIRTH_DEVICE", "auto")
    done = CliRunner().invoke(app, ["--device", "cpu", "harvest", "--run", "x", "--workers", "0"])
    assert done.exit_code == 2, "the premise: the option is read, and nothing else done"
    assert os.environ["FIRTH_DEVICE"] == "cpu"
