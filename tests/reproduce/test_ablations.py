"""Ablations of the paper's method, on a tiny run."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tests.paper.conftest import make_run

from firth.corpus.corpus import Corpus
from firth.paper.coherence import COHERENCE
from firth.paper.fits import EQUAL
from firth.paper.harvest import build_harvest
from firth.paper.origin import Origin, build_origin
from firth.paper.settings import PaperSettings, Weights
from firth.reproduce.ablations import Fits, Rated, documents_of_size, variants
from firth.reproduce.result import Request, Result, VariedRun
from firth.reproduce.settings import TableSettings
from firth.reproduce.tables import reproduce
from firth.run.errors import InputError
from firth.run.run import Run

from .conftest import find

TABLES: dict[str, Any] = {"contexts": 3, "sample": 8}


@pytest.fixture(scope="module")
def origin_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with Origin and a harvest."""
    surrogate = {"base": "transformer"}
    run = make_run(tmp_path_factory.mktemp("origin") / "run", surrogate=surrogate)
    build_origin(run)
    build_harvest(run)
    return run


def measured(run: Run, name: str, data_dir: Path, **tables: Any) -> Result:
    """Measure a table with some settings, and check that the run's settings stay."""
    before = (run.path / "settings.toml").read_bytes()
    varied = VariedRun.of(run, {"reproduce": {"tables": TABLES | tables}})
    result = reproduce(name, varied, data_dir)
    assert (run.path / "settings.toml").read_bytes() == before
    return result


@pytest.mark.parametrize("selection", ["two-step", "random"])
def test_fits_cut_to_a_size_are_those_of_origin(
    origin_run: Run, data_dir: Path, selection: str
) -> None:
    """One computation serves all sizes, diverse or not: C_s of each begins those of larger ones."""
    rated = Rated.of(Request("t", origin_run, data_dir, TableSettings(**TABLES), 13))
    fits = Fits(rated, origin_run, 3, selection)
    length = 3 if selection == "random" else 6
    for size, diverse in ((1, True), (2, True), (3, True), (3, False)):
        contexts = {"size": size, "shortlist": length, "selection": selection, "diverse": diverse}
        changes = {"paper": {"contexts": contexts, "fits": {"measure": "cosine"}}}
        origin = Origin.open(VariedRun.of(origin_run, changes))
        np.testing.assert_allclose(
            fits.similarities(fits.chosen_sets(diverse=diverse), size=size),
            origin.similarities(rated.data.pairs),
            atol=1e-6,
        )


def test_rows_of_table_8() -> None:
    """A row leaves out what its name says; a term that has no weight has no row."""
    rows = variants(EQUAL)
    assert rows["w/o both contexts"] == Weights(coherence=1, sentence=1, left=0, right=0)
    assert "w/o left-context" not in variants(EQUAL.model_copy(update={"left": 0}))
    assert len(rows) == 6


@pytest.mark.parametrize("name", ["sun-table6", "sun-table8", "sun-construction"])
def test_ablations_of_origin(origin_run: Run, data_dir: Path, name: str) -> None:
    """Full sets give the same figure in each table."""
    result = measured(origin_run, name, data_dir, sizes=["2", "3"])
    row = {"sun-table6": "3 contexts", "sun-table8": "Full"}.get(name, "two-step")
    other = find(measured(origin_run, "sun-table8", data_dir), "Full", "STSb")
    assert find(result, row, "STSb").measured == other.measured
    assert find(result, "Dice", "STSb").measured is not None


def test_ablations_of_the_surrogate(origin_run: Run, data_dir: Path) -> None:
    """A Surrogate of all pairs is the same in both tables."""
    total = measured(origin_run, "sun-table7", data_dir, sizes=["30", "100%"])
    both = measured(origin_run, "sun-structures", data_dir)
    rows = [cell for cell in total.cells if cell.measured is not None and cell.column == "STSb"]
    assert rows[1].measured == find(both, "Siamese", "STSb").measured
    assert find(both, "cross-encoder", "STSb").published == 77.43
    assert not origin_run.wing("paper", PaperSettings).surrogate.pairs


def test_smaller_corpora_are_parts_of_larger_ones(origin_run: Run, data_dir: Path) -> None:
    """Documents of fewer words are among those of more; the whole corpus is the run."""
    corpus = Corpus.open(origin_run)
    few, words = documents_of_size(corpus, 300, 13)
    more, _ = documents_of_size(corpus, 900, 13)
    assert words >= 300
    assert set(few) < set(more)
    result = measured(origin_run, "sun-table5", data_dir, sizes=["40%", "100%"])
    whole = int(corpus.word_counts.sum())
    assert find(result, f"{whole:,} words", "STSb").measured is not None
    parts = list((origin_run.path / "reproduce" / "sizes").iterdir())
    assert len(parts) == 1
    smaller = Run.open(parts[0])
    assert Corpus.open(smaller, "all").n_documents < corpus.n_documents
    assert Corpus.open(smaller, "held-out").n_documents, "a small corpus stops at its best loss"
    assert "held_out_loss" in smaller.manifest(COHERENCE).summary
    with patch("firth.reproduce.ablations.Fits", side_effect=InputError("no term of Eq. 3")):
        result = measured(origin_run, "sun-table5", data_dir, sizes=["40%"])
    assert any("no term of Eq. 3" in note for note in result.notes)
    assert any(cell.column == "tf-idf" and cell.measured for cell in result.cells)
