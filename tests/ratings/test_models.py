"""Tables 5 and 6: figures are means over folds; and two scores compared within bins."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.encoders.static import write_static
from firth.evaluation.baselines import Dice
from firth.evaluation.files import Row
from firth.evaluation.metrics import Metric
from firth.evaluation.sets import EvaluationSet, evaluation_set, make_folds
from firth.ratings.models import (
    CROSS_VALIDATED,
    LEFT_OUT,
    compare_in_bins,
    fine_tune,
    study_models,
)
from firth.text.arrays import Floats
from firth.text.pairs import TextPair


def toy(seed: int, n: int = 90, name: str = "toy", low: float = 0.0) -> EvaluationSet:
    """Return pairs with random scores in `low` to 5, of three domains."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(low, 5, n).round(2).tolist()
    rows = [
        Row((f"Text {i}, one.", f"text {i} two"), score, subset="xyz"[i % 3])
        for i, score in enumerate(scores)
    ]
    return evaluation_set(name, "all", rows, (Metric.SPEARMAN,), name)


class Lengths:
    """Scores a pair by a number in its text."""

    name = "numbers"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.array([float(two.split()[1]) for _, two in pairs])


def test_figures_are_means_over_folds() -> None:
    data = toy(1)
    found = study_models(data, {"numbers": Lengths()}, folds=3)
    values = Lengths().similarities(data.pairs)
    tests = list(make_folds(data, 3, 13).values())
    expected = np.mean([spearmanr(data.scores[t], values[t]).statistic for t in tests])
    figures = found.figures["numbers"]
    assert figures["all"].value == pytest.approx(100 * expected)
    assert list(figures) == ["all", "x", "y", "z"]
    parts = [np.intersect1d(test, data.subsets["y"]) for test in tests]
    expected = np.mean([spearmanr(data.scores[p], values[p]).statistic for p in parts])
    assert figures["y"].value == pytest.approx(100 * expected)
    assert len(found.as_dict()["models"][0]["similarities"]) == 90


def test_left_out_domains_are_measured_as_a_whole() -> None:
    data = toy(1)
    values = Lengths().similarities(data.pairs)
    figures = study_models(data, {}, {LEFT_OUT: values}).figures[LEFT_OUT]
    rows = data.subsets["z"]
    expected = 100 * spearmanr(data.scores[rows], values[rows]).statistic
    assert figures["z"].value == pytest.approx(expected)
    whole = [figures[name].value or 0.0 for name in "xyz"]
    assert figures["all"].value == pytest.approx(np.mean(whole))


def test_fine_tuned_models_score_what_they_did_not_learn(tmp_path: Path) -> None:
    """Random folds, and one domain left out at a time; rows are in the order of the set."""
    pytest.importorskip("torch")
    words = ["sea", "ship", "storm", "sailor", "judge", "jury", "trial", "verdict"]
    rng = np.random.default_rng(1)
    write_static(tmp_path / "encoder", words, rng.normal(size=(8, 6)).astype(np.float32))
    lines = ["sentence1,sentence2,score,topic"]
    for n in range(40):
        one, two = rng.choice(words, 3), rng.choice(words, 3)
        lines.append(f"{' '.join(one)},{' '.join(two)},{len({*one} & {*two})},{'ab'[n % 2]}")
    path = tmp_path / "rated.csv"
    path.write_text("\n".join(lines))
    data, tuned = fine_tune(str(tmp_path / "encoder"), path, tmp_path / "out", folds=2)
    assert list(tuned) == [CROSS_VALIDATED, LEFT_OUT]
    assert all(values.shape == (40,) for values in tuned.values())
    study = study_models(data, {"dice": Dice()}, tuned, folds=2)
    assert list(study.figures) == ["dice", CROSS_VALIDATED, LEFT_OUT]
    again = fine_tune(str(tmp_path / "encoder"), path, tmp_path / "out", folds=2)[1]
    assert all(np.array_equal(again[name], tuned[name]) for name in tuned)


def test_bins_join_pairs_by_their_texts() -> None:
    """Texts are the same in any case and order; each bin has its upper edge."""
    first, second = toy(4, 60), toy(5, 80, "sts-b")
    turned = [Row(row.texts[::-1], row.score) for row in second.rows]
    second = evaluation_set("sts-b", "all", turned, second.metrics, "toy")
    found = compare_in_bins(first, [second])
    assert (found.shared, found.total) == (60, 60)
    assert list(found.figures) == ["all", "[0, 1]", "(1, 2]", "(2, 3]", "(3, 4]", "(4, 5]"]
    other = {row.texts[1].lower(): row.score for row in second.rows}
    one = first.scores
    two = np.array([other[row.texts[0].lower()] for row in first.rows])
    assert found.figures["all"].value == pytest.approx(100 * spearmanr(one, two).statistic)
    for low, high in pairwise(range(6)):
        name = f"{'[' if low == 0 else '('}{low}, {high}]"
        mask = (two > low) & (two <= high) | ((two == 0) & (low == 0))
        assert found.figures[name].n == mask.sum()
    assert "60 of 60 pairs have both scores" in found.text()
