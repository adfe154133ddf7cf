"""The surrogate stage: start, distil Origin's scores, report both, save (§3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.origin.origin import Origin
from firth.run.errors import InputError
from firth.run.files import read_json, write_json, write_text
from firth.run.pretrained import PretrainedFiles
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.surrogate import SURROGATE
from firth.surrogate.calibration import LabelMap, Values, checked_scores
from firth.surrogate.report import (
    ALL,
    HELD_OUT,
    measure_by_kind,
    model_card,
    notes,
    rank_correlation,
    settings_shown,
)
from firth.surrogate.settings import BaseKind, Calibration

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

REPORT, CARD, LABELS = "report.json", "README.md", "calibration.json"


@dataclass(frozen=True)
class Distilled:
    """A finished Surrogate.

    Attributes:
        path: Its folder, which `SentenceTransformer(path)` opens.
        report: Contents of `report.json`: `settings`, `corpus`, `model` and `pairs` (sizes),
            `before` and `after` (split → kind of pair → `firth.surrogate.report.measure`),
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
        return LabelMap.model_validate(read_json(self.path / LABELS))

    @classmethod
    def open(cls, run: str | Path | Run, reused: bool = True) -> "Distilled":
        """The Surrogate of a run; raise `MissingStageError` if it is not built."""
        folder = Run.open(run).folder(SURROGATE)
        return cls(folder, read_json(folder / REPORT), reused)


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

    What is not given is taken from the run's configuration, and what is given goes into it when the
    Surrogate is built.

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
        InputError: The base is refused or cannot be loaded, or the harvest cannot be learned from.

    Example:
        >>> found = distill("run")
        >>> sorted(found.report["after"]["test"]["all"])
        ['constant_l2', 'high', 'l2', 'low', 'n', 'spearman']
    """
    changes = {"base": base, "epochs": epochs, "batch": batch, "learning_rate": learning_rate}
    kind = {"calibration": None if calibration is None else str(calibration)}
    opened = Run.open(run).changed({"surrogate": changes | kind})
    return Distilled.open(opened, build_surrogate(opened).reused)


def build_surrogate(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `distill`."""
    reads, settings = [CORPUS, HARVEST], ["seed", "surrogate"]
    kind = run.config.surrogate.kind
    if kind is not BaseKind.PRETRAINED:
        reads.append(TOKENIZER)
    if kind is BaseKind.STATIC:
        settings += LIMITS
        if CONTEXT in Origin.reads(run):
            reads.append(CONTEXT)
        else:
            settings.append("context.bag")
    run.inputs(*reads)  # a stage that is missing is named before a base is downloaded
    inputs = base_inputs(run.config.surrogate.base)
    return run.build(SURROGATE, _build, reads=reads, settings=settings, inputs=inputs)


def base_inputs(base: str) -> dict[str, str]:
    """Fingerprint of a pretrained base, downloaded if need be; empty for the other kinds.

    Raises:
        InputError: It looks like a folder and is none, there is no such model, or it is refused
            (`firth.run.pretrained.look`).
    """
    folder = Path(base)
    if BaseKind.of(base) is not BaseKind.PRETRAINED:
        return {}
    looks_like_one = folder.is_absolute() or base.startswith(".") or base.count("/") > 1
    if not folder.is_dir() and (folder.exists() or looks_like_one):
        found = "a file" if folder.exists() else "no such folder"
        raise InputError(
            f"surrogate.base: {base}: {found}. Expected `static`, `transformer`, or the folder or "
            "hub name of an encoder, such as roberta-base."
        )
    try:
        return {"base": PretrainedFiles.find(base).fingerprint}
    except InputError as error:
        more = "`static` and `transformer` need no model"
        raise InputError(f"surrogate.base: {error}. {more}") from error


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    from firth.surrogate.start import build_start
    from firth.surrogate.training import Best, labelled_pairs, train_siamese

    config, harvest = run.config.surrogate, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    scores = checked_scores(pq.read_table(harvest / "train.parquet", columns=["score"])["score"])
    held_out = {split: pq.read_table(harvest / f"{split}.parquet") for split in HELD_OUT}
    if empty := [split for split, table in held_out.items() if not len(table)]:
        raise InputError(f"{harvest}: no pair in {' and '.join(empty)}. Harvest more pairs.")

    with quiet_libraries():
        model, learned = build_start(run, scratch, run.has(CONTEXT))
        first = dataset(harvest / "train.parquet").head(
            config.scale_pairs, columns=["sentence1", "sentence2"]
        )
        labels = LabelMap.fit(scores, config.chosen_calibration, cosines(model, first))
        constant = float(labels.apply(scores).mean())
        before = _figures(model, held_out, labels, constant)
        pairs = labelled_pairs(harvest / "train.parquet", labels, scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        dev, raw = held_out["dev"], _scores(held_out["dev"])
        best = Best(model, lambda: rank_correlation(cosines(model, dev), raw))
        history = train_siamese(model, pairs, config, seed, scratch, best)
        after = _figures(model, held_out, labels, constant)
        model.cpu().save(str(workspace), create_model_card=False)

    corpus = Corpus.open(run)
    report: dict[str, Any] = {
        "settings": settings_shown(config, run.config.seed),
        "corpus": {
            "documents": corpus.n_documents,
            "sentences": len(corpus),
            "words": int(corpus.word_counts.sum(dtype=np.int64)),
        },
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "pairs": {"train": len(scores)} | {split: len(t) for split, t in held_out.items()},
        "before": before,
        "after": after,
        "chosen": {"step": best.step, "steps": config.steps(len(scores)), "seen": best.seen},
        "history": {"start": learned, "distillation": history},
    }
    report["notes"] = notes(report)
    write_json(workspace / REPORT, report)
    write_json(workspace / LABELS, labels.model_dump(mode="json"))
    write_text(workspace / CARD, model_card(report, config.kind))
    return {
        "base": report["settings"]["base"],
        "pairs": report["pairs"],
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
        scores, kinds = _scores(table), table["kind"].to_pylist()
        asked = cosines(model, table)
        found[split] = measure_by_kind(asked, labels.apply(scores), scores, constant, kinds)
    return found


def _scores(table: pa.Table) -> Values:
    return np.asarray(table["score"], np.float64)
