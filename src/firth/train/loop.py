"""The one training loop: a batch is a function of its number, and a stopped training resumes.

Dropout is seeded by batch. The state of a training is therefore its weights, Adam's moments and the
step, which one safetensors file holds. A training that resumes ends with the bytes of an
uninterrupted one.
"""

import ctypes
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from firth.evaluation.bootstrap import Estimate, Sample, estimate
from firth.run.console import Progress, note
from firth.run.errors import DamagedError, InputError
from firth.run.files import write_atomically
from firth.run.settings import derive_seed
from firth.text.types import Floats, Ints

Batch = TypeVar("Batch")
History = list[dict[str, float]]
"""An entry each `report_steps`: `step`, mean `loss` since the last entry, figures of `evaluate`."""
_BROKEN = (SafetensorError, KeyError, TypeError, ValueError)
CHECKPOINT_STEPS = 200
_LONGEST_GRADIENT = 1.0
_TRIM_STEPS = 3
"""Steps between two returns of freed memory. After each step, a training takes a tenth longer."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long and how fast to train.

    The rate of Adam rises linearly to `rate` in `warmup` of the `steps`, then falls linearly to 0.
    """

    steps: int
    rate: float
    warmup: int
    checkpoint_steps: int
    """Steps between two checkpoints."""
    seed: int
    """Seeds dropout, together with the number of the batch."""
    report_steps: int = 50
    """Steps between two entries of the history."""
    bfloat16: bool = False
    """Whether the forward pass runs under bfloat16 autocast."""
    accumulate: int = 1
    """Batches in a step. Their mean loss is the loss of the step."""

    @classmethod
    def of(
        cls, steps: int, rate: float, seed: int, *, warmup: float = 0.1, reports: int, **more: Any
    ) -> "Schedule":
        """Return a schedule with `warmup` as a share of the steps, and at most so many reports."""
        more |= {"checkpoint_steps": CHECKPOINT_STEPS, "report_steps": -(-steps // reports)}
        return cls(steps=steps, rate=rate, seed=seed, warmup=int(warmup * steps), **more)

    def rate_at(self, step: int) -> float:
        """Return the rate of a step, counted from 0."""
        rise = (step + 1) / max(1, self.warmup)
        fall = (self.steps - step) / max(1, self.steps - self.warmup)
        return self.rate * min(1.0, rise, fall)


def train(
    model: nn.Module,
    batch_of_step: Callable[[int], Batch],
    loss_of: Callable[[Batch], Tensor],
    schedule: Schedule,
    scratch: Path,
    title: str,
    evaluate: Callable[[int], dict[str, float]] | None = None,
    enough: Callable[[History], bool] | None = None,
) -> History:
    """Train a model in place with Adam, and continue from `scratch` where a training stopped.

    Args:
        model: Only parameters that require a gradient learn. It ends in evaluation mode.
        batch_of_step: Returns the batch of a number, and depends on that number alone. Step s,
            counted from 0, takes the batches from `s * accumulate` on.
        loss_of: Returns the mean loss of a batch, a scalar.
        scratch: Folder of the checkpoint.
        evaluate: Returns figures after so many steps, for the history. The model is in evaluation
            mode then.
        enough: Says after each entry of the history whether to stop early.
    """
    parameters = [parameter for _, parameter in learning(model)]
    # Fused: one pass over weights and moments instead of some twenty.
    optimizer = torch.optim.Adam(parameters, lr=schedule.rate, fused=True)
    path = scratch / "checkpoint.safetensors"
    start, history, running = resume(path, model, optimizer)
    where = next(model.parameters()).device

    def learned(step: int) -> float:
        """Return the loss of a step, whose gradients are then there."""
        total, count = torch.zeros((), device=where), schedule.accumulate
        for number in range(step * count, (step + 1) * count):
            torch.manual_seed(derive_seed(schedule.seed, "step", number))
            with torch.autocast(where.type, torch.bfloat16, enabled=schedule.bfloat16):
                loss = loss_of(batch_of_step(number)) / count
            torch.autograd.backward(loss)
            total += loss.detach()
        return float(total)

    with Progress(schedule.steps, title) as bar:
        bar.advance(start)
        for step in range(start, schedule.steps):
            done = step + 1
            model.train()
            optimizer.zero_grad(set_to_none=True)
            loss = learned(step)
            if not math.isfinite(loss):
                raise InputError(
                    f"{title}: the loss became infinite in step {done}. Lower the learning rate, "
                    f"which is {schedule.rate:g}"
                )
            for group in optimizer.param_groups:
                group["lr"] = schedule.rate_at(step)
            nn.utils.clip_grad_norm_(parameters, _LONGEST_GRADIENT)
            optimizer.step()
            running.append(loss)
            if done % _TRIM_STEPS == 0:
                _trim_memory()
            ends, status = done == schedule.steps, ""
            if done % schedule.report_steps == 0 or ends:
                model.eval()
                mean = sum(running) / len(running)
                figures = evaluate(done) if evaluate else {}
                history.append({"step": float(done), "loss": mean} | figures)
                running.clear()
                reported = {"loss": mean} | dict([*figures.items()][:1])
                status = ", ".join(f"{name} {value:.3f}" for name, value in reported.items())
                ends = ends or (enough is not None and enough(history))
            if done % schedule.checkpoint_steps == 0 and not ends:
                save_checkpoint(path, model, optimizer, done, history, running)
            bar.advance(1, status)
            if ends:
                break
    model.eval()
    return history


# --- Weights in files ---------------------------------------------------------------------------


def learning(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return names and parameters that require a gradient."""
    return [named for named in model.named_parameters() if named[1].requires_grad]


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    step: int,
    history: History,
    running: list[float],
) -> None:
    """Write weights, moments, history, and the losses since its last entry."""
    tensors = {}
    for name, parameter in learning(model):
        tensors[f"weight/{name}"] = parameter
        # A parameter that no loss has reached has no moments.
        for moment in {"exp_avg", "exp_avg_sq"} & set(optimizer.state[parameter]):
            tensors[f"{moment}/{name}"] = optimizer.state[parameter][moment]
    write_tensors(path, tensors, {"step": step, "history": history, "running": running})


def resume(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, History, list[float]]:
    """Load a checkpoint; return its step, history and losses since the last entry.

    Nothing is loaded where there is no checkpoint, or a damaged one.
    """
    if not path.is_file():
        return 0, [], []
    try:
        state, tensors = read_state(path), load_file(path)
    except _BROKEN:
        note(f"{path} is damaged. The training starts from its first step.")
        return 0, [], []
    with torch.no_grad():
        for name, parameter in learning(model):
            parameter.copy_(tensors[f"weight/{name}"])
            if f"exp_avg/{name}" in tensors:
                # On the device and in the number format of the parameter.
                optimizer.state[parameter] = {
                    "step": torch.tensor(float(state["step"]), device=parameter.device),
                    "exp_avg": tensors[f"exp_avg/{name}"].to(parameter),
                    "exp_avg_sq": tensors[f"exp_avg_sq/{name}"].to(parameter),
                }
    return state["step"], state["history"], state["running"]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], state: object = None) -> None:
    """Write tensors, and a value that JSON can hold, as safetensors.

    Without a value equal tensors give equal bytes: the library orders metadata at random.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    stored = {} if state is None else {"state": json.dumps(state)}
    with write_atomically(path) as partial:
        save_file(plain, partial, metadata={"format": "pt", **stored})


def read_state(path: Path) -> Any:
    """Return the value that `write_tensors` wrote."""
    with safe_open(path, framework="pt") as stored:
        return json.loads(stored.metadata()["state"])


class Best:
    """The weights of a model with the highest figure so far, the first of which are the start's.

    They lie in a file in `scratch`, so that a training that resumes knows them. `figure` says how
    good the model is now, None where that is undefined; `start` is the figure of the start, and
    `step` the step of the best weights. A figure above `chance` shows that the model learns.
    """

    def __init__(
        self,
        model: nn.Module,
        figure: Callable[[], float | None],
        scratch: Path,
        name: str,
        chance: float = -math.inf,
    ) -> None:
        self._model, self._figure, self._name, self._chance = model, figure, name, chance
        self._file = scratch / "best.safetensors"
        self.step, self._value = 0, -math.inf
        if self._file.is_file():
            try:
                self.step, self._value = read_state(self._file)
            except _BROKEN as error:
                raise DamagedError(
                    f"{self._file} is damaged, and held the best weights so far. Remove {scratch}; "
                    "the training then starts from its first step"
                ) from error
        self.start = self.look(0).get(name)

    def look(self, step: int) -> dict[str, float]:
        """Take the figure, and keep the weights where it is the highest (`train(evaluate=...)`)."""
        value = self._figure()
        if (value is not None and value > self._value) or not self._file.is_file():
            self.keep(step, value)
        return {} if value is None else {self._name: round(value, 6)}

    def keep(self, step: int, value: float | None = None) -> None:
        """Keep the weights as the best ones."""
        self.step, self._value = step, -math.inf if value is None else value
        write_tensors(self._file, self._model.state_dict(), (self.step, self._value))

    def restore(self) -> None:
        """Give the model its best weights."""
        self._model.load_state_dict(load_file(self._file))

    def stalled(self, history: History, patience: int, warmup: int = 0) -> bool:
        """Return whether the last `patience` entries of a history were no better than the best.

        Entries count after `warmup` steps, and from the first one above chance on: a training that
        overshoots at first has time to come back.
        """
        counted = [entry.get(self._name) for entry in history if entry["step"] > warmup]
        figures = [-math.inf if figure is None else figure for figure in counted]
        first = next((n for n, figure in enumerate(figures) if figure > self._chance), None)
        if first is None:
            return False
        return len(figures) - 1 - figures.index(max(figures[first:]), first) >= patience


class Batches:
    """The rows of each step of a training, a function of seed and step alone.

    `deal` draws the batches of an epoch; each epoch has another order and equally many batches.
    """

    def __init__(self, deal: Callable[[np.random.Generator], Iterable[Ints]], seed: int) -> None:
        self._dealt: Callable[[int], Sequence[Ints]] = lru_cache(maxsize=1)(
            lambda epoch: list(deal(np.random.default_rng(derive_seed(seed, epoch))))
        )
        self.epoch_steps = len(self._dealt(0))

    @classmethod
    def of(cls, rows: int, size: int, seed: int) -> "Batches":
        """Return random batches of `size` of the rows; what an epoch leaves over is dropped."""
        size = min(size, rows)
        last = rows // size * size
        return cls(lambda rng: rng.permutation(rows)[:last].reshape(-1, size), seed)

    def __call__(self, step: int) -> Ints:
        """Return the rows of a step, counted from 0."""
        epoch, place = divmod(step, self.epoch_steps)
        return self._dealt(epoch)[place]


# --- Whether it learned -------------------------------------------------------------------------


def mean_of(values: Floats, documents: Ints, seed: int) -> Estimate:
    """Return the mean of values, (n,), times 100; its interval resamples their documents, (n,).

    NaN is left out.
    """
    defined = np.isfinite(values)
    _, places = np.unique(documents[defined], return_inverse=True)
    sums, sizes = np.bincount(places, values[defined]), np.bincount(places)
    undefined = "" if len(sizes) else "nothing was held out"

    def statistic(counts: Floats) -> Floats:
        means: Floats = (counts @ sums) / (counts @ sizes)
        return means

    return estimate(Sample(statistic, len(sizes), seed, undefined))


def verdict(
    name: str, step: int, lacks: str, gain: Estimate | None = None, chance: float = 0.0
) -> dict[str, Any]:
    """Return for a summary whether a model learned: `learned`, and `lacks` where it did not.

    It learned where its best step is not its start, and `gain`, if any, is above chance by its
    interval. What it lacks is printed, too.
    """
    what = "" if step else "no step was better than its start"
    if step and gain is not None and (gain.low is None or gain.low <= chance):
        what = gain.reason or f"{gain} is not above {chance:g} on held-out text"
    if not what:
        return {"learned": True}
    message = f"{name} did not learn: {what}. It lacks {lacks}"
    note(f"Warning: {message}.")
    return {"learned": False, "lacks": message}


def has_bfloat16(where: torch.device) -> bool:
    """Return whether a device multiplies bfloat16 in hardware."""
    if where.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if where.type == "mps":
        return False  # It can, and no gain was measured.
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16"))


def _trim_memory() -> None:
    """Return freed memory to the system: glibc keeps it where lengths of batches differ."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
