"""All terms of Eq. 3 over whole shortlists: computed once, cut to any context set afterwards.

The greedy choice of §3.3 looks at fits only, so that C_s for every size, every choice of weights,
and with or without the diversity constraint can be cut from the terms of one shortlist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.words import words
from firth.origin.settings import Selection, Weights
from firth.paper.candidates import Candidates, Slots
from firth.paper.coherence.coherence import Coherence
from firth.paper.generation.protocol import Generator
from firth.paper.profile import ContextSet, PairProfile
from firth.paper.selection import select_best, select_diverse
from firth.paper.terms import Terms
from firth.run.errors import InputError

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """How C_s is cut from a shortlist.

    Attributes:
        size: |C_s|, at least 1.
        weights: λ1 … λ4 of the sum by which the greedy choice goes.
        diverse: At most one context a chunk, and preceding sentences with Jaccard below
            `max_jaccard`.
        selection: `random` takes the first `size` slots of a shortlist drawn at random.
        max_jaccard: The paper: 0.5.
    """

    size: int
    weights: Weights
    diverse: bool = True
    selection: Selection = Selection.TWO_STEP
    max_jaccard: float = 0.5


@dataclass(frozen=True)
class PairFits:
    """The terms of both sentences of a pair over both their shortlists.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        slots1: Shortlist of s1, int64 of shape (l1,).
        slots2: Shortlist of s2, int64 of shape (l2,).
        own1: Terms of s1 over its own shortlist.
        own2: Terms of s2 over its own shortlist.
        cross1: Terms of s1 over the shortlist of s2.
        cross2: Terms of s2 over the shortlist of s1.
    """

    sentence1: str
    sentence2: str
    slots1: Slots
    slots2: Slots
    own1: Terms
    own2: Terms
    cross1: Terms
    cross2: Terms

    def cut(self, kept1: Positions, kept2: Positions) -> PairProfile:
        """The vectors of Eq. 4 over some contexts of each shortlist, given by their positions."""
        return PairProfile(
            ContextSet(self.sentence1, self.slots1[kept1], self.own1[kept1]),
            ContextSet(self.sentence2, self.slots2[kept2], self.own2[kept2]),
            self.cross1[kept2],
            self.cross2[kept1],
        )


def choose(corpus: Corpus, slots: Slots, terms: Terms, choice: Choice) -> Positions:
    """Positions in a shortlist of the contexts of C_s, best first (§3.3).

    A smaller `size` gives a prefix of a larger one.
    """
    if choice.selection is Selection.RANDOM:
        return np.arange(min(choice.size, len(slots)), dtype=np.int64)
    fits = terms.fit(choice.weights)
    if not choice.diverse:
        return select_best(fits, choice.size)
    preceding = [frozenset(words(text)) for text in corpus.texts(slots - 1)]
    chunks = corpus.chunk_of(slots)
    return select_diverse(fits, chunks, preceding, choice.size, choice.max_jaccard)


class Fitter:
    """Computes the raw terms of Eq. 3, without baselines, whatever the run's configuration says.

    Args:
        corpus: Where contexts come from.
        candidates: Shortlists of slots.
        coherence: First term.
        generator: The other three.
    """

    def __init__(
        self, corpus: Corpus, candidates: Candidates, coherence: Coherence, generator: Generator
    ) -> None:
        self.corpus = corpus
        self._candidates = candidates
        self._coherence = coherence
        self._generator = generator

    def shortlists(self, sentences: Sequence[str]) -> list[Slots]:
        """The slots offered to each sentence, the most promising first.

        Raises:
            InputError: The corpus offers no context at all.
        """
        found = self._candidates.shortlists(sentences)
        if not all(len(slots) for slots in found):
            raise InputError(
                "The corpus has no context: no document of it has three consecutive sentences. "
                "Build the corpus from running text, not from single lines."
            )
        return found

    def terms(self, asked: Sequence[tuple[str, int]]) -> Terms:
        """The four terms of each (sentence, slot), in their order."""
        texts = sorted({sentence for sentence, _ in asked})
        row = {sentence: i for i, sentence in enumerate(texts)}
        slots, column = np.unique([slot for _, slot in asked], return_inverse=True)
        slots = slots.astype(np.int64)
        pairs = np.column_stack(([row[sentence] for sentence, _ in asked], column))
        pairs = pairs.astype(np.int64)
        contexts = self.corpus.contexts(slots)
        found = self._generator.likelihoods(texts, contexts, pairs)
        coherence = self._coherence.slot_log_probabilities(texts, slots, pairs)
        return Terms(coherence, found.sentence, found.left, found.right)

    def fits(
        self, pairs: Sequence[tuple[str, str]], shortlists: Mapping[str, Slots] | None = None
    ) -> list[PairFits]:
        """The terms of each pair over both shortlists; each (sentence, slot) is computed once.

        Args:
            pairs: The two sentences of each pair.
            shortlists: Sentence → its shortlist, where that is known already.
        """
        sentences = sorted({sentence for pair in pairs for sentence in pair})
        if shortlists is None:
            shortlists = dict(zip(sentences, self.shortlists(sentences), strict=True))
        asked = sorted(
            {
                (sentence, slot)
                for a, b in pairs
                for sentence in (a, b)
                for of in (a, b)
                for slot in shortlists[of].tolist()
            }
        )
        terms = self.terms(asked)
        place = {key: i for i, key in enumerate(asked)}

        def over(sentence: str, slots: Slots) -> Terms:
            return terms[np.array([place[sentence, slot] for slot in slots.tolist()], np.int64)]

        return [
            PairFits(
                a, b, shortlists[a], shortlists[b],
                over(a, shortlists[a]), over(b, shortlists[b]),
                over(a, shortlists[b]), over(b, shortlists[a]),
            )
            for a, b in pairs
        ]  # fmt: skip
