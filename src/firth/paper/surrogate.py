"""The *Surrogate*, which learns the pairs that Origin scored (§3.4, §5.6)."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import ndtr
from sentence_transformers import CrossEncoder
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.tokenizer import TOKENIZER
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.pretrained import PRETRAINED
from firth.paper.harvest import HARVEST, read_pairs
from firth.paper.settings import PaperSettings, SurrogateSettings
from firth.run.errors import InputError
from firth.run.files import write_text
from firth.run.run import Run
from firth.run.settings import DistillSettings, derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.arrays import Floats, Ints
from firth.text.pairs import TextPair
from firth.train.distill import Plan, train_student
from firth.train.loop import build_together, in_parts
from firth.train.objectives import ALL, HELD_OUT, Batches, Figures, rank_correlation
from firth.train.students import BiEncoder, on_device, open_student, write_transformer

SURROGATE = Stage("paper/surrogate", 2, "torch", "firth paper build --to surrogate")
_READS = {"transformer": (TOKENIZER,), "layers": (PRETRAINED,)}
_PATIENCE = 1_000
"""Evaluations without a gain after which training stops: the paper trains to the end."""
_BATCH = 128
_KNOTS = 1_001
"""Points of the quantile function: no label is wrong by more than 1 / 1,000."""
_USE = """\
from sentence_transformers import CrossEncoder

model = CrossEncoder("path/to/this/folder")
print(model.predict([("The judge praised the witness.", "The court thanked him.")]))
"""


def train_surrogate(
    run: Run, settings: SurrogateSettings | None = None, stage: Stage = SURROGATE
) -> Outcome:
    """Distil the harvest of a run into a Transformer by the squared difference (§3.4).

    The stage is a folder that sentence-transformers opens, with a report and a card. Its report has
    the squared error on dev and test, that of a constant, and the rank correlation with Origin.

    Args:
        run: A run with a harvest.
        settings: By default the settings `paper.surrogate`.
        stage: By default the Surrogate of the run; another name keeps a variant of it.

    Raises:
        MissingStageError: The run has no harvest, or lacks what the base is made from.
        InputError: The base cannot be opened, or all scores are equal.
    """
    chosen = settings or run.wing("paper", PaperSettings).surrogate
    inputs = PaperSettings(surrogate=chosen).inputs("surrogate")
    if chosen.base not in _READS:
        inputs["base"] = PretrainedFiles.find(chosen.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        pairs = seen.folder(HARVEST)
        if chosen.pairs is not None:
            some = workspace / SCRATCH / "pairs"
            sample_pairs(pairs, some, chosen.pairs, seen.settings.seed)
            pairs = some
        settings = DistillSettings(
            **chosen.model_dump(exclude={"structure", "pairs", "calibration"}), patience=_PATIENCE
        )
        cross, plan = chosen.structure == "cross-encoder", Plan.of(settings)
        seed = derive_seed(seen.settings.seed, "surrogate", "distillation")

        def start() -> BiEncoder | PairEncoder:
            folder = workspace / SCRATCH / "start"
            opened = open_pair_encoder if cross else open_student
            return opened(seen, settings, folder)

        def objective(student: Any) -> PairLabels:
            parts = plan.micro_batches
            return PairLabels(student, pairs, chosen.calibration, plan.batch, parts, seed)

        return train_student(seen, workspace, plan, start, objective, use=_USE if cross else "")

    reads = [HARVEST, *_READS.get(chosen.base, ())]
    return build_together(
        run, stage, fill, reads=reads, settings=["seed", "encoder"], inputs=inputs
    )


def sample_pairs(harvest: Path, folder: Path, count: int, seed: int) -> None:
    """Write a harvest with the first `count` training pairs of one shuffled order (Table 7).

    Fewer pairs are a part of more. The held-out pairs are all there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(harvest, folder)
    lines = (harvest / "train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    rng = np.random.default_rng(derive_seed(seed, "reproduce", "harvest"))
    chosen = np.sort(rng.permutation(len(lines))[:count])
    write_text(folder / "train.jsonl", "".join(lines[row] for row in chosen.tolist()))


# --- Scores of pairs ----------------------------------------------------------------------------


class PairEncoder:
    """A cross-encoder that learns: both texts in one input, one number out (Sun et al., §5.6)."""

    name = "student"

    def __init__(self, module: CrossEncoder) -> None:
        module.activation_fn = nn.Identity()  # Without a sigmoid, its answers are labels.
        self.module = module

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,)."""
        if not pairs:
            return np.zeros(0)
        scores = self.module.predict(list(pairs), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, np.float64).reshape(len(pairs))

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the scores of pairs with gradients, (n,)."""
        features = self.module.preprocess(list(pairs))
        scores: Tensor = self.module(on_device(features, self.module.device))["scores"]
        return scores.view(-1)


