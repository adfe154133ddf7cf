"""The *Surrogate*, which learns the pairs that Origin scored (§3.4, §5.6)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.corpus import Corpus
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED, build_pretrained
from firth.encoders.words import WORDS, build_words
from firth.evaluation.questions import QUESTIONS, build_questions, open_questions
from firth.paper.harvest import HARVEST, ScoredPairs, read_pairs
from firth.paper.settings import PaperSettings, SurrogateSettings
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.blend import BLEND, build_blend
from firth.text.types import Floats, Ints, TextPair
from firth.train.distill import Plan, train_student
from firth.train.loop import build_together, first, in_parts
from firth.train.objectives import ALL, HELD_OUT, Batches, Figures, rank_correlation
from firth.train.settings import DistillSettings
from firth.train.students import BiEncoder, on_device, open_student, write_transformer
from firth.train.tokenizer import TOKENIZER

SURROGATE = Stage("paper/surrogate", 5, "torch", "firth paper build --to surrogate")
_READS = {"static": (WORDS, BLEND), "transformer": (TOKENIZER,), "layers": (PRETRAINED,)}
_PATIENCE = 1_000
"""Evaluations without a gain after which training stops: the paper trains to the end."""
_BATCH = 128
_COMPARED = 10_000
"""Training pairs whose similarities before training give labels their distribution, at most."""
_USE = """\
from sentence_transformers import CrossEncoder

model = CrossEncoder("path/to/this/folder")
print(model.predict([("The judge praised the witness.", "The court thanked him.")]))
"""


def train_surrogate(
    run: Run, settings: SurrogateSettings | None = None, stage: Stage = SURROGATE
) -> Outcome:
    """Distil the harvest of a run into a Transformer by the squared difference (§3.4).

    The stage is a folder that sentence-transformers opens. Its report has the squared error on dev
    and test, that of a constant, and the rank correlation with Origin, before and after. The start
    is kept where no step agrees better with Origin on dev, or where the best one answers label-free
    questions worse. A variant has another `stage`.

    Raises:
        MissingStageError: The run has no harvest, or lacks what the base is made from.
        InputError: The base cannot be opened, or all scores are equal.
    """
    chosen = settings or run.wing("paper", PaperSettings).surrogate
    inputs = PaperSettings(surrogate=chosen).inputs("surrogate")
    run.manifest(HARVEST)
    first(lambda: _prepare(run, chosen.base))
    if chosen.base not in _READS:
        inputs["base"] = PretrainedFiles.find(chosen.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
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
            pairs = open_pairs(seen, chosen.pairs)
            return PairLabels(
                student, pairs, chosen.calibration, plan.batch, plan.micro_batches, seed
            )

        questions, use = open_questions(seen), _USE if cross else ""
        return train_student(seen, workspace, plan, start, objective, questions, use)

    reads = [HARVEST, QUESTIONS, *_READS.get(chosen.base, ())]
    paths = ["seed", "encoder", *(["corpus", "scorer", "static"] if BLEND in reads else [])]
    inputs |= {"corpus": Corpus.open(run).digest}
    return build_together(run, stage, fill, reads=reads, settings=paths, inputs=inputs)


def _prepare(run: Run, base: str) -> None:
    """Build what the start of a Surrogate reads, and the questions that it must not lose on."""
    build_questions(run)
    if base == "static":
        build_words(run)
        build_pretrained(run)
        build_blend(run)


def open_pairs(run: Run, most: int | None) -> dict[str, ScoredPairs]:
    """Return the splits of a harvest, with at most `most` training pairs (Table 7).

    They are the first of one shuffled order, so that fewer pairs are a part of more.
    """
    splits = {split: read_pairs(run.folder(HARVEST), split) for split in ("train", *HELD_OUT)}
    if most is not None:
        whole, seed = splits["train"], derive_seed(run.settings.seed, "reproduce", "harvest")
        order = np.random.default_rng(seed).permutation(len(whole.pairs))
        splits["train"] = whole.some(np.sort(order[:most]))
    return splits


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
    """Return a cross-encoder before training; `InputError` where the base is none."""
    base = settings.base
    if base == "static":
        raise InputError(
            "paper.surrogate.base is static, and word vectors make no cross-encoder; expected "
            "transformer, or the name of an encoder"
        )
    if base == "transformer":
        write_transformer(run, settings, folder)
        base = str(folder)
    place = PretrainedFiles.find(base)
    if place.reads_pairs:
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

    `module` is trained, `batches` are numbers of pairs of each step, `sizes` the pairs of each
    split.
    """

    teacher, unit = "the scores of pairs", "pairs"

    def __init__(
        self,
        student: BiEncoder | PairEncoder,
        splits: Mapping[str, ScoredPairs],
        calibration: str,
        batch: int,
        micro_batches: int,
        seed: int,
    ) -> None:
        self._student, self._parts, self.module = student, micro_batches, student.module
        self.seed = seed
        self.sizes = {split: len(some.pairs) for split, some in splits.items()}
        self._splits, train = splits, splits["train"]
        compared = np.linspace(0, len(train.pairs) - 1, min(len(train.pairs), _COMPARED))
        start = student.similarities(train.some(compared.astype(np.int64)).pairs)
        self._label = label_map(train.scores, calibration, start)
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


def label_map(scores: Floats, calibration: str, start: Floats) -> Callable[[Floats], Floats]:
    """Return the map from raw scores to labels: monotonic, fitted on training scores alone.

    `quantile` is that similarity of the start below which is the same share: a student learns an
    order, and not to raise all its cosines, which changes vectors of words that no pair has. `none`
    is the score, clipped to [0, 1].

    Args:
        scores: Of the training pairs, (n,).
        calibration: `quantile` or `none`.
        start: Similarities of training pairs before training, (m,).

    Raises:
        InputError: Scores are not finite, or all equal; or so are similarities for `quantile`.
    """
    if not np.isfinite(scores).all() or not len(scores) or not np.ptp(scores):
        raise InputError(
            f"the scores of {len(scores)} training pairs are all equal, or not finite; nothing can "
            "be learned from them"
        )
    if calibration == "none":
        return lambda values: np.clip(values, 0.0, 1.0)
    if not np.isfinite(start).all() or not np.ptp(start):
        raise InputError(
            f"the start finds {len(start)} training pairs all equally similar, or not finite; "
            "expected a base that tells sentences apart"
        )
    distinct, counts = np.unique(scores, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(scores)
    labels = np.quantile(start, ranks)
    return lambda values: np.asarray(np.interp(values, distinct, labels))
