"""The paper's way: harvested pairs, one by one; start, L2 to Origin's scores, report (§3.4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from firth.context import CONTEXT
from firth.corpus.corpus import Corpus
from firth.harvest import HARVEST
from firth.run.errors import InputError
from firth.run.files import write_json, write_text
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.surrogate.calibration import LabelMap, Values, checked_scores
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
from firth.surrogate.training import Best, labelled_pairs, train_siamese

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@dataclass(frozen=True, eq=False)
class Harvested:
    """What a harvest holds: raw scores of the training pairs, and the tables of the others."""

    scores: Values
    held_out: Mapping[str, pa.Table]

    @classmethod
    def read(cls, folder: Path) -> "Harvested":
        """That of a folder; raise `InputError` where nothing can be learned or measured."""
        train = pq.read_table(folder / "train.parquet", columns=["score"])
        held_out = {split: pq.read_table(folder / f"{split}.parquet") for split in HELD_OUT}
        found = cls(checked_scores(train["score"]), held_out)
        if empty := [split for split, table in held_out.items() if not len(table)]:
            raise InputError(f"{folder}: no pair in {' and '.join(empty)}. Harvest more pairs.")
        return found

    def raw(self, split: str) -> Values:
        """Origin's scores of a held-out split."""
        return np.asarray(self.held_out[split]["score"], np.float64)

    def figures(
        self, answers: Callable[[pa.Table], Values], labels: LabelMap
    ) -> dict[str, dict[str, Any]]:
        """Split → kind of pair → how well a model's answers repeat Origin (`measure`)."""
        constant = float(labels.apply(self.scores).mean())
        found = {}
        for split, table in self.held_out.items():
            scores, kinds = self.raw(split), table["kind"].to_pylist()
            asked = answers(table)
            found[split] = measure_by_kind(asked, labels.apply(scores), scores, constant, kinds)
        return found


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Distil a harvest into `workspace`; the summary."""
    config, folder = run.config.surrogate, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    harvest = Harvested.read(folder)
    with quiet_libraries():
        model, learned = build_start(run, scratch, run.has(CONTEXT))
        first = dataset(folder / "train.parquet").head(
            config.scale_pairs, columns=["sentence1", "sentence2"]
        )
        labels = LabelMap.fit(harvest.scores, config.chosen_calibration, cosines(model, first))
        before = harvest.figures(lambda table: cosines(model, table), labels)
        pairs = labelled_pairs(folder / "train.parquet", labels, scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        dev, raw = harvest.held_out["dev"], harvest.raw("dev")
        best = Best(model, lambda: rank_correlation(cosines(model, dev), raw), scratch)
        history = train_siamese(model, pairs, config, seed, scratch, best)
        after = harvest.figures(lambda table: cosines(model, table), labels)
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
        | {split: len(harvest.held_out[split]) for split in HELD_OUT},
        "before": before,
        "after": after,
        "chosen": {"step": best.step, "steps": config.steps(len(pairs)), "seen": best.seen},
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
    report["notes"] = notes(report)
    write_json(workspace / REPORT, report)
    write_json(workspace / LABELS, labels.model_dump(mode="json"))
    write_text(workspace / CARD, model_card(report))
    return {
        "base": report["settings"]["base"],
        "pairs": report["pairs"],
        "before": {split: report["before"][split][ALL] for split in HELD_OUT},
        "after": {split: report["after"][split][ALL] for split in HELD_OUT},
        "notes": report["notes"],
    }


def cosines(model: "SentenceTransformer", table: pa.Table) -> Values:
    """Cosine of sentence1 and sentence2 in each row of a table, shape (rows,)."""
    return paired_cosines(model, *(table[name].to_pylist() for name in ("sentence1", "sentence2")))
