"""*Origin*: similarity by the fits of both sentences into contexts chosen for each (§3.3)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import TOKENIZER, build_tokenizer
from firth.paper.coherence import COHERENCE, Coherence
from firth.paper.contexts import GROUP, Candidates, choose
from firth.paper.fits import TERMS, ContextFit, ContextSet, PairProfile, Terms, contributions
from firth.paper.retrieve import RETRIEVE, ChunkIndex, build_index
from firth.paper.settings import PaperSettings
from firth.paper.tokens import Generator
from firth.paper.train_coherence import train_coherence
from firth.paper.train_generator import GENERATOR, open_generator, train_generator
from firth.run.console import Progress
from firth.run.errors import InputError
from firth.run.files import open_mapped
from firth.run.run import Run
from firth.run.stage import Outcome
from firth.scorer.explanation import CONTEXTS, ContextShare, Explanation, parts_of
from firth.text.types import Floats, Ints, TextPair, checked
from firth.train.loop import first

READS = (TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
"""The stages that Origin reads."""
_BLOCK = 64
"""Pairs that are scored together; it divides `GROUP`."""


def build_origin(run: Run) -> dict[str, Outcome]:
    """Bring all that Origin reads up to date; return name of the stage → its outcome, in order."""
    outcomes: list[Outcome] = []
    first(lambda: outcomes.extend([build_tokenizer(run), build_index(run)]))
    outcomes += [train_coherence(run), train_generator(run)]
    return {outcome.manifest.stage: outcome for outcome in outcomes}


def open_plug_in(name: str, run: Run | None) -> "Origin | None":
    """Open Origin as `baseline:origin@RUN` for evaluations; None for another name."""
    return Origin.open(run) if name == "origin" and run is not None else None


class Origin:
    """Context sets, context fits and similarity over one run. It is a `PairScorer`."""

    def __init__(
        self,
        corpus: Corpus,
        index: ChunkIndex,
        coherence: Coherence,
        generator: Generator,
        settings: PaperSettings,
        seed: int,
        positions: Path | None = None,
    ) -> None:
        self.corpus, self.index, self.settings = corpus, index, settings
        self.context_fit = ContextFit(corpus, coherence, generator, settings.fits, settings.window)
        self.candidates = Candidates(
            corpus.positions() if positions is None else open_mapped(positions),
            index,
            coherence,
            settings.contexts,
            settings.retrieve.chunks,
            seed,
        )

    @classmethod
    def open(cls, run: str | Path | Run, positions: Path | None = None) -> "Origin":
        """Open a run whose index, coherence model and generator are built.

        `positions` is a file of those of the corpus (.npy), which processes then share.

        Raises:
            InputError: There is no such run, or its corpus has changed since.
            MissingStageError: A stage is not built.
        """
        run = Run.open(run)
        corpus = Corpus.open(run)
        for stage in (RETRIEVE, COHERENCE):
            if run.manifest(stage).inputs["corpus"] != corpus.digest:
                raise InputError(
                    f"{run.path}: the corpus has changed since {stage.name} was built. Bring it up "
                    f"to date: {stage.command}"
                )
        settings = run.wing("paper", PaperSettings)
        models = ChunkIndex.open(run), Coherence.open(run), open_generator(run)
        return cls(corpus, *models, settings, run.settings.seed, positions)

    @property
    def name(self) -> str:
        """The method, the size of its context sets and the measure."""
        return f"Origin, {self.settings.contexts.size} contexts, {self.settings.fits.measure}"

    def context_sets(self, sentences: Sequence[str]) -> list[ContextSet]:
        """Return C_s of each sentence."""
        contexts, weights = self.settings.contexts, self.settings.fits.weights
        shortlists = self.candidates.shortlists(sentences)
        if contexts.selection == "random":
            shortlists = [shortlist[: contexts.size] for shortlist in shortlists]
        sets = []
        terms = self.terms(list(zip(sentences, shortlists, strict=True)))
        for sentence, shortlist, fitted in zip(sentences, shortlists, terms, strict=True):
            kept = choose(self.corpus, self.index, shortlist, fitted, contexts, weights)
            sets.append(ContextSet(sentence, shortlist[kept], fitted[kept]))
        return sets

    def similarity(self, text1: str, text2: str) -> float:
        """Return sim(s1, s2) of Eq. 4, in [-1, 1]."""
        return float(self.similarities([(text1, text2)])[0])

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return sim(s1, s2) of Eq. 4 for each pair, (n,), in [-1, 1]; it is symmetric."""
        fits = self.settings.fits
        profiles = self.profiles(checked(pairs))
        return np.array([one.similarity(fits.weights, fits.measure) for one in profiles])

    def profiles(self, pairs: Sequence[TextPair]) -> Iterator[PairProfile]:
        """Yield the vectors of each pair, in order. C_s of each distinct sentence is built once."""
        sets: dict[str, ContextSet] = {}
        bar = Progress(len(pairs), "Origin")
        with bar:
            for start in range(0, len(pairs), _BLOCK):
                block = pairs[start : start + _BLOCK]
                if start % GROUP == 0:
                    self.candidates.ahead(pairs[start : start + GROUP])
                # Sorted, so that swapping the sentences of a pair changes no batch, and no bit.
                new = sorted({sentence for pair in block for sentence in pair} - sets.keys())
                if new:
                    sets |= zip(new, self.context_sets(new), strict=True)
                yield from self._crossed([(sets[a], sets[b]) for a, b in block])
                bar.advance(len(block))

    def _crossed(self, pairs: list[tuple[ContextSet, ContextSet]]) -> Iterator[PairProfile]:
        """Yield both sets with the terms of each sentence in the contexts of the other."""
        crossed = iter(
            self.terms([(a.sentence, b.positions) for pair in pairs for a, b in (pair, pair[::-1])])
        )
        for one, two in pairs:
            cross1, cross2 = next(crossed), next(crossed)
            if one.sentence == two.sentence:  # Other batches may round differently.
                cross1 = cross2 = one.terms
            yield PairProfile(one, two, cross1, cross2)

    def terms(self, asked: Sequence[tuple[str, Ints]]) -> list[Terms]:
        """Return the terms of each sentence in its positions; equal fits are computed once."""
        wanted = sorted({(s, p) for s, positions in asked for p in positions.tolist()})
        terms = self.context_fit.terms(wanted)
        row = {key: i for i, key in enumerate(wanted)}
        return [
            terms[np.array([row[s, p] for p in positions.tolist()], np.int64)]
            for s, positions in asked
        ]

    def explain(self, text1: str, text2: str) -> Explanation:
        """Return the score of a pair with its contexts, those that add most first.

        The contributions of the contexts sum to the score. The details of a context are `position`,
        its sentence number in the corpus, and the terms of both fits, such as `left1` and `left2`.
        """
        weights, measure = self.settings.fits.weights, self.settings.fits.measure
        (profile,) = self.profiles(checked([(text1, text2)]))
        v1, v2 = profile.vectors(weights)
        positions, first, where = np.unique(
            profile.positions, return_index=True, return_inverse=True
        )
        added = np.bincount(where, contributions(v1, v2, measure), minlength=len(positions))
        documents, names = self.corpus.document_of(positions), self.corpus.document_ids()
        around = self.corpus.contexts(positions, self.settings.window)
        shares, both = [], profile.terms
        for i, c in enumerate(first.tolist()):
            details = {"position": float(positions[i])}
            for side, terms in enumerate(both, start=1):
                named = zip(TERMS, terms[c], strict=True)
                details |= {f"{name}{side}": float(value) for name, value in named}
            shares.append(
                ContextShare(
                    text=f"{' '.join(around[i].left)} […] {' '.join(around[i].right)}",
                    document=names[int(documents[i])],
                    fit1=float(v1[c]),
                    fit2=float(v2[c]),
                    contribution=float(added[i]),
                    details=details,
                )
            )
        shares.sort(key=lambda share: (-abs(share.contribution), share.details["position"]))
        score = profile.similarity(weights, measure)
        listed = {CONTEXTS: (score, [share.contribution for share in shares])}
        return Explanation(text1, text2, score, parts_of(score, listed), contexts=tuple(shares))
