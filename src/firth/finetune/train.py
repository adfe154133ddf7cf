"""What labels teach an encoder: a loss of sentence-transformers, and the loop of all trainings.

The library's own trainer keeps checkpoints that are pickles, and leave out what a loss has learned;
by `firth.run.training` what is resumed ends with the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from torch import Tensor, nn

from firth.evaluate.metrics import estimate, undefined
from firth.evaluate.models import EncoderScorer
from firth.evaluate.rows import EvaluationSet
from firth.finetune.data import Examples
from firth.finetune.recipe import Objective, Recipe
from firth.finetune.static import is_static, occurring_words
from firth.run.files import read_json, write_json
from firth.run.parts import InParts
from firth.run.precision import device, number_format
from firth.run.quiet import quiet_libraries
from firth.run.section import Precision
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train
from firth.surrogate.training import Best, moved

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
        InputError: The loss became infinite, or processes are to share a step, and cannot evenly.
    """
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
        looks = _looks(model, examples, batches, recipe, rate, seed, best, scratch, title)
        if dev is None:
            best.take(looks[-1]["step"])
        write_json(done, {"step": best.step, "looks": looks})
    best.restore()
    known = read_json(done)
    return Learned(known["step"], steps, tuple(known["looks"]), rate)


def _looks(
    model: SentenceTransformer,
    examples: Examples,
    batches: list[list[int]],
    recipe: Recipe,
    rate: float,
    seed: int,
    best: Best,
    scratch: Path,
    title: str,
) -> list[dict[str, Any]]:
    """Train; each look at the model, as in `Learned`."""
    where, static = model.device, is_static(model)
    torch.manual_seed(derive_seed(seed, "loss"))
    loss = loss_of(model, recipe.chosen, examples.classes).to(where)
    if not static:
        loss.model = InParts(model, recipe.parts)
    steps = len(batches)
    schedule = Schedule(
        steps=steps,
        learning_rate=rate,
        warmup=int(recipe.warmup * steps),
        checkpoint_steps=recipe.checkpoint_steps,
        seed=seed,
        report_steps=-(-steps // recipe.looks),
        bfloat16=_halved(model),
        parts=1 if static else recipe.parts,
        shared_by=None if static else "parts (--parts)",
    )

    def measured(rows: list[int]) -> Tensor:
        columns = {name: [values[row] for row in rows] for name, values in examples.columns.items()}
        label = columns.pop("label", None)
        features = [moved(model.preprocess(texts), where) for texts in columns.values()]
        found: Tensor = loss(features, None if label is None else torch.tensor(label).to(where))
        return found

    def look(step: int) -> dict[str, float]:
        figure = best.look(step)
        return {} if figure is None else {"dev": figure}

    def enough(history: History) -> bool:
        """Whether the last looks, as many as there is patience for, were no better than before."""
        known = [-np.inf if figure is None else figure
                 for figure in (best.first, *(entry.get("dev") for entry in history))]  # fmt: skip
        since = len(known) - 1 - int(np.argmax(known))
        return recipe.patience is not None and since >= recipe.patience

    history = train(loss, batches.__getitem__, measured, schedule, scratch, title, look, enough)
    told = [
        {"step": int(one["step"]), "loss": round(one["loss"], 6), "figure": one.get("dev")}
        for one in history
    ]
    return [{"step": 0, "figure": best.first}, *told]


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
