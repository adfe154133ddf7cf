"""The paper's way: harvested pairs, one by one; start, L2 to Origin's scores, report (§3.4)."""

from collections.abc import Mapping
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
from firth.surrogate.settings import Way
from firth.surrogate.start import build_start
from firth.surrogate.training import Best, labelled_pairs, train_siamese

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Distil a harvest into `workspace`; the summary."""
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
        best = Best(model, lambda: rank_correlation(cosines(model, dev), raw), scratch)
        history = train_siamese(model, pairs, config, seed, scratch, best)
        after = _figures(model, held_out, labels, constant)
        corpus = Corpus.open(run)
        scale = meaning(model, corpus, seed)
        model.cpu().save(str(workspace), create_model_card=False)

    report: dict[str, Any] = {
        "way": Way.PAPER.value,
        "settings": settings_shown(config, Way.PAPER, run.config.seed),
        "corpus": counted(corpus),
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "pairs": {"train": len(scores)} | {split: len(t) for split, t in held_out.items()},
        "before": before,
        "after": after,
        "chosen": {"step": best.step, "steps": config.steps(len(scores)), "seen": best.seen},
        "scale": scale,
        "history": {"start": learned, "distillation": history},
    }
    report["notes"] = notes(report)
    write_json(workspace / REPORT, report)
    write_json(workspace / LABELS, labels.model_dump(mode="json"))
    write_text(workspace / CARD, model_card(report))
    return {
        "base": report["settings"]["base"],
        "pairs": report["pairs"],
        "before": {split: before[split][ALL] for split in HELD_OUT},
        "after": {split: after[split][ALL] for split in HELD_OUT},
        "notes": report["notes"],
    }


def cosines(model: "SentenceTransformer", table: pa.Table) -> Values:
    """Cosine of sentence1 and sentence2 in each row of a table, shape (rows,)."""
    return paired_cosines(model, *(table[name].to_pylist() for name in ("sentence1", "sentence2")))


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
