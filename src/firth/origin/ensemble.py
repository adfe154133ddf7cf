"""Origin's default: an ensemble of three similarities, each of fits into contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.context import CONTEXT
from firth.context.contexts import Contexts
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Explainer, Shown, TextPair, checked
from firth.lexical.tfidf import Idf, TfIdf
from firth.lexical.word_vectors import WordBag
from firth.origin.components import (
    Component,
    Contribution,
    KnownWords,
    SentenceComponent,
    TermComponent,
    WordComponent,
)
from firth.origin.settings import ComponentWeights
from firth.run.run import Run

WEIGHTS: Mapping[Encoder, ComponentWeights] = {
    Encoder.BAG: ComponentWeights(sentences=2, words=1, terms=1),
    Encoder.CAUSAL_LM: ComponentWeights(sentences=4, words=1, terms=1),
}
"""The weights for each encoder where the configuration gives none: chosen on STSb dev and STS12
(docs/research/origin.md)."""
TOP = 20
"""Contributions that an explanation names of each component."""


@dataclass(frozen=True)
class ComponentScore:
    """What a component says: its similarity, its weight, and what it adds, their product."""

    similarity: float
    weight: float
    added: float


@dataclass(frozen=True)
class EnsembleExplanation:
    """A score and what it is the sum of.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        similarity: The score: the sum of what the components add.
        components: By name.
        evidence: The largest contributions of each component, in order; none that adds nothing.
        rest: Component → what its contributions that are not listed add together.
    """

    sentence1: str
    sentence2: str
    similarity: float
    components: Mapping[str, ComponentScore]
    evidence: tuple[Contribution, ...]
    rest: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """The score and what each component adds."""
        added = " ".join(
            f"{score.added:+.4f} {name} ({score.similarity:.2f} of {score.weight:.2f})"
            for name, score in self.components.items()
        )
        return f"similarity {self.similarity:.4f} = {added}"

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of evidence of each component."""
        found = []
        for name in self.components:
            for item in [item for item in self.evidence if item.component == name][:top]:
                where = f", {item.document}" if item.document else ""
                note = f"{name}: fits {item.fit1:.2f} and {item.fit2:.2f}{where}"
                found.append(Shown(item.contribution, note, item.evidence))
        return found


class EnsembleOrigin(Explainer):
    """The weighted mean of several similarities; each is a sum over contexts.

    - *sentences*: cosine of sentence vectors, which is Eq. 4 over all contexts of the corpus
      (`firth.context.contexts`);
    - *words*: overlap of the fits of the best words, the words themselves being the contexts;
    - *terms*: tf-idf cosine.

    Args:
        components: By name.
        weights: Divided by their sum; a component of weight 0 is left out.
        known: Which words the corpus has.

    Attributes:
        components: As given.
        weights: Name → weight of those that have one; they sum to 1.
    """

    def __init__(
        self, components: Mapping[str, Component], weights: ComponentWeights, known: KnownWords
    ) -> None:
        given = {name: float(getattr(weights, name)) for name in components}
        whole = sum(given.values())
        self.weights = {name: weight / whole for name, weight in given.items() if weight}
        self.components = components
        self._known = known

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "EnsembleOrigin":
        """Open a run whose corpus and context stage are built; errors as in `Origin.open`.

        Raises:
            InputError: The pretrained model is gone, has changed, or cannot be loaded.
        """
        run = Run.open(run)
        config = run.config.changed({"seed": seed, "origin": changes}, "EnsembleOrigin.open")
        folder = run.folder(CONTEXT)
        encoder, bag, idf = open_encoder(run), WordBag.load(folder), Idf.load(folder)
        components: dict[str, Component] = {
            "sentences": SentenceComponent(encoder, Contexts.load(folder), Corpus.open(run)),
            "words": WordComponent(bag),
            "terms": TermComponent(TfIdf(idf)),
        }
        # By the encoder that was built, which the configuration may not name any more.
        weights = config.origin.weights or WEIGHTS[encoder.kind]
        return cls(components, weights, KnownWords(idf, bag))

    @property
    def name(self) -> str:
        """The method, and the weights of its components."""
        return "Origin, " + " + ".join(f"{w:.2f} {name}" for name, w in self.weights.items())

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, that the corpus has not, nor their stems."""
        return self._known.unknown(text)

    def similarities(self, pairs: Sequence[TextPair], title: str = "Origin") -> Floats:
        """Weighted means, shape (n,), in [-1, 1]; 1 for two equal texts."""
        # Sorted, so that swapping the sentences of a pair changes no bit.
        ordered = [(min(pair), max(pair)) for pair in checked(pairs)]
        scores, worth = np.zeros(len(pairs)), self._known.worth(ordered)
        for name, weight in self.weights.items():
            component = self.components[name]
            found = component.similarities(ordered)
            scores += weight * (found * worth if component.known_words_only else found)
        same = np.array([a == b for a, b in ordered], dtype=bool)
        clipped: Floats = np.where(same, 1.0, np.clip(scores, -1.0, 1.0))
        return clipped

    def explain(self, a: str, b: str) -> EnsembleExplanation:
        """The score of a pair, taken apart: components and evidence sum to it."""
        checked([(a, b)])
        scores: dict[str, ComponentScore] = {}
        evidence: list[Contribution] = []
        rest: dict[str, float] = {}
        (worth,) = self._known.worth([(a, b)]).tolist()
        for name, weight in self.weights.items():
            component = self.components[name]
            factor = worth if component.known_words_only else 1.0
            listed, similarity = component.contributions(a, b, TOP)
            similarity *= factor
            if a == b:  # also where none of its words is known, so that there is no evidence
                similarity = 1.0
            found = [
                replace(item, contribution=weight * factor * item.contribution)
                for item in listed
                if factor * item.contribution
            ]
            scores[name] = ComponentScore(similarity, weight, weight * similarity)
            evidence += found
            rest[name] = weight * similarity - sum(item.contribution for item in found)
        return EnsembleExplanation(
            sentence1=a,
            sentence2=b,
            similarity=sum(score.added for score in scores.values()),
            components=scores,
            evidence=tuple(evidence),
            rest=rest,
        )
