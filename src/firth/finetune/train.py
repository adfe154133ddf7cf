"""Training by sentence-transformers' trainer, whose order and chance are functions of the step.

The trainer's own checkpoints are pickles, and leave out what a loss has learned. So it is handed
its batches in an order that follows from the seed, from the step on where a checkpoint of firth's
(`firth.run.training`) stands; dropout is seeded by step. What is resumed ends with the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from torch import Tensor, nn
from torch.utils.data import BatchSampler
from transformers import PrinterCallback, TrainerCallback

from firth.evaluate.metrics import estimate, undefined
from firth.evaluate.models import EncoderScorer
from firth.evaluate.rows import EvaluationSet
from firth.finetune.data import Examples
from firth.finetune.recipe import Objective, Recipe
from firth.finetune.static import is_static, occurring_words
from firth.run import sharing
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.precision import device, number_format
from firth.run.progress import Bar, bar
from firth.run.quiet import quiet_libraries
from firth.run.section import Precision
from firth.run.seeds import derive_seed
from firth.run.training import BETAS, History, Schedule, learning, resume, save_checkpoint
from firth.surrogate.training import Best, PlainTrainer

MARGIN = 1.0
"""Of the triplet objective (Reimers & Gurevych 2019, §3)."""
_DONE = "done.json"


@dataclass(frozen=True)
class Learned:
    """What a training did.

    Attributes:
        step: Whose weights were kept; 0 is the start.
        steps: That were planned.
        looks: Each look at dev: `step`, `loss` (mean since the look before; not at the start) and
            `figure` (the metric of dev, in [-1, 1], None where undefined or without dev).
        rate: The peak learning rate.
    """

    step: int
    steps: int
    looks: tuple[Mapping[str, Any], ...]
    rate: float

    @property
    def figure(self) -> float | None:
        """Of dev, by the weights that were kept."""
        return next((one["figure"] for one in self.looks if one["step"] == self.step), None)

    @property
    def ended(self) -> int:
        """The last step that was taken."""
        return int(self.looks[-1]["step"])


def fit(
    model: SentenceTransformer,
    examples: Examples,
    dev: EvaluationSet | None,
    recipe: Recipe,
    seed: int,
    scratch: Path,
    title: str,
    random: bool = False,
) -> Learned:
    """Train `model` in place; leave it on its device, in evaluation mode, with the best weights.

    Args:
        model: As it was opened: a call that continues is given the same.
        examples: To learn from.
        dev: By which the best weights are known, the start's among them; without it the last stay.
        recipe: How.
        seed: Decides the order of rows, dropout, and what a loss begins with.
        scratch: Holds checkpoints; an interrupted call continues from what it left there, and one
            that ended gives its weights again.
        title: Shown beside the bar.
        random: Whether the weights are random.

    Raises:
        InputError: The loss became infinite, or several processes were started to share it.
    """
    if sharing.size() > 1:
        raise InputError(
            "fine-tuning takes one process: its batches are not shared. Without torchrun"
        )
    scratch.mkdir(parents=True, exist_ok=True)
    static = is_static(model)
    where = torch.device("cpu") if static else device()
    model.to(where)
    rate = recipe.rate(static, random)
    texts = chain(examples.texts, chain.from_iterable(row.texts for row in dev.rows) if dev else ())
    with quiet_libraries(), occurring_words(model, texts):
        found = _fit(model, examples, dev, recipe, rate, seed, scratch, title)
    model.eval()
    return found


def _fit(
    model: SentenceTransformer,
    examples: Examples,
    dev: EvaluationSet | None,
    recipe: Recipe,
    rate: float,
    seed: int,
    scratch: Path,
    title: str,
) -> Learned:
    batches = plan(examples, recipe, derive_seed(seed, "order"))
    steps = len(batches)
    best = Best(model, lambda: None if dev is None else figure_of(model, dev), scratch)
    done = scratch / _DONE
    if not done.is_file():
        torch.manual_seed(derive_seed(seed, "loss"))
        loss = loss_of(model, recipe.chosen, examples.classes).to(model.device)
        schedule = Schedule(
            steps, rate, int(recipe.warmup * steps), recipe.checkpoint_steps, seed,
            -(-steps // recipe.looks), bfloat16=_halved(model),
        )  # fmt: skip
        first = {"step": 0, "figure": best.first}
        history = _train(model, loss, examples, batches, schedule, recipe, best, scratch, title)
        if dev is None:
            best.take(int(history[-1]["step"]))
        write_json(done, {"step": best.step, "looks": [first, *history]})
    best.restore()
    known = read_json(done)
    return Learned(known["step"], steps, tuple(known["looks"]), rate)


def figure_of(model: SentenceTransformer, data: EvaluationSet) -> float | None:
    """A set's first metric of a model's cosines, in [-1, 1]; None where it is undefined."""
    model.eval()
    columns = data.columns(EncoderScorer(model, "").similarities(data.pairs))
    metric = data.task.metrics[0]
    if undefined(metric, *columns):
        return None
    value = estimate(metric, *columns, seed=0, resamples=0).value
    return None if value is None else value / 100


def loss_of(model: SentenceTransformer, objective: Objective, classes: int) -> nn.Module:
    """The loss of sentence-transformers that an objective is."""
    match objective:
        case Objective.SOFTMAX:
            width = model.get_embedding_dimension()
            assert width is not None
            return losses.SoftmaxLoss(model, width, classes)
        case Objective.IN_BATCH:
            return losses.MultipleNegativesRankingLoss(model)
        case Objective.L2:
            return losses.CosineSimilarityLoss(model)
        case Objective.COSENT:
            return losses.CoSENTLoss(model)
        case Objective.ANGLE:
            return losses.AnglELoss(model)
        case Objective.TRIPLET:
            return losses.TripletLoss(model, triplet_margin=MARGIN)


def plan(examples: Examples, recipe: Recipe, seed: int) -> list[list[int]]:
    """The rows of each step of a training, a new order each epoch.

    Where a batch gives the negatives, no text is twice in it: it would be its own negative.
    """
    found = []
    apart = recipe.chosen is Objective.IN_BATCH
    for epoch in range(recipe.passes):
        rng = np.random.default_rng(derive_seed(seed, epoch))
        order = rng.permutation(len(examples)).tolist()
        found += list(_apart(order, examples, recipe.size) if apart else _cut(order, recipe.size))
    return found


def _cut(order: Sequence[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield list(order[start : start + size])


def _apart(order: Sequence[int], examples: Examples, size: int) -> Iterator[list[int]]:
    """Batches without a text twice; a row of its own at the end, which has no negative, is left."""
    waiting = list(order)
    while len(waiting) > 1:
        batch: list[int] = []
        seen: set[str] = set()
        passed: list[int] = []
        for place, row in enumerate(waiting):
            if len(batch) == size:
                passed += waiting[place:]
                break
            texts = set(examples.row(row))
            (passed if seen & texts else batch).append(row)
            seen |= texts if batch and batch[-1] == row else set()
        waiting = passed
        if len(batch) > 1:
            yield batch


def _halved(model: SentenceTransformer) -> bool:
    """Whether to multiply in bfloat16: on an accelerator that does, for a Transformer."""
    where = model.device
    fast = where.type == "cuda" and not is_static(model)
    return fast and number_format(Precision.AUTO, where) is torch.bfloat16


def _train(
    model: SentenceTransformer,
    loss: nn.Module,
    examples: Examples,
    batches: list[list[int]],
    schedule: Schedule,
    recipe: Recipe,
    best: Best,
    scratch: Path,
    title: str,
) -> History:
    optimiser = torch.optim.Adam(
        [parameter for _, parameter in learning(loss)], lr=schedule.learning_rate, betas=BETAS,
        fused=True,
    )  # fmt: skip
    start, history, running = resume(scratch / "checkpoint.safetensors", loss, optimiser)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: schedule.rate(start + step) / schedule.learning_rate
    )
    left: Any = lambda *_, **__: _Batches(batches[start:])  # noqa: E731
    with bar(title, schedule.steps) as shown:
        shown.advance(start)
        watch = _Watch(loss, optimiser, schedule, recipe.patience, best, scratch, shown,
                       start, history, running)  # fmt: skip
        trainer = PlainTrainer(
            model=model,
            args=SentenceTransformerTrainingArguments(
                output_dir=str(scratch / "trainer"),
                max_steps=schedule.steps - start,
                per_device_train_batch_size=recipe.size,
                batch_sampler=left,
                max_grad_norm=schedule.clip,
                bf16=schedule.bfloat16,
                use_cpu=model.device.type == "cpu",
                save_strategy="no",
                eval_strategy="no",
                logging_strategy="no",
                report_to="none",
                disable_tqdm=True,
                dataloader_pin_memory=False,
            ),
            train_dataset=Dataset.from_dict(dict(examples.columns)),
            loss=loss,
            optimizers=(optimiser, scheduler),
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        hook = loss.register_forward_hook(watch.hear)
        trainer.train()
        hook.remove()
    return watch.history


class _Batches(BatchSampler):
    """Batches that are known already."""

    def __init__(self, batches: list[list[int]]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)


class _Watch(TrainerCallback):
    """Seeds each step, listens to the loss, looks at dev, keeps checkpoints, and stops in time."""

    def __init__(
        self,
        loss: nn.Module,
        optimiser: torch.optim.Adam,
        schedule: Schedule,
        patience: int | None,
        best: Best,
        scratch: Path,
        shown: Bar,
        start: int,
        history: History,
        running: list[float],
    ) -> None:
        self._loss, self._optimiser, self._schedule = loss, optimiser, schedule
        self._patience, self._best, self._shown = patience, best, shown
        self._checkpoint = scratch / "checkpoint.safetensors"
        self._start, self.history, self._running = start, history, running

    def hear(self, module: nn.Module, given: Any, loss: Tensor) -> None:
        """Take the loss of a step."""
        self._running.append(float(loss.detach()))

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Chance is a function of the step."""
        step = self._start + state.global_step
        torch.manual_seed(derive_seed(self._schedule.seed, "step", step))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Look, stop, or keep what is there, where it is due."""
        done = self._start + state.global_step
        if not np.isfinite(self._running[-1]):
            raise InputError(
                f"step {done}: the loss became infinite. Lower the rate (--learning-rate, which is "
                f"{self._schedule.learning_rate:g})"
            )
        if done % self._schedule.report_steps == 0 or done == self._schedule.steps:
            mean = round(sum(self._running) / len(self._running), 6)
            figure: Any = self._best.look(done)
            self.history.append({"step": done, "loss": mean, "figure": figure})
            self._running.clear()
            said = "" if figure is None else f", dev {figure:.3f}"
            self._shown.advance(0, f"loss {mean:.3f}{said}")
            if self._patience is not None and self._since_best() >= self._patience:
                control.should_training_stop = True
        ended = control.should_training_stop or done == self._schedule.steps
        if done % self._schedule.checkpoint_steps == 0 and not ended:
            save_checkpoint(self._checkpoint, self._loss, self._optimiser, done, self.history,
                            self._running)  # fmt: skip
        self._shown.advance()

    def _since_best(self) -> int:
        """Looks in a row that were no better than one before."""
        figures = [self._best.first, *(entry["figure"] for entry in self.history)]
        known = [-np.inf if figure is None else figure for figure in figures]
        return len(known) - 1 - int(np.argmax(known))
