"""The BERT-style Surrogate of §5.6: {[CLS], s1, [SEP], s2} through one Transformer, L2 on [CLS]."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import torch
from datasets import Dataset
from sentence_transformers.cross_encoder import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
)
from sentence_transformers.cross_encoder.losses import MSELoss
from transformers import PrinterCallback

from firth.corpus import CORPUS, TOKENIZER
from firth.harvest import HARVEST
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.pretrained import open_cross_encoder
from firth.run.progress import bar
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.run.training import History
from firth.surrogate.calibration import LabelMap
from firth.surrogate.distill import base_inputs
from firth.surrogate.report import measure
from firth.surrogate.settings import BaseKind, SurrogateConfig
from firth.surrogate.start import scratch_encoder
from firth.surrogate.training import Progress, history_of, labelled_pairs, schedule

CROSS_ENCODER = Stage(
    "cross-encoder",
    "firth reproduce siamese-vs-cross --run",
    libraries=("sentence-transformers", "tokenizers", "torch", "transformers"),
)
REPORT = "report.json"


class _Trainer(CrossEncoderTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Nothing is collected for a card."""


class CrossScorer:
    """Scores of a cross-encoder with one output; the order of the two sentences counts."""

    name = "cross-encoder"

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model.eval()

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        """Scores of `pairs`, shape (n,), about in [0, 1]."""
        if not len(pairs):
            return np.empty(0, dtype=np.float64)
        scores = self._model.predict(
            list(pairs), activation_fn=torch.nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float64)


def build_cross_encoder(run: Run) -> Outcome:
    """Train one on the run's harvest, as `run.config.surrogate` says, from the same base.

    Raises:
        InputError: The base has no Transformer, or cannot be loaded.
        MissingStageError: The run lacks its harvest, corpus or tokenizer.
    """
    base = run.config.surrogate.base
    if run.config.surrogate.kind is BaseKind.STATIC:
        raise InputError(
            "surrogate.base: got static, which has no layer that could see two sentences; expected "
            "transformer, or the folder or hub name of an encoder (--base)"
        )
    return run.build(
        CROSS_ENCODER,
        _build,
        reads=[CORPUS, TOKENIZER, HARVEST],
        settings=["seed", "surrogate"],
        inputs=base_inputs(base),
    )


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    config, harvest = run.config.surrogate, run.folder(HARVEST)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    tables = {split: pq.read_table(harvest / f"{split}.parquet") for split in ("train", "test")}
    scores = {split: t["score"].to_numpy().astype(np.float64) for split, t in tables.items()}
    labels = LabelMap.fit(scores["train"], config.chosen_calibration)
    with quiet_libraries():
        model = _start(run, scratch)
        pairs = labelled_pairs(harvest / "train.parquet", labels, scratch)
        seed = derive_seed(run.config.seed, "surrogate", "distillation")
        history = _train(model, pairs, config, seed, scratch)
        model.to("cpu")
        test = tables["test"]
        asked = list(zip(test["sentence1"].to_pylist(), test["sentence2"].to_pylist(), strict=True))
        found = CrossScorer(model).similarities(asked)
        model.save_pretrained(str(workspace), create_model_card=False)
    constant = float(labels.apply(scores["train"]).mean())
    figures = measure(found, labels.apply(scores["test"]), scores["test"], constant)
    summary = {
        "base": Path(config.base).name if Path(config.base).is_dir() else config.base,
        "pairs": {split: len(table) for split, table in tables.items()},
        "test": figures,
    }
    write_json(workspace / REPORT, {**summary, "history": history})
    return summary


def _start(run: Run, scratch: Path) -> CrossEncoder:
    base = run.config.surrogate.base
    # The seed of the Siamese encoder: both begin with the same weights below their heads.
    torch.manual_seed(derive_seed(run.config.seed, "surrogate", "weights"))
    if run.config.surrogate.kind is BaseKind.TRANSFORMER:
        scratch_encoder(run, scratch)
        base = str(scratch / "encoder")
    model = open_cross_encoder(base)
    if model.num_labels != 1:
        raise InputError(
            f"--base {base}: a classifier of {model.num_labels} classes; expected an encoder"
        )
    return model


def _train(
    model: CrossEncoder, pairs: Dataset, config: SurrogateConfig, seed: int, scratch: Path
) -> History:
    settings = CrossEncoderTrainingArguments(**schedule(config, len(pairs), seed, scratch))
    with bar("Cross-encoder: training", config.steps(len(pairs))) as shown:
        trainer = _Trainer(model=model, args=settings, train_dataset=pairs, loss=MSELoss(model),
                           callbacks=[Progress(shown)])  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    model.eval()
    return history_of(trainer)
