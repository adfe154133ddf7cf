"""From the whole corpus to a shortlist of slots for each sentence: screening and ranking (§3.3)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.words import normal_form
from firth.origin.settings import OriginConfig, Selection
from firth.paper.coherence.coherence import Coherence
from firth.paper.retrieve.index import ChunkIndex
from firth.run.seeds import derive_seed

Slots = npt.NDArray[np.int64]


class Candidates:
    """Shortlists of slots by TF-IDF screening and coherence, or at random.

    Args:
        corpus: Where contexts come from.
        index: Screening of its chunks; not used by random selection.
        coherence: Ranking of slots; not used by random selection nor without coherence.
        config: Selection, size of the shortlist.
        chunks: Chunks screened for a sentence.
        seed: Seeds random slots, together with the sentence.
    """

    def __init__(
        self,
        corpus: Corpus,
        index: ChunkIndex,
        coherence: Coherence,
        config: OriginConfig,
        chunks: int,
        seed: int,
    ) -> None:
        self._corpus = corpus
        self._index = index
        self._coherence = coherence
        self._config = config
        self._chunks = chunks
        self._seed = seed
        self._slots = corpus.slots()
        # Slots of chunk k are self._slots[first_slot[k]:first_slot[k + 1]].
        self._first_slot = np.searchsorted(self._slots, corpus.chunk_bounds)

    def shortlists(self, sentences: Sequence[str]) -> list[Slots]:
        """For each sentence at most `shortlist` distinct slots, the most promising first.

        Where screening finds too few (unknown words, a small corpus), slots drawn at random follow
        the ranked ones, so that every sentence has a context set.
        """
        if self._config.selection is Selection.RANDOM:
            return [self._filled(np.empty(0, np.int64), sentence) for sentence in sentences]
        screened = self._index.screen(sentences, self._chunks)
        lists = [self._slots_of(found.chunks) for found in screened]
        if self._config.selection is Selection.TWO_STEP:
            vectors = self._coherence.encode(sentences)
            lists = [
                self._ranked(vector, slots) if len(slots) else slots
                for vector, slots in zip(vectors, lists, strict=True)
            ]
        return [
            self._filled(slots[: self._config.shortlist], sentence)
            for slots, sentence in zip(lists, sentences, strict=True)
        ]

    def _slots_of(self, chunks: npt.NDArray[np.int64]) -> Slots:
        starts, ends = self._first_slot[chunks], self._first_slot[chunks + 1]
        lengths = ends - starts
        offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        return self._slots[offsets + np.arange(lengths.sum())]

    def _ranked(self, vector: npt.NDArray[np.float32], slots: Slots) -> Slots:
        scores = self._coherence.rank_scores(vector[None, :], slots)[0]
        keep = min(self._config.shortlist, len(slots))
        cut = np.partition(scores, len(scores) - keep)[len(scores) - keep]
        near = np.flatnonzero(scores >= cut)
        return slots[near[np.lexsort((slots[near], -scores[near]))][:keep]]

    def _filled(self, slots: Slots, sentence: str) -> Slots:
        missing = min(self._config.shortlist, len(self._slots)) - len(slots)
        if missing <= 0:
            return slots
        rng = np.random.default_rng(derive_seed(self._seed, "slots", normal_form(sentence)))
        wanted = min(len(self._slots), missing + len(slots))
        drawn = self._slots[rng.choice(len(self._slots), size=wanted, replace=False)]
        fresh = drawn[~np.isin(drawn, slots)][:missing]
        return np.concatenate((slots, fresh))
