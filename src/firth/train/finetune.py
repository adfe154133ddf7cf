"""Fine-tuning: an encoder learns from labels; dev chooses the best weights, test measures them.

The columns of the data decide what is learned: labels of inference, scores of pairs, or triplets.
The losses are those of sentence-transformers, in firth's training loop.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from torch import Tensor, nn
from torch.nn import functional

from firth.encoders.folder import PretrainedFiles
from firth.encoders.transformer import device, open_sentence_transformer
from firth.evaluation.bootstrap import Estimate, bootstrap_seed, estimate
from firth.evaluation.files import NLI
from firth.evaluation.metrics import Metric, measure, metric_sample, undefined
from firth.evaluation.sets import ALL, EvaluationSet, evaluation_set, load_set
from firth.run.console import quiet_libraries, table
from firth.run.errors import InputError
from firth.run.outputs import write_folder
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Fill
from firth.text.types import Floats, Ints
from firth.train.loop import Best, Schedule, has_bfloat16, train
from firth.train.students import (
    BiEncoder,
    TrainedFolder,
    is_static,
    on_device,
    save_trained,
    shown_name,
)

TRAIN, DEV, TEST = "train", "dev", "test"
_FEWEST = 8
"""Rows to learn from, at least."""
_SHARE = 0.1
"""Share of the rows that is drawn for dev, and for test, where the data have none."""
_LOOKS = 10
_MARGIN = 1.0
"""Of the triplet loss (Reimers & Gurevych 2019, §3)."""
_OBJECTIVES = {
    # Softmax, the papers' choice, ruins word vectors.
    "inference": ("in-batch", "softmax"),
    "scored pairs": ("l2",),
    "triplets": ("triplet", "in-batch"),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to learn.

    Objectives: `in-batch` is multiple negatives ranking (Henderson et al. 2017), `softmax` a
    classifier over (u, v, |u - v|) (Reimers & Gurevych 2019), `l2` the squared difference of cosine
    and score, and `triplet` a margin of Euclidean distances. `rate` is the peak of Adam's rate;
    None chooses by kind and encoder.
    """

    kind: str
    """What the data are: `inference`, `scored pairs` or `triplets`."""
    objective: str
    epochs: int
    batch: int
    rate: float | None
    seed: int


def recipe_for(
    data: EvaluationSet, objective: str | None, epochs: int | None, rate: float | None, seed: int
) -> Recipe:
    """Return the recipe for data; what is not given follows from the data."""
    is_nli = {row.label for row in data.rows} == {*NLI}
    kind = "triplets" if data.is_triplets else "inference" if is_nli else "scored pairs"
    chosen = objective or _OBJECTIVES[kind][0]
    if chosen not in _OBJECTIVES[kind]:
        expected = " or ".join(_OBJECTIVES[kind])
        raise InputError(f"got objective {objective} for {kind}; expected {expected}")
    batch = 64 if chosen == "in-batch" else 16
    return Recipe(
        kind=kind,
        objective=chosen,
        epochs=epochs or (4 if kind == "scored pairs" else 1),
        batch=batch,
        rate=rate,
        seed=seed,
    )


def finetune(
    encoder: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    objective: str | None = None,
    epochs: int | None = None,
    learning_rate: float | None = None,
    seed: int = 13,
    force: bool = False,
) -> TrainedFolder:
    """Fine-tune an encoder on labels, and save the best weights by dev.

    Args:
        encoder: Folder or hub name of an encoder, such as `RUN/static`.
        data: File of pairs or triplets, or name of a set; it may end in `:SPLIT`. Without a split,
            `train` is learned from, `dev` chooses the best weights, and `test` measures them. A
            tenth of the rows is drawn for each of them that is missing.
        out: Folder of the result.
        data_dir: Folder with the evaluation sets.
        objective: See `Recipe`. By default the data decide.
        epochs: Passes over the rows. By default 4 for scored pairs, else 1.
        learning_rate: Peak of Adam's rate. By default 2e-5; 5e-4 or 2e-3 for word vectors.
        seed: Decides every draw.
        force: Replace another result in `out`.

    Raises:
        InputError: Data or encoder cannot be used. Nothing is trained then.
    """
    parts, notes = gather(data, data_dir, seed)
    recipe = recipe_for(parts[TRAIN], objective, epochs, learning_rate, seed)
    check(parts, recipe)
    test = parts.get(TEST)
    fingerprints = {name: part.fingerprint for name, part in parts.items()}

    def fill(workspace: Path) -> Mapping[str, Any]:
        model = open_sentence_transformer(str(encoder))
        before = None if test is None else similarities(model, test)
        learned = fit(model, parts, recipe, derive_seed(seed, "finetune"), workspace / SCRATCH)
        report: dict[str, Any] = {
            "encoder": shown_name(encoder),
            "recipe": asdict(recipe),
            "data": {
                name: {"name": part.name, "rows": len(part.rows), "metric": part.metrics[0].value}
                for name, part in parts.items()
            },
            "learned": learned,
            "test": {},
            "notes": notes,
        }
        if test is not None and before is not None:
            rows, after = [np.arange(len(test.rows))], similarities(model, test)
            report["test"] = figures_of(test, rows, before, after, seed)
        report["lines"] = lines_of(report)
        save_trained(workspace, model, "A sentence encoder, fine-tuned with firth", report)
        return {name: report[name] for name in ("encoder", "test", "notes")}

    settings = {"recipe": asdict(recipe), "data": fingerprints}
    return TrainedFolder.open(out, write_finetuned(encoder, out, fill, settings, force))


