"""Cross-validation: every row is answered once, by a model that did not learn from it."""

from pathlib import Path

import pytest

from firth.evaluation.sets import load_set, make_folds
from firth.train.folds import cross_validate, parts_of_fold


def test_no_row_of_a_fold_is_learned_from(scored: Path) -> None:
    whole = load_set(f"{scored}:all")
    folds = make_folds(whole, 5, 1)
    assert sorted(row for rows in folds.values() for row in rows.tolist()) == [*range(90)]
    rows = folds["fold 2"]
    parts = parts_of_fold(whole, rows, "fold 2", 1)
    texts = [{row.texts for row in part.rows} for part in parts.values()]
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
