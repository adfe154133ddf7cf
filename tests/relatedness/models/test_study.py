"""Tables 5 and 6: means over folds, by domain; and the command from file to folder."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from firth.baselines.dice import Dice
from firth.cli.main import app
from firth.evaluate.aggregate import Scheme, divide
from firth.evaluate.rows import EvaluationSet
from firth.relatedness.models.study import Setting, study_models
from firth.run.errors import InputError


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
    assert names == {"folds", "results.json", "similarities.parquet", "table.md", "table.tex",
                     "domains.md", "domains.tex"}  # fmt: skip
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
    from firth.run.errors import MissingExtraError

    monkeypatch.setattr(glove, "glove_files", list)
    study = study_models(scored, setting=Setting(folds=2, resamples=5))
    assert [one.label for one in study.answers] == ["baseline:dice", "baseline:tfidf"]
    with pytest.raises(MissingExtraError):
        study_models(scored, ["baseline:glove"], setting=Setting(folds=2, resamples=5))
    with pytest.raises(InputError, match="36 rows cannot make 40 folds"):
        study_models(scored, ["baseline:dice"], setting=Setting(folds=40))
