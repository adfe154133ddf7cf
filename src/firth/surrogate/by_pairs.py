"""The paper's way: harvested pairs, one by one; start, L2 to Origin's scores, report (§3.4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from firth.check.build import open_items
from firth.context import CONTEXT
from firth.corpus.corpus import Corpus
from firth.harvest import HARVEST
from firth.harvest.labels import LABELS as WORTH
from firth.harvest.labels import told
from firth.run.errors import InputError
from firth.run.files import read_json, write_json, write_text
from firth.run.progress import note
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.surrogate.calibration import LabelMap, Values, checked_scores
from firth.surrogate.checked import TRAINED
from firth.surrogate.checked import told as told_of
from firth.surrogate.harmless import Start
from firth.surrogate.meaning import meaning, paired_cosines
from firth.surrogate.report import (
    ALL,
    CARD,
    HELD_OUT,
    LABELS,
    REPORT,
    counted,
    measure_by_kind,
    model_card,
    notes,
    rank_correlation,
    settings_shown,
)
from firth.surrogate.settings import Architecture, Way
from firth.surrogate.start import build_start
from firth.surrogate.training import Best, labelled_pairs, looks_of, train_siamese

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_BATCH = 16_384
"""Pairs whose texts are held at once."""
_COLUMN = 1 << 17
"""Numbers of a column that are read at once."""
_PAPER = "The paper's way has no check, so that this one decides nothing; way matrices obeys it."
Answers = Callable[[pa.RecordBatch], Values]
"""What a model says of each row's sentence1 and sentence2, (rows,)."""


@dataclass(frozen=True, eq=False)
class Harvested:
    """A harvest on disk, read by batches: memory holds eight bytes a training pair, and numbers,
    but no texts, of the others.

    Attributes:
        folder: Of the stage.
        scores: Origin's of the training pairs.
    """

    folder: Path
    scores: Values

    @classmethod
    def read(cls, folder: Path) -> "Harvested":
        """That of a folder; raise `InputError` where nothing can be learned or measured."""
        found = cls(folder, checked_scores(_column(folder / "train.parquet", "score")))
        if empty := [split for split in HELD_OUT if not found.size(split)]:
            raise InputError(f"{folder}: no pair in {' and '.join(empty)}. Harvest more pairs.")
        return found

    def file(self, split: str) -> Path:
        """Of a split."""
        return self.folder / f"{split}.parquet"

    def size(self, split: str) -> int:
        """How many pairs a split has."""
        return int(pq.read_metadata(self.file(split)).num_rows)

    @property
    def labels(self) -> Mapping[str, Any]:
        """What they are worth (`firth.harvest.labels`)."""
        if not (self.folder / WORTH).is_file():
            raise InputError(
                f"{self.folder}: harvested by an earlier firth, which did not look at its labels. "
                f"Harvest again: {HARVEST.command} RUN"
            )
        found: Mapping[str, Any] = read_json(self.folder / WORTH)
        return found

    def warn(self) -> None:
        """Say what is wrong with them, before anything is learned."""
        for warning in self.labels["warnings"]:
            note(warning)

    def answers(self, split: str, answers: Answers) -> Values:
        """A model's of a held-out split, in order."""
        columns = ["sentence1", "sentence2"]
        batches = pq.ParquetFile(self.file(split)).iter_batches(_BATCH, columns=columns)
        return np.concatenate([answers(batch) for batch in batches])

    def agreement(self, split: str, answers: Answers) -> float | None:
        """Rank correlation of a model's answers with Origin's scores."""
        return rank_correlation(self.answers(split, answers), _column(self.file(split), "score"))

    def figures(self, answers: Answers, labels: LabelMap) -> dict[str, dict[str, Any]]:
        """Split → kind of pair → how well a model's answers repeat Origin (`measure`)."""
        blocks = range(0, len(self.scores), _COLUMN)
        total = sum(labels.apply(self.scores[start : start + _COLUMN]).sum() for start in blocks)
        constant, found = float(total / len(self.scores)), {}
        for split in HELD_OUT:
            path = self.file(split)
            scores = _column(path, "score")
            kinds = pq.read_table(path, columns=["kind"])["kind"].to_pylist()
            asked = self.answers(split, answers)
            found[split] = measure_by_kind(asked, labels.apply(scores), scores, constant, kinds)
        return found


