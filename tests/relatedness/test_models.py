"""Tables 5 and 6: means over folds, by domain; fine-tuning by folds; the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

import firth.relatedness.tune as module
from firth.baselines.dice import Dice
from firth.cli.main import app
from firth.evaluate.figures import Scheme, divide
from firth.evaluate.models import resolve_model
from firth.evaluate.rows import EvaluationSet
from firth.relatedness.models import Setting, study_models
from firth.relatedness.tune import MODEL, Recipe, check_recipe, training_pairs, tune
from firth.run.errors import InputError, MissingExtraError


def test_figures_are_means_over_folds(scored: EvaluationSet) -> None:
    """Spearman by scipy in each test fold, then the plain mean; by domain within each fold."""
    study = study_models(scored, ["baseline:dice"], setting=Setting(folds=3, resamples=20))
    similarities = Dice().similarities(scored.pairs)
    scores = np.array([row.score for row in scored.rows])
    folds = divide(scored, Scheme.RANDOM, 13, 3)

    def mean(groups: list[np.ndarray]) -> float:
        return float(
            100 * np.mean([spearmanr(scores[g], similarities[g]).statistic for g in groups])
        )

    found = study.figures["baseline:dice"]
    assert list(found) == ["all", "court", "farm", "sea"]
    assert found["all"].value == pytest.approx(mean([fold.test for fold in folds]))
    rows = scored.subtasks["sea"]
    parts = [np.intersect1d(fold.test, rows) for fold in folds]
    assert found["sea"].value == pytest.approx(mean(parts))
    assert (found["all"].n, found["sea"].n) == (36, 12)


def test_what_is_undefined_is_said(scored: EvaluationSet) -> None:
    """A domain with less than two pairs in a fold has no figure, and the reason is a remark."""
    study = study_models(scored, ["baseline:dice"], setting=Setting(folds=12, resamples=5))
    assert study.figures["baseline:dice"]["sea"].value is None
    assert any("sea: fold 1: a correlation needs" in text for text in study.table().remarks)


def test_the_folder(pairs_file: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """Models as they are and tuned, a column each; the second call trains nothing and says so."""
    arguments = ["relatedness", "models", str(pairs_file), "baseline:dice", "--out", str(tmp_path),
                 "--finetune", str(tiny_bert), "--folds", "2", "--batch", "8",
                 "--train-pairs", "16", "--resamples", "20", "--no-cache"]  # fmt: skip
    result = CliRunner().invoke(app, [*arguments, "--quiet"])
    assert result.exit_code == 0, (result.output, result.exception)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"folds", "manifest.json", "results.json", "similarities.parquet", "table.md",
                     "table.tex", "domains.md", "domains.tex"}  # fmt: skip
    stored = json.loads((tmp_path / "results.json").read_text())
    labels = ["baseline:dice", "cross-validated", "leave-one-domain-out"]
    assert [model["label"] for model in stored["models"]] == labels
    assert set(stored["models"][2]["spearman"]) == {"all", "court", "farm", "sea"}
    assert stored["models"][1]["shared"] <= 36
    table = pq.read_table(tmp_path / "similarities.parquet")
    assert table.num_rows == 3 * 36
    assert table["similarity"].null_count == 0
    assert "at most 16 training pairs" in result.output
    again = CliRunner().invoke(app, arguments)
    assert again.output.count("unchanged") == 2 + 3


def test_what_is_left_out(scored: EvaluationSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing named: what is installed is measured. What is named must be installed."""
    from firth.baselines import glove

    monkeypatch.setattr(glove, "glove_files", list)
    study = study_models(scored, setting=Setting(folds=2, resamples=5))
    assert [one.label for one in study.models] == ["baseline:dice", "baseline:tfidf"]
    with pytest.raises(MissingExtraError):
        study_models(scored, ["baseline:glove"], setting=Setting(folds=2, resamples=5))
    with pytest.raises(InputError, match="36 rows cannot make 40 folds"):
        study_models(scored, ["baseline:dice"], setting=Setting(folds=40))


