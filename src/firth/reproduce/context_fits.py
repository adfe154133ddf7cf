"""The terms of Eq. 3 of pairs over their shortlists: computed once, kept, cut many times.

Nothing here follows the defaults of Origin. An ablation of the paper needs the paper's Origin: raw
terms, two-step contexts, cosine; λ, which the paper does not give, are 1 unless one says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.lexical.scorer import TextPair
from firth.paper.candidates import Candidates
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.coherence import Coherence
from firth.paper.context_fit import Indices, Terms
from firth.paper.context_set import Choice, choose
from firth.paper.generation import GENERATOR
from firth.paper.generation.open import open_generator
from firth.paper.pair_fits import Fitter, PairFits
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.settings import Measure, PaperConfig, Selection, Weights
from firth.run.files import fingerprint_value, write_atomically
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import SCRATCH, Stage

Floats = npt.NDArray[np.float64]
READS = (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
"""Stages from which fits are computed."""
TERMS = ("coherence", "sentence", "left", "right")
SUM = "sum"
_SETTINGS = ("seed", "retrieve.chunks", "generator.batch_tokens", "generator.precision")
_SHARD = 2_048
"""Fits of a shard, about: what is lost at most when a computation is stopped."""
_FITS = "fits.parquet"
_SIDES = ("own1", "own2", "cross1", "cross2")
_SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("positions1", pa.list_(pa.int64())),
        ("positions2", pa.list_(pa.int64())),
        *((f"{side}_{term}", pa.list_(pa.float32())) for side in _SIDES for term in TERMS),
    ]
)
"""One row a pair; `own1`, `cross2` stand over `positions1`, `own2`, `cross1` over `positions2`."""


@dataclass(frozen=True, eq=False)
class ContextFits:
    """The terms of pairs, in the order asked for, over shortlists of the corpus's contexts: how
    these were made, and their length; `digest` is the fingerprint of the terms."""

    corpus: Corpus
    selection: Selection
    shortlist: int
    pairs: Sequence[PairFits]
    digest: str

    def kept(self, choice: Choice) -> list[tuple[Indices, Indices]]:
        """For each pair, which of both shortlists make C_{s1} and C_{s2}, best first."""
        choice = replace(choice, selection=self.selection)
        found: dict[str, Indices] = {}
        for one in self.pairs:
            for sentence, positions, terms in (
                (one.sentence1, one.positions1, one.own1),
                (one.sentence2, one.positions2, one.own2),
            ):
                if sentence not in found:
                    found[sentence] = choose(self.corpus, positions, terms, choice)
        return [(found[one.sentence1], found[one.sentence2]) for one in self.pairs]

    def similarities(
        self, kept: Sequence[tuple[Indices, Indices]], size: int, weights: Weights,
        measure: Measure = Measure.COSINE,
    ) -> Floats:  # fmt: skip
        """Eq. 4 over the first `size` contexts of each set in `kept`, shape (n,)."""
        both = zip(self.pairs, kept, strict=True)
        found = [one.cut(first[:size], second[:size]).similarity(weights, measure)
                 for one, (first, second) in both]  # fmt: skip
        return np.array(found, dtype=np.float64)

    @cached_property
    def spread(self) -> Mapping[str, tuple[float, float]]:
        """Term → its mean, and its mean deviation over the shortlist of one sentence."""
        named = {}
        for term in TERMS:
            own = [getattr(t, term) for one in self.pairs for t in (one.own1, one.own2)]
            mean, deviation = np.mean([[one.mean() for one in own], [one.std() for one in own]], 1)
            named[term] = round(float(mean), 4), round(float(deviation), 4)
        return named


def context_fits(
    run: Run, name: str, pairs: Sequence[TextPair], shortlist: int,
    selection: Selection = Selection.TWO_STEP,
) -> ContextFits:  # fmt: skip
    """Compute the terms, or read them where an equal question was answered before.

    They are kept in `RUN/reproduce/fits` under the `name` of the pairs; an interrupted computation
    continues with the first shard that is not on disk.

    Raises:
        MissingStageError: The run lacks a stage of `READS`.
        InputError: The corpus has no context.
    """
    folder = f"reproduce/fits/{name}-seed{run.config.seed}-{selection.value}-{shortlist}"
    stage = Stage(folder, "firth reproduce NAME --run", ("pyarrow", "torch", "transformers"))

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        found = _computed(handed, pairs, shortlist, selection, workspace)
        write_fits(workspace / _FITS, found)
        counts = [len(one.positions1) + len(one.positions2) for one in found]
        return {"pairs": len(found), "fits": 2 * sum(counts)}

    asked = {"pairs": fingerprint_value([list(pair) for pair in pairs]),
             "selection": selection.value, "shortlist": str(shortlist)}  # fmt: skip
    outcome = run.build(stage, fill, reads=READS, settings=_SETTINGS, inputs=asked)
    found = read_fits(run.path / folder / _FITS)
    return ContextFits(Corpus.open(run), selection, shortlist, found, outcome.manifest.digest)


def open_fitter(run: Run, shortlist: int, selection: Selection) -> Fitter:
    """What computes the paper's terms from the stages of a run."""
    corpus, coherence = Corpus.open(run), Coherence.open(run)
    config = PaperConfig(contexts=shortlist, shortlist=shortlist, selection=selection)
    chunks, seed = run.config.retrieve.chunks, run.config.seed
    candidates = Candidates(corpus, ChunkIndex.open(run), coherence, config, chunks, seed)
    return Fitter(corpus, candidates, coherence, open_generator(run))