def _column(path: Path, name: str) -> Values:
    """A column of numbers, which is never held twice."""
    file = pq.ParquetFile(path)
    values, end = np.empty(file.metadata.num_rows), 0
    for batch in file.iter_batches(_COLUMN, columns=[name]):
        end, start = end + len(batch), end
        values[start:end] = batch[name].to_numpy(zero_copy_only=False)
    return values


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Distil a harvest into `workspace`; the summary."""
    config, folder = run.config.surrogate, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    harvest = Harvested.read(folder)
    harvest.warn()
    with quiet_libraries():
        model, learned = build_start(run, scratch, run.has(CONTEXT))
        first = dataset(folder / "train.parquet").head(
            config.scale_pairs, columns=["sentence1", "sentence2"]
        )
        labels = LabelMap.fit(harvest.scores, config.chosen_calibration, cosines(model, first))

        def answers(batch: pa.RecordBatch) -> Values:
            return cosines(model, batch)

        before = harvest.figures(answers, labels)
        pairs = labelled_pairs(folder / "train.parquet", labels, scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        start = Start(model, open_items(run), scratch)
        best = Best(model, lambda: harvest.agreement("dev", answers), scratch)
        history = train_siamese(model, pairs, config, seed, scratch, best)
        after = harvest.figures(answers, labels)
        check = _heard(start.judge(run.config.seed)) if best.step else None
        scale = meaning(model, Corpus.open(run), seed)
        model.cpu().save(str(workspace), create_model_card=False)

    report: dict[str, Any] = {
        "architecture": Architecture.BI_ENCODER.value,
        "way": Way.PAPER.value,
        "settings": settings_shown(config, Way.PAPER, run.config.seed),
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "pairs": {"train": len(harvest.scores)}
        | {split: harvest.size(split) for split in HELD_OUT},
        "labels": harvest.labels,
        "before": before,
        "after": after,
        "chosen": {
            "step": best.step,
            "steps": config.steps(len(pairs)),
            "seen": looks_of(best, history),
        },
        "check": check,
        "scale": scale,
        "history": {"start": learned, "distillation": history},
    }
    return write_report(run, workspace, report, labels)


def write_report(
    run: Run, workspace: Path, report: dict[str, Any], labels: LabelMap
) -> Mapping[str, Any]:
    """Write report, card and labels of a student of pairs, with what the corpus and the figures
    add to the report; the summary."""
    report = report | {"corpus": counted(Corpus.open(run))}
    report["notes"], check = notes(report), report.get("check")
    write_json(workspace / REPORT, report)
    write_json(workspace / LABELS, labels.model_dump(mode="json"))
    write_text(workspace / CARD, model_card(report))
    return {
        "base": report["settings"]["base"],
        "pairs": report["pairs"],
        "labels": told(report["labels"]),
        "before": {split: report["before"][split][ALL] for split in HELD_OUT},
        "after": {split: report["after"][split][ALL] for split in HELD_OUT},
        "check": None if check is None else told_of(check),
        "notes": report["notes"],
    }


def _heard(check: Mapping[str, Any]) -> dict[str, Any]:
    """A check that decides nothing: the paper has none, and who takes its way wants its student."""
    if check["kept"] == TRAINED:
        return dict(check)
    return {**check, "kept": TRAINED, "notes": [_PAPER]}


def cosines(model: "SentenceTransformer", table: pa.Table | pa.RecordBatch) -> Values:
    """Cosine of sentence1 and sentence2 in each row of a table, shape (rows,)."""
    return paired_cosines(model, *(table[name].to_pylist() for name in ("sentence1", "sentence2")))
