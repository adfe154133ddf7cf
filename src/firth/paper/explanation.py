"""Why two sentences got their score: each context, both fits, and what it changed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firth.corpus.context import Context
from firth.corpus.corpus import Corpus
from firth.lexical.scorer import Shown
from firth.paper.context_fit import TERMS, Terms
from firth.paper.settings import Measure, PaperConfig
from firth.paper.similarity import PairProfile, influence


@dataclass(frozen=True)
class Evidence:
    """One context of a pair.

    Attributes:
        context: Left and right neighbours of the position.
        position: Number of the corpus sentence that stands there.
        document: Name of its document.
        chosen_for: (1,) if the context is of C_{s1}, (2,) if of C_{s2}, (1, 2) if of both.
        fit1: S(s1, c).
        fit2: S(s2, c).
        influence: Similarity over all contexts minus the similarity without this one, which
            leaves both vectors wherever it stands in them.
        terms1: The four terms of S(s1, c), by name.
        terms2: The four terms of S(s2, c), by name.
    """

    context: Context
    position: int
    document: str
    chosen_for: tuple[int, ...]
    fit1: float
    fit2: float
    influence: float
    terms1: Mapping[str, float]
    terms2: Mapping[str, float]


@dataclass(frozen=True)
class PaperExplanation:
    """sim(s1, s2) of Eq. 4 and the contexts it comes from, the most influential first.

    Attributes:
        measure: `cosine` or `centred`.
        weights: λ1 … λ4 of Eq. 3, by name.
        evidence: One entry a context of C_{s1} or C_{s2}; Eq. 4 counts those of both twice.
    """

    sentence1: str
    sentence2: str
    similarity: float
    measure: str
    weights: Mapping[str, float]
    evidence: tuple[Evidence, ...]

    @property
    def summary(self) -> str:
        """The score, its measure, and the number of contexts."""
        shown = f"{self.similarity:.{Measure(self.measure).decimals}f}"
        return f"similarity {shown} ({self.measure}), over {len(self.evidence)} contexts"

    def shown(self, top: int) -> list[Shown]:
        """The `top` contexts that moved the score most."""
        return [
            Shown(
                item.influence,
                f"fits {item.fit1:.2f} and {item.fit2:.2f}, "
                f"chosen for {' and '.join(map(str, item.chosen_for))}, {item.document}",
                f"{' '.join(item.context.left)} […] {' '.join(item.context.right)}",
            )
            for item in self.evidence[:top]
        ]

    def as_dict(self) -> dict[str, Any]:
        """The whole explanation as plain values, for JSON."""
        return asdict(self)


def explain(corpus: Corpus, profile: PairProfile, config: PaperConfig) -> PaperExplanation:
    """Explain the similarity of a pair."""
    v1, v2 = profile.vectors(config.weights)
    positions, first, where = np.unique(profile.positions, return_index=True, return_inverse=True)
    moved = influence(v1, v2, config.measure, groups=where)
    documents = corpus.document_of(positions)
    chosen = [
        (number, set(of.positions.tolist()))
        for number, of in ((1, profile.set1), (2, profile.set2))
    ]
    terms1, terms2 = profile.terms1, profile.terms2
    evidence = [
        Evidence(
            context=corpus.context(position),
            position=position,
            document=corpus.document_id(int(documents[i])),
            chosen_for=tuple(number for number, of in chosen if position in of),
            fit1=float(v1[c]),
            fit2=float(v2[c]),
            influence=float(moved[i]),
            terms1=_named(terms1, c),
            terms2=_named(terms2, c),
        )
        for i, (position, c) in enumerate(zip(positions.tolist(), first.tolist(), strict=True))
    ]
    evidence.sort(key=lambda item: (-abs(item.influence), item.position))
    return PaperExplanation(
        sentence1=profile.set1.sentence,
        sentence2=profile.set2.sentence,
        similarity=profile.similarity(config.weights, config.measure),
        measure=config.measure.value,
        weights=config.weights.model_dump(),
        evidence=tuple(evidence),
    )


def _named(terms: Terms, c: int) -> dict[str, float]:
    return {name: float(getattr(terms, name)[c]) for name in TERMS}
