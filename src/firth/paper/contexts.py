"""Context sets C_s: screen the corpus, rank by coherence, choose greedily by Eq. 3 (§3.3, §5.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.corpus.corpus import Corpus
from firth.paper.coherence import Coherence
from firth.paper.fits import Terms, fit
from firth.paper.retrieve import ChunkIndex
from firth.paper.settings import ContextSettings, Weights
from firth.run.errors import InputError
from firth.run.settings import derive_seed
from firth.text.types import Floats, Ints, Singles, ranges
from firth.text.words import normal_form, words

MAX_JACCARD = 0.5
"""Sentences before two contexts of a set are less similar than this (§3.3)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidates:
    """Makes shortlists of positions: by TF-IDF and coherence, or at random.

    `positions` are all those of the corpus, ascending. `chunks` are screened for a sentence. `seed`
    decides random positions, with the sentence.
    """

    positions: Ints
    index: ChunkIndex
    coherence: Coherence
    settings: ContextSettings
    chunks: int
    seed: int

    def shortlists(self, sentences: Sequence[str]) -> list[Ints]:
        """Return at most `shortlist` distinct positions for each sentence, the best first.

        Where screening finds too few, random positions follow, so that every sentence has contexts.

        Raises:
            InputError: The corpus has no context at all.
        """
        positions = self.positions
        if not len(positions):
            raise InputError(
                "The corpus has no context: no document has three consecutive sentences. Build it "
                "from running text, not from single lines."
            )
        lists = [np.empty(0, np.int64) for _ in sentences]
        if self.settings.selection != "random":
            for place, one in enumerate(self.index.screen(sentences, self.chunks)):
                first = np.searchsorted(positions, self.index.bounds[one.chunks])
                counts = np.searchsorted(positions, self.index.bounds[one.chunks + 1]) - first
                lists[place] = positions[ranges(first, counts)]
                similar, chunks = np.repeat(one.scores, counts), np.repeat(one.chunks, counts)
                (vector,) = self.coherence.encode([sentences[place]])
                lists[place] = self._ranked(vector, lists[place], similar, chunks)
        return [
            self._filled(one[: self.settings.shortlist], sentence)
            for one, sentence in zip(lists, sentences, strict=True)
        ]

    def _ranked(self, vector: Singles, positions: Ints, similar: Singles, chunks: Ints) -> Ints:
        """Return the best positions by coherence and TF-IDF; of equal ones the lower comes first.

        Coherence alone ranks worse than screening. Where C_s takes one position of a chunk, the
        shortlist holds its two best.
        """
        logits = self.coherence.rank_scores(vector[None, :], positions)[0]
        scores = self.settings.screening * similar - np.logaddexp(0.0, -logits)
        order = np.lexsort((positions, -scores))
        if self.settings.diverse:
            by_chunk = np.argsort(chunks[order], kind="stable")
            sorted_chunks = chunks[order][by_chunk]
            turns = np.empty(len(order), np.int64)
            turns[by_chunk] = np.arange(len(order)) - np.searchsorted(sorted_chunks, sorted_chunks)
            order = order[turns < 2]
        return positions[order[: self.settings.shortlist]]

    def _filled(self, chosen: Ints, sentence: str) -> Ints:
        missing = min(self.settings.shortlist, len(self.positions)) - len(chosen)
        if missing <= 0:
            return chosen
        rng = np.random.default_rng(derive_seed(self.seed, "slots", normal_form(sentence)))
        # An index is drawn: a draw from the array would read all of it.
        drawn = rng.choice(len(self.positions), size=missing + len(chosen), replace=False)
        drawn = self.positions[drawn]
        return np.concatenate((chosen, drawn[~np.isin(drawn, chosen)][:missing]))


def choose(
    corpus: Corpus,
    index: ChunkIndex,
    shortlist: Ints,
    terms: Terms,
    settings: ContextSettings,
    weights: Weights,
) -> Ints:
    """Return the indices of a shortlist's positions that make C_s, best first (§3.3).

    A smaller `settings.size` gives a prefix of a larger one.
    """
    if settings.selection == "random":
        return np.arange(min(settings.size, len(shortlist)))
    fits = fit(terms, weights)
    if not settings.diverse:
        return np.argsort(-fits, kind="stable")[: settings.size]
    preceding = [frozenset(words(text)) for text in corpus.texts(shortlist - 1)]
    chunks = index.chunk_of(shortlist)
    return choose_diverse(fits, chunks, preceding, settings.size, MAX_JACCARD)


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return |a ∩ b| / |a ∪ b|, in [0, 1]; two empty sets give 1."""
    union = len(a | b)
    return len(a & b) / union if union else 1.0


def choose_diverse(
    fits: Floats, chunks: Ints, preceding: Sequence[frozenset[str]], size: int, max_jaccard: float
) -> Ints:
    """Return the indices of the best fits that are not similar to one another, best first.

    A chunk gives at most one context. The words of the sentence before a context must have a
    Jaccard similarity below `max_jaccard` with those of each chosen one. Equal fits keep their
    order.
    """
    chosen: list[int] = []
    seen: set[int] = set()
    for candidate in np.argsort(-fits, kind="stable").tolist():
        if len(chosen) == size:
            break
        if int(chunks[candidate]) in seen:
            continue
        if any(jaccard(preceding[candidate], preceding[other]) >= max_jaccard for other in chosen):
            continue
        chosen.append(candidate)
        seen.add(int(chunks[candidate]))
    return np.array(chosen, dtype=np.int64)
