"""All terms of Eq. 3 over whole shortlists: computed once, cut to any context set afterwards.

The greedy choice of §3.3 looks at fits only, so that C_s for every size, every choice of weights,
and with or without the diversity constraint can be cut from the terms of one shortlist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firth.corpus.corpus import Corpus
from firth.paper.candidates import Candidates
from firth.paper.coherence.coherence import Coherence
from firth.paper.context_fit import ContextFit, Indices, Terms
from firth.paper.context_set import ContextSet
from firth.paper.generation.protocol import Generator
from firth.paper.similarity import PairProfile


@dataclass(frozen=True)
class PairFits:
    """The terms of both sentences of a pair over both their shortlists.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        positions1: Shortlist of s1, int64 of shape (l1,).
        positions2: Shortlist of s2, int64 of shape (l2,).
        own1: Terms of s1 over its own shortlist.
        own2: Terms of s2 over its own shortlist.
        cross1: Terms of s1 over the shortlist of s2.
        cross2: Terms of s2 over the shortlist of s1.
    """

    sentence1: str
    sentence2: str
    positions1: Indices
    positions2: Indices
    own1: Terms
    own2: Terms
    cross1: Terms
    cross2: Terms

    def cut(self, kept1: Indices, kept2: Indices) -> PairProfile:
        """The vectors of Eq. 4 over some contexts of each shortlist, by their indices in it."""
        return PairProfile(
            ContextSet(self.sentence1, self.positions1[kept1], self.own1[kept1]),
            ContextSet(self.sentence2, self.positions2[kept2], self.own2[kept2]),
            self.cross1[kept2],
            self.cross2[kept1],
        )


class Fitter(ContextFit):
    """Computes the raw terms of pairs, without baselines, whatever the configuration says."""

    def __init__(
        self, corpus: Corpus, candidates: Candidates, coherence: Coherence, generator: Generator
    ) -> None:
        super().__init__(corpus, coherence, generator)
        self.shortlists = candidates.shortlists

    def fits(
        self, pairs: Sequence[tuple[str, str]], shortlists: Mapping[str, Indices] | None = None
    ) -> list[PairFits]:
        """The terms of each pair over both shortlists; each (sentence, position) once.

        `shortlists` are sentence → its shortlist, where that is known already.
        """
        sentences = sorted({sentence for pair in pairs for sentence in pair})
        if shortlists is None:
            shortlists = dict(zip(sentences, self.shortlists(sentences), strict=True))
        listed = {sentence: shortlists[sentence].tolist() for sentence in sentences}
        asked = sorted({(s, p) for pair in pairs for s in pair for of in pair for p in listed[of]})
        terms = self.terms(asked)
        row = {key: i for i, key in enumerate(asked)}

        def over(sentence: str, of: str) -> Terms:
            return terms[np.array([row[sentence, place] for place in listed[of]], np.int64)]

        return [
            PairFits(
                a, b, shortlists[a], shortlists[b],
                over(a, a), over(b, b), over(a, b), over(b, a),
            )
            for a, b in pairs
        ]  # fmt: skip
