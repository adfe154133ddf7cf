"""What a student learns of its teacher: how similar any two sentences of a batch are."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.evaluation.metrics import Metric, measure
from firth.run.settings import derive_seed
from firth.text.types import Floats, Ints, Singles, unit
from firth.train.loop import in_parts
from firth.train.students import BiEncoder
from firth.train.teacher import Teacher

HELD_OUT = ("dev", "test")
ALL, NEAR, RANDOM = "all", "near", "random"
Figures = dict[str, dict[str, dict[str, Any]]]
"""Split → kind of pair → `n`, `spearman` and, of scored pairs, `l2` and `constant_l2`."""
TEMPERATURE = 0.05
"""Of the softmax over the other sentences of a batch."""
_DEVIATION = 0.1
"""The standard deviation that the teacher's similarities are given before the softmax."""
_VECTOR_WEIGHT = 5.0
"""Weight of the loss of vectors; that of similarities has 1."""
_GROUP = 8
"""Sentences of a batch that are similar."""
_NEAREST, _BLOCK, _ROWS = 48, 65_536, 512
_FITTED, _RIDGE = 4_000, 1e-3
"""Sentences that fit a linear map into the teacher's space, and how far it is shrunk."""
_HELD_NEAREST = 10


class Batches:
    """Rows of each step, a function of the step; each epoch has another order.

    Each row of `groups`, (g, s), stays in one batch of about `size` rows, at least one group. What
    an epoch leaves over is dropped.
    """

    def __init__(self, groups: Ints, size: int, seed: int) -> None:
        self._groups, self._seed = groups, seed
        self._size = min(max(size // groups.shape[1], 1), len(groups))
        self.epoch_steps = len(groups) // self._size
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def __call__(self, step: int) -> Ints:
        """Return the rows of a step."""
        epoch, place = divmod(step, self.epoch_steps)
        chosen = self._order(epoch)[place * self._size : (place + 1) * self._size]
        rows: Ints = self._groups[chosen].ravel()
        return rows

    def _shuffled(self, epoch: int) -> Ints:
        return np.random.default_rng(derive_seed(self._seed, epoch)).permutation(len(self._groups))


class SimilarityMatrix:
    """The student learns how similar the teacher finds any two sentences of a batch.

    Each sentence has a distribution over the others of its batch, the softmax of its similarities.
    The loss is the divergence of the student's distributions from the teacher's (ListNet, Cao et
    al. 2007). Where the teacher has sentence vectors, one minus the cosine with them is added.

    `module` is what is trained, `batches` are the sentences of each step, `sizes` those of each
    split, and `seed` seeds dropout.
    """

    unit = "sentences"

    def __init__(
        self, student: BiEncoder, teacher: Teacher, batch: int, micro_batches: int, seed: int
    ) -> None:
        self._student, self._source, self._parts = student, teacher, micro_batches
        self.seed = seed
        self.teacher, numbers = teacher.name, teacher.parts()
        self.sizes = {split: len(rows) for split, rows in numbers.items()}
        self._held = {
            split: HeldOut(teacher, numbers[split], derive_seed(seed, split)) for split in HELD_OUT
        }
        train, known = numbers["train"], teacher.vectors
        if known is None:
            read = student.encode([teacher.texts[n] for n in train.tolist()])
            space = unit(read.astype(np.float64)).astype(np.float32)
        else:
            space = known[train]
        groups = near_groups(space, min(_GROUP, len(train)), derive_seed(seed, "near"))
        self.batches = Batches(train[groups], batch, derive_seed(seed, "order"))
        self._head: nn.Module = nn.Identity()
        if known is not None:
            fitted = train[:_FITTED]
            states = student.encode([teacher.texts[n] for n in fitted.tolist()])
            if states.shape[1] != known[fitted].shape[1]:
                self._head = linear_fit(states, known[fitted])
        self.module = nn.ModuleList([student.module, self._head])

    def loss(self, chosen: Ints) -> Tensor:
        """Return the loss of a batch of sentence numbers."""
        teacher, dev = self._source, self._held["dev"]
        texts = [teacher.texts[n] for n in chosen.tolist()]
        vectors = in_parts(lambda rows: self._student.vectors(texts[rows]), len(texts), self._parts)
        similar = _DEVIATION * (teacher.similarities(texts) - dev.mean) / dev.deviation
        loss = listwise(vectors, torch.from_numpy(similar).float().to(vectors.device))
        if teacher.vectors is not None:
            wanted = torch.from_numpy(teacher.vectors[chosen]).to(vectors.device)
            cosines = functional.cosine_similarity(self._head(vectors).float(), wanted, dim=1)
            loss = loss + _VECTOR_WEIGHT * (1 - cosines.mean())
        return loss

    def agreement(self) -> float | None:
        """Return the rank correlation with the teacher on dev."""
        return self._held["dev"].figures(self._student)[ALL]["spearman"]  # type: ignore[no-any-return]

    def figures(self) -> Figures:
        """Return the agreement with the teacher on dev and test."""
        return {split: held_out.figures(self._student) for split, held_out in self._held.items()}


class HeldOut:
    """Pairs of held-out sentences: each with its ten nearest by the teacher, and as many random.

    `mean` and `deviation`, above 0, are those of the teacher's similarities of any two sentences.
    """

    def __init__(self, teacher: Teacher, numbers: Ints, seed: int) -> None:
        texts = [teacher.texts[n] for n in numbers.tolist()]
        similar, n = teacher.similarities(texts), len(texts)
        others = similar - 9.0 * np.eye(n)  # Below all similarities.
        nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(_HELD_NEAREST, n - 1)]
        both = np.stack((np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()))
        near, upper = np.unique(np.sort(both, axis=0), axis=1), np.stack(np.triu_indices(n, 1))
        size = min(near.shape[1], upper.shape[1])
        sample = np.random.default_rng(seed).choice(upper.shape[1], size, replace=False)
        left, right = np.concatenate((near, upper[:, np.sort(sample)]), axis=1)
        every, self._near = similar[tuple(upper)], near.shape[1]
        self.mean, self.deviation = float(every.mean()), max(float(every.std()), 1e-9)
        self._scores = similar[left, right]
        self._pairs = [
            (texts[a], texts[b]) for a, b in zip(left.tolist(), right.tolist(), strict=True)
        ]

    def figures(self, student: BiEncoder) -> dict[str, dict[str, Any]]:
        """Return kind of pair → `n` and `spearman`."""
        cosines = student.similarities(self._pairs)
        kinds = {ALL: slice(None), NEAR: slice(self._near), RANDOM: slice(self._near, None)}
        return {
            kind: {
                "n": len(self._scores[rows]),
                "spearman": rank_correlation(cosines[rows], self._scores[rows]),
            }
            for kind, rows in kinds.items()
        }


def listwise(vectors: Tensor, similarities: Tensor) -> Tensor:
    """Return the mean divergence of the student's distributions from the teacher's, at least 0.

    Vectors are the student's, (n, d), of any length; similarities the teacher's, (n, n), on the
    scale of cosines.
    """
    with torch.autocast(vectors.device.type, enabled=False):  # These products must not be rounded.
        units = functional.normalize(vectors.float(), dim=1)
        itself = torch.eye(len(units), dtype=torch.bool, device=units.device)
        student, teacher = (
            functional.log_softmax((scores / TEMPERATURE).masked_fill(itself, -1e9), dim=1)
            for scores in (units @ units.T, similarities)
        )
        return functional.kl_div(student, teacher, log_target=True, reduction="batchmean")


def near_groups(vectors: Singles, size: int, seed: int) -> Ints:
    """Return groups of similar sentences, each sentence in at most one, (groups, `size`).

    Among random sentences hardly two are similar, and a student that orders these learns nothing of
    the differences between sentences that nearly agree. In random order each free sentence takes
    its nearest free ones. Sentences that find too few are grouped at the end.

    Unit vectors, (n, d), are compared in blocks of 65,536.
    """
    rng, groups = np.random.default_rng(seed), []
    for start in range(0, len(vectors) - size + 1, _BLOCK):
        table = torch.from_numpy(np.ascontiguousarray(vectors[start : start + _BLOCK]))
        count = min(_NEAREST, len(table))
        parts = [(rows @ table.T).topk(count, dim=1).indices for rows in torch.split(table, _ROWS)]
        nearest, free = torch.cat(parts).numpy(), np.ones(len(table), bool)
        alone: list[int] = []
        for first in rng.permutation(len(table)).tolist():
            if free[first]:
                free[first] = False
                group = [first, *nearest[first][free[nearest[first]]][: size - 1].tolist()]
                free[group] = False
                if len(group) == size:
                    groups.append([start + row for row in group])
                else:
                    alone += group
        whole = len(alone) // size * size
        groups += (start + np.array(alone[:whole], np.int64).reshape(-1, size)).tolist()
    return np.array(groups, np.int64)


def linear_fit(states: Singles, wanted: Singles) -> nn.Linear:
    """Return the linear map of the least squared error, slightly shrunk: (n, d) to (n, e)."""
    mean, center = states.mean(axis=0), wanted.mean(axis=0)
    inputs, targets = (states - mean).astype(np.float64), (wanted - center).astype(np.float64)
    squares = inputs.T @ inputs
    ridge = _RIDGE * max(float(np.trace(squares)) / len(squares), 1e-12) * np.eye(len(squares))
    weight = np.linalg.solve(squares + ridge, inputs.T @ targets)
    fitted = nn.Linear(states.shape[1], wanted.shape[1])
    with torch.no_grad():
        fitted.weight.copy_(torch.from_numpy(weight.T))
        fitted.bias.copy_(torch.from_numpy(center - mean @ weight))
    return fitted


def rank_correlation(first: Floats, second: Floats) -> float | None:
    """Return Spearman's correlation, to six decimals; None where it is undefined."""
    value = measure(Metric.SPEARMAN, first, second, seed=0, resamples=0).value
    return None if value is None else round(value / 100, 6)