def write_finetuned(
    encoder: str | Path, out: str | Path, fill: Fill, settings: Mapping[str, Any], force: bool
) -> bool:
    """Fill a folder with what an encoder has learned; return whether it was there already."""
    with quiet_libraries():
        open_sentence_transformer(str(encoder))  # A refused encoder ends here, before any work.
        inputs = {"encoder": PretrainedFiles.find(str(encoder)).fingerprint}
        return write_folder(
            out, fill, command="train finetune", settings=settings, inputs=inputs, force=force
        ).reused


# --- Data ---------------------------------------------------------------------------------------


Parts = dict[str, EvaluationSet]
"""What is learned from, `train`; what chooses, `dev`; what measures, `test`: as far as it is there.
No row is in two of them."""


def check(parts: Parts, recipe: Recipe) -> None:
    """Raise `InputError` with everything of the rows that cannot be learned or measured."""
    problems = []
    columns, labels = columns_of(parts[TRAIN], recipe)
    if (count := len(columns[0]) if columns else 0) < _FEWEST:
        problems.append(f"train: {count} examples to learn from; expected {_FEWEST} or more")
    elif labels is not None and len({*labels}) < 2:
        problems.append("train: all scores are equal; expected different ones")
    for name, part in parts.items():
        both = part.columns(np.arange(float(len(part.pairs))))
        if name != TRAIN and (why := undefined(part.metrics[0], *both)):
            problems.append(f"{name}: {why}")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"the data cannot be used, and nothing was trained:{lines}")


def gather(data: str | Path, data_dir: str | Path | None, seed: int) -> tuple[Parts, list[str]]:
    """Load what is learned from, load or draw dev and test, and return notes too."""
    splits = load_splits(data, data_dir)
    name, train = next(iter(splits.items()))
    if len(splits) > 1 and name != TRAIN:
        raise InputError(f"{data}: no split {TRAIN}. Name the split to learn from: {data}:{name}")
    dev_and_test: Parts = {}
    notes = []
    for part in (TEST, DEV):
        if len(splits) > 1 and part in splits:
            dev_and_test[part] = splits[part]
        elif drawn := divided(train, derive_seed(seed, "finetune", part), part):
            train, dev_and_test[part] = drawn
            notes.append(f"A tenth of the rows was drawn at random for {part}.")
    for part, rows in dev_and_test.items():
        before, train = len(train.rows), train.without(rows)
        if gone := before - len(train.rows):
            notes.append(f"{gone:,} rows were not learned from: their texts are in {part}.")
    if len(dev_and_test) == 2:
        dev_and_test[DEV] = dev_and_test[DEV].without(dev_and_test[TEST])
    return {TRAIN: train, **dict(reversed(dev_and_test.items()))}, notes


def load_splits(name: str | Path, data_dir: str | Path | None) -> dict[str, EvaluationSet]:
    """Return the splits of a file or set, train first; or that of `NAME:SPLIT`."""
    if ":" in str(name) and not Path(name).is_file():
        only = load_set(str(name), data_dir)
        return {only.split: only}
    sets: dict[str, EvaluationSet] = {}
    for split in (TRAIN, DEV, TEST):
        with suppress(InputError):
            sets[split] = load_set(f"{name}:{split}", data_dir)
    return sets or {ALL: load_set(f"{name}:{ALL}", data_dir)}


def divided(
    data: EvaluationSet, seed: int, part: str
) -> tuple[EvaluationSet, EvaluationSet] | None:
    """Return a set without a random tenth of its rows, and that tenth; None for a small set."""
    count = len(data.rows)
    size = max(3, round(_SHARE * count))
    if count - size < _FEWEST:
        return None
    mixed = np.random.default_rng(seed).permutation(count)
    return chosen_rows(data, mixed[size:]), chosen_rows(data, mixed[:size], part)


