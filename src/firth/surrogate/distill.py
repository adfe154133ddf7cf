"""The surrogate stage: start, distil Origin's scores, report both, save (§3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.origin.origin import Origin
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import read_json, write_atomically, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.surrogate import SURROGATE
from firth.surrogate.base import BaseKind, base_inputs, batch_size, calibration, learning_rate
from firth.surrogate.calibration import LabelMap
from firth.surrogate.card import model_card
from firth.surrogate.figures import ALL, Values, cautions, measure_by_kind, rank_correlation
from firth.surrogate.settings import Calibration, SurrogateConfig

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

HELD_OUT = ("dev", "test")
SCALE_PAIRS = 10_000
"""Training pairs whose cosines by the start give the scale of the labels (calibration match)."""
REPORT, CARD, LABELS = "report.json", "README.md", "calibration.json"


@dataclass(frozen=True)
class Distilled:
    """A finished Surrogate.

    Attributes:
        path: Its folder, which `SentenceTransformer(path)` opens.
        report: Contents of `report.json`: `settings`, `corpus`, `model` and `pairs` (sizes),
            `before` and `after` (split → kind of pair → `firth.surrogate.figures.Figures`),
            `history` (`start`, `distillation`: lists of step and loss), `chosen` (the `step` whose
            weights were kept, 0 being the start, of how many `steps`, and the rank correlation
            `seen` on dev at each look), and `notes` in words.
        reused: Whether it was already there.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @property
    def labels(self) -> LabelMap:
        """The map between Origin's raw scores and the labels the Surrogate learned."""
        return LabelMap.from_dict(read_json(self.path / LABELS))

    @classmethod
    def open(cls, run: str | Path | Run) -> "Distilled":
        """The Surrogate of a run; raise `MissingStageError` if it is not built."""
        folder = Run.open(run).folder(SURROGATE)
        return cls(folder, read_json(folder / REPORT), reused=True)


def distill(
    run: str | Path | Run,
    base: str | None = None,
    *,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    calibration: str | Calibration | None = None,
) -> Distilled:
    """Train the Surrogate on a run's harvest and save it in the run (§3.4).

    What is not given is taken from the run's configuration, and what is given goes into it.

    Args:
        run: A run whose corpus, tokenizer and harvest are built.
        base: `static`, `transformer`, or folder or hub name of an encoder.
        epochs: Passes over the training pairs.
        batch: Pairs a step.
        learning_rate: Peak rate.
        calibration: `match`, `quantile`, `zscore` or `none`.

    Raises:
        MissingStageError: A stage is not built; the message names the command.
        ConfigError: A setting is out of range.
        InputError: The base cannot be loaded, or the harvest cannot be learned from.
        MissingExtraError: `accelerate` or `datasets` is not installed.

    Example:
        >>> found = distill("run")
        >>> sorted(found.report["after"]["test"]["all"])
        ['constant_l2', 'high', 'l2', 'low', 'n', 'spearman']
    """
    changes = {
        "base": base,
        "epochs": epochs,
        "batch": batch,
        "learning_rate": learning_rate,
        "calibration": None if calibration is None else str(calibration),
    }
    opened = Run.open(run).changed({"surrogate": changes})
    reused = build_surrogate(opened).reused
    found = Distilled.open(opened)
    return Distilled(found.path, found.report, reused)


