"""Pairs scored by a cross-encoder: {[CLS], s1, [SEP], s2} in, one number out (§5.6)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.lexical.arrays import Floats
from firth.lexical.labels import alike
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError
from firth.run.model_kind import ModelKind
from firth.run.pretrained import kind_of, open_cross_encoder
from firth.run.run import CONFIG

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_BATCH = 64


class CrossScorer:
    """Scores of a cross-encoder; the order of the two texts counts.

    Of a model with one output that output as it is, without the sigmoid that some are read
    through: it keeps the order of pairs apart where a sigmoid rounds to 1. Of a classifier, the
    probability of the class that says that the texts are alike.

    Raises:
        InputError: Its classes do not say which of them that is.
    """

    def __init__(self, model: "CrossEncoder", name: str = "cross-encoder") -> None:
        self.name = name
        self._model = model.eval()
        self._class = None if model.num_labels == 1 else _class_of(model, name)

    @classmethod
    def open(cls, name: str, device: str | None = None) -> "CrossScorer":
        """That of a folder or hub name; `device` None is the accelerator if there is one.

        Raises:
            InputError: It is refused, is no cross-encoder, or its classes do not say which of them
                says that texts are alike.
        """
        if (kind := kind_of(name)) is not ModelKind.CROSS_ENCODER:
            what = "the folder of a run" if (Path(name) / CONFIG).is_file() else f"a {kind}"
            raise InputError(f"{name}: {what}; expected a cross-encoder, such as RUN/cross-encoder")
        return cls(open_cross_encoder(name, device), name)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Scores of `pairs`, shape (n,)."""
        import torch

        if not len(pairs):
            return np.empty(0, dtype=np.float64)
        found = self._model.predict(
            list(pairs), batch_size=_BATCH, activation_fn=torch.nn.Identity(),
            show_progress_bar=False,
        )  # fmt: skip
        scores = np.asarray(found, dtype=np.float64)
        if self._class is None:
            return scores.reshape(len(pairs))
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = odds[:, self._class] / odds.sum(axis=1)
        return shares


def _class_of(model: "CrossEncoder", name: str) -> int:
    config: Any = model.config
    named = {int(number): str(label).lower() for number, label in config.id2label.items()}
    labels = [named[number] for number in sorted(named)]
    chosen = alike(labels)
    if chosen is None:
        raise InputError(
            f"{name}: a classifier of {', '.join(labels)}, none of which says that two texts are "
            "alike. Expected a cross-encoder with one output, or with classes such as entailment, "
            "or duplicate and not_duplicate"
        )
    return labels.index(chosen)
