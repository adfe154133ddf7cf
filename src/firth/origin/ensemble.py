"""Origin's default: a sentence vector and an alignment of words, each a sum over its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.context import CONTEXT
from firth.context.contexts import Contexts
from firth.context.encoder import SentenceEncoder
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Explainer, Shown, TextPair, checked
from firth.lexical.word_space import WordSpace
from firth.origin.blend import Blend
from firth.origin.components import (
    AlignedWords,
    Component,
    ContextFits,
    Contribution,
    EncodedSentences,
    SummedWords,
)
from firth.run.run import Run

TOP = 20
"""Contributions that an explanation names of each part."""
EQUAL = "equal"
"""The part of a score that equal texts have for being equal, where no words of theirs tell it."""


@dataclass(frozen=True)
class Part:
    """A part of a score.

    Attributes:
        weight: Of the similarity that it is a part of.
        added: What it adds to the score.
        rest: What its contributions that are not listed add together.
    """

    weight: float
    added: float
    rest: float


@dataclass(frozen=True)
class EnsembleExplanation:
    """A score and what it is the sum of.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        similarity: The score: the sum of what the parts add.
        parts: By name: `sentences`, what corpus sentences say; `terms`, what words of both say by
            themselves; `words`, which word meets which; `equal`, where equal texts hold too little
            to be known by.
        evidence: The largest contributions of each part, in order; none that adds nothing.
    """

    sentence1: str
    sentence2: str
    similarity: float
    parts: Mapping[str, Part]
    evidence: tuple[Contribution, ...]

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """The score and what each part adds."""
        added = " ".join(f"{part.added:+.4f} {name}" for name, part in self.parts.items())
        return f"similarity {self.similarity:.4f} = {added}"

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of evidence of each part."""
        found = []
        for name in self.parts:
            for item in [item for item in self.evidence if item.part == name][:top]:
                where = f", {item.document}" if item.document else ""
                note = f"{name}: fits {item.fit1:.2f} and {item.fit2:.2f}{where}"
                found.append(Shown(item.contribution, note, item.evidence))
        return found


class EnsembleOrigin(Explainer):
    """The weighted mean of two similarities, each the sum of its evidence.

    - *sentences*: cosine of sentence vectors, which is Eq. 4 over all contexts of the corpus
      (`firth.context.contexts`): of a pretrained model, or sums of words, where the directions that
      words have of their own add what the sentences share by themselves;
    - *words*: the alignment of their words.

    Args:
        components: By name.
        blend: Their weights; a component of weight 0 is left out.
        space: Which words the corpus has.

    Attributes:
        components: As given.
        weights: Name → weight of those that have one; they sum to 1.
    """

    def __init__(self, components: Mapping[str, Component], blend: Blend, space: WordSpace) -> None:
        given = {name: float(getattr(blend, name)) for name in components}
        whole = sum(given.values())
        self.weights = {name: weight / whole for name, weight in given.items() if weight}
        self.components = components
        self._space = space

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "EnsembleOrigin":
        """Open a run whose corpus, context and origin stages are built; errors as `Origin.open`.

        Raises:
            InputError: The pretrained model is gone, has changed, or cannot be loaded.
        """
        run = Run.open(run)
        config = run.config.changed({"seed": seed, "origin": changes}, "EnsembleOrigin.open")
        return cls.blended(run, Blend.of(run, config.origin))

    @classmethod
    def blended(cls, run: Run, blend: Blend) -> "EnsembleOrigin":
        """Open a run whose corpus and context stages are built, with a blend of one's own."""
        folder = run.folder(CONTEXT)
        space, encoder = WordSpace.load(folder), open_encoder(run)
        components = {
            "sentences": _compare_sentences(run, encoder, space, blend.own),
            "words": AlignedWords(space),
        }
        return cls(components, blend, space)

    @property
    def name(self) -> str:
        """The method, and the weights of its components."""
        return "Origin, " + " + ".join(f"{w:.2f} {name}" for name, w in self.weights.items())

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, that the corpus has not, nor their stems."""
        return self._space.idf.unknown(text)

    def similarities(self, pairs: Sequence[TextPair], title: str = "Origin") -> Floats:
        """Weighted means, shape (n,), in [-1, 1]; 1 for two equal texts."""
        # Sorted, so that swapping the sentences of a pair changes no bit.
        ordered = [(min(pair), max(pair)) for pair in checked(pairs)]
        scores = np.zeros(len(pairs))
        for name, weight in self.weights.items():
            scores += weight * self.components[name].similarities(ordered)
        same = np.array([a == b for a, b in ordered], dtype=bool)
        clipped: Floats = np.where(same, 1.0, np.clip(scores, -1.0, 1.0))
        return clipped

    def explain(self, a: str, b: str) -> EnsembleExplanation:
        """The score of a pair, taken apart: the parts sum to it, and their evidence to them."""
        checked([(a, b)])
        parts: dict[str, Part] = {}
        evidence: list[Contribution] = []
        for name, weight in self.weights.items():
            for part, (listed, added) in self.components[name].parts(a, b, TOP).items():
                found = [replace(item, contribution=weight * item.contribution) for item in listed]
                rest = weight * added - sum(item.contribution for item in found)
                parts[part] = Part(weight, weight * added, rest)
                evidence += found
        similarity = self.similarity(a, b)
        if a == b and (missing := similarity - sum(part.added for part in parts.values())) > 1e-9:
            parts[EQUAL] = Part(1.0, missing, missing)
        return EnsembleExplanation(a, b, similarity, parts, tuple(evidence))


def _compare_sentences(
    run: Run, encoder: SentenceEncoder, space: WordSpace, own: float
) -> Component:
    """The component `sentences` of a run, by the encoder that was built."""
    fits = ContextFits(Contexts.load(run.folder(CONTEXT)), Corpus.open(run))
    if encoder.kind is Encoder.BAG:
        return SummedWords(space, own, fits)
    return EncodedSentences(encoder, fits)