def chosen_rows(data: EvaluationSet, places: Iterable[int], split: str = "") -> EvaluationSet:
    """Return a set with the rows of some places."""
    rows = [data.rows[place] for place in places]
    return evaluation_set(data.name, split or data.split, rows, data.metrics, data.source)


# --- Training -----------------------------------------------------------------------------------


def fit(
    model: SentenceTransformer,
    parts: Parts,
    recipe: Recipe,
    seed: int,
    scratch: Path,
    title: str = "Fine-tuning",
) -> dict[str, Any]:
    """Train a model in place, and leave it with the weights that are best on dev, else the last.

    A call that resumes from `scratch` needs the model as it was opened. `seed` decides the order of
    rows, dropout, and first weights of a loss.

    Returns:
        `step` (of the kept weights), `steps`, `rate`, `start` (its figure on dev) and `history`.
    """
    where = torch.device("cpu") if is_static(model) else device()
    model.to(where)
    columns, labels = columns_of(parts[TRAIN], recipe)
    batches = plan(columns, recipe, derive_seed(seed, "order"))
    dev, steps = parts.get(DEV), len(batches)
    of_words = 5e-4 if recipe.kind == "scored pairs" else 2e-3
    rate = recipe.rate or (of_words if is_static(model) else 2e-5)

    def figure() -> float | None:
        if dev is None:
            return None
        both = dev.columns(similarities(model, dev))
        value = measure(dev.metrics[0], *both, seed=0, resamples=0).value
        return None if value is None else value / 100

    texts = {text for column in columns for text in column}
    texts |= {text for row in dev.rows for text in row.texts} if dev else set()
    with occurring_words(model, texts):
        best = Best(model, figure, scratch, DEV)
        torch.manual_seed(derive_seed(seed, "loss"))
        loss = loss_of(model, recipe.objective).to(where)

        def loss_of_rows(rows: list[int]) -> Tensor:
            inputs = [model.preprocess([column[row] for row in rows]) for column in columns]
            goals = None if labels is None else torch.tensor([labels[row] for row in rows])
            features = [on_device(features_of, where) for features_of in inputs]
            value: Tensor = loss(features, None if goals is None else goals.to(where))
            return value

        half = where.type == "cuda" and has_bfloat16(where)
        schedule = Schedule.of(steps, rate, seed, reports=_LOOKS, bfloat16=half)
        history = train(
            loss, batches.__getitem__, loss_of_rows, schedule, scratch, title, best.look
        )
        if dev is None:
            best.keep(steps)
        best.restore()
    model.eval()
    known = {"step": best.step, "steps": steps, "rate": rate}
    return known | {"start": best.start, "history": history}


