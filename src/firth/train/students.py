"""Students: the models that training starts from, how they are trained, and their folders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from torch import Tensor
from torch.nn import functional

from firth.encoders.static import model_card
from firth.encoders.transformer import device, has_bfloat16, open_sentence_transformer
from firth.evaluation.metrics import Metric, measure
from firth.run.console import quiet_libraries, table, wrapped
from firth.run.files import read_json, write_json, write_text
from firth.run.stage import SCRATCH
from firth.text.types import CosineScorer, Floats, Singles, TextPair
from firth.train.loop import Best, Schedule, train, write_tensors

REPORT = "report.json"
HELD_OUT = ("dev", "test")
ALL = "all"
Figures = dict[str, dict[str, dict[str, Any]]]
"""Split → kind of pair → `n`, `spearman` and, of scored pairs, `l2` and `constant_l2`."""
_BATCH = 128
_LOOKS, _WARMUP, _CHECKPOINT_STEPS = 10, 0.1, 200


@dataclass(frozen=True)
class TrainedFolder:
    """What a training left in a folder, with its `report.json`.

    `SentenceTransformer(path)` opens the folder, if it holds an encoder. `reused` says whether it
    was there already.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @classmethod
    def open(cls, path: str | Path, reused: bool) -> Self:
        """Open what is in a folder."""
        return cls(Path(path), read_json(Path(path) / REPORT), reused)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"path": str(self.path), "reused": self.reused, **self.report}

    def text(self) -> str:
        """Return the report for a screen."""
        return wrapped("\n".join([*self.report["lines"], f"Folder: {self.path}"]))


class BiEncoder:
    """A sentence-transformers model that learns: vectors and cosines."""

    name = "student"

    def __init__(self, module: SentenceTransformer) -> None:
        self.module = module

    @classmethod
    def open(cls, encoder: str | Path) -> Self:
        """Open an encoder by folder or name; unknown words of a static one do not learn."""
        module = open_sentence_transformer(str(encoder))
        first: Any = module[0]
        if is_static(module):
            first.embedding.padding_idx = 0
        return cls(module)

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors of texts, (n, d), of any length."""
        if not texts:
            return np.zeros((0, self.module.get_embedding_dimension() or 0), np.float32)
        vectors = self.module.encode(list(texts), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(vectors, np.float32)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        return CosineScorer(self.name, self.encode).similarities(pairs)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return vectors with gradients, (n, d)."""
        prompt = self.module.prompts.get(self.module.default_prompt_name or "")
        features = self.module.preprocess(list(texts), prompt=prompt or None)
        vectors: Tensor = self.module(on_device(features, self.module.device))["sentence_embedding"]
        return vectors

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the cosines of pairs with gradients, (n,)."""
        left, right = (self.vectors(list(side)) for side in zip(*pairs, strict=True))
        return functional.cosine_similarity(left, right)


def on_device(features: Mapping[str, Any], where: torch.device) -> dict[str, Any]:
    """Return what a tokenizer made, on a device."""
    return {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}


def is_static(model: SentenceTransformer) -> bool:
    """Return whether the model's vectors are means of word vectors."""
    return isinstance(model[0], StaticEmbedding)


# --- Training -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a student learns: its start, and the peak of Adam's rate."""

    base: str
    epochs: int
    batch: int
    rate: float
    micro_batches: int = 1
    patience: int = 4
    """Reports without a gain on dev after which training stops."""


