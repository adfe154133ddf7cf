"""Fine-tuning by folds: nothing leaks, every pair is scored once, a stopped call goes on."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firth.evaluate.aggregate import Scheme, divide
from firth.evaluate.rows import EvaluationSet
from firth.relatedness.models import tune as module
from firth.relatedness.models.tune import Recipe, check_recipe, learning_rate, training_pairs, tune
from firth.run.errors import InputError, MissingExtraError


@pytest.fixture
def recipe(tiny_bert: Path) -> Recipe:
    return Recipe(str(tiny_bert), batch=8, learning_rate=1e-3)


def test_a_stopped_call_continues(
    scored: EvaluationSet, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in its second fold, the next call trains that fold alone and ends with the answers of
    a call that was never stopped; each row is answered by the model that did not see it."""
    (tmp_path / "whole" / "folds").mkdir(parents=True)
    (tmp_path / "stopped" / "folds").mkdir(parents=True)
    whole = tune(scored, Scheme.RANDOM, recipe, tmp_path / "whole", folds=2)
    assert np.isfinite(whole.similarities).all()

    trained = []
    original = module.training_pairs

    def stops_in_the_second(data: EvaluationSet, fold: object, given: Recipe) -> object:
        trained.append(fold)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return original(data, fold, given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "training_pairs", stops_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        tune(scored, Scheme.RANDOM, recipe, tmp_path / "stopped", folds=2)
    again = tune(scored, Scheme.RANDOM, recipe, tmp_path / "stopped", folds=2)
    assert len(trained) == 3, "the first fold was kept"
    assert np.array_equal(again.similarities, whole.similarities)
    names = {path.name for path in (tmp_path / "stopped" / "folds" / "cross-validated-1").iterdir()}
    assert names == {"similarities.parquet", "manifest.json"}, "no model, no checkpoint is left"


def test_the_order_of_the_file_does_not_matter(
    scored: EvaluationSet, recipe: Recipe, tmp_path: Path
) -> None:
    """The same pairs in another order get the same answers; so nothing depends on row numbers."""
    turned = replace(scored, rows=scored.rows[::-1])
    found = []
    for name, data in (("one", scored), ("two", turned)):
        (tmp_path / name / "folds").mkdir(parents=True)
        tuned = tune(data, Scheme.CROSS_TOPIC, replace(recipe, pairs=8), tmp_path / name)
        found.append(dict(zip(data.pairs, tuned.similarities.tolist(), strict=True)))
    for pair, similarity in found[0].items():
        assert found[1][pair] == pytest.approx(similarity, abs=1e-5)


def test_only_training_pairs_are_learned_from(scored: EvaluationSet, recipe: Recipe) -> None:
    """Exactly those of the fold, labels in [0, 1] in the order of the scores; a limit keeps some of
    them, the same ones each time."""
    for fold in divide(scored, Scheme.RANDOM, 13, 3):
        learned = training_pairs(scored, fold, recipe)
        expected = {scored.pairs[row]: scored.rows[row].score for row in fold.train}
        found = list(zip(learned["sentence1"], learned["sentence2"], strict=True))
        assert sorted(found) == sorted(expected)
        labels = np.array(learned["label"])
        assert (labels.min(), labels.max()) == (0.0, 1.0)
        by_score = np.argsort([expected[pair] for pair in found], kind="stable")
        assert (np.diff(labels[by_score]) >= 0).all()
        few = training_pairs(scored, fold, replace(recipe, pairs=5))
        assert len(few) == 5
        assert set(few["sentence1"]) <= set(learned["sentence1"])
        assert training_pairs(scored, fold, replace(recipe, pairs=5))["label"] == few["label"]


def test_shared_sentences_are_told(scored: EvaluationSet, recipe: Recipe, tmp_path: Path) -> None:
    """By brute force: a test pair one of whose sentences stands in a training pair."""
    (tmp_path / "folds").mkdir()
    tuned = tune(scored, Scheme.CROSS_TOPIC, replace(recipe, pairs=2), tmp_path)
    for fold in tuned.folds:
        learned = {text for row in fold.train for text in scored.rows[row].texts}
        for row in fold.test:
            assert tuned.shared[row] == bool({*scored.rows[row].texts} & learned)
    assert 0 < tuned.shared.sum() < len(scored.rows), "the premise: some are, some are not"


def test_rates(tiny_run: Path, tiny_bert: Path) -> None:
    """Static word vectors bear a higher rate than a Transformer."""
    static, transformer = (module._open(str(one)) for one in (tiny_run / "surrogate", tiny_bert))
    assert (learning_rate(static), learning_rate(transformer)) == (2e-3, 2e-5)


def test_what_cannot_be_tuned(
    scored: EvaluationSet, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Baselines, runs, flat scores, missing libraries: found before anything is trained."""
    with pytest.raises(InputError, match="--finetune baseline:dice: a baseline"):
        check_recipe(Recipe("baseline:dice"), scored)
    with pytest.raises(InputError, match=r"Origin of .* cannot be tuned"):
        check_recipe(Recipe(str(tiny_run)), scored)
    flat = replace(scored, rows=tuple(replace(row, score=1.0) for row in scored.rows))
    with pytest.raises(InputError, match="all scores are alike"):
        check_recipe(Recipe(str(tiny_run / "surrogate")), flat)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(MissingExtraError, match=r"firth\[train\]"):
        check_recipe(Recipe("roberta-base"), scored)
