"""The terms behind the ablations: the paper's Origin whatever the run says, kept, and resumable."""

from pathlib import Path

import numpy as np
import pytest

from firth.paper.context_set import Choice
from firth.paper.origin import PaperOrigin
from firth.paper.pair_fits import Fitter
from firth.paper.settings import Measure, Selection
from firth.reproduce import context_fits as module
from firth.reproduce.ablation import Rated, rated_pairs
from firth.reproduce.context_fits import ContextFits, alone, context_fits, without
from firth.reproduce.options import all_ones
from firth.run.errors import InputError
from firth.run.run import Run

from .conftest import request_of


def fits_of(run: Run, rated: Rated, selection: Selection = Selection.TWO_STEP) -> ContextFits:
    return context_fits(run, rated.name, rated.pairs, 8, selection)


FILE = "reproduce/fits/sts-b-test-10-seed13-two-step-8/fits.parquet"


def test_samples_are_nested_and_know_no_order(whole_run: Run, stsb: Path) -> None:
    """A smaller sample begins a larger one, also when the file lists its rows in another order."""
    large = rated_pairs(request_of(whole_run, stsb))
    small = rated_pairs(request_of(whole_run, stsb, pairs=10))
    assert (len(large.pairs), len(small.pairs)) == (24, 10)
    assert large.pairs[:10] == small.pairs
    path = stsb / "STSb" / "pairs.tsv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *reversed(rows)]) + "\n")
    assert rated_pairs(request_of(whole_run, stsb, pairs=10)).pairs == small.pairs
    assert len(rated_pairs(request_of(whole_run, stsb, split="dev")).pairs) == 12


@pytest.mark.parametrize("selection", [Selection.TWO_STEP, Selection.RANDOM])
def test_the_paper_not_the_run_decides(whole_run: Run, stsb: Path, selection: Selection) -> None:
    """Raw terms, cosine and λ = 1, although the run is centred, corrected and weighted."""
    rated = rated_pairs(request_of(whole_run, stsb, pairs=10))
    assert whole_run.config.paper.pmi
    literal = PaperOrigin.open(
        whole_run, contexts=4, shortlist=8, selection=selection.value, diverse=True,
        max_jaccard=0.5, weights=all_ones().model_dump(), pmi=False,
        measure="cosine",
    )  # fmt: skip
    found = fits_of(whole_run, rated, selection)
    kept = found.kept(Choice(4, all_ones()))
    scores = found.similarities(kept, 4, all_ones())
    assert scores == pytest.approx(literal.similarities(rated.pairs), abs=1e-6)
    own = PaperOrigin.open(whole_run).similarities(rated.pairs)
    assert np.abs(scores - own).max() > 1e-3, "the run's own Origin is another one"


def test_a_stopped_computation_goes_on(
    whole_run: Run, stsb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was on disk is not computed again, and the bytes are those of one go."""
    rated = rated_pairs(request_of(whole_run, stsb, pairs=10))
    monkeypatch.setattr(module, "_SHARD", 4 * 8 * 2)
    fits_of(whole_run, rated)
    whole = (whole_run.path / FILE).read_bytes()
    (whole_run.path / FILE).unlink()
    asked = []
    real = Fitter.fits

    def counted(self: Fitter, pairs: list[tuple[str, str]]) -> object:
        asked.append(len(pairs))
        if len(asked) == 4:
            raise KeyboardInterrupt
        return real(self, pairs)

    monkeypatch.setattr(Fitter, "fits", counted)
    with pytest.raises(KeyboardInterrupt):
        fits_of(whole_run, rated)
    assert not (whole_run.path / FILE).exists()
    fits_of(whole_run, rated)
    assert asked == [2, 2, 2, 2, 2, 2], "five shards of two pairs, one of them tried twice"
    assert (whole_run.path / FILE).read_bytes() == whole
    fits_of(whole_run, rated)
    assert len(asked) == 6


def test_a_corpus_without_contexts_is_named(
    whole_run: Run, stsb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is that of Origin, and nothing is left in place of the fits."""
    monkeypatch.setattr("firth.corpus.corpus.Corpus.positions", lambda *_: np.empty(0, np.int64))
    with pytest.raises(InputError, match="no context"):
        fits_of(whole_run, rated_pairs(request_of(whole_run, stsb, pairs=10)))
    assert not (whole_run.path / FILE).exists()


def test_weights_of_single_terms() -> None:
    """`alone` has one λ, `without` loses some."""
    assert alone("left").model_dump() == {"coherence": 0, "sentence": 0, "left": 1, "right": 0}
    rest = without(all_ones(), "left", "right").model_dump()
    assert rest == {"coherence": 1, "sentence": 1, "left": 0, "right": 0}


def test_spread_is_that_of_the_terms(whole_run: Run, stsb: Path) -> None:
    """Means and deviations by hand, of a sentence over its own shortlist."""
    rated = rated_pairs(request_of(whole_run, stsb, pairs=10))
    found = fits_of(whole_run, rated)
    own = [t.right for one in found.pairs for t in (one.own1, one.own2)]
    assert found.spread["right"][1] == pytest.approx(np.mean([v.std() for v in own]), abs=1e-4)
    assert found.similarities(found.kept(Choice(2, all_ones())), 2, alone("right"),
                              Measure.CENTRED).shape == (10,)  # fmt: skip
