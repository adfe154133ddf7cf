"""Settings that belong together: the method as printed, at the paper's size and at two cores' size.

docs/presets.md has each value beside the paper's words for it.
"""

from copy import deepcopy
from enum import StrEnum
from typing import Any

Settings = dict[str, Any]
"""Section → setting → value."""


class Preset(StrEnum):
    """Named settings of the method of Sun et al. (2022).

    Example:
        >>> from firth.run.config import Config
        >>> small = Config().changed(Preset.PAPER_SMALL.settings, "an example")
        >>> small.paper.contexts, small.generator.layers
        (500, 3)
    """

    PAPER = "paper"
    """Everything the paper gives; where it names a model of others, that model's own settings."""
    PAPER_SMALL = "paper-small"
    """The same context sets, equations and measure; models that two cores can train."""

    @property
    def settings(self) -> Settings:
        """A copy of the settings, to be laid over a configuration."""
        return deepcopy(_SCORING | _MODELS if self is Preset.PAPER else _SCORING)


_SCORING: Settings = {
    "corpus": {"window": 1},
    "retrieve": {"chunks": 20_000},
    "origin": {"method": "paper"},
    "paper": {
        "contexts": 500,
        "shortlist": 1_000,
        "selection": "two-step",
        "diverse": True,
        "max_jaccard": 0.5,
        "weights": {"coherence": 1.0, "sentence": 1.0, "left": 1.0, "right": 1.0},
        "pmi": False,
        "measure": "cosine",
    },
}
_MODELS: Settings = {
    "coherence": {"hidden": 300, "interaction": "additive"},
    # Sizes, dropout, steps and batch are those of Vaswani et al. (2017), "big": 25,000 tokens to be
    # generated a step, of three parts here.
    "generator": {
        "backend": "seq2seq",
        "shared": False,
        "layers": 6,
        "width": 1_024,
        "heads": 16,
        "feedforward": 4_096,
        "dropout": 0.3,
        "drop_neighbour": 0.0,
        "pointer": False,
        "learning_rate": 1e-4,
        "steps": 300_000,
        "warmup": 4_000,
        "batch_tokens": 75_000,
        "precision": "float32",
    },
    "harvest": {"pairs": 100_000_000, "shard_pairs": 10_000, "train": 0.98, "dev": 0.01},
    "surrogate": {"base": "roberta-base", "way": "paper", "calibration": "none"},
}
