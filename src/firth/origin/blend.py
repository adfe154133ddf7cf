"""How the parts of a score are weighed: as configured, or as the check chose without labels."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from firth.context.settings import Encoder
from firth.origin import ORIGIN
from firth.origin.settings import ComponentWeights, OriginConfig
from firth.run.files import read_json
from firth.run.run import Run

if TYPE_CHECKING:
    from firth.lexical.word_space import WordSpace

BLEND = "blend.json"


@dataclass(frozen=True)
class Blend:
    """Weights of Origin's components.

    Attributes:
        sentences: Of the cosine of sentence vectors.
        words: Of the alignment of words.
        own: Length of the directions that words have of their own, in sums of words; None: nothing
            that was learned of words counts beside them.
    """

    sentences: float
    words: float
    own: float | None

    def __str__(self) -> str:
        """The weights, in words."""
        own = "nothing learned of words" if self.own is None else f"own directions {self.own:g}"
        return f"{self.sentences:g} sentences + {self.words:g} words, {own}"

    @classmethod
    def of(cls, run: Run, config: OriginConfig) -> "Blend":
        """That of a run: what `config` says, and for the rest what its stage `origin` chose.

        Raises:
            MissingStageError: `config` leaves something open, and the stage is not built.
        """
        if config.weights is not None and config.own is not None:
            return cls(config.weights.sentences, config.weights.words, config.own)
        chosen = cls(**read_json(run.folder(ORIGIN) / BLEND)["chosen"])
        weights = config.weights or chosen
        own = chosen.own if config.own is None else config.own
        return cls(weights.sentences, weights.words, own)

    @property
    def length(self) -> float:
        """Of own directions; where they stand alone, any is the same."""
        return 1.0 if self.own is None else self.own

    def known(self, space: "WordSpace") -> "WordSpace":
        """What counts of what is known of words."""
        return space.unlearned() if self.own is None else space


DEFAULT = Blend(**ComponentWeights().model_dump(), own=0.8)
"""What is taken where the check has nothing to choose by: chosen on STSb dev and STS12, over
corpora of 0.1M to 10M words (docs/research/origin.md)."""


def default_blend(encoder: Encoder, states: bool = False, alone: bool = False) -> Blend:
    """The default of an encoder: one that was trained for sentences needs less of the alignment,
    unless words are aligned by its own states of them. Where texts stand alone
    (`firth.corpus.context.stand_alone`), nothing that was learned of words is believed unseen."""
    less = encoder is Encoder.SENTENCE_ENCODER and not states
    found = replace(DEFAULT, words=0.15) if less else DEFAULT
    return replace(found, own=None) if alone else found
