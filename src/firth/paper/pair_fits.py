"""Terms of Eq. 3 over whole shortlists: computed once, cut to any context sets (Tables 6, 8, §5.4).

The greedy choice of §3.3 looks at fits alone. So C_s for every size, every choice of weights, and
with or without diversity can be cut from the terms of one shortlist.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.paper.contexts import choose
from firth.paper.fits import EQUAL, ContextSet, PairProfile
from firth.paper.origin import READS, Origin
from firth.paper.settings import ContextSettings, Measure, PaperSettings, Weights
from firth.run.console import progress
from firth.run.files import fingerprint_value, read_arrays, write_arrays
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.text.types import Floats, Ints, TextPair

_SHARD_FITS = 2_048
"""Fits in a shard, about: the most that is lost when a build is stopped."""
Kept = tuple[Ints, Ints]
"""The indices of both shortlists of a pair that make C_{s1} and C_{s2}, best first."""


def pair_fits(origin: Origin, pairs: Sequence[TextPair]) -> list[PairProfile]:
    """Compute the terms of each pair over both whole shortlists; each fit is computed once."""
    sentences = sorted({sentence for pair in pairs for sentence in pair})
    lists = dict(zip(sentences, origin.candidates.shortlists(sentences), strict=True))
    asked = [(s, lists[of]) for a, b in pairs for s, of in ((a, a), (b, b), (a, b), (b, a))]
    terms, profiles = iter(origin.terms(asked)), []
    for a, b in pairs:
        sets = [ContextSet(s, lists[s], next(terms)) for s in (a, b)]
        profiles.append(PairProfile(sets[0], sets[1], next(terms), next(terms)))
    return profiles


def kept_contexts(
    origin: Origin, fits: Sequence[PairProfile], contexts: ContextSettings, weights: Weights
) -> list[Kept]:
    """Choose C_{s1} and C_{s2} of each pair from its shortlists."""
    chosen: dict[str, Ints] = {}
    for one in (side for pair in fits for side in (pair.set1, pair.set2)):
        if one.sentence not in chosen:
            rows = choose(origin.corpus, origin.index, one.positions, one.terms, contexts, weights)
            chosen[one.sentence] = rows
    return [(chosen[pair.set1.sentence], chosen[pair.set2.sentence]) for pair in fits]


def similarities_of(
    fits: Sequence[PairProfile], kept: Sequence[Kept], size: int, weights: Weights, measure: Measure
) -> Floats:
    """Return Eq. 4 over the first `size` contexts of each set in `kept`, (n,)."""
    pairs = zip(fits, kept, strict=True)
    profiles = (one.cut(first[:size], second[:size]) for one, (first, second) in pairs)
    return np.array([profile.similarity(weights, measure) for profile in profiles])


def fits_stage(name: str) -> Stage:
    """Return the stage of the fits of some pairs, which have a name."""
    return Stage(f"paper/fits/{name}", 4, "torch", "firth reproduce")


def build_fits(run: Run, name: str, pairs: Sequence[TextPair]) -> Outcome:
    """Build the fits of some pairs in a stage, which `read_fits` reads by its name.

    They hold all four terms, over shortlists as `paper.contexts` says, minus their baselines where
    `paper.fits.pmi` is set. An interrupted build continues with the first missing shard.
    """
    # All terms, whatever weights the run has. They are not saved with the run.
    every_term = run.changed({"paper": {"fits": {"weights": EQUAL.model_dump()}}})
    settings = run.wing("paper", PaperSettings)
    size = max(1, _SHARD_FITS // (4 * settings.contexts.shortlist))

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        origin, starts = Origin.open(every_term), range(0, len(pairs), size)
        for start in progress(starts, "Terms of Eq. 3"):
            file = workspace / f"{start:08}.safetensors"
            if not file.is_file():
                write_fits(file, pair_fits(origin, pairs[start : start + size]))
        return {"pairs": len(pairs), "shards": len(starts)}

    screened = settings.contexts.model_dump(include={"shortlist", "selection", "screening"})
    asked = {
        "pairs": fingerprint_value([list(pair) for pair in pairs]),
        "contexts": fingerprint_value(screened | {"chunks": settings.retrieve.chunks}),
        "pmi": str(settings.fits.pmi),
    }
    return run.build(fits_stage(name), fill, reads=READS, settings=["seed"], inputs=asked)


def read_fits(run: Run, name: str) -> list[PairProfile]:
    """Return the fits of a stage; raise `MissingStageError` if it is not built."""
    files = sorted(run.folder(fits_stage(name)).glob("*.safetensors"))
    return [one for file in files for one in load_fits(file)]


def write_fits(path: Path, fits: Sequence[PairProfile]) -> None:
    """Write fits atomically, in their order."""
    arrays = {
        "lengths": np.array([(len(one.cross2), len(one.cross1)) for one in fits]),
        "positions": np.concatenate([one.positions for one in fits]),
    }
    for side in (0, 1):
        arrays[f"terms{side + 1}"] = np.concatenate([one.terms[side] for one in fits])
    sentences = json.dumps([(one.set1.sentence, one.set2.sentence) for one in fits])
    write_arrays(path, arrays, {"sentences": sentences})


def load_fits(path: Path) -> list[PairProfile]:
    """Return what `write_fits` wrote, to the last bit."""
    arrays, metadata = read_arrays(path)
    fits, end, both = [], 0, (arrays["terms1"], arrays["terms2"])
    for (a, b), (n1, n2) in zip(
        json.loads(metadata["sentences"]), arrays["lengths"].tolist(), strict=True
    ):
        first, second = slice(end, end + n1), slice(end + n1, end := end + n1 + n2)
        sets = [
            ContextSet(sentence, arrays["positions"][part], terms[part])
            for sentence, part, terms in ((a, first, both[0]), (b, second, both[1]))
        ]
        fits.append(PairProfile(sets[0], sets[1], both[0][second], both[1][first]))
    return fits
