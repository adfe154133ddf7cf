"""Cross-validation: every row is answered once, by a model that did not learn from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.conftest import TOPICS
from tests.finetune.conftest import Write, contents, scored_rows, triplet_rows

from firth.evaluate.metrics import Metric, estimate
from firth.finetune import folds as module
from firth.finetune.folds import PREDICTIONS, cross_validate
from firth.run.errors import InputError


def test_every_row_is_in_one_fold(static: Path, write: Write, tmp_path: Path) -> None:
    """The figures over all rows are those of the predictions; the mean of folds is that of the
    folds; no pair of texts is learned from in the fold that holds it out."""
    rows = scored_rows(90)
    found = cross_validate("pairs", static, tmp_path / "cv", data=[write([*rows, rows[0]])],
                           folds=3, epochs=4, learning_rate=5e-2, resamples=20)  # fmt: skip
    table = pq.read_table(tmp_path / "cv" / PREDICTIONS)
    assert sorted(table["sentence1"].to_pylist()) == sorted(
        str(row["sentence1"]) for row in [*rows, rows[0]]
    )
    gold, told, before = (np.array(table[name]) for name in ("score", "fine_tuned", "start"))
    assert (told != before).any()  # the premise: something was learned
    assert set(table["fold"].to_pylist()) == {"fold 1", "fold 2", "fold 3"}
    for metric in (Metric.SPEARMAN, Metric.PEARSON):
        figures = found.report["figures"][metric.value]
        for name, column in (("fine-tuned", told), ("start", before)):
            value = estimate(metric, gold, column, seed=1, resamples=1).value
            assert figures["all rows"][name]["value"] == pytest.approx(value)
            each = [one[metric.value][name] for one in found.report["folds"]]
            assert figures["mean of folds"][name]["value"] == pytest.approx(np.mean(each))
    apart = {fold for fold, one in zip(table["fold"].to_pylist(), table["sentence1"].to_pylist(),
                                       strict=True) if one == rows[0]["sentence1"]}  # fmt: skip
    assert sum(one["left_out"] for one in found.report["folds"]) == (2 if len(apart) == 2 else 0)


def test_one_group_is_left_out_in_turn(static: Path, write: Write, tmp_path: Path) -> None:
    """By a column: the fold of a group tests on its rows alone, and learned from the others."""
    found = cross_validate("pairs", static, tmp_path / "cv", data=[write(scored_rows(80))],
                           by="topic", epochs=1, resamples=5)  # fmt: skip
    table = pq.read_table(tmp_path / "cv" / PREDICTIONS)
    assert table["fold"].to_pylist() == table["group"].to_pylist()
    assert {one["name"] for one in found.report["folds"]} == {"sea", "farm", "court", "music"}
    for one in found.report["folds"]:
        assert one["train"] + one["dev"] + one["test"] + one["left_out"] <= 80
    assert "without one topic in turn" in found.text()


def test_groups_choose_for_groups(static: Path, write: Write, tmp_path: Path) -> None:
    """Where a group is left out, the weights are chosen by whole groups too, none of which was
    learned from: a fold of four topics measures one, chooses by one, and learns from two."""
    rows = scored_rows(80)
    of = {topic: sum(row["topic"] == topic for row in rows) for topic in TOPICS}
    found = cross_validate("pairs", static, tmp_path / "cv", data=[write(rows)], by="topic",
                           epochs=1, resamples=5)  # fmt: skip
    for one in found.report["folds"]:
        (chooses,) = one["dev_groups"]
        assert chooses != one["name"]
        assert (one["dev"], one["test"]) == (of[chooses], of[one["name"]])
        others = sum(size for topic, size in of.items() if topic not in (chooses, one["name"]))
        assert 0 < one["train"] <= others  # less those whose texts stand in dev or test
    assert "chosen by groups" in found.text()


def test_triplets_have_an_accuracy(static: Path, write: Write, tmp_path: Path) -> None:
    """Both similarities of a row come from the model of its fold."""
    found = cross_validate("triplets", static, tmp_path / "cv", data=[write(triplet_rows(60))],
                           folds=2, epochs=4, learning_rate=5e-2, resamples=5)  # fmt: skip
    table = pq.read_table(tmp_path / "cv" / PREDICTIONS)
    right = np.array(table["fine_tuned_positive"]) > np.array(table["fine_tuned_negative"])
    figures = found.report["figures"]["accuracy"]["all rows"]
    assert figures["fine-tuned"]["value"] == pytest.approx(100 * right.mean())


def test_what_stopped_ends_with_the_same_bytes(
    static: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted between folds, the same call continues."""
    from firth.finetune import train

    options: dict[str, Any] = {"data": [write(scored_rows(40))], "folds": 2, "epochs": 1,
                               "resamples": 5}  # fmt: skip
    quiet = cross_validate("pairs", static, tmp_path / "quiet", **options)
    fit, calls = train.fit, [0]

    def stop(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return fit(*given, **named)

    monkeypatch.setattr(train, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        cross_validate("pairs", static, tmp_path / "stopped", **options)
    found = cross_validate("pairs", static, tmp_path / "stopped", **options)
    assert contents(found.path) == contents(quiet.path)


@pytest.mark.parametrize(
    ("rows", "options", "part"),
    [
        ([{**row, "topic": "sea"} for row in scored_rows(30)], {"by": "topic"}, "two or more"),
        ([{**row, "score": 2 if row["topic"] == "sea" else row["score"]}
          for row in scored_rows(60)], {"by": "topic"}, "sea: all"),
        ([row for row in scored_rows(60) if row["topic"] in ("sea", "farm")], {"by": "topic"},
         "one group is left to learn from"),
        (scored_rows(20), {"folds": 30}, "cannot make 30 folds"),
        (scored_rows(20), {"folds": 20}, "21 problems(.|\\n)*fold 10: (.|\\n)*and 11 more$"),
        (scored_rows(20), {"by": "nothing"}, "no column nothing"),
    ],
    ids=["one group", "one-sided", "none to choose by", "too few", "one each", "no column"],
)  # fmt: skip
def test_folds_that_tell_nothing_are_refused(
    rows: list[dict[str, object]], options: dict[str, Any], part: str, static: Path, write: Write,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Before anything is trained."""
    monkeypatch.setattr(module, "_build", lambda *_: pytest.fail("trained"))
    with pytest.raises(InputError, match=part):
        cross_validate("pairs", static, tmp_path / "cv", data=[write(rows)], **options)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.csv"}
