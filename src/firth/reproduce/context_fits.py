"""The terms of Eq. 3 of rated pairs over their shortlists: computed once, cut many times.

Nothing here follows the defaults of Origin. An ablation of the paper needs the paper's Origin: raw
terms, two-step contexts, cosine; λ, which the paper does not give, are 1 unless one says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.origin.settings import Measure, OriginConfig, Selection, Weights
from firth.paper.candidates import Candidates
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.coherence import Coherence
from firth.paper.fits import Choice, Fitter, PairFits, Positions, choose
from firth.paper.generation import GENERATOR
from firth.paper.generation.open import open_generator
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import ChunkIndex
from firth.reproduce.fit_store import read_fits, write_fits
from firth.reproduce.rated import Floats, Rated
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import SCRATCH, Stage

READS = (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
"""Stages from which fits are computed."""
_SHARD = 2_048
"""Fits of a shard, about: what is lost at most when a computation is stopped."""
_FITS = "fits.parquet"
_CODE = (
    "corpus",
    "retrieve",
    "coherence",
    "generation",
    "origin/candidates",
    "origin/fits",
    "reproduce/context_fits",
    "reproduce/fit_store",
    "contexts",
    "words",
)


@dataclass(frozen=True, eq=False)
class ContextFits:
    """The terms of rated pairs over shortlists.

    Attributes:
        corpus: Where the contexts come from.
        selection: How the shortlists were made.
        shortlist: Their length.
        pairs: The terms, in the order of the rated pairs.
        digest: Fingerprint of the terms.
    """

    corpus: Corpus
    selection: Selection
    shortlist: int
    pairs: Sequence[PairFits]
    digest: str

    def kept(self, choice: Choice) -> list[tuple[Positions, Positions]]:
        """For each pair, which of both shortlists make C_{s1} and C_{s2}, best first."""
        choice = replace(choice, selection=self.selection)
        found: dict[str, Positions] = {}
        for one in self.pairs:
            for sentence, slots, terms in (
                (one.sentence1, one.slots1, one.own1),
                (one.sentence2, one.slots2, one.own2),
            ):
                if sentence not in found:
                    found[sentence] = choose(self.corpus, slots, terms, choice)
        return [(found[one.sentence1], found[one.sentence2]) for one in self.pairs]

    def similarities(
        self,
        kept: Sequence[tuple[Positions, Positions]],
        size: int,
        weights: Weights,
        measure: Measure = Measure.COSINE,
    ) -> Floats:
        """Eq. 4 over the first `size` contexts of each set in `kept`, shape (n,)."""
        return np.array(
            [
                one.cut(kept1[:size], kept2[:size]).similarity(weights, measure)
                for one, (kept1, kept2) in zip(self.pairs, kept, strict=True)
            ],
            dtype=np.float64,
        )

    @cached_property
    def spread(self) -> Mapping[str, tuple[float, float]]:
        """Term → its mean, and its mean deviation over the shortlist of one sentence."""
        named: dict[str, tuple[float, float]] = {}
        for term in ("coherence", "sentence", "left", "right"):
            own = [getattr(t, term) for one in self.pairs for t in (one.own1, one.own2)]
            named[term] = (
                round(float(np.mean([values.mean() for values in own])), 4),
                round(float(np.mean([values.std() for values in own])), 4),
            )
        return named


def context_fits(
    run: Run, rated: Rated, shortlist: int, selection: Selection = Selection.TWO_STEP
) -> ContextFits:
    """Compute the terms, or read them where an equal question was answered before.

    An interrupted computation continues with the first shard that is not on disk.

    Raises:
        MissingStageError: The run lacks a stage of `READS`.
        InputError: The corpus has no context.
    """
    inputs = run.inputs(*READS)
    name = f"reproduce/fits/{rated.name}-seed{rated.seed}-{selection.value}-{shortlist}"
    stage = Stage(name, _CODE, "firth reproduce NAME --run", ("pyarrow", "torch", "transformers"))
    config: dict[str, Any] = {
        "seed": rated.seed,
        "pairs": rated.fingerprint,
        "selection": selection.value,
        "shortlist": shortlist,
        "screened_chunks": run.config.retrieve.chunks,
        "precision": run.config.generator.precision.value,
    }

    def build(workspace: Path) -> Mapping[str, Any]:
        pairs = _computed(run, rated, shortlist, selection, workspace)
        write_fits(workspace / _FITS, pairs)
        counts = [len(one.slots1) + len(one.slots2) for one in pairs]
        return {"pairs": len(pairs), "fits": 2 * sum(counts)}

    outcome = run.execute(stage, inputs=inputs, config=config, build=build)
    found = read_fits(run.path / name / _FITS)
    return ContextFits(Corpus.open(run), selection, shortlist, found, outcome.manifest.digest)


def open_fitter(run: Run, shortlist: int, selection: Selection, seed: int) -> Fitter:
    """What computes the paper's terms from the stages of a run."""
    corpus, coherence = Corpus.open(run), Coherence.open(run)
    config = OriginConfig(contexts=shortlist, shortlist=shortlist, selection=selection)
    candidates = Candidates(
        corpus, ChunkIndex.open(run), coherence, config, run.config.retrieve.chunks, seed
    )
    return Fitter(corpus, candidates, coherence, open_generator(run))


def _computed(
    run: Run, rated: Rated, shortlist: int, selection: Selection, workspace: Path
) -> list[PairFits]:
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    per_shard = max(1, _SHARD // (4 * shortlist))
    fitter: Fitter | None = None
    found: list[PairFits] = []
    with bar(f"Terms of Eq. 3 ({selection.value})", len(rated.pairs)) as shown:
        for start in range(0, len(rated.pairs), per_shard):
            pairs = rated.pairs[start : start + per_shard]
            path = scratch / f"{start:06}.parquet"
            if not path.is_file():
                fitter = fitter or open_fitter(run, shortlist, selection, rated.seed)
                write_fits(path, fitter.fits(pairs))
            found += read_fits(path)
            shown.advance(len(pairs))
    return found


def deviations(fits: ContextFits) -> str:
    """A note on how far each term varies over the contexts of one sentence."""
    parts = ", ".join(f"{name} {spread:.2f}" for name, (_, spread) in fits.spread.items())
    return f"Mean deviation of a term over the shortlist of one sentence (nats a token): {parts}."


def without(weights: Weights, *terms: str) -> Weights:
    """λ with those of some terms set to 0."""
    return Weights(**{**weights.model_dump(), **dict.fromkeys(terms, 0.0)})


def alone(term: str) -> Weights:
    """λ = 1 for one term, 0 for the others."""
    names = ("coherence", "sentence", "left", "right")
    return Weights(**{name: float(name == term) for name in names})
