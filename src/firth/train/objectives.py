"""What a student learns of its teacher: all similarities within a batch, or scores of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor, nn
from torch.nn import functional

from firth.run.errors import InputError
from firth.run.seeds import derive_seed
from firth.text.arrays import Floats, Ints, Singles, unit
from firth.text.pairs import TextPair
from firth.train.loop import in_parts
from firth.train.pairs import ScoredPairs, rank_correlation, read_pairs
from firth.train.teacher import Teacher

HELD_OUT = ("dev", "test")
ALL, NEAR, RANDOM = "all", "near", "random"
TEMPERATURE = 0.05
"""Of the softmax over the other sentences of a batch."""
DEVIATION = 0.1
"""The standard deviation that the teacher's similarities are given before the softmax."""
VECTOR_WEIGHT = 5.0
"""Weight of the loss of vectors; that of similarities has 1."""
GROUP = 8
"""Sentences of a batch that the teacher finds similar."""
_NEAREST = 48
_CHOICE = 3
"""Times the size of a group: among so many near sentences those of similar length are taken."""
_BLOCK = 65_536
"""Sentences that are compared with each other, so that the work is linear in their number."""
_ROWS = 512
_SORTED = 64
"""Batches whose sentences are sorted by length together, so that little of a batch is padding."""
_FITTED = 4_000
"""Sentences that fit a linear map into the teacher's space."""
_RIDGE = 1e-3
_HELD_NEAREST = 10
_KNOTS = 1_001
"""Points of the quantile function: no label is wrong by more than 1 / 1,000."""
_SCALE_PAIRS = 10_000

Batch = TypeVar("Batch")
Figures = dict[str, dict[str, dict[str, Any]]]
"""Split, kind of pair, then `n`, `spearman` and, for pairs, `l2` and `constant_l2`."""


class VectorStudent(Protocol):
    """A student that gives a text a vector."""

    module: nn.Module

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors of texts, (n, d), of any length."""

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Return the same with gradients."""


class PairStudent(Protocol):
    """A student that scores pairs."""

    module: nn.Module

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,)."""

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the same with gradients."""


# The similarities of a batch.


class SimilarityMatrix:
    """The student learns how similar the teacher finds any two sentences of a batch.

    Each sentence has a distribution over the others of its batch, the softmax of its similarities.
    The loss is the divergence of the student's distributions from the teacher's (ListNet, Cao et
    al. 2007). Where the teacher has sentence vectors, one minus the cosine with them is added.

    Args:
        student: It is trained.
        teacher: Its sentences and similarities.
        batch: Sentences in a batch.
        micro_batches: Parts in which a batch is computed.
        seed: Decides groups and order.
    """

    def __init__(
        self, student: VectorStudent, teacher: Teacher, batch: int, micro_batches: int, seed: int
    ) -> None:
        self._student, self._teacher, self._parts = student, teacher, micro_batches
        self.teacher = teacher.name
        numbers = teacher.parts()
        self._held = {
            split: _HeldOut.of(teacher, numbers[split], derive_seed(seed, split))
            for split in HELD_OUT
        }
        train = numbers["train"]
        texts = [teacher.texts[n] for n in train.tolist()]
        lengths = np.array([len(text.split()) for text in texts])
        groups = near_groups(
            teacher.space(train, student),
            lengths,
            min(GROUP, len(train)),
            derive_seed(seed, "near"),
        )
        self.batches = Batches(
            train[groups], lengths[groups].max(axis=1), batch, derive_seed(seed, "order")
        )
        self.sizes = {split: len(some) for split, some in numbers.items()}
        self._head: nn.Module | None = None
        if teacher.vectors is not None:
            some = train[:_FITTED]
            states = student.encode([teacher.texts[n] for n in some.tolist()])
            wanted = teacher.vectors[some]
            same = states.shape[1] == wanted.shape[1]
            self._head = nn.Identity() if same else linear_fit(states, wanted)
        self.module = nn.ModuleList([student.module, *([self._head] if self._head else [])])

    def loss(self, chosen: Ints) -> Tensor:
        """Return the loss of a batch of sentence numbers."""
        teacher, (mean, deviation) = self._teacher, self._held["dev"].usual
        texts = [teacher.texts[n] for n in chosen.tolist()]
        vectors = in_parts(lambda rows: self._student.vectors(texts[rows]), len(texts), self._parts)
        similar = DEVIATION * (teacher.similarities(texts) - mean) / deviation
        loss = listwise(vectors, torch.from_numpy(similar.astype(np.float32)).to(vectors.device))
        if self._head is not None and teacher.vectors is not None:
            wanted = torch.from_numpy(teacher.vectors[chosen]).to(vectors.device)
            cosines = functional.cosine_similarity(self._head(vectors).float(), wanted, dim=1)
            loss = loss + VECTOR_WEIGHT * (1 - cosines.mean())
        return loss

    def agreement(self) -> float | None:
        """Return the rank correlation with the teacher on dev."""
        dev = self._held["dev"]
        found: float | None = dev.figures(self._student.encode(dev.texts))[ALL]["spearman"]
        return found

    def figures(self) -> Figures:
        """Return the agreement with the teacher on dev and test."""
        return {
            split: one.figures(self._student.encode(one.texts)) for split, one in self._held.items()
        }


