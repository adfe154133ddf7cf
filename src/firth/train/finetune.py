"""Fine-tuning: an encoder learns from labels; dev chooses the best weights, test measures them.

The columns of the data decide what is learned: labels of inference, scores of pairs, or triplets.
The losses are those of sentence-transformers, in firth's training loop.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from torch import Tensor, nn
from torch.nn import functional

from firth.encoders.transformer import open_sentence_transformer
from firth.evaluate.bootstrap import Estimate, bootstrap_seed
from firth.evaluate.files import NLI, read_pair_file
from firth.evaluate.metrics import BINARY, Metric, measure, measure_difference, undefined
from firth.evaluate.sets import ALL, TASKS, EvaluationSet, evaluation_set, load_set, set_of_file
from firth.run.console import table
from firth.run.errors import FirthError, InputError
from firth.run.files import read_json, write_json
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.text.arrays import Floats
from firth.train.loop import Best, Schedule, device, has_bfloat16, train
from firth.train.students import (
    REPORT,
    BiEncoder,
    TrainedFolder,
    is_static,
    on_device,
    save_model,
    shown_name,
    write_card,
)

TRAIN, DEV, TEST = "train", "dev", "test"
FEWEST = 8
"""Rows to learn from, at least."""
_DEV_NAMES = (DEV, "trial")
_LOOKS = 10
_WARMUP = 0.1
_CHECKPOINT_STEPS = 500
_MARGIN = 1.0
"""Of the triplet loss (Reimers & Gurevych 2019, §3)."""
_OBJECTIVES = {
    "inference": ("in-batch", "softmax"),
    "scored pairs": ("l2",),
    "triplets": ("triplet", "in-batch"),
}
"""What data are, and what can be learned from them, the default first. Softmax on inference is the
choice of the papers, and ruins word vectors."""
_EPOCHS = {"inference": 1, "scored pairs": 4, "triplets": 1}
_STATIC_RATES = {"inference": 2e-3, "scored pairs": 5e-4, "triplets": 2e-3}
_RATE = 2e-5


class Finetuned(TrainedFolder):
    """A fine-tuned encoder; its report holds data, settings, figures of test, and a threshold."""

    def text(self) -> str:
        """Return the report for a screen."""
        return "\n".join([self.report["encoder"], *report_lines(self.report)])


@dataclass(frozen=True)
class Recipe:
    """How to learn.

    Attributes:
        kind: `inference`, `scored pairs` or `triplets`.
        objective: `in-batch` (multiple negatives ranking, Henderson et al. 2017), `softmax`
            (Reimers & Gurevych 2019), `l2` (squared difference of cosine and score) or `triplet`.
        epochs: Passes over the training rows.
        batch: Rows in a step.
        learning_rate: Peak of Adam's rate; None chooses by the encoder.
        patience: Looks at dev without a gain after which training stops; None: never.
    """

    kind: str
    objective: str
    epochs: int
    batch: int
    learning_rate: float | None = None
    patience: int | None = None

    @classmethod
    def of(
        cls,
        data: EvaluationSet,
        objective: str | None,
        epochs: int | None,
        batch: int | None,
        **more: Any,
    ) -> "Recipe":
        """Return the recipe for data, with usual values where none are given (SBERT's).

        Raises:
            InputError: The data cannot be learned by this objective.
        """
        labels = {row.label for row in data.rows}
        kind = "triplets" if data.triplets else "inference" if labels == {*NLI} else "scored pairs"
        known = _OBJECTIVES[kind]
        if objective is not None and objective not in known:
            raise InputError(
                f"objective: got {objective} for {kind}. Expected {' or '.join(known)}."
            )
        chosen = objective or known[0]
        size = batch or (64 if chosen == "in-batch" else 16)
        if chosen == "in-batch" and size < 2:
            raise InputError("batch: got 1 for in-batch, whose negatives are the other rows.")
        return cls(kind, chosen, epochs or _EPOCHS[kind], size, **more)

    def rate(self, static: bool) -> float:
        """Return the peak rate: as given, else what suits word vectors or a Transformer."""
        return self.learning_rate or (_STATIC_RATES[self.kind] if static else _RATE)


def finetune(
    encoder: str | Path,
    data: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    objective: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    limit: int | None = None,
    seed: int = 13,
    force: bool = False,
) -> Finetuned:
    """Fine-tune an encoder on labels, and save the best weights by dev.

    Args:
        encoder: Folder or hub name of an encoder, such as `RUN/encoder`.
        data: Files of pairs or triplets, or names of sets; each may end in `:SPLIT`. Without a
            split, `train` is learned from, and `dev` and `test` are used as such. A tenth of the
            rows is drawn for each of them that is missing.
        out: Folder of the result.
        dev: File or set that chooses the best weights.
        test: File or set that measures.
        data_dir: Folder with the evaluation sets.
        columns: Names in the files of columns without usual names (`read_pair_file`).
        objective: See `Recipe`. By default the data decide.
        epochs: Passes over the rows. By default 1 for inference and triplets, else 4.
        batch: Rows in a step. By default 64 for in-batch, else 16.
        learning_rate: Peak of Adam's rate. By default 2e-5; 5e-4 or 2e-3 for word vectors.
        patience: Looks at dev (there are ten) without a gain after which training stops.
        limit: Random rows to learn from. A smaller number gives a part of a larger one's rows.
        seed: Decides every draw.
        force: Replace another result in `out`.

    Raises:
        InputError: Data, encoder or a number cannot be used. Nothing is trained then.
    """
    parts = gather(data, dev, test, data_dir, columns, seed)
    recipe = Recipe.of(
        parts.train, objective, epochs, batch, learning_rate=learning_rate, patience=patience
    )
    if limit is not None:
        parts = replace(parts, train=parts.train.sampled(limit, seed))
    check_rows(parts, recipe)
    settings = {
        "recipe": asdict(recipe),
        "data": {name: one.fingerprint for name, one in parts.named.items()},
        "seed": seed,
    }

    def fill(workspace: Path) -> Mapping[str, Any]:
        return _fill(workspace, str(encoder), parts, recipe, seed)

    return Finetuned.build(encoder, out, fill, settings, force)


def _fill(
    workspace: Path, encoder: str, parts: "Parts", recipe: Recipe, seed: int
) -> Mapping[str, Any]:
    model = open_sentence_transformer(encoder)
    before = None if parts.test is None else similarities(model, parts.test)
    scratch = workspace / SCRATCH / "training"
    learned = fit(
        model, parts.train, parts.dev, recipe, derive_seed(seed, "finetune"), scratch, "Fine-tuning"
    )
    test = None
    if parts.test is not None and before is not None:
        test = compared(parts.test, before, similarities(model, parts.test), seed)
    notes = list(parts.notes)
    if parts.dev is None:
        notes.append("There are no dev rows, so the last weights were kept.")
    elif learned["step"] == 0:
        notes.append(
            "Dev was never better than at the start, and the start was kept. Another learning rate "
            "or more rows may teach more."
        )
    report = {
        "encoder": shown_name(encoder),
        "data_kind": recipe.kind,
        "settings": asdict(recipe) | {"seed": seed},
        "data": {
            name: {"name": one.name, "rows": len(one.rows), "metric": one.metrics[0].value}
            for name, one in parts.named.items()
        },
        "learned": learned,
        "test": test,
        "threshold": None if parts.dev is None else best_threshold(parts.dev, model),
        "notes": notes,
    }
    save_model(model, workspace)
    write_json(workspace / REPORT, report)
    rows = f"{len(parts.train.rows):,} rows of {recipe.kind}"
    write_card(
        workspace,
        "A fine-tuned sentence encoder",
        f"`{report['encoder']}`, fine-tuned with firth on {rows} ({parts.train.name}).",
        {"Figures": "```text\n" + "\n".join(report_lines(report)) + "\n```"},
    )
    return {"encoder": report["encoder"], "test": test, "notes": notes}


# Data.


@dataclass(frozen=True, eq=False)
class Parts:
    """What is learned from, what chooses, what measures. No row is in two parts."""

    train: EvaluationSet
    dev: EvaluationSet | None
    test: EvaluationSet | None
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, EvaluationSet]:
        """The parts that are there."""
        every = {TRAIN: self.train, DEV: self.dev, TEST: self.test}
        return {name: one for name, one in every.items() if one is not None}


def gather(
    data: str | Path | Sequence[str | Path],
    dev: str | Path | None,
    test: str | Path | None,
    data_dir: str | Path | None,
    columns: Mapping[str, str] | None,
    seed: int,
) -> Parts:
    """Load what is learned from, and load or draw dev and test; see `finetune`.

    Raises:
        InputError: A set cannot be loaded, or no rows are left to learn from.
    """
    names = [data] if isinstance(data, str | Path) else list(data)
    if not names:
        raise InputError("data: got no file or set to learn from.")
    sources = [load_splits(name, data_dir, columns) for name in names]
    rows = [_to_learn(str(name), one) for name, one in zip(names, sources, strict=True)]
    learned = joined(rows, TRAIN)
    several = [one for one in sources if len(one) > 1]
    parts: dict[str, EvaluationSet | None] = {}
    notes = []
    for part, given, splits in ((TEST, test, (TEST,)), (DEV, dev, _DEV_NAMES)):
        found = [one[split] for one in several for split in splits if split in one]
        if given is not None:
            parts[part] = joined([*load_splits(given, data_dir, columns).values()], part)
        elif found:
            parts[part] = joined(found, part)
        else:
            drawn = derive_seed(seed, "finetune", part)
            learned, parts[part] = divided(learned, drawn, part)
            if parts[part] is not None:
                notes.append(f"A tenth of the rows was drawn at random for {part}.")
    for part in (DEV, TEST):
        if (one := parts[part]) is not None:
            before = len(learned.rows)
            learned = learned.without(one)
            if gone := before - len(learned.rows):
                notes.append(f"{gone:,} rows were not learned from: their texts are in {part}.")
    if parts[DEV] is not None and parts[TEST] is not None:
        parts[DEV] = parts[DEV].without(parts[TEST])
    return Parts(learned, parts[DEV], parts[TEST], tuple(notes))


def load_splits(
    name: str | Path, data_dir: str | Path | None, columns: Mapping[str, str] | None
) -> dict[str, EvaluationSet]:
    """Return the splits of a file or set, with scores in [0, 1]; `NAME:SPLIT` gives this one.

    Raises:
        InputError: There is no such file, set or split.
    """
    base, _, split = str(name).rpartition(":")
    if Path(name).is_file() or not base or "/" in split:
        base, split = str(name), ""
    if base in TASKS:
        low, high = TASKS[base].scale
        every, problem = {}, None
        for one in [split] if split else TASKS[base].splits:
            try:
                every[one] = load_set(f"{base}:{one}", data_dir)
            except FirthError as error:
                problem = error
        if not every and problem:
            raise problem
        if len(every) > 1:
            every.pop(ALL, None)
    else:
        path = Path(base)
        if not path.is_file() and data_dir is not None:
            files = (Path(data_dir) / base / f"{kind}.tsv" for kind in ("pairs", "triplets"))
            path = next((file for file in files if file.is_file()), path)
        file = read_pair_file(path, columns)
        low, high = min(row.score for row in file.rows), max(row.score for row in file.rows)
        if any(row.label for row in file.rows):
            low, high = 0.0, 1.0
        splits = [split] if split else sorted({row.split for row in file.rows})
        title = base if path != Path(base) else ""
        every = {one or ALL: set_of_file(file, one or ALL, title) for one in splits}
    return {one: _scaled(found, low, high) for one, found in every.items()}


def _scaled(data: EvaluationSet, low: float, high: float) -> EvaluationSet:
    if data.triplets or low == high or (low, high) == (0.0, 1.0):
        return data
    rows = tuple(replace(row, score=(row.score - low) / (high - low)) for row in data.rows)
    return replace(data, rows=rows)


def _to_learn(name: str, splits: Mapping[str, EvaluationSet]) -> EvaluationSet:
    for one in (TRAIN, ALL):
        if one in splits:
            return splits[one]
    (split, data), *others = splits.items()
    if others or not name.endswith(f":{split}"):
        raise InputError(
            f"{name} has no split {TRAIN}. It has {', '.join(splits)}. To learn from one of these "
            f"all the same, name it: {name}:{split}"
        )
    return data


def joined(sets: Sequence[EvaluationSet], split: str) -> EvaluationSet:
    """Return several sets as one."""
    first = sets[0]
    if len({one.triplets for one in sets}) > 1:
        raise InputError("data: got pairs and triplets. Fine-tune on one kind at a time.")
    if len(sets) == 1:
        return replace(first, split=split)
    name = "+".join(dict.fromkeys(one.name for one in sets))
    rows = [row for one in sets for row in one.rows]
    return evaluation_set(name, split, rows, first.metrics, ", ".join(one.source for one in sets))


def divided(
    data: EvaluationSet, seed: int, part: str, share: float = 0.1
) -> tuple[EvaluationSet, EvaluationSet | None]:
    """Return a set without a random share of its rows, and that share; None of a small set."""
    count = len(data.rows)
    size = max(3, round(share * count))
    if count < FEWEST or count - size < FEWEST:
        return data, None
    mixed = np.random.default_rng(seed).permutation(count)
    return data.only(np.sort(mixed[size:])), replace(data.only(np.sort(mixed[:size])), split=part)


def check_rows(parts: Parts, recipe: Recipe) -> None:
    """Raise `InputError` with everything of the rows that cannot be learned or measured."""
    problems = []
    if (count := len(parts.train.rows)) < FEWEST:
        problems.append(f"train: {count} rows; expected {FEWEST} or more")
    if recipe.kind == "scored pairs" and len({row.score for row in parts.train.rows}) < 2:
        problems.append("train: all scores are equal; expected different ones")
    paired = recipe.kind != "inference" or recipe.objective != "in-batch"
    if not paired and not contradicted(parts.train):
        problems.append(
            "train: no premise has both an entailment and a contradiction, which in-batch needs; "
            "expected some, or objective softmax"
        )
    for name, part in ((DEV, parts.dev), (TEST, parts.test)):
        if part is not None:
            x, y = part.columns(np.arange(float(len(part.pairs))))
            if why := undefined(part.metrics[0], x, y):
                problems.append(f"{name}: {why}")
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"The data cannot be used, and nothing was trained:{lines}")


# Training.


def fit(
    model: SentenceTransformer,
    data: EvaluationSet,
    dev: EvaluationSet | None,
    recipe: Recipe,
    seed: int,
    scratch: Path,
    title: str,
) -> dict[str, Any]:
    """Train a model in place, and leave it with the weights that are best on dev.

    Args:
        model: A model as it was opened; a call that resumes needs the same.
        data: Rows to learn from.
        dev: Rows that choose; the start may win. None keeps the last weights.
        recipe: How to learn.
        seed: Decides the order of rows, dropout, and the weights of a loss.
        scratch: Folder of checkpoints. A finished call is not repeated.
        title: Shown with the progress bar.

    Returns:
        `step` (of the kept weights), `steps`, `rate`, `dev` (their figure) and `looks`.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    static = is_static(model)
    where = torch.device("cpu") if static else device()
    model.to(where)
    columns, labels = examples_of(data, recipe)
    batches = plan(columns, recipe, derive_seed(seed, "order"))
    texts = {text for column in columns for text in column}
    texts |= {text for row in dev.rows for text in row.texts} if dev else set()
    with occurring_words(model, texts):
        figure = _figure_of(model, dev)
        best = Best(model, figure, scratch, DEV)
        if not (scratch / "done.json").is_file():
            torch.manual_seed(derive_seed(seed, "loss"))
            loss = loss_of(model, recipe.objective).to(where)

            def loss_of_rows(rows: list[int]) -> Tensor:
                features = [
                    on_device(model.preprocess([column[row] for row in rows]), where)
                    for column in columns
                ]
                wanted = None if labels is None else torch.tensor([labels[row] for row in rows])
                found: Tensor = loss(features, None if wanted is None else wanted.to(where))
                return found

            schedule = Schedule(
                steps=len(batches),
                rate=recipe.rate(static),
                warmup=int(_WARMUP * len(batches)),
                checkpoint_steps=_CHECKPOINT_STEPS,
                seed=seed,
                report_steps=-(-len(batches) // _LOOKS),
                bfloat16=where.type == "cuda" and has_bfloat16(where),
            )
            history = train(
                loss, batches.__getitem__, loss_of_rows, schedule, scratch, title, best.look,
                lambda history: best.stalled(history, recipe.patience),
            )  # fmt: skip
            if dev is None:
                best.keep(int(history[-1]["step"]))
            write_json(scratch / "done.json", {"looks": best.looks(history)})
        best.restore()
    model.eval()
    looks = read_json(scratch / "done.json")["looks"]
    kept = next(one[DEV] for one in looks if one["step"] == best.step)
    return {
        "step": best.step,
        "steps": len(batches),
        "rate": recipe.rate(static),
        DEV: kept,
        "looks": looks,
    }


def examples_of(
    data: EvaluationSet, recipe: Recipe
) -> tuple[list[list[str]], list[float] | list[int] | None]:
    """Return columns of texts, and labels where the objective needs them.

    Inference becomes triplets for in-batch: a premise, its entailment and its contradiction (Gao et
    al. 2021, §4). Premises that lack either are left out.
    """
    if recipe.kind == "inference" and recipe.objective == "in-batch":
        return [list(column) for column in zip(*contradicted(data), strict=True)], None
    columns = [list(column) for column in zip(*(row.texts for row in data.rows), strict=True)]
    if recipe.kind == "triplets":
        return columns, None
    if recipe.objective == "softmax":
        return columns, [NLI.index(row.label) for row in data.rows]
    return columns, [row.score for row in data.rows]


def contradicted(data: EvaluationSet) -> list[tuple[str, str, str]]:
    """Return (premise, entailment, contradiction); the shorter list of a premise is repeated."""
    known: dict[str, dict[str, list[str]]] = {}
    for row in data.rows:
        known.setdefault(row.texts[0], {}).setdefault(row.label, []).append(row.texts[1])
    found = []
    for premise, texts in known.items():
        positives, negatives = texts.get(NLI[0], []), texts.get(NLI[2], [])
        if positives and negatives:
            for n in range(max(len(positives), len(negatives))):
                one, other = positives[n % len(positives)], negatives[n % len(negatives)]
                found.append((premise, one, other))
    return found


def plan(columns: Sequence[Sequence[str]], recipe: Recipe, seed: int) -> list[list[int]]:
    """Return the rows of each step; each epoch has another order.

    In a batch whose rows are negatives of each other no text occurs twice: it would be its own
    negative.
    """
    batches: list[list[int]] = []
    for epoch in range(recipe.epochs):
        order = np.random.default_rng(derive_seed(seed, epoch)).permutation(len(columns[0]))
        if recipe.objective == "in-batch":
            batches += _without_repeats(order.tolist(), columns, recipe.batch)
        else:
            starts = range(0, len(order), recipe.batch)
            batches += [order[start : start + recipe.batch].tolist() for start in starts]
    return batches


def _without_repeats(
    waiting: list[int], columns: Sequence[Sequence[str]], size: int
) -> Iterator[list[int]]:
    """Yield batches; a single row at the end, which has no negative, is left out."""
    while len(waiting) > 1:
        batch: list[int] = []
        later: list[int] = []
        seen: set[str] = set()
        for place, row in enumerate(waiting):
            if len(batch) == size:
                later += waiting[place:]
                break
            texts = {column[row] for column in columns}
            if seen & texts:
                later.append(row)
            else:
                batch.append(row)
                seen |= texts
        waiting = later
        if len(batch) > 1:
            yield batch


def loss_of(model: SentenceTransformer, objective: str) -> Any:
    """Return the loss of sentence-transformers for an objective."""
    if objective == "softmax":
        width = model.get_embedding_dimension() or 0
        return losses.SoftmaxLoss(model, width, len(NLI))
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
        self.rows = rows
        self.weight = nn.Parameter(whole.weight.detach()[rows].clone())
        place = torch.full((whole.num_embeddings,), -1)
        place[rows] = torch.arange(len(rows))
        self.register_buffer("place", place, persistent=False)
        ignored = whole.padding_idx
        self._ignored = None if ignored is None else int(place[ignored])

    def forward(self, numbers: Tensor, offsets: Tensor) -> Tensor:
        return functional.embedding_bag(
            self.place[numbers], self.weight, offsets, mode="mean", padding_idx=self._ignored
        )


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
    whole: nn.EmbeddingBag = first.embedding
    numbers = {0 if whole.padding_idx is None else whole.padding_idx}
    for encoding in first.tokenizer.encode_batch(list(texts), add_special_tokens=False):
        numbers.update(encoding.ids)
    rows = _Rows(whole, torch.tensor(sorted(numbers), dtype=torch.long))
    first.embedding = rows
    try:
        yield
    finally:
        first.embedding = whole
        with torch.no_grad():
            whole.weight[rows.rows] = rows.weight.to(whole.weight.device)


# Figures.


def similarities(model: SentenceTransformer, data: EvaluationSet) -> Floats:
    """Return the cosines of the pairs of a set."""
    model.eval()
    return BiEncoder(model).similarities(data.pairs)


def _figure_of(model: SentenceTransformer, dev: EvaluationSet | None) -> Callable[[], float | None]:
    """Return a function that measures the model on dev, by its usual metric, in [-1, 1]."""

    def figure() -> float | None:
        if dev is None:
            return None
        x, y = dev.columns(similarities(model, dev))
        value = measure(dev.metrics[0], x, y, seed=0, resamples=0).value
        return None if value is None else value / 100

    return figure


def compared(data: EvaluationSet, before: Floats, after: Floats, seed: int) -> dict[str, Any]:
    """Return metric → `start`, `fine-tuned` and their paired `difference`, with intervals."""
    found = {}
    for metric in data.metrics:
        drawn = bootstrap_seed(seed, data.name, data.split, ALL, metric.value)
        one, two = data.columns(before), data.columns(after)
        found[metric.value] = {
            "start": asdict(measure(metric, *one, seed=drawn)),
            "fine-tuned": asdict(measure(metric, *two, seed=drawn)),
            "difference": asdict(measure_difference(metric, two, one, seed=drawn)),
        }
    return found


def report_lines(report: Mapping[str, Any]) -> list[str]:
    """Return what a report says: rows, figures of dev and test, threshold, notes."""
    learned, settings = report["learned"], report["settings"]
    sizes = ", ".join(f"{one['rows']:,} {part}" for part, one in report["data"].items())
    rows = [["", "start", "fine-tuned", "difference"]]
    if DEV in report["data"]:
        values = [learned["looks"][0][DEV], learned[DEV]]
        shown = ["undefined" if value is None else f"{100 * value:.1f}" for value in values]
        rows.append([f"dev {report['data'][DEV]['metric']}", *shown, ""])
    for metric in [metric.value for metric in Metric if metric.value in (report["test"] or {})]:
        one = {name: Estimate(**values) for name, values in report["test"][metric].items()}
        shown = [str(one["start"]), str(one["fine-tuned"]), one["difference"].signed]
        rows.append([f"test {metric}", *shown])
    lines = [
        f"{report['data_kind']}, objective {settings['objective']}: {sizes} rows",
        f"{settings['epochs']} epochs in batches of {settings['batch']}, peak learning rate "
        f"{learned['rate']:g}, seed {settings['seed']}; step {learned['step']:,} of "
        f"{learned['steps']:,} was kept",
        table(rows),
    ]
    if threshold := report["threshold"]:
        lines.append(
            f"Texts match from a cosine of {threshold['cosine']:.2f} (F1 "
            f"{100 * threshold['f1']:.1f} on {threshold['rows']:,} dev pairs)."
        )
    return [*lines, *report["notes"]]


def best_threshold(dev: EvaluationSet, model: SentenceTransformer) -> dict[str, Any] | None:
    """Return the cosine from which texts match, with the highest F1 on dev; None for graded scores.

    The positives of triplets match, and the negatives do not.
    """
    x, y = dev.columns(similarities(model, dev))
    if dev.triplets:
        x, y = np.repeat([1.0, 0.0], len(x)), np.concatenate((x, y))
    elif dev.metrics != BINARY:
        return None
    order = np.argsort(-y, kind="stable")
    hits, cosines = np.cumsum(x[order]), y[order]
    last = np.append(cosines[1:] != cosines[:-1], True)  # Equal cosines are taken together.
    f1 = np.where(last, 2 * hits / (np.arange(1, len(x) + 1) + x.sum()), -1.0)
    place = int(np.argmax(f1))
    below = cosines[place + 1] if place + 1 < len(cosines) else cosines[place]
    cut = float(cosines[place] + below) / 2
    return {"cosine": round(cut, 6), "f1": round(float(f1[place]), 6), "rows": len(x)}
