"""Origin as the paper has it: fits into contexts chosen for each sentence (§3.3, Eqs. 3, 4)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.scorer import Explainer, checked
from firth.origin.settings import Method
from firth.paper.candidates import Candidates
from firth.paper.coherence.coherence import Coherence
from firth.paper.context_fit import ContextFit
from firth.paper.context_set import Choice, ContextSet, choose
from firth.paper.explanation import PaperExplanation, explain
from firth.paper.generation.open import open_generator
from firth.paper.generation.protocol import Generator
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.settings import PaperConfig, Selection
from firth.paper.similarity import PairProfile
from firth.run.progress import bar
from firth.run.run import Run

_BLOCK = 64
"""Sentences whose context sets are built together, and pairs that are scored together."""


class PaperOrigin(Explainer):
    """Context sets, context fit and similarity over one run.

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
        config: PaperConfig,
    ) -> None:
        self.corpus = corpus
        self.config = config
        self.context_fit = ContextFit(corpus, coherence, generator, config.weights, config.pmi)
        self._candidates = candidates

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "PaperOrigin":
        """Open a run whose corpus, index, coherence model and generator are built.

        As `Origin.open`; `changes` are settings of `PaperConfig`.
        """
        run = Run.open(run)
        asked = {"seed": seed, "origin": {"method": Method.PAPER}, "paper": changes}
        config = run.config.changed(asked, "PaperOrigin.open")
        corpus, coherence = Corpus.open(run), Coherence.open(run)
        candidates = Candidates(
            corpus,
            ChunkIndex.open(run),
            coherence,
            config.paper,
            config.retrieve.chunks,
            config.seed,
        )
        return cls(corpus, candidates, coherence, open_generator(run), config.paper)

    @property
    def name(self) -> str:
        """The method, and the size of its context sets."""
        return f"Origin as printed, {self.config.contexts} contexts, {self.config.measure.value}"

    def context_set(self, sentence: str) -> ContextSet:
        """C_s of one sentence; errors as in `context_sets`."""
        return self.context_sets([sentence])[0]

    def context_sets(self, sentences: Sequence[str]) -> list[ContextSet]:
        """C_s of each sentence by the procedure of §3.3, or as the configuration varies it.

        Raises:
            InputError: The corpus offers no context at all.
        """
        config, found, end = self.config, [], 0
        shortlists = self._candidates.shortlists(sentences)
        if config.selection is Selection.RANDOM:
            shortlists = [shortlist[: config.contexts] for shortlist in shortlists]
        terms = self.context_fit.terms(
            [
                (sentence, position)
                for sentence, shortlist in zip(sentences, shortlists, strict=True)
                for position in shortlist.tolist()
            ]
        )
        choice = Choice(
            config.contexts, config.weights, config.diverse, config.selection, config.max_jaccard
        )
        for sentence, shortlist in zip(sentences, shortlists, strict=True):
            begin, end = end, end + len(shortlist)
            own = terms[begin:end]
            kept = choose(self.corpus, shortlist, own, choice)
            found.append(ContextSet(sentence, shortlist[kept], own[kept]))
        return found

    def similarities(
        self, pairs: Sequence[tuple[str, str]], title: str = "Origin"
    ) -> npt.NDArray[np.float64]:
        """sim(s1, s2) of Eq. 4 for each pair, float64 of shape (n,), in [-1, 1]; symmetric."""
        weights, measure = self.config.weights, self.config.measure
        profiles = self.profiles(checked(pairs), title)
        return np.array([one.similarity(weights, measure) for one in profiles], dtype=np.float64)

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
        """Each pair of context sets with the terms of either sentence in the other's contexts."""
        both = [pair for one, two in pairs for pair in ((one, two), (two, one))]
        wanted = sorted({(a.sentence, p) for a, b in both for p in b.positions.tolist()})
        terms = self.context_fit.terms(wanted)
        row = {key: i for i, key in enumerate(wanted)}

        def crossed(a: ContextSet, b: ContextSet) -> npt.NDArray[np.int64]:
            return np.array([row[a.sentence, p] for p in b.positions.tolist()])

        for one, two in pairs:
            if one.sentence == two.sentence:
                yield PairProfile(one, two, one.terms, one.terms)
            else:
                yield PairProfile(one, two, terms[crossed(one, two)], terms[crossed(two, one)])
