"""The scale: shares, thresholds and probabilities keep what they promise."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw
from firth.lexical.levels import Levels, percent
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scale.build import build_scale, fit_probability, pair_cosines, read_labels
from firth.scale.scale import Scale, Scorer

SCORES = st.lists(st.integers(-20, 20).map(lambda n: n / 20), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(scores=SCORES, asked=st.lists(st.floats(-1.2, 1.2), min_size=2, max_size=8))
def test_shares_count_and_never_fall(scores: list[float], asked: list[float]) -> None:
    """Where every score is kept, a share is the count of lower ones; it rises with the score."""
    levels = Levels.of(scores)
    shares = levels.share_below(sorted(asked))
    np.testing.assert_allclose(
        shares, [np.mean([score < one for score in scores]) for one in sorted(asked)]
    )
    assert (np.diff(shares) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(scores=SCORES, rate=st.floats(0.02, 0.99))
def test_a_threshold_keeps_its_rate(scores: list[float], rate: float) -> None:
    """Of the drawn pairs at most the promised share reach it; too few pairs promise nothing."""
    levels = Levels.of(scores)
    if rate * (len(scores) + 1) < 1 - 1e-6:
        with pytest.raises(InputError, match="pairs were drawn"):
            levels.threshold(rate)
    elif rate * (len(scores) + 1) > 1 + 1e-6:
        threshold = levels.threshold(rate)
        assert np.mean(np.array(scores) >= threshold) <= rate * (1 + 1 / len(scores)) + 1e-9


def test_many_scores_are_kept_in_steps() -> None:
    """Of 50,000 scores some thousand are kept: shares are right to a thousandth, and in the tail
    exactly; never too high."""
    scores = np.random.default_rng(1).normal(size=50_000)
    levels = Levels.of(scores)
    assert len(levels.scores) <= 3_000
    asked = np.linspace(-3, 3, 101)
    true = np.searchsorted(np.sort(scores), asked) / len(scores)
    shares = levels.share_below(asked)
    assert (shares <= true + 1e-4).all()
    assert np.abs(shares - true).max() < 2e-3
    tail = asked > np.quantile(scores, 0.97)
    assert np.abs(shares - true)[tail].max() < 1e-4


def test_a_promised_rate_is_kept_on_others() -> None:
    """Over 200 draws of 999 pairs, 1 % of other pairs reach the threshold of 1 %."""
    rng = np.random.default_rng(7)
    kept = []
    for _ in range(200):
        threshold = Levels.of(rng.normal(size=999)).threshold(0.01)
        kept.append(np.mean(rng.normal(size=5_000) >= threshold))
    assert abs(np.mean(kept) - 0.01) < 3 * np.std(kept) / np.sqrt(len(kept)) + 2e-4


@given(share=st.floats(0, 1), n=st.integers(1, 10**6))
def test_nothing_is_higher_than_all(share: float, n: int) -> None:
    """No share is said as 100 %, and none is rounded up."""
    text = percent(share, n)
    assert not text.startswith("100 %")
    if share < 1:
        assert float(text.split(" %")[0]) <= 100 * share + 1e-6
    else:
        assert text.startswith("all")


@pytest.mark.parametrize("kind", [*Pairs])
def test_pairs_are_of_their_kind(tiny_run: Path, kind: Pairs) -> None:
    """Neighbours follow each other in a document; pairs of a document share it; none is double."""
    corpus = Corpus.open(tiny_run)
    one, two = draw(corpus, kind, 500, 3)
    assert len(one) > 100
    assert (one != two).all()
    assert min(one.min(), two.min()) >= 0
    assert max(one.max(), two.max()) < len(corpus)
    same = corpus.document_of(one) == corpus.document_of(two)
    if kind is Pairs.RANDOM:
        assert 0 < same.mean() < 0.2
        assert len(np.unique(two)) > 100
    else:
        assert same.all()
    if kind is Pairs.NEIGHBOURS:
        assert (two == one + 1).all()
        assert len(np.unique(one)) == len(one)


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