def build_surrogate(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `distill`."""
    try:
        import_module("accelerate")
        import_module("datasets")
    except ImportError:
        raise MissingExtraError("training the Surrogate", "train") from None
    return run.build(
        SURROGATE,
        _build,
        reads=_stages(run),
        settings=[*LIMITS, "seed", "context.bag", "surrogate"],
        inputs=base_inputs(run.config.surrogate.base),
    )


def _stages(run: Run) -> list[Stage]:
    start = (CONTEXT,) if CONTEXT in Origin.reads(run) else ()
    is_static = BaseKind.of(run.config.surrogate.base) is BaseKind.STATIC
    return [CORPUS, TOKENIZER, *(start if is_static else ()), HARVEST]


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    from firth.run.quiet import quiet_libraries
    from firth.surrogate.best import Best
    from firth.surrogate.start import build_start
    from firth.surrogate.training import labelled_pairs, total_steps, train_siamese

    config, harvest = run.config.surrogate, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    scores = pq.read_table(harvest / "train.parquet", columns=["score"])["score"].to_numpy()
    held_out = {split: pq.read_table(harvest / f"{split}.parquet") for split in HELD_OUT}
    if empty := [split for split, table in held_out.items() if not len(table)]:
        raise InputError(f"{harvest}: no pair in {' and '.join(empty)}. Harvest more pairs.")

    with quiet_libraries():
        start = build_start(run, scratch)
        model = start.model
        labels = LabelMap.fit(scores, calibration(config), _scale(model, harvest))
        constant = float(labels.apply(scores).mean())
        before = _figures(model, held_out, labels, constant)
        pairs = labelled_pairs(harvest / "train.parquet", labels, scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        best = Best(model, lambda: _agreement(model, held_out["dev"]))
        history = train_siamese(model, pairs, config, seed, scratch, best=best)
        after = _figures(model, held_out, labels, constant)
        model.cpu().save(str(workspace), create_model_card=False)

    sizes = {"train": len(scores)} | {split: len(table) for split, table in held_out.items()}
    report: dict[str, Any] = {
        "settings": _settings(run),
        "corpus": _corpus_size(Corpus.open(run)),
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "pairs": sizes,
        "before": before,
        "after": after,
        "chosen": {
            "step": best.step,
            "steps": total_steps(config, len(scores)),
            "seen": best.seen,
        },
        "history": {"start": start.history, "distillation": history},
        "notes": [*cautions(sizes, HELD_OUT), *_kept_start(best.step), *_verdicts(before, after)],
    }
    write_json(workspace / REPORT, report)
    write_json(workspace / LABELS, labels.to_dict())
    with write_atomically(workspace / CARD) as partial:
        partial.write_text(model_card(report), encoding="utf-8")
    return {
        "base": report["settings"]["base"],
        "pairs": sizes,
        "before": {split: before[split][ALL] for split in HELD_OUT},
        "after": {split: after[split][ALL] for split in HELD_OUT},
        "notes": report["notes"],
    }


def cosines(model: "SentenceTransformer", table: pa.Table) -> Values:
    """Cosine of sentence1 and sentence2 in each row of a table, shape (rows,)."""
    texts = [*table["sentence1"].to_pylist(), *table["sentence2"].to_pylist()]
    distinct = list(dict.fromkeys(texts))
    vectors = np.asarray(model.encode(distinct, show_progress_bar=False), np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    place = {text: row for row, text in enumerate(distinct)}
    rows = np.array([place[text] for text in texts]).reshape(2, -1)
    found: Values = np.einsum("nd,nd->n", vectors[rows[0]], vectors[rows[1]])
    return found


def _figures(
    model: "SentenceTransformer",
    held_out: Mapping[str, pa.Table],
    labels: LabelMap,
    constant: float,
) -> dict[str, Any]:
    found = {}
    for split, table in held_out.items():
        scores = table["score"].to_numpy().astype(np.float64)
        found[split] = measure_by_kind(
            cosines(model, table), labels.apply(scores), scores, constant, table["kind"].to_pylist()
        )
    return found


def _scale(model: "SentenceTransformer", harvest: Path) -> Values | None:
    parts = pq.ParquetFile(harvest / "train.parquet").iter_batches(
        SCALE_PAIRS, columns=["sentence1", "sentence2"]
    )
    first = next(parts, None)
    return None if first is None else cosines(model, pa.Table.from_batches([first]))


def _agreement(model: "SentenceTransformer", table: pa.Table) -> float | None:
    return rank_correlation(cosines(model, table), table["score"].to_numpy().astype(np.float64))


def _settings(run: Run) -> dict[str, Any]:
    config = run.config.surrogate
    base = Path(config.base)
    is_folder = BaseKind.of(config.base) is BaseKind.PRETRAINED and base.is_dir()
    return config.model_dump(mode="json") | {
        "base": base.name if is_folder else config.base,
        "learning_rate": learning_rate(config),
        "batch": batch_size(config),
        "calibration": calibration(config).value,
        "seed": run.config.seed,
    }


def _corpus_size(corpus: Corpus) -> dict[str, int]:
    return {
        "documents": corpus.n_documents,
        "sentences": len(corpus),
        "words": int(corpus.word_counts.sum(dtype=np.int64)),
    }


def _kept_start(step: int) -> list[str]:
    if step:
        return []
    return [
        "At no look during training did the model agree with Origin on dev better than the start: "
        "the start was kept. More pairs (firth harvest --pairs) or another rate "
        "(surrogate.learning_rate) may teach more."
    ]


def _verdicts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    said = []
    for split in HELD_OUT:
        one, two = before[split][ALL], after[split][ALL]
        if two["l2"] >= two["constant_l2"]:
            said.append(
                f"On {split} the Surrogate's L2 ({two['l2']:.4f}) is not below that of a constant "
                f"({two['constant_l2']:.4f})."
            )
        if one["spearman"] is not None and (two["spearman"] or 0.0) < one["spearman"]:
            said.append(
                f"On {split} the start agreed with Origin better (rank correlation "
                f"{one['spearman']:.3f}) than the Surrogate does ({two['spearman'] or 0.0:.3f})."
            )
    return said