def _computed(
    run: Run, pairs: Sequence[TextPair], shortlist: int, selection: Selection, workspace: Path
) -> list[PairFits]:
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    per_shard = max(1, _SHARD // (4 * shortlist))
    fitter: Fitter | None = None
    found: list[PairFits] = []
    with bar(f"Terms of Eq. 3 ({selection.value})", len(pairs)) as shown:
        for start in range(0, len(pairs), per_shard):
            shard = pairs[start : start + per_shard]
            path = scratch / f"{start:06}.parquet"
            if not path.is_file():
                fitter = fitter or open_fitter(run, shortlist, selection)
                write_fits(path, fitter.fits(shard))
            found += read_fits(path)
            shown.advance(len(shard))
    return found


def write_fits(path: Path, fits: Sequence[PairFits]) -> None:
    """Write terms as Parquet, atomically, in their order."""
    # own1_left is the term `left` of `own1`.
    columns = {name: [attrgetter(name.replace("_", "."))(one) for one in fits]
               for name in _SCHEMA.names}  # fmt: skip
    with write_atomically(path) as partial:
        pq.write_table(pa.table(columns, schema=_SCHEMA), partial, compression="zstd")


def read_fits(path: Path) -> list[PairFits]:
    """What `write_fits` wrote, to the last bit."""
    return [
        PairFits(
            one["sentence1"], one["sentence2"],
            np.array(one["positions1"], np.int64), np.array(one["positions2"], np.int64),
            *(Terms(*(np.array(one[f"{side}_{term}"], np.float32) for term in TERMS))
              for side in _SIDES),
        )
        for one in pq.read_table(path, schema=_SCHEMA).to_pylist()
    ]  # fmt: skip


def deviations(fits: ContextFits) -> str:
    """A note on how far each term varies over the contexts of one sentence."""
    parts = ", ".join(f"{name} {spread:.2f}" for name, (_, spread) in fits.spread.items())
    return f"Mean deviation of a term over the shortlist of one sentence (nats a token): {parts}."


def differing(fits: ContextFits, weights: Weights) -> dict[str, float]:
    """Term, and `sum` for S → the share of its variance that differs between two sentences, 0 to 1.

    Over the shortlists of a pair, the variances of v_{s1} and v_{s2} add up to twice that of their
    mean, which is what makes a context likely whatever sentence stands in it, and half that of
    their difference. The share is the second part of the whole, over all pairs.
    """
    shares = {}
    for name in (*TERMS, SUM):
        common = differs = 0.0
        for one in fits.pairs:
            own1, own2, cross1, cross2 = (
                np.asarray(t.fit(weights) if name == SUM else getattr(t, name), np.float64)
                for t in (one.own1, one.own2, one.cross1, one.cross2)
            )
            v1, v2 = np.concatenate((own1, cross1)), np.concatenate((cross2, own2))
            common += 2 * float(np.var((v1 + v2) / 2))
            differs += float(np.var(v1 - v2)) / 2
        shares[name] = round(differs / (common + differs), 4) if common + differs > 0 else 0.0
    return shares


def differing_note(shares: Mapping[str, float]) -> str:
    """The shares of `differing` in words."""
    parts = ", ".join(f"{name} {100 * share:.2g}" for name, share in shares.items())
    return (
        "Of a term's variance over the contexts of a pair, what differs between its two sentences "
        f"(%; the rest both have in common): {parts}."
    )


def without(weights: Weights, *terms: str) -> Weights:
    """λ with those of some terms set to 0."""
    return Weights(**{**weights.model_dump(), **dict.fromkeys(terms, 0.0)})


def alone(term: str) -> Weights:
    """λ = 1 for one term, 0 for the others."""
    return Weights(**{name: float(name == term) for name in TERMS})
