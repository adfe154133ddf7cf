"""Which pairs are harvested: near neighbours, neighbours in a document, and random ones (§3.4).

The paper does not say how its 100 million pairs were chosen. Here every shard draws seed sentences
and gathers two clusters around each: the sentences nearest to it in words, and sentences of its
document. All sentences of a cluster are paired with each other, because a context set once built
serves every pair of its sentence. Random pairs are drawn between the sentences of the shard.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.harvest.blocklist import Blocklist
from firth.lexical.words import jaccard, normal_form, words
from firth.paper.retrieve.index import ChunkIndex
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.seeds import derive_seed


class Kind(StrEnum):
    """Why two sentences were paired."""

    NEAR = "near"
    SAME_DOCUMENT = "same-document"
    RANDOM = "random"


@dataclass(frozen=True)
class PlannedPair:
    """Two corpus sentences to be scored: their numbers, and why they were paired."""

    first: int
    second: int
    kind: Kind


class Planner:
    """Draws the pairs of each shard; a shard's pairs depend on the seed and its number alone.

    Args:
        corpus: Where sentences come from.
        index: Finds chunks near a sentence.
        blocklist: Sentences that must not be harvested.
        config: Of the run: `harvest`, the seed, and the shortest and longest sentence.

    Raises:
        InputError: Too few sentences of usable length for a shard.
    """

    def __init__(
        self, corpus: Corpus, index: ChunkIndex, blocklist: Blocklist, config: Config
    ) -> None:
        self._corpus, self._index, self._blocklist = corpus, index, blocklist
        self._config, self._seed = config.harvest, config.seed
        low, high = config.corpus.min_words, config.corpus.max_words
        self._usable = (corpus.word_counts >= low) & (corpus.word_counts <= high)
        self._sentences = np.flatnonzero(self._usable)
        least = 2 * self._config.cluster
        if len(self._sentences) < least:
            raise InputError(
                f"The corpus has {len(self._sentences)} sentences of {low} to {high} words; a "
                f"harvest needs at least {least}."
            )

    def shard(self, number: int, size: int) -> list[PlannedPair]:
        """The `size` pairs of one shard, without repetition, in the configured proportions.

        Fewer where the corpus is too small to give more. A kind that runs short is made up for by
        random pairs.
        """
        config = self._config
        rng = np.random.default_rng(derive_seed(self._seed, "harvest", number))
        near, same = round(config.near * size), round(config.same_document * size)
        clusters = -(-max(near, same) // (config.cluster * (config.cluster - 1) // 2))
        seeds = self._drawn(rng, max(clusters, 2))
        pairs = _Pairs(self._corpus)
        for cluster in self._near(seeds):
            pairs.add_all(cluster, Kind.NEAR, near)
        for cluster in self._same_document(rng, seeds):
            pairs.add_all(cluster, Kind.SAME_DOCUMENT, near + same)
        self._add_random(rng, pairs, seeds, size)
        return pairs.kept

    def _drawn(self, rng: np.random.Generator, count: int) -> list[int]:
        drawn: list[int] = []
        for _ in range(self._config.attempts):
            wanted = rng.choice(self._sentences, size=2 * count)
            texts = self._corpus.texts(wanted)
            free = ~self._blocklist.contains(texts)
            drawn += [int(i) for i in wanted[free] if int(i) not in drawn]
            if len(drawn) >= count:
                break
        if not drawn:
            raise InputError(
                "Every sentence that was drawn is on the blocklist (evaluation sets, and "
                "harvest.blocklist). Build the corpus from text that is not evaluation data."
            )
        return drawn[:count]

    def _near(self, seeds: Sequence[int]) -> Iterator[list[int]]:
        texts = self._corpus.texts(seeds)
        screened = self._index.screen(texts, self._config.near_chunks)
        for seed, text, found in zip(seeds, texts, screened, strict=True):
            bounds = self._corpus.chunk_bounds
            rows = [np.arange(bounds[chunk], bounds[chunk + 1]) for chunk in found.chunks.tolist()]
            near = self._allowed(np.concatenate(rows) if rows else np.empty(0, np.int64))
            yield [seed, *self._nearest(text, near)]

    def _nearest(self, text: str, candidates: npt.NDArray[np.int64]) -> list[int]:
        target = frozenset(words(text))
        likeness = {}
        seen = {normal_form(text)}
        for number, other in zip(candidates.tolist(), self._corpus.texts(candidates), strict=True):
            if (form := normal_form(other)) not in seen:
                seen.add(form)
                likeness[number] = jaccard(target, frozenset(words(other)))
        ranked = sorted(likeness, key=lambda number: (-likeness[number], number))
        return ranked[: self._config.cluster - 1]

    def _same_document(self, rng: np.random.Generator, seeds: Sequence[int]) -> Iterator[list[int]]:
        bounds = self._corpus.document_bounds
        for seed, document in zip(seeds, self._corpus.document_of(seeds).tolist(), strict=True):
            others = self._allowed(np.arange(bounds[document], bounds[document + 1]))
            others = others[others != seed]
            size = min(self._config.cluster - 1, len(others))
            yield [seed, *rng.choice(others, size=size, replace=False).tolist()]

    def _allowed(self, sentences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        usable = sentences[self._usable[sentences]]
        if not len(usable):
            return usable
        return usable[~self._blocklist.contains(self._corpus.texts(usable))]

    def _add_random(
        self, rng: np.random.Generator, pairs: "_Pairs", seeds: Sequence[int], size: int
    ) -> None:
        pool = np.array(sorted(pairs.sentences | set(seeds)), dtype=np.int64)
        documents = self._corpus.document_of(pool)
        one_document = len(np.unique(documents)) == 1
        for _ in range(self._config.attempts * size):
            if len(pairs.kept) >= size:
                break
            a, b = rng.choice(len(pool), size=2, replace=False)
            if one_document or documents[a] != documents[b]:
                pairs.add_all([int(pool[a]), int(pool[b])], Kind.RANDOM, size)


class _Pairs:
    """Pairs without repetition: two pairs are the same when their sentences' normal forms are."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._seen: set[frozenset[str]] = set()
        self.kept: list[PlannedPair] = []
        self.sentences: set[int] = set()

    def add_all(self, cluster: Sequence[int], kind: Kind, limit: int) -> None:
        """Pair the sentences of a cluster with each other until `limit` pairs are kept."""
        forms = [normal_form(text) for text in self._corpus.texts(cluster)]
        for (a, form_a), (b, form_b) in combinations(zip(cluster, forms, strict=True), 2):
            key = frozenset((form_a, form_b))
            if len(self.kept) >= limit or len(key) == 1 or key in self._seen:
                continue
            self._seen.add(key)
            self.kept.append(PlannedPair(a, b, kind))
            self.sentences |= {a, b}
