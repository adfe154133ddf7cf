"""Siamese training: two sentences, one encoder, L2 between cosine and label (§3.4)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from firth.run.progress import Bar, bar
from firth.run.training import History
from firth.surrogate.base import batch_size, learning_rate
from firth.surrogate.best import Best, Looks
from firth.surrogate.calibration import LabelMap
from firth.surrogate.settings import SurrogateConfig

REPORTS = 40
"""Entries of the history."""
_COLUMNS = ["sentence1", "sentence2", "label"]


class _Trainer(SentenceTransformerTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """The card is our own: nothing is collected for another one."""


class Progress(TrainerCallback):
    """Moves a bar on, with the last loss beside it."""

    def __init__(self, shown: Bar) -> None:
        self._shown, self._status = shown, ""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """One step further."""
        self._shown.advance(1, self._status)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the loss from the trainer."""
        if logs and "loss" in logs:
            self._status = f"L2 {logs['loss']:.4f}"


def labelled_pairs(parquet: Path, labels: LabelMap, scratch: Path) -> Dataset:
    """Columns sentence1, sentence2, label of a harvested split, memory-mapped from `scratch`."""
    path = scratch / "pairs.arrow"
    schema = pa.schema(
        [("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.float32())]
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        source = pq.ParquetFile(parquet)
        for batch in source.iter_batches(65_536, columns=["sentence1", "sentence2", "score"]):
            label = labels.apply(batch["score"].to_numpy(zero_copy_only=False))
            columns = [batch["sentence1"], batch["sentence2"], label.astype(np.float32)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return Dataset.from_file(str(path))


def train_siamese(
    model: SentenceTransformer,
    pairs: Dataset,
    config: SurrogateConfig,
    seed: int,
    scratch: Path,
    title: str = "Surrogate: distilling",
    best: Best | None = None,
) -> History:
    """Train `model` in place with Adam, a linear warm-up over a tenth and a linear fall.

    Args:
        model: Left in evaluation mode, on the device it was trained on.
        pairs: Columns sentence1, sentence2, label.
        config: Epochs, batch, learning rate.
        seed: Decides the order of pairs and dropout.
        scratch: Folder the trainer may write to.
        title: Of the bar.
        best: Looks at the model at times; the model is left with the weights it kept.

    Returns:
        Mean L2 since the entry before, at `REPORTS` steps.
    """
    settings, steps = schedule(config, len(pairs), seed, scratch), total_steps(config, len(pairs))
    arguments = SentenceTransformerTrainingArguments(**settings)
    with bar(title, steps) as shown:
        trainer = _Trainer(
            model=model,
            args=arguments,
            train_dataset=pairs,
            loss=CosineSimilarityLoss(model),
            callbacks=[Progress(shown), *([Looks(best, steps)] if best else [])],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    if best is not None:
        best.restore()
    model.eval()
    return history_of(trainer)


def total_steps(config: SurrogateConfig, pairs: int) -> int:
    """Steps of a whole training on so many pairs."""
    return config.epochs * -(-pairs // batch_size(config))


def schedule(config: SurrogateConfig, pairs: int, seed: int, scratch: Path) -> dict[str, Any]:
    """Arguments of the trainer, whatever it trains: Adam, warm-up, fall, nothing on the screen."""
    steps = total_steps(config, pairs)
    return {
        "output_dir": str(scratch / "trainer"),
        "num_train_epochs": config.epochs,
        "per_device_train_batch_size": batch_size(config),
        "learning_rate": learning_rate(config),
        "lr_scheduler_type": "linear",
        "warmup_steps": steps // 10,
        "weight_decay": 0.0,
        "seed": seed % 2**32,
        "data_seed": seed % 2**32,
        "logging_steps": -(-steps // REPORTS),
        "logging_nan_inf_filter": False,
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }


def history_of(trainer: Trainer) -> History:
    """Mean L2 since the entry before, at `REPORTS` steps."""
    return [
        {"step": float(entry["step"]), "loss": round(float(entry["loss"]), 6)}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
