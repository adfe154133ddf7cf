"""From the whole corpus to a shortlist of positions for each sentence: screen and rank (§3.3)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.arrays import ranges
from firth.lexical.words import normal_form
from firth.paper.coherence.coherence import Coherence
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.settings import PaperConfig, Selection
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

Positions = npt.NDArray[np.int64]
"""Sentence numbers in a corpus."""


class Candidates:
    """Shortlists of positions by TF-IDF screening of `chunks` and coherence, or at random.

    Random positions follow from `seed` and the sentence.
    """

    def __init__(
        self,
        corpus: Corpus,
        index: ChunkIndex,
        coherence: Coherence,
        config: PaperConfig,
        chunks: int,
        seed: int,
    ) -> None:
        self._index = index
        self._coherence = coherence
        self._config = config
        self._chunks = chunks
        self._seed = seed
        self._positions = corpus.positions()
        # Positions of chunk k are self._positions[first[k]:first[k + 1]].
        self._first = np.searchsorted(self._positions, corpus.chunk_bounds)

    def shortlists(self, sentences: Sequence[str]) -> list[Positions]:
        """For each sentence at most `shortlist` distinct positions, the most promising first.

        Where screening finds too few (unknown words, a small corpus), positions drawn at random
        follow the ranked ones, so that every sentence has a context set.

        Raises:
            InputError: The corpus offers no context at all.
        """
        if not len(self._positions):
            raise InputError(
                "The corpus has no context: no document of it has three consecutive sentences. "
                "Build the corpus from running text, not from single lines."
            )
        if self._config.selection is Selection.RANDOM:
            return [self._filled(np.empty(0, np.int64), sentence) for sentence in sentences]
        screened = self._index.screen(sentences, self._chunks)
        lists = [self._positions_of(found.chunks) for found in screened]
        if self._config.selection is Selection.TWO_STEP:
            vectors = self._coherence.encode(sentences)
            lists = [
                self._ranked(vector, positions) if len(positions) else positions
                for vector, positions in zip(vectors, lists, strict=True)
            ]
        return [
            self._filled(positions[: self._config.shortlist], sentence)
            for positions, sentence in zip(lists, sentences, strict=True)
        ]

    def _positions_of(self, chunks: npt.NDArray[np.int64]) -> Positions:
        starts, ends = self._first[chunks], self._first[chunks + 1]
        return self._positions[ranges(starts, ends - starts)]

    def _ranked(self, vector: npt.NDArray[np.float32], positions: Positions) -> Positions:
        scores = self._coherence.rank_scores(vector[None, :], positions)[0]
        keep = min(self._config.shortlist, len(positions))
        cut = np.partition(scores, len(scores) - keep)[len(scores) - keep]
        near = np.flatnonzero(scores >= cut)
        return positions[near[np.lexsort((positions[near], -scores[near]))][:keep]]

    def _filled(self, positions: Positions, sentence: str) -> Positions:
        missing = min(self._config.shortlist, len(self._positions)) - len(positions)
        if missing <= 0:
            return positions
        rng = np.random.default_rng(derive_seed(self._seed, "slots", normal_form(sentence)))
        wanted = min(len(self._positions), missing + len(positions))
        drawn = self._positions[rng.choice(len(self._positions), size=wanted, replace=False)]
        fresh = drawn[~np.isin(drawn, positions)][:missing]
        return np.concatenate((positions, fresh))
