"""The training loop of the models learned from scratch: stateless batches, exact resumption.

A batch is a function of its step number and dropout is seeded by step, so the only state of a
training run is weights, Adam's moments and the step: one safetensors file. A run continued from
such a checkpoint ends with the same bytes as an uninterrupted one.

A step may take several batches, whose gradients are added up, or work on one in parts
(`firth.run.parts`); several processes may share either (`firth.run.sharing`).
"""

import ctypes
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import safe_open
from torch import Tensor, nn

from firth.run import sharing
from firth.run.errors import InputError
from firth.run.progress import bar, note
from firth.run.seeds import derive_seed
from firth.run.tensors import read_state, write_tensors

BETAS = (0.9, 0.999)
"""Adam's (Sun et al., §3.2.2)."""
_TRIM_STEPS = 3
"""Steps after which freed memory is given back: after each one, a training takes a tenth longer."""
Batch = TypeVar("Batch")
History = list[dict[str, float]]
"""One entry each `report_steps`: {"step", "loss"}, and what the evaluation added."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        steps: Number of updates.
        learning_rate: Peak, reached linearly after `warmup` steps, then falling linearly to 0.
        warmup: Steps of the rise.
        checkpoint_steps: Steps between two checkpoints.
        seed: Seeds dropout, together with the step.
        report_steps: Steps between two history entries.
        clip: Largest norm of the gradient.
        bfloat16: Run the forward pass under bfloat16 autocast.
        accumulate: Batches a step, whose mean loss is that of the step.
        parts: In which the loss works on a batch (`firth.run.parts`).
        shared_by: The setting that says one of these two, and so how many processes can share the
            training. None: there is none, and the first process learns alone.
    """

    steps: int
    learning_rate: float
    warmup: int
    checkpoint_steps: int
    seed: int
    report_steps: int = 50
    clip: float = 1.0
    bfloat16: bool = False
    accumulate: int = 1
    parts: int = 1
    shared_by: str | None = None

    def rate(self, step: int) -> float:
        """Learning rate at `step`, counted from 0."""
        rise = (step + 1) / max(1, self.warmup)
        fall = (self.steps - step) / max(1, self.steps - self.warmup)
        return self.learning_rate * min(1.0, rise, fall)


def train(
    model: nn.Module,
    batch_at: Callable[[int], Batch],
    loss_of: Callable[[Batch], Tensor],
    schedule: Schedule,
    scratch: Path,
    title: str,
    evaluate: Callable[[int], dict[str, float]] | None = None,
    enough: Callable[[History], bool] | None = None,
) -> History:
    """Train `model` in place with Adam, continuing from `scratch` if it can.

    Args:
        model: Trained in place, but for what needs no gradient; left in evaluation mode.
        batch_at: The batch of a number, a function of the number alone: step s, counted from 0,
            takes those from s * accumulate on.
        loss_of: Mean loss of a batch, a scalar.
        schedule: Length, rates, checkpoints.
        scratch: Folder of the checkpoint.
        title: Shown beside the bar.
        evaluate: Figures after so many steps, added to each history entry; called in evaluation
            mode.
        enough: Whether to end before all steps; asked at each history entry.

    Returns:
        The history, checkpointed together with the weights.

    Raises:
        InputError: The loss became infinite, or processes are to share a step, and cannot evenly.
    """
    parameters = [parameter for _, parameter in learning(model)]
    among = _sharing_a_step(schedule, title)
    if among == 1 and sharing.rank():
        return _followed(model, parameters)
    dealt = schedule.accumulate % among == 0
    own = range(sharing.rank(), schedule.accumulate, among) if dealt else range(schedule.accumulate)
    # Who shares the parts of a batch has the whole loss of it.
    divisor = schedule.accumulate * (1 if dealt else among)
    # Fused: one pass over weights and moments instead of some twenty.
    optimiser = torch.optim.Adam(parameters, lr=schedule.learning_rate, betas=BETAS, fused=True)
    scratch.mkdir(parents=True, exist_ok=True)
    checkpoint = scratch / "checkpoint.safetensors"
    start, history, running = resume(checkpoint, model, optimiser)
    if among > 1:
        start = sharing.tell(start)
    where = next(model.parameters()).device.type

    def learned(step: int) -> Tensor:
        """The loss of what this process has of a step; its gradients are added up."""
        total = torch.zeros((), device=where)
        for number in (step * schedule.accumulate + batch for batch in own):
            torch.manual_seed(derive_seed(schedule.seed, "step", number))
            with torch.autocast(where, torch.bfloat16, enabled=schedule.bfloat16):
                loss = loss_of(batch_at(number)) / divisor
            torch.autograd.backward(loss)
            total += loss.detach()
        return total

    def take(step: int, loss: float) -> bool:
        """Take a step by the gradients that are there; whether training ends with it."""
        done = step + 1
        if not math.isfinite(loss):
            raise InputError(
                f"{title}: step {done}: the loss became infinite. Lower the learning rate, which "
                f"is {schedule.learning_rate:g}"
            )
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(step)
        nn.utils.clip_grad_norm_(parameters, schedule.clip)
        optimiser.step()
        running.append(loss)
        if done % _TRIM_STEPS == 0:
            _trim_memory()
        ends = done == schedule.steps
        if done % schedule.report_steps == 0 or ends:
            model.eval()
            mean = sum(running) / len(running)
            found = evaluate(done) if evaluate else {}
            history.append({"step": float(done), "loss": mean} | found)
            running.clear()
            figures = {"loss": mean} | dict([*found.items()][:1])
            shown.advance(0, ", ".join(f"{name} {value:.3f}" for name, value in figures.items()))
            ends = ends or (enough is not None and enough(history))
        if done % schedule.checkpoint_steps == 0 and not ends:
            save_checkpoint(checkpoint, model, optimiser, done, history, running)
        return ends

    with bar(title, schedule.steps) as shown:
        shown.advance(start)
        for step in range(start, schedule.steps):
            model.train()
            optimiser.zero_grad(set_to_none=True)
            if among > 1:
                _share_weights(parameters)
            loss = learned(step)
            if among > 1:
                loss = _shared(parameters, loss)
            ends = sharing.rank() == 0 and take(step, loss.item())
            shown.advance()
            if sharing.tell(ends):
                break
    return _agreed(model, parameters, history)


