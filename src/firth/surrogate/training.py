"""Siamese training: two sentences, one encoder, L2 between cosine and label (§3.4)."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Dataset
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.cross_encoder import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
)
from sentence_transformers.cross_encoder.losses import MSELoss
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from torch import nn
from transformers import PrinterCallback, Trainer, TrainerCallback

from firth.run.files import write_atomically
from firth.run.progress import Bar, bar
from firth.run.training import History
from firth.surrogate.calibration import LabelMap
from firth.surrogate.settings import SurrogateConfig, Way

REPORTS = 40
"""Entries of the history."""


class Best:
    """The best weights of a model so far, those it starts with being the first.

    They lie in a file, so that training that is continued knows them.

    Args:
        model: Whose weights are kept.
        figure: How good it is now, the higher the better; None where that is undefined, which is
            worse than any number.
        scratch: Folder of the file.

    Attributes:
        first: The start's figure, rounded.
        step: Where the best weights were found; 0 is the start.
        seen: Each look: `step` and `spearman`, the figure rounded.
    """

    def __init__(self, model: nn.Module, figure: Callable[[], float | None], scratch: Path) -> None:
        self._model, self._figure = model, figure
        self._file = scratch / "best.safetensors"
        self.step, self._value = 0, -math.inf
        self.seen: list[dict[str, Any]] = []
        if self._file.is_file():
            with safe_open(self._file, framework="pt") as stored:
                known = json.loads(stored.metadata()["best"])
            self.step, self._value = known["step"], known["figure"]
        self.first = self.look(0)

    def look(self, step: int) -> float | None:
        """Take the figure, and the weights if no earlier ones were as good."""
        value = self._figure()
        rounded = None if value is None else round(value, 6)
        self.seen.append({"step": step, "spearman": rounded})
        if (value is not None and value > self._value) or not self._file.is_file():
            self.take(step, value)
        return rounded

    def take(self, step: int, value: float | None = None) -> None:
        """Take the weights as the best ones, whatever earlier ones were."""
        self.step, self._value = step, -math.inf if value is None else value
        weights = {
            name: tensor.detach().to("cpu", copy=True).contiguous()
            for name, tensor in self._model.state_dict().items()
        }
        known = json.dumps({"step": step, "figure": self._value})
        with write_atomically(self._file) as partial:
            save_file(weights, partial, metadata={"best": known})

    def restore(self) -> None:
        """Give the model its best weights back."""
        self._model.load_state_dict(load_file(self._file))


class Progress(TrainerCallback):
    """Moves a bar on with the last loss beside it, and looks at the model where it is due.

    Args:
        shown: The bar.
        best: Looked with after `places`, if given.
        places: Steps.
    """

    def __init__(
        self, shown: Bar, best: Best | None = None, places: frozenset[int] = frozenset()
    ) -> None:
        self._shown, self._status = shown, ""
        self._best, self._places = best, places

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """One step further."""
        self._shown.advance(1, self._status)
        if self._best is not None and state.global_step in self._places:
            self._best.look(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Take the loss from the trainer."""
        if "loss" in kwargs["logs"]:
            self._status = f"L2 {kwargs['logs']['loss']:.4f}"


class PlainTrainer(SentenceTransformerTrainer):
    """The library's, but for its card."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """The card is our own: nothing is collected for another one."""


class _CrossTrainer(CrossEncoderTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """As above."""


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
    best: Best | None = None,
    title: str = "Surrogate: distilling",
) -> History:
    """Train `model` in place, and leave it in evaluation mode with the weights that `best` kept.

    Args:
        model: Stays on the device it was trained on.
        pairs: Columns sentence1, sentence2, label.
        config: Epochs, batch, learning rate, looks.
        seed: Decides the order of pairs and dropout.
        scratch: Folder the trainer may write to.
        best: Looks at the model at times; without it the last weights stay.
        title: Shown beside the bar.
    """
    arguments = SentenceTransformerTrainingArguments(**schedule(config, len(pairs), seed, scratch))

    def trainer(progress: Progress) -> Trainer:
        return PlainTrainer(model=model, args=arguments, train_dataset=pairs,
                        loss=CosineSimilarityLoss(model), callbacks=[progress])  # fmt: skip

    return _trained(model, trainer, config, len(pairs), best, title)


def train_cross_encoder(
    model: CrossEncoder, pairs: Dataset, config: SurrogateConfig, seed: int, scratch: Path,
    best: Best,
) -> History:  # fmt: skip
    """As `train_siamese`, of a model with one output, which is brought to the label."""
    arguments = CrossEncoderTrainingArguments(**schedule(config, len(pairs), seed, scratch))

    def trainer(progress: Progress) -> Trainer:
        return _CrossTrainer(model=model, args=arguments, train_dataset=pairs, loss=MSELoss(model),
                             callbacks=[progress])  # fmt: skip

    return _trained(model, trainer, config, len(pairs), best, "Cross-encoder: distilling")


def _trained(
    model: nn.Module,
    make: Callable[[Progress], Trainer],
    config: SurrogateConfig,
    pairs: int,
    best: Best | None,
    title: str,
) -> History:
    steps = config.steps(pairs)
    places = frozenset(-(-steps * look // config.looks) for look in range(1, config.looks + 1))
    with bar(title, steps) as shown:
        trainer = make(Progress(shown, best, places))
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    if best is not None:
        best.restore()
    model.eval()
    return history_of(trainer)


def schedule(config: SurrogateConfig, pairs: int, seed: int, scratch: Path) -> dict[str, Any]:
    """Arguments of the trainer, whatever it trains: Adam, warm-up, fall, nothing on the screen."""
    steps = config.steps(pairs)
    return {
        "output_dir": str(scratch / "trainer"),
        "num_train_epochs": config.passes(Way.PAPER),
        "per_device_train_batch_size": config.chosen_batch,
        "learning_rate": config.chosen_rate,
        "lr_scheduler_type": "linear",
        "warmup_steps": int(config.warmup * steps),
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
