"""Training on pairs: two sentences, and L2 between what a model says of them and a label (§3.4).

The losses are sentence-transformers'; the loop is `firth.run.training`, whose checkpoints hold no
pickles: a distillation that was stopped ends with the bytes of one that was not.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.cross_encoder import CrossEncoder
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
from torch import Tensor, nn
from torch.nn import functional

from firth.lexical.arrays import Ints
from firth.run.errors import DamagedError
from firth.run.files import write_atomically
from firth.run.parts import InParts, in_parts
from firth.run.precision import device
from firth.run.seeds import derive_seed
from firth.run.tensors import read_state, write_tensors
from firth.run.training import History, Schedule, train
from firth.surrogate.calibration import LabelMap
from firth.surrogate.settings import BaseKind, SurrogateConfig

Batch = Mapping[str, Any]
"""Columns sentence1, sentence2 (lists of texts) and label."""


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

    Raises:
        DamagedError: The file is not as it was written.
    """

    def __init__(self, model: nn.Module, figure: Callable[[], float | None], scratch: Path) -> None:
        self._model, self._figure = model, figure
        self._file = scratch / "best.safetensors"
        self.step, self._value = 0, -math.inf
        if self._file.is_file():
            state = read_state(self._file)
            if state is None:
                raise DamagedError(
                    f"{self._file}: damaged: the best weights so far. Remove {scratch}, and "
                    "training begins anew"
                )
            known = json.loads(state)
            self.step, self._value = known["step"], known["figure"]
        self.first = self.look(0)

    def look(self, step: int) -> float | None:
        """Take the figure, and the weights if no earlier ones were as good."""
        value = self._figure()
        rounded = None if value is None else round(value, 6)
        if (value is not None and value > self._value) or not self._file.is_file():
            self.take(step, value)
        return rounded

    def take(self, step: int, value: float | None = None) -> None:
        """Take the weights as the best ones, whatever earlier ones were."""
        self.step, self._value = step, -math.inf if value is None else value
        known = json.dumps({"step": step, "figure": self._value})
        write_tensors(self._file, _weights(self._model), known)

    def restore(self) -> None:
        """Give the model its best weights back."""
        self._model.load_state_dict(load_file(self._file))


def write_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights into a file of safetensors."""
    with write_atomically(path) as partial:
        save_file(_weights(model), partial)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous()
        for name, tensor in model.state_dict().items()
    }


class PairBatches:
    """Pairs of a step, a function of the step alone; memory holds four bytes a pair.

    Args:
        pairs: Columns sentence1, sentence2, label, memory-mapped.
        size: Of a batch; the last one of an epoch may be smaller.
        seed: Decides the order, a new one for each epoch.
    """

    def __init__(self, pairs: Dataset, size: int, seed: int) -> None:
        self._pairs, self._size, self._seed = pairs, size, seed
        self.steps = -(-len(pairs) // size)
        """Steps of an epoch."""
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def __call__(self, step: int) -> Batch:
        """Those of a step."""
        epoch, place = divmod(step, self.steps)
        rows = self._order(epoch)[place * self._size : (place + 1) * self._size]
        return cast(Batch, self._pairs[rows.tolist()])

    def _shuffled(self, epoch: int) -> Ints:
        rng = np.random.default_rng(derive_seed(self._seed, "order", epoch))
        wide = np.int32 if len(self._pairs) < 1 << 31 else np.int64
        return rng.permutation(np.arange(len(self._pairs), dtype=wide))


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
        model: Stays on the device it was trained on; a call that continues is given the same.
        pairs: Columns sentence1, sentence2, label.
        config: Epochs, batch, learning rate, looks, checkpoints.
        seed: Decides the order of pairs and dropout.
        scratch: Holds checkpoints; an interrupted call continues from what it left there.
        best: Looks at the model at times; without it the last weights stay.
        title: Shown beside the bar.

    Returns:
        `config.looks` entries: `step`, `loss`, the mean L2 since the entry before, and what `best`
        saw, `spearman`, unless that is undefined.
    """
    static = config.kind is BaseKind.STATIC
    where = torch.device("cpu") if static else device()
    measure: nn.Module = CosineSimilarityLoss(model)
    measure.model = InParts(model, config.chosen_parts)

    def loss(batch: Batch) -> Tensor:
        read = (model.preprocess(list(batch[name])) for name in ("sentence1", "sentence2"))
        found: Tensor = measure([moved(one, where) for one in read], _labels(batch, where))
        return found

    shared_by = None if static else "surrogate.parts"
    return _trained(model.to(where), pairs, loss, config, shared_by, seed, scratch, best, title)


def train_cross_encoder(
    model: CrossEncoder, pairs: Dataset, config: SurrogateConfig, seed: int, scratch: Path,
    best: Best,
) -> History:  # fmt: skip
    """As `train_siamese`, of a model with one output, which is brought to the label."""
    where = device()

    def loss(batch: Batch) -> Tensor:
        texts = list(zip(batch["sentence1"], batch["sentence2"], strict=True))

        def answers(some: slice) -> Tensor:
            found: Tensor = model(moved(model.preprocess(texts[some]), where))["scores"]
            return found

        found = in_parts(answers, len(texts), config.chosen_parts)
        return functional.mse_loss(found.view(-1), _labels(batch, where))

    title, shared_by = "Cross-encoder: distilling", "cross_encoder.parts"
    return _trained(model.to(where), pairs, loss, config, shared_by, seed, scratch, best, title)


def moved(features: Mapping[str, Any], where: torch.device) -> dict[str, Any]:
    """What a tokenizer made, on a device."""
    return {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}


def _labels(batch: Batch, where: torch.device) -> Tensor:
    return torch.tensor(batch["label"], dtype=torch.float32, device=where)


def _trained(
    model: nn.Module,
    pairs: Dataset,
    loss: Callable[[Batch], Tensor],
    config: SurrogateConfig,
    shared_by: str | None,
    seed: int,
    scratch: Path,
    best: Best | None,
    title: str,
) -> History:
    steps = config.steps(len(pairs))
    batches = PairBatches(pairs, config.chosen_batch, seed)
    schedule = Schedule(
        steps=steps,
        learning_rate=config.chosen_rate,
        warmup=int(config.warmup * steps),
        checkpoint_steps=config.checkpoint_steps,
        seed=seed,
        report_steps=-(-steps // config.looks),
        parts=config.chosen_parts,
        shared_by=shared_by,
    )

    def look(step: int) -> dict[str, float]:
        figure = None if best is None else best.look(step)
        return {} if figure is None else {"spearman": figure}

    history = train(model, batches, loss, schedule, scratch / "pairs", title, look)
    if best is not None:
        best.restore()
    model.eval()
    return [entry | {"loss": round(entry["loss"], 6)} for entry in history]


def looks_of(best: Best, history: History) -> list[dict[str, Any]]:
    """What was seen of a model at its start and while it learned: `step` and `spearman`."""
    seen = [{"step": int(one["step"]), "spearman": one.get("spearman")} for one in history]
    return [{"step": 0, "spearman": best.first}, *seen]