def _units(student: VectorStudent, texts: Sequence[str]) -> Singles:
    return unit(student.encode(texts).astype(np.float64)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Held-out sentences, and pairs of them.

    Attributes:
        texts: n sentences.
        rows: Both sentences of each pair, (2, m), the `near` ones first.
        near: Number of pairs of a sentence and one of its ten nearest by the teacher.
        scores: The teacher's, (m,).
        usual: Mean and deviation of the teacher's similarities of any two.
    """

    texts: list[str]
    rows: Ints
    near: int
    scores: Floats
    usual: tuple[float, float]

    @classmethod
    def of(cls, teacher: Teacher, numbers: Ints, seed: int) -> "_HeldOut":
        texts = [teacher.texts[n] for n in numbers.tolist()]
        similar = teacher.similarities(texts)
        n = len(texts)
        others = similar - 9.0 * np.eye(n)  # Below all similarities.
        nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(_HELD_NEAREST, n - 1)]
        pairs = np.stack((np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()))
        near = np.unique(np.sort(pairs, axis=0), axis=1)
        upper = np.stack(np.triu_indices(n, 1))
        size = min(near.shape[1], upper.shape[1])
        some = np.random.default_rng(seed).choice(upper.shape[1], size, replace=False)
        rows = np.concatenate((near, upper[:, np.sort(some)]), axis=1)
        every = similar[upper[0], upper[1]]
        usual = float(every.mean()), max(float(every.std()), 1e-9)
        return cls(texts, rows, near.shape[1], similar[rows[0], rows[1]], usual)

    def figures(self, vectors: Singles) -> dict[str, dict[str, Any]]:
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        cosines = np.einsum("nd,nd->n", *units[self.rows].astype(np.float64))
        kinds = {ALL: slice(None), NEAR: slice(self.near), RANDOM: slice(self.near, None)}
        return {
            kind: {
                "n": len(self.scores[some]),
                "spearman": rank_correlation(cosines[some], self.scores[some]),
            }
            for kind, some in kinds.items()
        }


def listwise(vectors: Tensor, similarities: Tensor) -> Tensor:
    """Return the mean divergence of the student's distributions from the teacher's, at least 0.

    Args:
        vectors: The student's, (n, d), of any length.
        similarities: The teacher's, (n, n), on the scale of cosines.
    """
    with torch.autocast(vectors.device.type, enabled=False):  # These products must not be rounded.
        units = functional.normalize(vectors.float(), dim=1)
        itself = torch.eye(len(units), dtype=torch.bool, device=units.device)
        student, teacher = (
            functional.log_softmax((each / TEMPERATURE).masked_fill(itself, -1e9), dim=1)
            for each in (units @ units.T, similarities)
        )
        return functional.kl_div(student, teacher, log_target=True, reduction="batchmean")


def near_groups(vectors: Singles, lengths: Ints, size: int, seed: int) -> Ints:
    """Return groups of similar sentences, each sentence in at most one; (groups, `size`).

    Among random sentences hardly two are similar, and a student that orders these learns nothing of
    the differences between sentences that nearly agree. In random order each free sentence takes,
    of its nearest free ones, those of the most similar length. Sentences that find too few are
    grouped by length.

    Args:
        vectors: Unit vectors, (n, d).
        lengths: Lengths of the sentences, (n,).
        size: Sentences in a group, at most n.
        seed: Decides the order.
    """
    rng = np.random.default_rng(seed)
    blocks = []
    for start in range(0, len(vectors) - size + 1, _BLOCK):
        some = slice(start, start + _BLOCK)
        blocks.append(start + _grouped(vectors[some], lengths[some], size, rng))
    return np.concatenate(blocks)


def _grouped(vectors: Singles, lengths: Ints, size: int, rng: np.random.Generator) -> Ints:
    table = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    count = min(_NEAREST, len(table))
    parts = torch.split(table, _ROWS)
    nearest = torch.cat([(rows @ table.T).topk(count, dim=1).indices for rows in parts]).numpy()
    free = np.ones(len(vectors), bool)
    groups: list[list[int]] = []
    alone: list[int] = []
    for first in rng.permutation(len(vectors)).tolist():
        if not free[first]:
            continue
        free[first] = False
        others = nearest[first][free[nearest[first]]][: _CHOICE * size]
        gaps = np.abs(lengths[others] - lengths[first])
        group = [first, *others[np.argsort(gaps, kind="stable")][: size - 1].tolist()]
        free[group] = False
        if len(group) == size:
            groups.append(group)
        else:
            alone += group
    rest = np.array(alone, np.int64)
    rest = rest[np.argsort(lengths[rest], kind="stable")][: len(rest) // size * size]
    return np.concatenate((np.array(groups, np.int64).reshape(-1, size), rest.reshape(-1, size)))


def linear_fit(states: Singles, wanted: Singles) -> nn.Linear:
    """Return the linear map of the least squared error, slightly shrunk: (n, d) to (n, e)."""
    mean, center = states.mean(axis=0), wanted.mean(axis=0)
    one, two = (states - mean).astype(np.float64), (wanted - center).astype(np.float64)
    squares = one.T @ one
    ridge = _RIDGE * max(float(np.trace(squares)) / len(squares), 1e-12) * np.eye(len(squares))
    weight = np.linalg.solve(squares + ridge, one.T @ two)
    fitted = nn.Linear(states.shape[1], wanted.shape[1])
    with torch.no_grad():
        fitted.weight.copy_(torch.from_numpy(weight.T))
        fitted.bias.copy_(torch.from_numpy(center - mean @ weight))
    return fitted


class Batches:
    """Rows of each step, a function of the step; each epoch has another order.

    Args:
        groups: Rows that stay in one batch, (g, s). What an epoch leaves over is dropped.
        lengths: Length of each group. The groups of a batch have similar lengths.
        size: Rows in a batch, at least one group.
        seed: Decides the order.
    """

    def __init__(self, groups: Ints, lengths: Ints, size: int, seed: int) -> None:
        self._groups, self._lengths, self._seed = groups, lengths, seed
        self._size = min(max(size // groups.shape[1], 1), len(groups))
        self.epoch_steps = len(groups) // self._size
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def __call__(self, step: int) -> Ints:
        """Return the rows of a step."""
        epoch, place = divmod(step, self.epoch_steps)
        chosen: Ints = self._groups[self._order(epoch)[place]].ravel()
        return chosen

    def _shuffled(self, epoch: int) -> Ints:
        rng = np.random.default_rng(derive_seed(self._seed, epoch))
        places = rng.permutation(len(self._groups))[: self.epoch_steps * self._size]
        block = _SORTED * self._size
        for start in range(0, len(places), block):
            some = places[start : start + block]
            places[start : start + block] = some[np.argsort(self._lengths[some], kind="stable")]
        return rng.permutation(places.reshape(self.epoch_steps, self._size))


# Scores of pairs.


class PairLabels:
    """The student's scores of pairs approach labels: the squared difference (Sun et al., §3.4).

    Args:
        student: It is trained.
        folder: Folder of the stage of scored pairs.
        calibration: How scores become labels; see `label_map`.
        batch: Pairs in a batch.
        micro_batches: Parts in which a batch is computed.
        seed: Decides the order.
    """

    def __init__(
        self,
        student: PairStudent,
        folder: Path,
        calibration: str,
        batch: int,
        micro_batches: int,
        seed: int,
    ) -> None:
        self._student, self._parts = student, micro_batches
        self.teacher = "the scores of pairs"
        self._train = read_pairs(folder, "train")
        self._held = {split: read_pairs(folder, split) for split in HELD_OUT}
        scale = (
            student.similarities(self._train.pairs[:_SCALE_PAIRS])
            if calibration == "match"
            else None
        )
        self._label = label_map(self._train.scores, calibration, scale)
        self._labels = self._label(self._train.scores)
        count = len(self._train)
        self.batches = Batches(
            np.arange(count)[:, None], np.zeros(count, np.int64), batch, derive_seed(seed, "order")
        )
        self.sizes = {"train": count} | {split: len(some) for split, some in self._held.items()}
        self.module = student.module

    def loss(self, rows: Ints) -> Tensor:
        """Return the loss of a batch of pairs."""
        pairs = [self._train.pairs[row] for row in rows.tolist()]
        scores = in_parts(lambda some: self._student.scores(pairs[some]), len(pairs), self._parts)
        labels = torch.from_numpy(self._labels[rows].astype(np.float32))
        return functional.mse_loss(scores.float().view(-1), labels.to(scores.device))

    def agreement(self) -> float | None:
        """Return the rank correlation with the teacher on dev."""
        dev = self._held["dev"]
        return rank_correlation(self._student.similarities(dev.pairs), dev.scores)

    def figures(self) -> Figures:
        """Return the agreement with the teacher on dev and test."""
        return {split: self._measured(some) for split, some in self._held.items()}

    def _measured(self, held: ScoredPairs) -> dict[str, dict[str, Any]]:
        answers, labels = self._student.similarities(held.pairs), self._label(held.scores)
        constant = float(self._labels.mean())
        kinds = np.array(held.kinds)
        rows = {ALL: np.ones(len(held), bool)} | {kind: kinds == kind for kind in np.unique(kinds)}
        return {
            str(kind): {
                "n": int(some.sum()),
                "spearman": rank_correlation(answers[some], held.scores[some]),
                "l2": float(f"{np.mean((answers - labels)[some] ** 2):.6g}"),
                "constant_l2": float(f"{np.mean((constant - labels)[some] ** 2):.6g}"),
            }
            for kind, some in rows.items()
        }


def label_map(scores: Floats, calibration: str, cosines: Floats) -> Callable[[Floats], Floats]:
    """Return the map from raw scores to labels: monotonic, fitted on training scores alone.

    Raw scores may lie so close together that a constant has a tiny error. Spread over [0, 1], an
    error means something.

    Args:
        scores: Raw scores of training pairs, (n,).
        calibration: `quantile`: the share of training scores below; `zscore`: the normal
            distribution function of the standardised score; `none`: the score, clipped to [0, 1];
            `match`: the score with mean and deviation of the student's first cosines.
        cosines: match: the student's cosines of training pairs before training.

    Raises:
        InputError: Scores are not finite, or all equal; or `cosines` are, for `match`.
    """
    if bad := int(np.count_nonzero(~np.isfinite(scores))):
        raise InputError(f"{bad} of {len(scores)} training scores are not finite numbers.")
    if not len(scores) or np.ptp(scores) == 0:
        raise InputError(f"All {len(scores)} training scores are equal, so nothing can be learned.")
    mean, deviation = float(scores.mean()), float(scores.std())
    if calibration == "none":
        return lambda values: np.clip(values, 0.0, 1.0)
    if calibration == "zscore":
        return lambda values: np.asarray(ndtr((values - mean) / deviation))
    if calibration == "match":
        spread = float(cosines.std()) if len(cosines) else 0.0
        if not np.isfinite(spread) or spread == 0:
            raise InputError(
                "distill.calibration is match, and the student's first cosines are all equal. Set "
                "it to quantile, zscore or none."
            )
        center = float(cosines.mean())
        return lambda values: np.clip(center + spread * (values - mean) / deviation, -1.0, 1.0)
    distinct, counts = np.unique(scores, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(scores)
    if len(distinct) > _KNOTS:
        kept = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _KNOTS)))
        distinct, ranks = distinct[kept], ranks[kept]
    return lambda values: np.asarray(np.interp(values, distinct, ranks))
