"""Context sets cut from shortlists: the same as Origin's own, and nested."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.paper.candidates import Candidates
from firth.paper.coherence.coherence import Coherence
from firth.paper.context_set import Choice, choose
from firth.paper.generation.open import open_generator
from firth.paper.origin import PaperOrigin
from firth.paper.pair_fits import Fitter, PairFits
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.settings import Measure, PaperConfig, Selection, Weights
from firth.run.run import Run

PAIRS = [
    ("The ship reached the harbour near the island.", "The sailor feared the storm."),
    ("The judge praised the lawyer near the court.", "The ship reached the harbour near the tide."),
    ("The sailor feared the storm.", "The cow left the barn near the field."),
]
SHORTLIST = 14
STRATEGIES = [(Selection.TWO_STEP, True), (Selection.TWO_STEP, False), (Selection.RANDOM, True)]


@pytest.fixture(scope="module")
def run(tiny_run: Path) -> Run:
    """The tiny run, scoring in float32: other batches change nothing but the last bits."""
    opened = Run.open(tiny_run)
    changes = {"generator": {"precision": "float32"}}
    return Run(opened.path, opened.config.changed(changes, "test"))


def fitter(run: Run, selection: Selection) -> Fitter:
    corpus, coherence = Corpus.open(run), Coherence.open(run)
    config = PaperConfig(contexts=SHORTLIST, shortlist=SHORTLIST, selection=selection)
    candidates = Candidates(corpus, ChunkIndex.open(run), coherence, config, 50, run.config.seed)
    return Fitter(corpus, candidates, coherence, open_generator(run))


@pytest.mark.parametrize(("selection", "diverse"), STRATEGIES)
def test_a_cut_is_what_origin_computes(run: Run, selection: Selection, diverse: bool) -> None:
    """Contexts and similarities are those of an Origin of that size, terms and all."""
    weights = Weights(coherence=0.5, left=2.0)
    found = fitter(run, selection)
    settings: dict[str, Any] = {
        "contexts": 5, "shortlist": SHORTLIST, "selection": selection.value, "diverse": diverse,
        "weights": weights.model_dump(), "pmi": False, "measure": "cosine",
    }  # fmt: skip
    profiles = list(PaperOrigin.open(run, **settings).profiles(PAIRS))
    choice = Choice(5, weights, diverse, selection)
    for fits, expected in zip(found.fits(PAIRS), profiles, strict=True):
        kept1 = choose(found.corpus, fits.positions1, fits.own1, choice)
        kept2 = choose(found.corpus, fits.positions2, fits.own2, choice)
        profile = fits.cut(kept1, kept2)
        assert profile.positions.tolist() == expected.positions.tolist()
        assert profile.cross1.right == pytest.approx(expected.cross1.right, abs=1e-4)
        assert profile.similarity(weights, Measure.COSINE) == pytest.approx(
            expected.similarity(weights, Measure.COSINE), abs=1e-6
        )


@pytest.mark.parametrize(("selection", "diverse"), STRATEGIES)
def test_smaller_sets_are_prefixes(run: Run, selection: Selection, diverse: bool) -> None:
    """C_s of each size begins C_s of every larger one, so that one computation serves all."""
    found = fitter(run, selection)
    for fits in found.fits(PAIRS):
        kept = [
            choose(
                found.corpus,
                fits.positions1,
                fits.own1,
                Choice(size, Weights(), diverse, selection),
            ).tolist()
            for size in range(1, SHORTLIST + 1)
        ]
        assert len(kept[-1]) > 4
        for small, large in pairwise(kept):
            assert large[: len(small)] == small


def test_known_shortlists_are_taken(run: Run) -> None:
    """Shortlists given are those used, and all four sets of terms stand over them."""
    found = fitter(run, Selection.TWO_STEP)
    sentences = [*{sentence for pair in PAIRS for sentence in pair}]
    half = {s: listed[:6] for s, listed in zip(sentences, found.shortlists(sentences), strict=True)}
    fits: PairFits
    for fits in found.fits(PAIRS, half):
        assert fits.positions1.tolist() == half[fits.sentence1].tolist()
        assert len(fits.own1) == len(fits.cross2) == len(fits.own2) == len(fits.cross1) == 6
        direct = found.terms([(fits.sentence1, int(position)) for position in fits.positions2])
        assert np.allclose(direct.left, fits.cross1.left, atol=1e-4)