def train_student(
    workspace: Path,
    plan: Plan,
    seed: int,
    start: Callable[[], Any],
    open_objective: Callable[[Any], Any],
    accepted: Callable[[Any, Any], str] | None = None,
    use: str = "",
) -> Mapping[str, Any]:
    """Train a student, and write it with report and card into the workspace of a stage.

    `start` opens the student, after torch's seed is set, and `open_objective` returns what it
    learns, an object like `SimilarityMatrix`. The best step agrees best with the teacher on dev.
    `accepted(student, restore)` may give the student its start again, and returns why. `use` is
    code for the card, where the student is no sentence encoder.
    """
    scratch = workspace / SCRATCH
    with quiet_libraries():
        torch.manual_seed(seed)
        student = start()
        static = isinstance(student, BiEncoder) and is_static(student.module)
        where = torch.device("cpu") if static else device()
        student.module.to(where)
        objective = open_objective(student)
        before = objective.figures()
        write_tensors(scratch / "start.safetensors", student.module.state_dict())
        best = Best(student.module, objective.agreement, scratch, "spearman")
        steps = plan.epochs * objective.batches.epoch_steps
        schedule = Schedule(
            steps=steps,
            rate=plan.rate,
            warmup=int(_WARMUP * steps),
            checkpoint_steps=_CHECKPOINT_STEPS,
            seed=objective.seed,
            report_steps=-(-steps // _LOOKS),
            bfloat16=not static and has_bfloat16(where),
            micro_batches=plan.micro_batches,
        )
        history = train(
            objective.module.to(where), objective.batches, objective.loss, schedule, scratch,
            "Distilling", best.look,
            lambda past: best.stalled(past, plan.patience, schedule.warmup),
        )  # fmt: skip
        best.restore()

        def restore() -> None:
            student.module.load_state_dict(load_file(scratch / "start.safetensors"))

        decision = accepted(student, restore) if accepted and best.step else ""
        after = objective.figures()
    report: dict[str, Any] = {
        "base": shown_name(plan.base),
        "unit": objective.unit,
        "teacher": objective.teacher,
        "settings": {**asdict(plan), "base": shown_name(plan.base), "seed": seed},
        "sizes": objective.sizes,
        "before": before,
        "after": after,
        "step": best.step,
        "steps": steps,
        "start": best.start,
        "history": history,
        "decision": decision,
    }
    report["lines"] = lines_of(report)
    title = f"A {'cross-encoder' if use else 'sentence encoder'}, distilled with firth"
    save_trained(workspace, student.module, title, report, use)
    return {name: report[name] for name in ("base", "teacher", "sizes", "step", "steps", "lines")}


def lines_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a report says, for the screen and the card."""
    settings, sizes = report["settings"], report["sizes"]
    rows = [["rank correlation with the teacher x 100", "n", "before", "after"]]
    for split in HELD_OUT:
        for kind, after in report["after"][split].items():
            both = (report["before"][split][kind]["spearman"], after["spearman"])
            shown = ["undefined" if value is None else f"{100 * value:.1f}" for value in both]
            rows.append([f"{split}, {kind}", f"{after['n']:,}", *shown])
    lines = [
        f"Start: {report['base']}. Teacher: {report['teacher']}, of {sizes['train']:,} "
        f"{report['unit']}.",
        f"{settings['epochs']} epochs in batches of {settings['batch']}, peak learning rate "
        f"{settings['rate']:g}, seed {settings['seed']}. Step {report['step']:,} of "
        f"{report['steps']:,} agreed best with the teacher.",
        table(rows),
    ]
    if report["decision"]:
        lines.append(report["decision"])
    elif not report["step"]:
        lines.append("The start was kept: no later weights agreed better with the teacher.")
    for split in HELD_OUT:
        every = report["after"][split][ALL]
        if every.get("l2", 0.0) > every.get("constant_l2", 0.0):
            lines.append(f"On {split} the error is not below that of a constant.")
    return lines


def rank_correlation(first: Floats, second: Floats) -> float | None:
    """Return Spearman's correlation, to six decimals; None where it is undefined."""
    value = measure(Metric.SPEARMAN, first, second, seed=0, resamples=0).value
    return None if value is None else round(value / 100, 6)


def save_trained(
    folder: Path, model: Any, title: str, report: Mapping[str, Any], use: str = ""
) -> None:
    """Save a model with its report and a card: title, how to use it, and the report's `lines`.

    An encoder gives unit vectors from then on, as firth does with it.
    """
    if isinstance(model, SentenceTransformer) and not isinstance(model[-1], Normalize):
        model.append(Normalize())
    with quiet_libraries():
        model.cpu().save_pretrained(str(folder), create_model_card=False)
    write_json(folder / REPORT, report)
    write_text(folder / "README.md", model_card(title, "\n".join(report["lines"]), use))


def shown_name(model: str | Path) -> str:
    """Return a hub name, or the last two parts of a folder's path."""
    folder = Path(model)
    return "/".join(folder.resolve().parts[-2:]) if folder.is_dir() else str(model)
