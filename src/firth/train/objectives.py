"""What a student learns of its teacher: how similar any two sentences of a batch are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firth.run.settings import derive_seed
from firth.text.types import Ints, Singles
from firth.train.loop import Batches
from firth.train.students import ALL, HELD_OUT, BiEncoder, Figures, rank_correlation

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


class SimilarityMatrix:
    """The student learns how similar the teacher finds any two sentences of a batch.

    Each sentence has a distribution over the others of its batch, the softmax of its similarities.
    The loss is the divergence of the student's distributions from the teacher's (ListNet, Cao et
    al. 2007), plus one minus the cosine with the teacher's vectors.

    `module` is what is trained, `batches` are the sentences of each step, `sizes` those of each
    split, and `seed` seeds dropout.

    Args:
        student: What learns.
        teacher: Its name.
        texts: Sentences.
        vectors: Unit vectors of the texts by the teacher, (n, d).
        splits: Rows of `train`, `dev` and `test`.
        batch: Sentences of a step, about.
        seed: Decides order and dropout.
    """

    unit = "sentences"

    def __init__(
        self,
        student: BiEncoder,
        teacher: str,
        texts: Sequence[str],
        vectors: Singles,
        splits: Mapping[str, Ints],
        batch: int,
        seed: int,
    ) -> None:
        self._student, self.teacher, self._texts, self._vectors = student, teacher, texts, vectors
        self.seed, self.sizes = seed, {split: len(rows) for split, rows in splits.items()}
        self._held = {
            split: HeldOut(
                [texts[row] for row in splits[split].tolist()],
                vectors[splits[split]],
                derive_seed(seed, split),
            )
            for split in HELD_OUT
        }
        train = splits["train"]
        groups = near_groups(vectors[train], min(_GROUP, len(train)), derive_seed(seed, "near"))
        self.batches = Batches.of(train[groups], batch, derive_seed(seed, "order"))
        self._head: nn.Module = nn.Identity()
        states = student.encode([texts[n] for n in train[:_FITTED].tolist()])
        if states.shape[1] != vectors.shape[1]:
            self._head = linear_fit(states, vectors[train[:_FITTED]])
        self.module = nn.ModuleList([student.module, self._head])

    def loss(self, rows: Ints) -> Tensor:
        """Return the loss of a batch of sentences."""
        dev, units = self._held["dev"], self._vectors[rows]
        vectors = self._student.vectors([self._texts[n] for n in rows.tolist()])
        cosines = (units @ units.T).astype(np.float64)
        similar = torch.from_numpy(_DEVIATION * (cosines - dev.mean) / dev.deviation)
        loss = listwise(vectors, similar.float().to(vectors.device))
        teacher = torch.from_numpy(units).to(vectors.device)
        agree = functional.cosine_similarity(self._head(vectors).float(), teacher, dim=1)
        return loss + _VECTOR_WEIGHT * (1 - agree.mean())

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

    def __init__(self, texts: Sequence[str], vectors: Singles, seed: int) -> None:
        units, n = vectors.astype(np.float64), len(texts)
        similar = units @ units.T
        others = similar - 9.0 * np.eye(n)  # Below all similarities.
        nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(_HELD_NEAREST, n - 1)]
        both = np.stack((np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()))
        near, upper = np.unique(np.sort(both, axis=0), axis=1), np.stack(np.triu_indices(n, 1))
        size = min(near.shape[1], upper.shape[1])
        sample = np.random.default_rng(seed).choice(upper.shape[1], size, replace=False)
        left, right = np.concatenate((near, upper[:, np.sort(sample)]), axis=1)
        every = similar[tuple(upper)]
        self.mean, self.deviation = float(every.mean()), max(float(every.std()), 1e-9)
        self._scores = similar[left, right]
        self._pairs = [
            (texts[a], texts[b]) for a, b in zip(left.tolist(), right.tolist(), strict=True)
        ]

    def figures(self, student: BiEncoder) -> dict[str, dict[str, Any]]:
        """Return `n` and `spearman` of all pairs."""
        agreement = rank_correlation(student.similarities(self._pairs), self._scores)
        return {ALL: {"n": len(self._scores), "spearman": agreement}}


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
        last = len(alone) // size * size
        groups += (start + np.array(alone[:last], np.int64).reshape(-1, size)).tolist()
    return np.array(groups, np.int64)


def linear_fit(states: Singles, vectors: Singles) -> nn.Linear:
    """Return the linear map of the least squared error, slightly shrunk: (n, d) to (n, e)."""
    mean, center = states.mean(axis=0), vectors.mean(axis=0)
    inputs, targets = (states - mean).astype(np.float64), (vectors - center).astype(np.float64)
    squares = inputs.T @ inputs
    ridge = _RIDGE * max(float(np.trace(squares)) / len(squares), 1e-12) * np.eye(len(squares))
    weight = np.linalg.solve(squares + ridge, inputs.T @ targets)
    fitted = nn.Linear(states.shape[1], vectors.shape[1])
    with torch.no_grad():
        fitted.weight.copy_(torch.from_numpy(weight.T))
        fitted.bias.copy_(torch.from_numpy(center - mean @ weight))
    return fitted