def open_pair_encoder(run: Run, settings: DistillSettings, folder: Path) -> PairEncoder:
    """Return a cross-encoder before training, as `open_student` does.

    Raises:
        InputError: The base cannot be opened, or has more than one output.
    """
    base = settings.base
    if base == "transformer":
        write_transformer(run, settings, folder)
        base = str(folder)
    place = PretrainedFiles.find(base)
    kinds = (ModelKind.CROSS_ENCODER, ModelKind.MASKED_LM, ModelKind.SENTENCE_ENCODER)
    if place.kind in kinds and (place.folder / "config.json").is_file():
        options = {"dtype": torch.float32, "use_safetensors": True}
        model = CrossEncoder(str(place.folder), model_kwargs=options, local_files_only=True)
        if model.num_labels == 1:
            return PairEncoder(model)
    raise InputError(
        f"paper.surrogate.base: {base} is of kind {place.kind}; expected transformer, an encoder, "
        "or a cross-encoder with one output"
    )


class PairLabels:
    """The student's scores of pairs approach labels: the squared difference (Sun et al., §3.4).

    Args:
        student: It is trained.
        folder: Folder of the stage of scored pairs.
        calibration: How scores become labels; see `label_map`.
        batch: Pairs in a batch.
        micro_batches: Parts in which a batch is computed.
        seed: Decides the order.

    Attributes:
        module: What is trained.
        batches: Numbers of the pairs of each step.
        sizes: Pairs of each split.
        seed: Seeds dropout.
    """

    teacher, unit = "the scores of pairs", "pairs"

    def __init__(
        self,
        student: BiEncoder | PairEncoder,
        folder: Path,
        calibration: str,
        batch: int,
        micro_batches: int,
        seed: int,
    ) -> None:
        self._student, self._parts, self.module = student, micro_batches, student.module
        self.seed = seed
        self._splits = {split: read_pairs(folder, split) for split in ("train", *HELD_OUT)}
        self.sizes = {split: len(some.pairs) for split, some in self._splits.items()}
        train = self._splits["train"]
        self._label = label_map(train.scores, calibration)
        self._labels = self._label(train.scores)
        rows = np.arange(len(train.pairs))[:, None]
        self.batches = Batches(rows, batch, derive_seed(seed, "order"))

    def loss(self, rows: Ints) -> Tensor:
        """Return the loss of a batch of pairs."""
        pairs = [self._splits["train"].pairs[row] for row in rows.tolist()]
        scores = in_parts(lambda some: self._student.scores(pairs[some]), len(pairs), self._parts)
        labels = torch.from_numpy(self._labels[rows]).float()
        return functional.mse_loss(scores.float(), labels.to(scores.device))

    def agreement(self) -> float | None:
        """Return the rank correlation with the teacher on dev."""
        dev = self._splits["dev"]
        return rank_correlation(self._student.similarities(dev.pairs), dev.scores)

    def figures(self) -> Figures:
        """Return the agreement with the teacher on dev and test."""
        return {split: self._measured(split) for split in HELD_OUT}

    def _measured(self, split: str) -> dict[str, dict[str, Any]]:
        held, constant = self._splits[split], float(self._labels.mean())
        answers, labels = self._student.similarities(held.pairs), self._label(held.scores)
        kinds, figures = np.array(held.kinds), {}
        for kind in (ALL, *sorted(set(held.kinds))):
            some = (kinds == kind) | (kind == ALL)
            figures[kind] = {
                "n": int(some.sum()),
                "spearman": rank_correlation(answers[some], held.scores[some]),
                "l2": float(f"{np.mean((answers - labels)[some] ** 2):.6g}"),
                "constant_l2": float(f"{np.mean((constant - labels)[some] ** 2):.6g}"),
            }
        return figures


def label_map(scores: Floats, calibration: str) -> Callable[[Floats], Floats]:
    """Return the map from raw scores to labels: monotonic, fitted on training scores alone.

    Raw scores may lie so close together that a constant has a tiny error. Spread over [0, 1], an
    error means something.

    Args:
        scores: Raw scores of training pairs, (n,).
        calibration: `quantile`: the share of training scores below; `zscore`: the normal
            distribution function of the standardized score; `none`: the score, clipped to [0, 1].

    Raises:
        InputError: Scores are not finite, or all equal.
    """
    if not np.isfinite(scores).all() or not len(scores) or not np.ptp(scores):
        raise InputError(
            f"the scores of {len(scores)} training pairs are all equal, or not finite; nothing can "
            "be learned from them"
        )
    mean, deviation = float(scores.mean()), float(scores.std())
    if calibration == "none":
        return lambda values: np.clip(values, 0.0, 1.0)
    if calibration == "zscore":
        return lambda values: np.asarray(ndtr((values - mean) / deviation))
    distinct, counts = np.unique(scores, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(scores)
    if len(distinct) > _KNOTS:
        kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _KNOTS)))
        distinct, ranks = distinct[kept], ranks[kept]
    return lambda values: np.asarray(np.interp(values, distinct, ranks))