@pytest.fixture
def recipe(tiny_bert: Path) -> Recipe:
    return Recipe(str(tiny_bert), batch=8, learning_rate=1e-3)


def test_a_stopped_call_continues(
    scored: EvaluationSet, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in its second fold, the next call trains that fold alone and ends with the answers of
    a call that was never stopped; each row is answered by the model that did not see it."""
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
    assert names == {"similarities.parquet", "manifest.json", MODEL}, "no checkpoint is left"


def test_the_order_of_the_file_does_not_matter(
    scored: EvaluationSet, recipe: Recipe, tmp_path: Path
) -> None:
    """The same pairs in another order get the same answers; so nothing depends on row numbers."""
    turned = replace(scored, rows=scored.rows[::-1])
    found = []
    for name, data in (("one", scored), ("two", turned)):
        tuned = tune(data, Scheme.CROSS_TOPIC, replace(recipe, pairs=8), tmp_path / name)
        found.append(dict(zip(data.pairs, tuned.similarities.tolist(), strict=True)))
    for pair, similarity in found[0].items():
        assert found[1][pair] == pytest.approx(similarity, abs=1e-5)


def test_only_training_pairs_are_learned_from(scored: EvaluationSet, recipe: Recipe) -> None:
    """Exactly those of the fold; a limit keeps some of them, the same ones each time."""
    for fold in divide(scored, Scheme.RANDOM, 13, 3):
        learned = training_pairs(scored, fold, recipe)
        assert sorted(learned.pairs) == sorted(scored.pairs[row] for row in fold.train)
        few = training_pairs(scored, fold, replace(recipe, pairs=5))
        assert len(few.pairs) == 5
        assert set(few.pairs) <= set(learned.pairs)
        assert training_pairs(scored, fold, replace(recipe, pairs=5)).pairs == few.pairs


def test_shared_sentences_are_told(scored: EvaluationSet, recipe: Recipe, tmp_path: Path) -> None:
    """By brute force: a test pair one of whose sentences stands in a training pair."""
    tuned = tune(scored, Scheme.CROSS_TOPIC, replace(recipe, pairs=2), tmp_path)
    for fold in tuned.folds:
        learned = {text for row in fold.train for text in scored.rows[row].texts}
        for row in fold.test:
            assert tuned.shared[row] == bool({*scored.rows[row].texts} & learned)
    assert 0 < tuned.shared.sum() < len(scored.rows), "the premise: some are, some are not"


def test_the_models_are_those_that_answered(
    scored: EvaluationSet, recipe: Recipe, tmp_path: Path
) -> None:
    """What is kept of a fold opens, and gives the held-out pairs the similarities written down."""
    study = study_models(
        scored, ["baseline:dice"], tmp_path, recipe, setting=Setting(folds=2, resamples=5)
    )
    folds = divide(scored, Scheme.RANDOM, 13, 2)
    tuned = study.models[1]
    assert [*tuned.kept] == [fold.name for fold in folds]
    for fold in folds:
        asked = [scored.pairs[row] for row in fold.test]
        found = resolve_model(tmp_path / tuned.kept[fold.name]).similarities(asked)
        assert found == pytest.approx(tuned.similarities[fold.test], abs=1e-5)
    assert any("folds/cross-validated-1/model" in text for text in study.table().remarks)


def test_what_cannot_be_tuned(scored: EvaluationSet, tiny_run: Path) -> None:
    """Baselines, runs, flat scores: found before anything is trained."""
    with pytest.raises(InputError, match=r"baseline:dice: .*no encoder"):
        check_recipe(Recipe("baseline:dice"), scored)
    with pytest.raises(InputError, match=r"Origin of .* no encoder"):
        check_recipe(Recipe(str(tiny_run)), scored)
    flat = replace(scored, rows=tuple(replace(row, score=1.0) for row in scored.rows))
    with pytest.raises(InputError, match="all scores are alike"):
        check_recipe(Recipe(str(tiny_run / "surrogate")), flat)
