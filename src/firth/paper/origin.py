"""Origin as the paper has it: fits into contexts chosen for each sentence (§3.3, Eqs. 3, 4)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.words import words
from firth.origin.origin import Origin, checked
from firth.origin.settings import Method, OriginConfig, Selection
from firth.paper.candidates import Candidates, Slots
from firth.paper.coherence.coherence import Coherence
from firth.paper.explanation import PaperExplanation, explain
from firth.paper.generation.open import open_generator
from firth.paper.generation.protocol import Generator, Pairs
from firth.paper.profile import ContextSet, PairProfile
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.selection import select_best, select_diverse
from firth.paper.terms import Terms
from firth.run.errors import InputError
from firth.run.progress import bar
from firth.run.run import Run

_BLOCK = 64
"""Sentences whose context sets are built together, and pairs that are scored together."""


class PaperOrigin(Origin):
    """Context sets, context fit and similarity over one run.

    Args:
        corpus: Where contexts come from.
        candidates: Shortlists of slots for sentences.
        coherence: First term of Eq. 3.
        generator: The other three terms.
        config: Sizes, weights, measure.

    Example:
        >>> origin = PaperOrigin.open("run")
        >>> score = origin.similarity("The ship left the harbour.", "A boat sailed away.")
        >>> -1 <= score <= 1
        True
    """

    def __init__(
        self,
        corpus: Corpus,
        candidates: Candidates,
        coherence: Coherence,
        generator: Generator,
        config: OriginConfig,
    ) -> None:
        self.corpus = corpus
        self.config = config
        self._candidates = candidates
        self._coherence = coherence
        self._generator = generator

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "PaperOrigin":
        """Open a run whose corpus, index, coherence model and generator are built.

        Args:
            run: Folder of the run.
            seed: Seed of random contexts; None takes the run's.
            **changes: Settings of `OriginConfig` that differ from the run's, for this object only.

        Raises:
            MissingStageError: A stage is not built; the message names the command.
            ConfigError: A changed setting is unknown or out of range.
        """
        run = Run.open(run)
        changes = {**changes, "method": Method.PAPER}
        config = run.config.changed({"seed": seed, "origin": changes}, "PaperOrigin.open")
        corpus, coherence = Corpus.open(run), Coherence.open(run)
        index = ChunkIndex.open(run)
        candidates = Candidates(
            corpus, index, coherence, config.origin, config.retrieve.chunks, config.seed
        )
        return cls(corpus, candidates, coherence, open_generator(run), config.origin)

    def context_set(self, sentence: str) -> ContextSet:
        """C_s of one sentence."""
        return self.context_sets([sentence])[0]

    def context_sets(self, sentences: Sequence[str]) -> list[ContextSet]:
        """C_s of each sentence by the procedure of §3.3, or as the configuration varies it.

        Raises:
            InputError: The corpus offers no context at all.
        """
        shortlists = self._candidates.shortlists(sentences)
        if not all(len(shortlist) for shortlist in shortlists):
            raise InputError(
                "The corpus has no context: no document of it has three consecutive sentences. "
                "Build the corpus from running text, not from single lines."
            )
        if self.config.selection is Selection.RANDOM:
            shortlists = [shortlist[: self.config.contexts] for shortlist in shortlists]
        slots, where = np.unique(np.concatenate(shortlists), return_inverse=True)
        lengths = [len(shortlist) for shortlist in shortlists]
        pairs = np.column_stack((np.repeat(np.arange(len(sentences)), lengths), where))
        terms = self.fit(sentences, slots, pairs.astype(np.int64))
        ends = np.cumsum(lengths)
        return [
            self._chosen(sentence, shortlist, terms[end - len(shortlist) : end])
            for sentence, shortlist, end in zip(sentences, shortlists, ends.tolist(), strict=True)
        ]

    def _chosen(self, sentence: str, shortlist: Slots, terms: Terms) -> ContextSet:
        config = self.config
        fits = terms.fit(config.weights)
        if config.selection is Selection.RANDOM:
            kept = np.arange(len(shortlist))
        elif config.diverse:
            preceding = [frozenset(words(text)) for text in self.corpus.texts(shortlist - 1)]
            chunks = self.corpus.chunk_of(shortlist)
            kept = select_diverse(fits, chunks, preceding, config.contexts, config.max_jaccard)
        else:
            kept = select_best(fits, config.contexts)
        return ContextSet(sentence, shortlist[kept], terms[kept])

    def fit(self, sentences: Sequence[str], slots: Slots, pairs: Pairs) -> Terms:
        """The terms of S(s, c) for (sentence, slot) index pairs of shape (n, 2).

        A part of Eq. 3 whose weights are all 0 is not computed; its terms are 0.
        """
        weights, nothing = self.config.weights, np.zeros(len(pairs), np.float32)
        coherence = nothing
        if weights.coherence:
            coherence = self._coherence.slot_log_probabilities(sentences, slots, pairs)
        if not (weights.sentence or weights.left or weights.right):
            return Terms(coherence, nothing, nothing, nothing)
        contexts = [self.corpus.context(slot) for slot in slots.tolist()]
        likelihoods = self._generator.likelihoods(sentences, contexts, pairs)
        if self.config.baseline_corrected:
            likelihoods = likelihoods - self._generator.baseline(sentences, contexts, pairs)
        return Terms(coherence, likelihoods.sentence, likelihoods.left, likelihoods.right)

    @property
    def name(self) -> str:
        """The method, and the size of its context sets."""
        return f"Origin as printed, {self.config.contexts} contexts, {self.config.measure.value}"

    def similarities(
        self, pairs: Sequence[tuple[str, str]], title: str = "Origin"
    ) -> npt.NDArray[np.float64]:
        """sim(s1, s2) of Eq. 4 for each pair, float64 of shape (n,), in [-1, 1].

        Args:
            pairs: The two sentences of each pair; their order does not matter.
            title: Shown beside the progress bar.
        """
        weights, measure = self.config.weights, self.config.measure
        scores = [
            item.similarity(weights, measure) for item in self.profiles(checked(pairs), title)
        ]
        return np.array(scores, dtype=np.float64)

    def explain(self, a: str, b: str) -> PaperExplanation:
        """The score of a pair with, for each context, both fits and its influence."""
        (profile,) = self.profiles(checked([(a, b)]))
        return explain(self.corpus, profile, self.config)

    def profiles(
        self, pairs: Sequence[tuple[str, str]], title: str = "Origin"
    ) -> Iterator[PairProfile]:
        """The two vectors of each pair, in order; each distinct sentence's C_s is built once."""
        sets: dict[str, ContextSet] = {}
        with bar(title, len(pairs)) as shown:
            for start in range(0, len(pairs), _BLOCK):
                block = pairs[start : start + _BLOCK]
                # Sorted, so that swapping the sentences of a pair changes no batch, and no bit.
                new = sorted({sentence for pair in block for sentence in pair} - sets.keys())
                if new:
                    sets |= zip(new, self.context_sets(new), strict=True)
                yield from self._crossed([(sets[a], sets[b]) for a, b in block])
                shown.advance(len(block))

    def _crossed(self, pairs: list[tuple[ContextSet, ContextSet]]) -> Iterator[PairProfile]:
        wanted = sorted(
            {(one.sentence, slot) for one, two in pairs for slot in two.slots.tolist()}
            | {(two.sentence, slot) for one, two in pairs for slot in one.slots.tolist()}
        )
        sentences = sorted({sentence for sentence, _ in wanted})
        slots = sorted({slot for _, slot in wanted})
        row = {sentence: i for i, sentence in enumerate(sentences)}
        column = {slot: i for i, slot in enumerate(slots)}
        indices = np.array([(row[s], column[c]) for s, c in wanted], dtype=np.int64)
        terms = self.fit(sentences, np.array(slots, dtype=np.int64), indices)
        place = {key: i for i, key in enumerate(wanted)}
        for one, two in pairs:
            if one.sentence == two.sentence:
                yield PairProfile(one, two, one.terms, one.terms)
                continue
            in_two = np.array([place[one.sentence, slot] for slot in two.slots.tolist()])
            in_one = np.array([place[two.sentence, slot] for slot in one.slots.tolist()])
            yield PairProfile(one, two, terms[in_two], terms[in_one])
