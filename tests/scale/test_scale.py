"""The scale: shares, thresholds and probabilities keep what they promise."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scale.build import build_scale, fit_probability, pair_cosines, read_labels
from firth.scale.scale import Scale, Scorer


def test_labels_are_read_and_mistakes_named(tmp_path: Path) -> None:
    """Two sentences and 1 or 0; all broken lines at once."""
    path = tmp_path / "labels.tsv"
    path.write_text("a\tb\t1\nc\td\tno\n\ne\tf\t0\ng\th\tyes\n", encoding="utf-8")
    pairs, labels = read_labels(path)
    assert pairs[1] == ("c", "d")
    assert labels.tolist() == [1, 0, 0, 1]
    path.write_text("a\tb\nc\td\t2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1.*\n.*line 2"):
        read_labels(path)
    path.write_text("a\tb\t1\nc\td\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match="0 pairs of one label"):
        read_labels(path)


def test_probabilities_are_those_of_the_labels() -> None:
    """A logistic curve is found again, and beats the constant; labels turned round are refused."""
    rng = np.random.default_rng(2)
    scores = rng.uniform(0, 1, 2_000)
    labels = (rng.uniform(size=2_000) < 1 / (1 + np.exp(-(10 * scores - 6)))).astype(np.int64)
    found = fit_probability(scores, labels, 1)
    np.testing.assert_allclose(found.of([0.6]), 0.5, atol=0.06)
    assert found.brier < found.constant_brier
    assert (np.diff(found.of(np.linspace(0, 1, 20))) > 0).all()
    with pytest.raises(InputError, match="no higher"):
        fit_probability(-scores, labels, 1)


def test_a_run_has_its_scale(tiny_run: Path, tmp_path: Path) -> None:
    """Vectors are scaled; Origin too, where it is fast; with labels, probabilities; a scale of
    other vectors is not taken for current."""
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    scale = Scale.open(run)
    assert scale.levels.keys() == {*Pairs}
    assert Scale.current(Run.open(run), Scorer.VECTORS) == scale
    assert Scale.current(Run.open(run), Scorer.ORIGIN) is None
    with pytest.raises(InputError, match="no scores of origin"):
        Scale.open(run, Scorer.ORIGIN)
    labels = tmp_path / "labels.tsv"
    rows = ["The ship saw the harbour.\tThe ship left the harbour.\t1"] * 3
    rows += ["The judge met the jury.\tThe cow left the barn.\t0"] * 3
    labels.write_text("\n".join(rows), encoding="utf-8")
    changes = {
        "origin": {"method": "ensemble"},
        "scale": {"labels": str(labels), "origin_pairs": 40},
    }
    changed = Run.open(run).changed(changes)
    build_scale(changed)
    for scorer in Scorer:
        found = Scale.open(run, scorer)
        assert "probability" in found.shares(0.5)
        assert Scale.current(Run.open(run), scorer) == found
        assert "% of random pairs" in found.describe(0.5)
    assert found.levels[Pairs.RANDOM].n == 40
    assert Scale.current(Run.open(run).changed({"seed": 99}), Scorer.ORIGIN) is None


def test_a_promised_rate_is_kept_on_documents_held_out(tiny_run: Path) -> None:
    """The threshold of 5 % of random pairs of the corpus is reached by about 5 % of pairs of other
    documents with sentences of the corpus."""
    from firth.index.index import Index

    index, scale = Index.open(tiny_run), Scale.open(tiny_run)
    corpus = Corpus.open(tiny_run)
    rng = np.random.default_rng(4)
    others = rng.integers(len(corpus), len(index), 4_000)
    scores = pair_cosines(index, others, rng.integers(0, len(corpus), 4_000))
    assert len(np.unique(others)) > 10
    # Two documents of a dozen sentences: far from independent, so that the interval is wide.
    assert 0.005 < np.mean(scores >= scale.threshold(0.05)) < 0.15
