"""*Origin*: similarity by the fits of both sentences into contexts chosen for each (§3.3)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.paper.coherence import COHERENCE, Coherence
from firth.paper.contexts import Candidates, choose
from firth.paper.fits import EQUAL, TERMS, ContextSet, PairProfile, Terms, contributions, resolved
from firth.paper.retrieve import RETRIEVE, ChunkIndex, build_index
from firth.paper.seq2seq import Seq2Seq
from firth.paper.settings import PaperSettings, Weights
from firth.paper.tokens import Role, contexts_of, positions_of
from firth.paper.train_coherence import train_coherence
from firth.paper.train_generator import GENERATOR, open_generator, train_generator
from firth.run.console import Progress
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import Outcome, Stage
from firth.scorer.explanation import Explanation
from firth.scorer.parts import CONTEXTS, ContextShare, parts_of
from firth.text.types import Floats, Ints, TextPair
from firth.text.words import checked
from firth.train.tokenizer import TOKENIZER, build_tokenizer

DEVIATIONS = Stage("paper/deviations", 2, "torch", "firth paper build")
READS = (TOKENIZER, RETRIEVE, COHERENCE, GENERATOR, DEVIATIONS)
"""The stages that Origin reads."""
_FILE = "deviations.json"
_REFERENCE, _REFERENCE_CONTEXTS = 24, 4
"""Pairs of corpus sentences that give the deviations of the terms, and contexts of a sentence."""
_BLOCK = 64
"""Pairs that are scored together."""


def build_origin(run: Run) -> dict[str, Outcome]:
    """Bring all that Origin reads up to date; return name of the stage → its outcome, in order."""
    stages = build_tokenizer, build_index, train_coherence, train_generator, build_deviations
    outcomes = [build(run) for build in stages]
    return {outcome.manifest.stage: outcome for outcome in outcomes}


def build_deviations(run: Run) -> Outcome:
    """Measure how much each term of Eq. 3 differs between two sentences in one context.

    Terms in nats, and nats a token, cannot be compared: coherence differs up to a hundred times as
    much as a likelihood. Random pairs of corpus sentences in the best contexts of both give each
    term's deviation, of log-likelihoods and of mutual information.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = {"corpus": Corpus.open(run).digest}
    inputs |= settings.inputs("window", "precision", "retrieve", "contexts")

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        corpus = Corpus.open(seen)
        rng = np.random.default_rng(derive_seed(seen.settings.seed, "deviations"))
        usual = corpus.usual_sentences()
        drawn = rng.choice(usual, (min(_REFERENCE, len(usual) // 2), 2), replace=False)
        pairs = list(zip(*(corpus.texts(side) for side in drawn.T), strict=True))
        measured = {}
        for name, pmi in (("log p", False), ("pmi", True)):
            changes = {"fits": {"weights": EQUAL.model_dump(), "pmi": pmi}}
            origin = Origin.open(run.changed({"paper": changes}), scaled=False)
            deviations = origin.differences(pairs, _REFERENCE_CONTEXTS).std(axis=0)
            rounded = (float(f"{d:.6g}") for d in deviations)
            measured[name] = dict(zip(TERMS, rounded, strict=True))
        write_json(workspace / _FILE, measured)
        return {"pairs": len(pairs), **measured}

    reads = [stage for stage in READS if stage is not DEVIATIONS]
    return run.build(DEVIATIONS, fill, reads=reads, settings=["seed"], inputs=inputs)


def open_plug_in(name: str, run: Run | None) -> "Origin | None":
    """Open Origin as `baseline:origin@RUN` for evaluations; None for another name."""
    return Origin.open(run) if name == "origin" and run is not None else None


def learned_terms(run: Run) -> dict[str, bool]:
    """Return for each term of Eq. 3 whether its model learned, as the manifests say."""
    coherence, generator = (run.manifest(stage).summary for stage in (COHERENCE, GENERATOR))
    return {"coherence": coherence["learned"], **generator["learned"]}


class Origin:
    """Context sets, context fits and similarity over one run. It is a `PairScorer`."""

    def __init__(
        self,
        corpus: Corpus,
        index: ChunkIndex,
        coherence: Coherence,
        generator: Seq2Seq,
        settings: PaperSettings,
        seed: int,
        weights: Weights | None = None,
    ) -> None:
        self.corpus, self.index, self.settings = corpus, index, settings
        self.weights = weights or resolved(settings.fits.weights, {}, {})
        self._coherence, self._generator = coherence, generator
        self.candidates = Candidates(
            positions=positions_of(corpus),
            index=index,
            coherence=coherence,
            settings=settings.contexts,
            chunks=settings.retrieve.chunks,
            seed=seed,
        )

    @classmethod
    def open(cls, run: str | Path | Run, *, scaled: bool = True) -> "Origin":
        """Open a run whose index, coherence model and generator are built.

        `scaled` says whether terms are divided by their deviations (`build_deviations`).

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
        weights = None
        if scaled:
            deviations = read_json(run.folder(DEVIATIONS) / _FILE)
            of_terms = deviations["pmi" if settings.fits.pmi else "log p"]
            weights = resolved(settings.fits.weights, learned_terms(run), of_terms)
        return cls(corpus, *models, settings, run.settings.seed, weights)

    @property
    def name(self) -> str:
        """The method, the size of its context sets and the measure."""
        return f"Origin, {self.settings.contexts.size} contexts, {self.settings.fits.measure}"

    def context_sets(self, sentences: Sequence[str]) -> list[ContextSet]:
        """Return C_s of each sentence."""
        contexts, weights = self.settings.contexts, self.weights
        shortlists = self.candidates.shortlists(sentences)
        if contexts.selection == "random":
            shortlists = [shortlist[: contexts.size] for shortlist in shortlists]
        sets = []
        terms = self.terms(list(zip(sentences, shortlists, strict=True)))
        for sentence, shortlist, fitted in zip(sentences, shortlists, terms, strict=True):
            rows = choose(self.corpus, self.index, shortlist, fitted, contexts, weights)
            sets.append(ContextSet(sentence, shortlist[rows], fitted[rows]))
        return sets

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return sim(s1, s2) of Eq. 4 for each pair, (n,), in [-1, 1]; it is symmetric."""
        measure = self.settings.fits.measure
        profiles = self.profiles(checked(pairs))
        return np.array([profile.similarity(self.weights, measure) for profile in profiles])

    def differences(self, pairs: Sequence[TextPair], contexts: int) -> Terms:
        """Return the terms of the first minus those of the second sentence of each pair.

        They are those in the first `contexts` of both shortlists, (2 · contexts · n, 4) at most.
        """
        texts = sorted({text for pair in pairs for text in pair})
        shortlists = dict(zip(texts, self.candidates.shortlists(texts), strict=True))
        asked = [
            (text, np.concatenate([shortlists[side][:contexts] for side in pair]))
            for pair in pairs
            for text in pair
        ]
        terms = self.terms(asked)
        return np.concatenate([a - b for a, b in zip(terms[::2], terms[1::2], strict=True)])

    def profiles(self, pairs: Sequence[TextPair]) -> Iterator[PairProfile]:
        """Yield the vectors of each pair, in order. C_s of each distinct sentence is built once."""
        sets: dict[str, ContextSet] = {}
        bar = Progress(len(pairs), "Origin")
        with bar:
            for start in range(0, len(pairs), _BLOCK):
                block = pairs[start : start + _BLOCK]
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
        for first, second in pairs:
            cross1, cross2 = next(crossed), next(crossed)
            if first.sentence == second.sentence:  # Other batches may round differently.
                cross1 = cross2 = first.terms
            yield PairProfile(first, second, cross1, cross2)

    def terms(self, placed: Sequence[tuple[str, Ints]]) -> list[Terms]:
        """Return the terms of each sentence in its positions; equal fits are computed once."""
        distinct = sorted({(s, p) for s, positions in placed for p in positions.tolist()})
        terms = self._terms(distinct)
        row = {key: i for i, key in enumerate(distinct)}
        return [
            terms[np.array([row[s, p] for p in positions.tolist()], np.int64)]
            for s, positions in placed
        ]

    def _terms(self, fits: Sequence[tuple[str, int]]) -> Terms:
        """Return the terms of (sentence, position) pairs; those of weight 0 are not computed."""
        texts = sorted({sentence for sentence, _ in fits})
        row = {sentence: i for i, sentence in enumerate(texts)}
        positions, columns = np.unique([place for _, place in fits], return_inverse=True)
        positions = positions.astype(np.int64)
        rows = np.array([row[sentence] for sentence, _ in fits], np.int64)
        pairs = np.column_stack((rows, columns.astype(np.int64)))
        terms = np.zeros((len(pairs), len(TERMS)), np.float32)
        if self.weights.coherence:
            terms[:, 0] = self._coherence.log_probabilities(texts, positions, pairs)
        roles = frozenset(role for role in Role if getattr(self.weights, role.name.lower()))
        if not roles:
            return terms
        contexts = contexts_of(self.corpus, positions, self.settings.window)
        logs = self._generator.likelihoods(texts, contexts, pairs, roles)
        if self.settings.fits.pmi:
            logs = logs - self._generator.likelihoods(texts, contexts, pairs, roles, False)
        terms[:, 1:] = logs[[Role.SENTENCE, Role.LEFT, Role.RIGHT]].T
        return terms

    def explain(self, text1: str, text2: str) -> Explanation:
        """Return the score of a pair with its contexts, those that add most first.

        The contributions of the contexts sum to the score. The details of a context are `position`,
        its sentence number in the corpus, and the terms of both fits, such as `left1` and `left2`.
        """
        weights, measure = self.weights, self.settings.fits.measure
        (profile,) = self.profiles(checked([(text1, text2)]))
        v1, v2 = profile.vectors(weights)
        positions, first, where = np.unique(
            profile.positions, return_index=True, return_inverse=True
        )
        added = np.bincount(where, contributions(v1, v2, measure), minlength=len(positions))
        documents, names = self.corpus.document_of(positions), self.corpus.document_ids()
        around = contexts_of(self.corpus, positions, self.settings.window)
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
        return Explanation(
            text1=text1,
            text2=text2,
            score=score,
            parts=parts_of(score, listed),
            contexts=tuple(shares),
        )
