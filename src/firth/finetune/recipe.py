"""What is learned from labels, by which objective, how long and how fast."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from firth.run.errors import InputError


class Kind(StrEnum):
    """What the labels are."""

    NLI = "nli"
    """Pairs that are an entailment, neutral or a contradiction."""
    STS = "sts"
    """Scored pairs of a known set, such as the STS benchmark."""
    TRIPLETS = "triplets"
    """An anchor, a text that belongs to it, and one that does not."""
    PAIRS = "pairs"
    """Scored pairs of one's own."""


class Objective(StrEnum):
    """What training makes small; each is a loss of sentence-transformers."""

    SOFTMAX = "softmax"
    """Cross-entropy of a classifier over (u, v, |u - v|) (Reimers & Gurevych 2019, §3)."""
    IN_BATCH = "in-batch"
    """Whose positive is it, among those of the batch (and their negatives)? (Henderson et al.
    2017: multiple negatives ranking.)"""
    L2 = "l2"
    """Squared difference of cosine and score (Sun et al. 2022, §3.4; SBERT's regression)."""
    COSENT = "cosent"
    """Order of the cosines in a batch, as that of the scores (Su 2022)."""
    ANGLE = "angle"
    """CoSENT's, of angles in the complex plane (Li & Li 2023)."""
    TRIPLET = "triplet"
    """By a margin of 1 nearer to the positive than to the negative, in Euclidean distance
    (Reimers & Gurevych 2019, §3)."""


OBJECTIVES: Mapping[Kind, tuple[Objective, ...]] = {
    Kind.NLI: (Objective.IN_BATCH, Objective.SOFTMAX),
    Kind.STS: (Objective.L2, Objective.COSENT, Objective.ANGLE),
    Kind.TRIPLETS: (Objective.TRIPLET, Objective.IN_BATCH),
    Kind.PAIRS: (Objective.L2, Objective.COSENT, Objective.ANGLE),
}
"""Kind → what it can be learned by; the first unless told otherwise, which is the paper's but for
inference: its softmax ruins word vectors (docs/reproduce.md)."""
_EPOCHS = {Kind.NLI: 1, Kind.STS: 4, Kind.TRIPLETS: 1, Kind.PAIRS: 4}
_PRETRAINED, _RANDOM = 2e-5, 5e-4
_STATIC = {Kind.NLI: 2e-3, Kind.STS: 5e-4, Kind.TRIPLETS: 2e-3, Kind.PAIRS: 5e-4}
"""Of word vectors: chosen on STSb dev (docs/finetune.md)."""


@dataclass(frozen=True)
class Recipe:
    """How to learn; None is what suits the kind and the start, and the papers where they say it.

    Attributes:
        kind: Of the labels.
        objective: One of `OBJECTIVES[kind]`; None takes the first.
        epochs: Passes over the training rows; None takes 1 for nli and triplets, else 4 (SBERT).
        batch: Rows a step; None takes 16 (SBERT), and 64 where a batch gives the negatives.
        learning_rate: Adam's, at its peak; None takes 2e-5 (SBERT), 5e-4 for a Transformer with
            random weights, and for word vectors 5e-4, or 2e-3 for nli and triplets.
        warmup: Share of the steps in which the rate rises; it falls linearly in the others.
        looks: Times that dev is looked at, evenly spread; the best weights are kept.
        patience: Looks in a row without a better figure after which training ends; None: never.
        checkpoint_steps: Steps between two checkpoints.
        parts: In which a Transformer works on a step's rows: memory is that of one, and processes
            that torchrun starts share them.
    """

    kind: Kind
    objective: Objective | None = None
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    warmup: float = 0.1
    looks: int = 10
    patience: int | None = None
    checkpoint_steps: int = 500
    parts: int = 1

    def problems(self) -> list[str]:
        """What of it cannot be, a line each."""
        found = []
        known = OBJECTIVES[self.kind]
        if self.objective is not None and self.objective not in known:
            expected = " or ".join(known)
            found.append(f"objective: got {self.objective} for {self.kind}; expected {expected}")
        for name in ("epochs", "batch", "looks", "patience", "checkpoint_steps", "parts"):
            value = getattr(self, name)
            if value is not None and value < 1:
                found.append(f"{name}: got {value}; expected 1 or more")
        if self.learning_rate is not None and not 0 < self.learning_rate < float("inf"):
            found.append(f"learning_rate: got {self.learning_rate}; expected a number above 0")
        if self.chosen is Objective.IN_BATCH and self.batch == 1:
            found.append("batch: got 1 for in-batch; expected 2 or more, to have negatives")
        return found

    @property
    def chosen(self) -> Objective:
        """The objective: as given, else the first of its kind."""
        return self.objective or OBJECTIVES[self.kind][0]

    @property
    def passes(self) -> int:
        """Epochs: as given, else what suits the kind."""
        return self.epochs or _EPOCHS[self.kind]

    @property
    def size(self) -> int:
        """Rows a step: as given, else what suits the objective."""
        return self.batch or (64 if self.chosen is Objective.IN_BATCH else 16)

    def rate(self, static: bool, random: bool) -> float:
        """The peak rate: as given, else what suits word vectors, random weights, or others."""
        suits = _STATIC[self.kind] if static else _RANDOM if random else _PRETRAINED
        return self.learning_rate or suits

    def shown(self) -> dict[str, Any]:
        """What decides the training, as plain values."""
        return {
            "kind": self.kind.value,
            "objective": self.chosen.value,
            "epochs": self.passes,
            "batch": self.size,
            "learning_rate": self.learning_rate,
            "warmup": self.warmup,
            "looks": self.looks,
            "patience": self.patience,
            "parts": self.parts,
        }


def recipe_of(kind: str | Kind, objective: str | Objective | None = None, **given: Any) -> Recipe:
    """A recipe by names; raise `InputError` for one that is unknown."""
    try:
        chosen = None if objective is None else Objective(objective)
        return Recipe(Kind(kind), chosen, **given)
    except ValueError as error:
        kinds, objectives = ", ".join(Kind), ", ".join(Objective)
        raise InputError(
            f"{error}; expected a kind of {kinds}, and an objective of {objectives}"
        ) from error
