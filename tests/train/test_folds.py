"""Cross-validation: every row is answered once, by a model that did not learn from it."""

from pathlib import Path

import numpy as np
import pytest

from firth.evaluation.sets import EvaluationSet, make_folds
from firth.run.errors import InputError
from firth.train.finetune import joined, load_splits
from firth.train.folds import cross_validate, parts_of_fold


@pytest.fixture
def whole(scored: Path) -> EvaluationSet:
    return joined(load_splits(scored, None, "source").values(), "all")


def test_folds_hold_every_row_once(whole: EvaluationSet) -> None:
    folds = make_folds(whole, 7, 1)
    assert np.array_equal(np.sort(np.concatenate([*folds.values()])), np.arange(90))
    sizes = [len(rows) for rows in folds.values()]
    assert max(sizes) - min(sizes) <= 1
    with pytest.raises(InputError, match="90 rows cannot make 91 folds"):
        make_folds(whole, 91, 1)


def test_no_text_pair_of_the_test_rows_is_learned_from(whole: EvaluationSet) -> None:
    rows = make_folds(whole, 5, 1)["fold 2"]
    parts = parts_of_fold(whole, rows, "fold 2", 1)
    texts = [{row.texts for row in part.rows} for part in parts.named.values()]
    assert [len(some) for some in texts] == [65, 7, 18]
    assert len(set.union(*texts)) == 90
    assert texts[2] == {whole.rows[row].texts for row in rows}


def test_cross_validation_of_folds_and_of_groups(scored: Path, words: Path, tmp_path: Path) -> None:
    by_folds = cross_validate(words, scored, tmp_path / "folds", folds=3, epochs=1)
    assert list(by_folds.report["folds"]) == ["fold 1", "fold 2", "fold 3"]
    assert len(by_folds.report["cosines"]["fine-tuned"]) == 90
    names = {name for name in by_folds.report["figures"] if name.startswith("spearman")}
    assert names == {"spearman, mean of folds", "spearman, all rows"}
    figure = by_folds.report["figures"]["spearman, all rows"]
    assert figure["difference"]["value"] == pytest.approx(
        figure["fine-tuned"]["value"] - figure["start"]["value"]
    )
    groups = cross_validate(words, scored, tmp_path / "groups", leave_out="source", epochs=1)
    assert list(groups.report["folds"]) == ["a", "b", "c"]
    assert "one source left out at a time" in groups.report["lines"][0]
    assert cross_validate(words, scored, tmp_path / "folds", folds=3, epochs=1).reused