def _sharing_a_step(schedule: Schedule, title: str) -> int:
    """How many processes learn from a step: all, or the first alone."""
    size = sharing.size()
    if schedule.accumulate % size == 0 or schedule.parts % size == 0:
        return size
    if schedule.shared_by is None:
        return 1
    raise InputError(
        f"{title}: {size} processes cannot share a step evenly. Set {schedule.shared_by}, which is "
        f"{max(schedule.accumulate, schedule.parts)}, to as many, or a multiple"
    )


def _followed(model: nn.Module, parameters: list[nn.Parameter]) -> History:
    """`train`, of a process beside one that learns alone."""
    while not sharing.tell(True):  # each step, for nobody is waited for as long as a training takes
        pass
    return _agreed(model, parameters, [])


def _agreed(model: nn.Module, parameters: list[nn.Parameter], history: History) -> History:
    """The first process's history; all have its weights then, in evaluation mode."""
    model.eval()
    if sharing.size() == 1:
        return history
    vector = sharing.tell(nn.utils.parameters_to_vector(parameters).detach().cpu())
    nn.utils.vector_to_parameters(vector.to(parameters[0].device), parameters)
    return sharing.tell(history)


def _trim_memory() -> None:
    """Give freed memory back to the system, where it is glibc that keeps it: batches of ever other
    lengths leave it in pieces, of which a training would hold more and more."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _share_weights(parameters: list[nn.Parameter]) -> None:
    """Give those of the process that builds to all."""
    with torch.no_grad():
        vector = nn.utils.parameters_to_vector(parameters)
        sharing.give(vector)
        nn.utils.vector_to_parameters(vector, parameters)


def _shared(parameters: list[nn.Parameter], loss: Tensor) -> Tensor:
    """The loss of all processes together; the one that builds has all gradients then."""
    reached = [float(each.grad is not None) for each in parameters]
    slopes = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
    more = torch.tensor([*reached, 0.0], device=loss.device)
    more[-1] = loss
    vector = torch.cat((nn.utils.parameters_to_vector(slopes), more))
    sharing.add(vector)
    nn.utils.vector_to_parameters(vector[: -len(more)], slopes)
    for each, slope, times in zip(
        parameters, slopes, vector[-len(more) : -1].tolist(), strict=True
    ):
        each.grad = slope if times else None
    return vector[-1]


def learning(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Names and parameters of what learns."""
    return [named for named in model.named_parameters() if named[1].requires_grad]


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Adam,
    step: int,
    history: History,
    running: list[float],
) -> None:
    """Write what continues a training after `step` steps: weights, moments, history, and the losses
    since its last entry."""
    tensors = {}
    for name, parameter in learning(model):
        tensors[f"weight/{name}"] = parameter.detach().contiguous()
        # A parameter that no loss has reached yet has no moments.
        for moment in {"exp_avg", "exp_avg_sq"} & set(optimiser.state[parameter]):
            tensors[f"{moment}/{name}"] = optimiser.state[parameter][moment].contiguous()
    state = {"step": step, "history": history, "running": running}
    write_tensors(path, tensors, json.dumps(state))


def resume(
    path: Path, model: nn.Module, optimiser: torch.optim.Adam
) -> tuple[int, History, list[float]]:
    """Give a model and its optimiser what a checkpoint holds: the step, the history, and the losses
    since; all of nothing where there is none, or one that is damaged."""
    if not path.is_file():
        return 0, [], []
    known = read_state(path)
    if known is None:
        note(f"{path}: damaged; what it held is trained again")
        return 0, [], []
    state = json.loads(known)
    with safe_open(path, framework="pt") as stored, torch.no_grad():
        names = set(stored.keys())
        for name, parameter in learning(model):
            parameter.copy_(stored.get_tensor(f"weight/{name}"))
            if f"exp_avg/{name}" not in names:
                continue
            # Beside the parameter: on its device, in its number format.
            optimiser.state[parameter] = {
                "step": torch.tensor(float(state["step"]), device=parameter.device),
                "exp_avg": stored.get_tensor(f"exp_avg/{name}").to(parameter),
                "exp_avg_sq": stored.get_tensor(f"exp_avg_sq/{name}").to(parameter),
            }
    return state["step"], state["history"], state["running"]
