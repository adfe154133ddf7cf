"""Terms of Eq. 3 over whole shortlists: computed once, cut to any context sets (Tables 6, 8, §5.4).

The greedy choice of §3.3 looks at fits alone. So C_s for every size, every choice of weights, and
with or without diversity can be cut from the terms of one shortlist.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.paper.contexts import choose
from firth.paper.fits import TERMS, ContextSet, PairProfile, Terms
from firth.paper.origin import READS, Origin
from firth.paper.settings import ContextSettings, Measure, PaperSettings, Weights
from firth.run.console import Progress, progress
from firth.run.executor import Executor, Local
from firth.run.files import fingerprint_value, read_arrays, write_arrays
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.text.arrays import Floats, Ints
from firth.text.pairs import TextPair

_SHARD_FITS = 2_048
"""Fits in a shard, about: the most that is lost when a build is stopped."""
_SIDES = ("own1", "own2", "cross1", "cross2")


@dataclass(frozen=True)
class PairFits:
    """The terms of both sentences of a pair over both their shortlists.

    Attributes:
        sentence1: s1.
        sentence2: s2.
        positions1: Shortlist of s1, (l1,).
        positions2: Shortlist of s2, (l2,).
        own1: Terms of s1 over its own shortlist.
        own2: Terms of s2 over its own shortlist.
        cross1: Terms of s1 over the shortlist of s2.
        cross2: Terms of s2 over the shortlist of s1.
    """

    sentence1: str
    sentence2: str
    positions1: Ints
    positions2: Ints
    own1: Terms
    own2: Terms
    cross1: Terms
    cross2: Terms

    def cut(self, kept1: Ints, kept2: Ints) -> PairProfile:
        """Return the profile over some contexts of each shortlist, given by their indices."""
        return PairProfile(
            ContextSet(self.sentence1, self.positions1[kept1], self.own1[kept1]),
            ContextSet(self.sentence2, self.positions2[kept2], self.own2[kept2]),
            self.cross1[kept2],
            self.cross2[kept1],
        )


Kept = tuple[Ints, Ints]
"""The indices of both shortlists of a pair that make C_{s1} and C_{s2}, best first."""


def kept_contexts(
    origin: Origin, fits: Sequence[PairFits], contexts: ContextSettings, weights: Weights
) -> list[Kept]:
    """Choose C_{s1} and C_{s2} of each pair from its shortlists."""
    chosen: dict[str, Ints] = {}
    for one in fits:
        sides = (
            (one.sentence1, one.positions1, one.own1),
            (one.sentence2, one.positions2, one.own2),
        )
        for sentence, positions, terms in sides:
            if sentence not in chosen:
                chosen[sentence] = choose(
                    origin.corpus, origin.index, positions, terms, contexts, weights
                )
    return [(chosen[one.sentence1], chosen[one.sentence2]) for one in fits]


def similarities_of(
    fits: Sequence[PairFits], kept: Sequence[Kept], size: int, weights: Weights, measure: Measure
) -> Floats:
    """Return Eq. 4 over the first `size` contexts of each set in `kept`, (n,)."""
    pairs = zip(fits, kept, strict=True)
    profiles = (one.cut(first[:size], second[:size]) for one, (first, second) in pairs)
    return np.array([profile.similarity(weights, measure) for profile in profiles])


def pair_fits(origin: Origin, pairs: Sequence[TextPair]) -> list[PairFits]:
    """Compute the terms of each pair over both shortlists; each fit is computed once."""
    sentences = sorted({sentence for pair in pairs for sentence in pair})
    lists = dict(zip(sentences, origin.candidates.shortlists(sentences), strict=True))
    asked = [(s, lists[of]) for a, b in pairs for s, of in ((a, a), (b, b), (a, b), (b, a))]
    terms = origin.terms(asked)
    return [
        PairFits(a, b, lists[a], lists[b], *terms[4 * place : 4 * place + 4])
        for place, (a, b) in enumerate(pairs)
    ]


def fits_stage(name: str) -> Stage:
    """Return the stage of the fits of some pairs, which have a name."""
    return Stage(f"paper/fits/{name}", 1, "torch", "firth reproduce")


def build_fits(
    run: Run, name: str, pairs: Sequence[TextPair], executor: Executor | None = None
) -> Outcome:
    """Build the fits of some pairs in a stage, which `read_fits` reads.

    They hold all four terms, over shortlists as `paper.contexts` says, minus their baselines where
    `paper.fits.pmi` is set. An interrupted build continues with the first missing shard.

    Args:
        run: A run with the stages that Origin reads.
        name: Of the pairs, as a part of a folder's name.
        pairs: Pairs of texts.
        executor: Who computes shards. The bytes are the same.
    """
    # All terms, whatever weights the run has. They are not saved with the run.
    whole = run.changed({"paper": {"fits": {"weights": Weights().model_dump()}}})
    settings = run.wing("paper", PaperSettings)
    size = max(1, _SHARD_FITS // (4 * settings.contexts.shortlist))

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        shards = {workspace / f"{start:08}.safetensors": pairs[start : start + size]
                  for start in range(0, len(pairs), size)}  # fmt: skip
        left = {file: some for file, some in shards.items() if not file.is_file()}
        computed = (executor or Local()).map(FitPairs(whole), left.values())
        bar: Progress[int] = progress(len(pairs), "Terms of Eq. 3")
        with bar:
            bar.advance(len(pairs) - sum(map(len, left.values())))
            for (file, some), fits in zip(left.items(), computed, strict=True):
                write_fits(file, fits)
                bar.advance(len(some))
        return {"pairs": len(pairs), "shards": len(shards)}

    asked = {
        "pairs": fingerprint_value([list(pair) for pair in pairs]),
        "shortlist": str(settings.contexts.shortlist),
        "selection": settings.contexts.selection,
        "chunks": str(settings.retrieve.chunks),
        "pmi": str(settings.fits.pmi),
    }
    return run.build(fits_stage(name), fill, reads=READS, settings=["seed"], inputs=asked)


def read_fits(run: Run, name: str) -> list[PairFits]:
    """Return the fits of a stage; raise `MissingStageError` if it is not built."""
    files = sorted(run.folder(fits_stage(name)).glob("*.safetensors"))
    return [one for file in files for one in load_fits(file)]


@dataclass(frozen=True)
class FitPairs:
    """The work of an executor: pairs in, their fits out."""

    run: Run

    def open(self) -> Callable[[Sequence[TextPair]], list[PairFits]]:
        """Open Origin, and return what computes the fits of a shard."""
        origin = Origin.open(self.run)
        return lambda pairs: pair_fits(origin, pairs)


def write_fits(path: Path, fits: Sequence[PairFits]) -> None:
    """Write fits atomically, in their order."""
    positions = {
        "positions1": [one.positions1 for one in fits],
        "positions2": [one.positions2 for one in fits],
    }
    terms = {
        f"{side}.{name}": [getattr(getattr(one, side), name) for one in fits]
        for side in _SIDES
        for name in TERMS
    }
    arrays = {name: np.concatenate(parts) for name, parts in (positions | terms).items()}
    arrays["lengths"] = np.array([(len(one.positions1), len(one.positions2)) for one in fits])
    sentences = json.dumps([(one.sentence1, one.sentence2) for one in fits])
    write_arrays(path, arrays, {"sentences": sentences})


def load_fits(path: Path) -> list[PairFits]:
    """Return what `write_fits` wrote, to the last bit."""
    arrays, metadata = read_arrays(path)
    bounds = np.cumsum(np.vstack(([0, 0], arrays["lengths"])), axis=0)
    fits = []
    for row, (a, b) in enumerate(json.loads(metadata["sentences"])):
        first, second = (slice(*bounds[row : row + 2, side]) for side in (0, 1))
        # own1 and cross2 are over the shortlist of s1, own2 and cross1 over that of s2.
        spans = dict(zip(_SIDES, (first, second, second, first), strict=True))
        terms = (Terms(*(arrays[f"{side}.{n}"][spans[side]] for n in TERMS)) for side in _SIDES)
        fits.append(
            PairFits(a, b, arrays["positions1"][first], arrays["positions2"][second], *terms)
        )
    return fits