def columns_of(
    data: EvaluationSet, recipe: Recipe
) -> tuple[list[list[str]], list[float] | list[int] | None]:
    """Return columns of texts, and labels where the objective needs them; scores lie in [0, 1].

    Inference becomes triplets for in-batch: a premise, an entailment and a contradiction (Gao et
    al. 2021, §4). The shorter list of a premise is repeated; premises that lack either are left
    out.
    """
    rows: Sequence[tuple[str, ...]] = [row.texts for row in data.rows]
    if recipe.kind == "inference" and recipe.objective == "in-batch":
        by_premise: dict[str, dict[str, list[str]]] = {}
        for row in data.rows:
            of_premise = by_premise.setdefault(row.texts[0], {label: [] for label in NLI})
            of_premise[row.label].append(row.texts[1])
        rows = [
            (premise, yes[n % len(yes)], no[n % len(no)])
            for premise, texts in by_premise.items()
            if (yes := texts[NLI[0]]) and (no := texts[NLI[2]])
            for n in range(max(len(yes), len(no)))
        ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    if recipe.objective == "softmax":
        return columns, [NLI.index(row.label) for row in data.rows]
    scores = data.scores
    scaled = (scores - scores.min()) / (np.ptp(scores) or 1.0)
    return columns, scaled.tolist() if recipe.objective == "l2" else None


def plan(columns: Sequence[Sequence[str]], recipe: Recipe, seed: int) -> list[list[int]]:
    """Return the rows of each step; each epoch has another order.

    In a batch whose rows are negatives of each other no text occurs twice: it would be a
    negative of itself. A single row at the end, which has no negative, is left out.
    """
    in_batch = recipe.objective == "in-batch"
    batches = []
    for epoch in range(recipe.epochs):
        rng = np.random.default_rng(derive_seed(seed, epoch))
        waiting = deque(rng.permutation(len(columns[0])).tolist())
        while len(waiting) > in_batch:
            batch: list[int] = []
            later: list[int] = []
            seen: set[str] = set()
            while waiting and len(batch) < recipe.batch:
                row = waiting.popleft()
                texts = {column[row] for column in columns} if in_batch else set()
                (later if seen & texts else batch).append(row)
                seen |= texts
            waiting.extendleft(reversed(later))
            if len(batch) > in_batch:
                batches.append(batch)
    return batches


def loss_of(model: SentenceTransformer, objective: str) -> Any:
    """Return the loss of sentence-transformers for an objective."""
    if objective == "softmax":
        return losses.SoftmaxLoss(model, model.get_embedding_dimension() or 0, len(NLI))
    if objective == "in-batch":
        return losses.MultipleNegativesRankingLoss(model)
    if objective == "triplet":
        return losses.TripletLoss(model, triplet_margin=_MARGIN)
    return losses.CosineSimilarityLoss(model)


class _Rows(nn.Module):
    """Some rows of a table of word vectors."""

    place: Tensor

    def __init__(self, whole: nn.EmbeddingBag, rows: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach()[rows].clone())
        place = torch.zeros(whole.num_embeddings, dtype=torch.long)
        place[rows] = torch.arange(len(rows))
        self.register_buffer("place", place, persistent=False)

    def forward(self, numbers: Tensor, offsets: Tensor) -> Tensor:
        return functional.embedding_bag(self.place[numbers], self.weight, offsets, mode="mean")


@contextmanager
def occurring_words(model: SentenceTransformer, texts: Iterable[str]) -> Iterator[None]:
    """Restrict a static model, inside, to the words of some texts; other models stay as they are.

    Adam leaves rows without gradients as they are. So the words of the texts learn what they would
    in the whole table, in a thousandth of the time. At the end the whole table is back.
    """
    first: Any = model[0]
    if not is_static(model):
        yield
        return
    encodings = first.tokenizer.encode_batch(sorted(texts), add_special_tokens=False)
    rows = torch.tensor(sorted({0}.union(*(encoding.ids for encoding in encodings))))
    table: nn.EmbeddingBag = first.embedding
    first.embedding = _Rows(table, rows)
    try:
        yield
    finally:
        with torch.no_grad():
            table.weight[rows] = first.embedding.weight
        first.embedding = table


# --- Figures ------------------------------------------------------------------------------------


def similarities(model: SentenceTransformer, data: EvaluationSet) -> Floats:
    """Return the cosines of the pairs of a set."""
    return BiEncoder(model.eval()).similarities(data.pairs)


def figures_of(
    data: EvaluationSet, groups: Sequence[Ints], before: Floats, after: Floats, seed: int
) -> dict[str, dict[str, Any]]:
    """Return metric → the mean over groups of rows: `start`, `fine-tuned`, and `difference`.

    `before` and `after` are the cosines of the pairs of `data` by the start and by the fine-tuned
    model; the seed decides the resamples.
    """

    def measured(metric: Metric, *systems: Floats) -> dict[str, Any]:
        samples = [
            metric_sample(
                metric,
                [(x[rows], y[rows]) for x, y in map(data.columns, systems)],
                bootstrap_seed(seed, data.name, metric.value, number),
            )
            for number, rows in enumerate(groups)
        ]
        return asdict(estimate(samples))

    return {
        metric.value: {
            "start": measured(metric, before),
            "fine-tuned": measured(metric, after),
            "difference": measured(metric, after, before),
        }
        for metric in data.metrics
    }


def figure_rows(figures: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return lines of a table: name of a figure, start, fine-tuned, difference."""
    rows = [["", "start", "fine-tuned", "difference"]]
    for name, by_model in figures.items():
        estimates = {which: Estimate(**values) for which, values in by_model.items()}
        rows.append(
            [
                name,
                str(estimates["start"]),
                str(estimates["fine-tuned"]),
                estimates["difference"].signed,
            ]
        )
    return rows


def lines_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a report says, for the screen and the card."""
    learned, recipe = report["learned"], report["recipe"]
    sizes = ", ".join(f"{part_of['rows']:,} {part}" for part, part_of in report["data"].items())
    lines = [
        f"{report['encoder']}: {recipe['kind']}, objective {recipe['objective']}, rows: {sizes}.",
        f"{recipe['epochs']} epochs in batches of {recipe['batch']}, peak learning rate "
        f"{learned['rate']:g}, seed {recipe['seed']}. Step {learned['step']:,} of "
        f"{learned['steps']:,} was kept, the best of dev.",
    ]
    if not learned["step"]:
        lines.append("Warning: the start was kept, because no step was better on dev.")
    if DEV not in report["data"]:
        lines[1] = lines[1].replace("the best of dev", "the last, because there is no dev")
    if report["test"]:
        named = {f"test {metric}": figure for metric, figure in report["test"].items()}
        lines.append(table(figure_rows(named)))
    return [*lines, *report["notes"]]
