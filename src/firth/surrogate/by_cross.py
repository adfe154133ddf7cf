"""The paper's other structure: {[CLS], s1, [SEP], s2} through one Transformer, L2 on [CLS] (§5.6).

It learns from harvested pairs with the labels of the paper's way, and is reported like it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from sentence_transformers import CrossEncoder

from firth.harvest import HARVEST
from firth.run.errors import InputError
from firth.run.pretrained import open_cross_encoder
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.surrogate.by_pairs import Harvested, write_report
from firth.surrogate.calibration import LabelMap, Values
from firth.surrogate.cross_scorer import CrossScorer
from firth.surrogate.report import HELD_OUT, settings_shown
from firth.surrogate.settings import Architecture, BaseKind, CrossEncoderConfig, Way
from firth.surrogate.start import scratch_encoder
from firth.surrogate.training import Best, labelled_pairs, looks_of, train_cross_encoder


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Distil a harvest into `workspace`; the summary."""
    config, folder = run.config.cross_encoder.student, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    harvest = Harvested.read(folder)
    harvest.warn()
    with quiet_libraries():
        model = _start(run, scratch)
        # Read without a sigmoid, its answers are labels.
        model.activation_fn = torch.nn.Identity()
        labels = LabelMap.fit(harvest.scores, config.chosen_calibration)

        def answers(batch: pa.RecordBatch) -> Values:
            columns = (batch[name].to_pylist() for name in ("sentence1", "sentence2"))
            return CrossScorer(model).similarities(list(zip(*columns, strict=True)))

        before = harvest.figures(answers, labels)
        pairs = labelled_pairs(folder / "train.parquet", labels, scratch)
        best = Best(model, lambda: harvest.agreement("dev", answers), scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        history = train_cross_encoder(model, pairs, config, seed, scratch, best)
        after = harvest.figures(answers, labels)
        model.to("cpu").save_pretrained(str(workspace), create_model_card=False)
    shown = settings_shown(config, Way.PAPER, run.config.seed)
    report: dict[str, Any] = {
        "architecture": Architecture.CROSS_ENCODER.value,
        "way": Way.PAPER.value,
        "settings": {name: shown[name] for name in (*CrossEncoderConfig.model_fields, "seed")},
        "model": {"parameters": sum(parameter.numel() for parameter in model.parameters())},
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
        "history": {"start": [], "distillation": history},
    }
    return write_report(run, workspace, report, labels)


def _start(run: Run, scratch: Path) -> CrossEncoder:
    config = run.config.cross_encoder.student
    # The seed of the Siamese encoder: both begin with the same weights below their heads.
    torch.manual_seed(derive_seed(run.config.seed, "surrogate", "weights"))
    base = config.base
    if config.kind is BaseKind.TRANSFORMER:
        scratch_encoder(run, scratch, config)
        base = str(scratch / "encoder")
    model = open_cross_encoder(base)
    if model.num_labels != 1:
        raise InputError(
            f"cross_encoder.base: {base}: a classifier of {model.num_labels} classes; expected an "
            "encoder, or a cross-encoder with one output"
        )
    return model
