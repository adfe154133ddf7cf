"""Origin's default: a weighted mean of three similarities, each of fits into contexts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.context.open import open_components
from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.origin.components import Part, Share
from firth.origin.origin import Origin, Shown, checked
from firth.origin.settings import Parts
from firth.run.run import Run

SHARES: Mapping[Encoder, Parts] = {
    Encoder.BAG: Parts(sentences=2, words=1, terms=1),
    Encoder.CAUSAL_LM: Parts(sentences=4, words=1, terms=1),
}
"""The shares of each encoder where the configuration gives none: chosen on STSb dev and STS12
(docs/research/origin.md)."""
TOP = 20
"""Pieces of evidence that an explanation names of each part."""


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence.

    Attributes:
        part: `sentences`, `words` or `terms`.
        evidence: A corpus sentence next to which s1 and s2 would stand, or a word.
        document: Name of the sentence's document; None for a word.
        slot: Number of the corpus sentence; None for a word.
        fit1: How well s1 fits there.
        fit2: How well s2 fits there.
        share: What it adds to the similarity.
    """

    part: str
    evidence: str
    document: str | None
    slot: int | None
    fit1: float
    fit2: float
    share: float


@dataclass(frozen=True)
class ComponentScore:
    """What a part says: its similarity, its weight, and what it adds, their product."""

    similarity: float
    weight: float
    added: float


@dataclass(frozen=True)
class EnsembleExplanation:
    """A score and what it is the sum of.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        similarity: The score: the sum of what the parts add.
        parts: By name.
        evidence: The weightiest pieces of each part, largest share first; none that adds nothing.
        rest: Part → what its evidence that is not listed adds together.
    """

    sentence1: str
    sentence2: str
    similarity: float
    parts: Mapping[str, ComponentScore]
    evidence: tuple[Evidence, ...]
    rest: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        return asdict(self)

    @property
    def summary(self) -> str:
        """The score and what each part adds."""
        parts = " ".join(
            f"{part.added:+.4f} {name} ({part.similarity:.2f} of {part.weight:.2f})"
            for name, part in self.parts.items()
        )
        return f"similarity {self.similarity:.4f} = {parts}"

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of each part."""
        found = []
        for name in self.parts:
            for item in [item for item in self.evidence if item.part == name][:top]:
                where = f", {item.document}" if item.document else ""
                note = f"{name}: fits {item.fit1:.2f} and {item.fit2:.2f}{where}"
                found.append(Shown(item.share, note, item.evidence))
        return found


class EnsembleOrigin(Origin):
    """The weighted mean of several similarities; each is a sum over contexts.

    - *sentences*: cosine of sentence vectors, which is Eq. 4 over all contexts of the corpus
      (`firth.context.decorrelated`);
    - *words*: overlap of the fits of the best words, the words themselves being the contexts;
    - *terms*: tf-idf cosine.

    Args:
        parts: By name.
        shares: Their weights; divided by their sum.
        corpus: Names the documents of evidence.
    """

    def __init__(self, parts: Mapping[str, Part], shares: Parts, corpus: Corpus) -> None:
        given = {name: float(getattr(shares, name)) for name in parts}
        whole = sum(given.values())
        self.weights = {name: share / whole for name, share in given.items() if share}
        self.corpus = corpus
        self._parts = parts

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "EnsembleOrigin":
        """Open a run whose corpus and fit stage are built; errors as in `Origin.open`."""
        run = Run.open(run)
        config = run.config.changed({"seed": seed, "origin": changes}, "EnsembleOrigin.open")
        shares = config.origin.parts or SHARES[config.context.encoder]
        return cls(open_components(run), shares, Corpus.open(run))

    @property
    def name(self) -> str:
        """The method, and the shares of its parts."""
        return "Origin, " + " + ".join(f"{w:.2f} {name}" for name, w in self.weights.items())

    def similarities(
        self, pairs: Sequence[tuple[str, str]], title: str = "Origin"
    ) -> npt.NDArray[np.float64]:
        """Weighted means, shape (n,), in [-1, 1]; 1 for two equal texts."""
        # Sorted, so that swapping the sentences of a pair changes no bit.
        ordered = [(min(pair), max(pair)) for pair in checked(pairs)]
        scores = np.zeros(len(pairs))
        for name, weight in self.weights.items():
            scores += weight * self._parts[name].similarities(ordered)
        same = np.array([a == b for a, b in ordered], dtype=bool)
        clipped: npt.NDArray[np.float64] = np.where(same, 1.0, np.clip(scores, -1.0, 1.0))
        return clipped

    def explain(self, a: str, b: str) -> EnsembleExplanation:
        """The score of a pair, taken apart: parts and evidence sum to it."""
        checked([(a, b)])
        parts, evidence, rest = {}, [], {}
        for name, weight in self.weights.items():
            shares, similarity = self._parts[name].shares(a, b, TOP)
            if a == b:  # also where none of its words is known, so that there is no evidence
                similarity = 1.0
            found = [self._evidence(name, share, weight) for share in shares if share.share]
            parts[name] = ComponentScore(similarity, weight, weight * similarity)
            evidence += found
            rest[name] = weight * similarity - sum(item.share for item in found)
        return EnsembleExplanation(
            sentence1=a,
            sentence2=b,
            similarity=sum(part.added for part in parts.values()),
            parts=parts,
            evidence=tuple(evidence),
            rest=rest,
        )

    def _evidence(self, part: str, found: Share, weight: float) -> Evidence:
        document = None
        if found.slot is not None:
            document = self.corpus.document_id(int(self.corpus.document_of([found.slot])[0]))
        return Evidence(part, found.evidence, document, found.slot, found.fit1, found.fit2,
                        weight * found.share)  # fmt: skip
