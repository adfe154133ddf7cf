"""The whole of an evaluation: figures, notes, identity, JSON, table, comparison."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from firth import evaluate
from firth.baselines.dice import Dice
from firth.evaluate.comparison import compare
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Floats
from firth.evaluate.results import SCHEMA, Evaluation, tabulate
from firth.evaluate.task import TASKS
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError

RESULT_KEYS = ["model", "task", "subtask", "split", "metric", "value", "low", "high", "n"]


class Fixed:
    """A scorer that gives what it is told, whatever it is asked."""

    def __init__(self, values: Floats | float, name: str = "fixed") -> None:
        self.name = name
        self._values = values

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """The values, or the one value for each pair."""
        if isinstance(self._values, float):
            return np.full(len(pairs), self._values)
        return self._values


def test_figures_are_scipys_on_the_rows_of_the_file(data_dir: Path) -> None:
    """`all` is one correlation over all rows, a subtask over its own; each with its n."""
    found = evaluate("baseline:dice", ["sts13"], data_dir)
    data = load_set(TASKS["sts13"], data_dir)
    gold = np.array([row.score for row in data.rows])
    dice = Dice().similarities(data.pairs)
    groups = {"all": np.ones(len(gold), dtype=bool)}
    for name in ("FNWN", "OnWN"):
        groups[name] = np.array([row.subtask == name for row in data.rows])
    assert [(r.subtask, r.metric) for r in found.results] == [
        (group, metric) for group in groups for metric in ("spearman", "pearson")
    ]
    for result in found.results:
        rows = groups[result.subtask]
        function = stats.spearmanr if result.metric == "spearman" else stats.pearsonr
        assert result.value == pytest.approx(100 * function(gold[rows], dice[rows]).statistic)
        assert result.n == rows.sum()
        assert result.low is not None
        assert result.high is not None
        assert result.value is not None
        assert result.low < result.value < result.high


def test_tasks_and_splits_are_reported_in_order(data_dir: Path) -> None:
    """`NAME:SPLIT` wins over `split`, which wins over the default; a repeated task counts once."""
    tasks = ["wiki-sections", "sts-b:dev", "sts-b", "sts-b"]
    found = evaluate("baseline:dice", tasks, data_dir)
    figures = dict.fromkeys((r.task, r.split) for r in found.results)
    assert list(figures) == [("wiki-sections", "test"), ("sts-b", "dev"), ("sts-b", "test")]
    train = evaluate("baseline:dice", ["sts-b"], data_dir, split="train")
    assert {r.split for r in train.results} == {"train"}


def test_triplet_accuracy_is_counted_right(data_dir: Path) -> None:
    """Positive strictly above negative; ties are wrong."""
    n = len(load_set(TASKS["wiki-sections"], data_dir).rows)
    positive, negative = np.zeros(n), np.zeros(n)
    positive[:5], positive[5:8] = 1.0, -1.0
    found = evaluate(Fixed(np.concatenate([positive, negative])), ["wiki-sections"], data_dir)
    assert found.find("wiki-sections").value == pytest.approx(100 * 5 / n)
    tied = evaluate(Fixed(0.5), ["wiki-sections"], data_dir)
    assert tied.find("wiki-sections").value == 0


def test_the_order_of_rows_in_the_file_does_not_matter(data_dir: Path) -> None:
    """Figures, intervals and the data's fingerprint stay."""
    first = evaluate("baseline:dice", ["sts13"], data_dir)
    file = data_dir / "STS13" / "pairs.tsv"
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *reversed(rows)]) + "\n")
    second = evaluate("baseline:dice", ["sts13"], data_dir)
    assert first.results == second.results
    assert first.scored[0].data.rows != second.scored[0].data.rows, "premise: the order changed"
    assert first.scored[0].data.fingerprint == second.scored[0].data.fingerprint


def test_two_calls_give_the_same_bytes(data_dir: Path, tmp_path: Path) -> None:
    """No time, no path of a temporary file, no chance in the JSON."""
    for name in ("one.json", "two.json"):
        evaluate("baseline:tfidf", ["sts13", "lee"], data_dir).to_json(tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_the_seed_decides_the_intervals_only(data_dir: Path) -> None:
    """Another seed, other intervals, the same figures; the number of resamples is kept."""
    one, two = (
        evaluate("baseline:dice", ["sts13"], data_dir, seed=s, resamples=50) for s in (1, 2)
    )
    assert [r.value for r in one.results] == [r.value for r in two.results]
    assert [r.low for r in one.results] != [r.low for r in two.results]
    assert one.to_dict()["settings"] == {"seed": 1, "resamples": 50, "confidence": 0.95}


def test_the_json_has_the_promised_shape(data_dir: Path, tmp_path: Path) -> None:
    """Keys and types are what others parse: change them and `SCHEMA` together."""
    assert SCHEMA == 2
    found = evaluate(
        "baseline:tfidf", ["sts13", "wiki-sections"], data_dir, command="firth evaluate …"
    )
    found.to_json(tmp_path / "found.json")
    document: dict[str, Any] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert sorted(document) == [
        "command", "data", "differences", "firth", "groups", "left_out", "libraries", "models",
        "notes", "results", "schema", "settings",
    ]  # fmt: skip
    for result in document["results"]:
        assert sorted(result) == sorted(RESULT_KEYS)
        assert result["model"] == "baseline:tfidf"
        assert all(isinstance(result[key], float) for key in ("value", "low", "high"))
        assert isinstance(result["n"], int)
    (model,) = document["models"]
    assert sorted(model) == ["fingerprint", "leakage", "name", "spec"]
    assert model["leakage"] is None
    assert "evaluated set" in model["name"]
    assert len(model["fingerprint"]) == 40
    for data in document["data"]:
        assert sorted(data) == [
            "fingerprint", "licence", "rows", "skipped", "source", "split", "task", "without",
        ]  # fmt: skip
        assert len(data["fingerprint"]) == 40
    assert document["command"] == "firth evaluate …"
    assert {"numpy", "scikit-learn"} <= set(document["libraries"])
    assert any("SMT is missing" in note for note in document["notes"])


def test_constant_scores_are_null_with_a_note(data_dir: Path, tmp_path: Path) -> None:
    """The JSON stays valid: null, not NaN."""
    found = evaluate(Fixed(0.5), ["sts13"], data_dir)
    assert {(r.value, r.low, r.high) for r in found.results} == {(None, None, None)}
    assert any("all 40 similarities equal 0.5" in note for note in found.notes)
    found.to_json(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["results"][0]["value"] is None
    assert "undefined" in found.table()


def test_a_scorer_of_the_wrong_size_is_an_error(data_dir: Path) -> None:
    """Not a broadcast."""
    with pytest.raises(InputError, match=r"shape \(3,\) for 40 pairs of sts13"):
        evaluate(Fixed(np.zeros(3)), ["sts13"], data_dir)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": []}, "expected a list"),
        ({"tasks": "sts13"}, "expected a list"),
        ({"tasks": ["sts99"]}, "no such task. Known: sts12"),
        ({"tasks": ["sts13"], "split": "dev"}, "sts13: no split 'dev'. It has: test"),
        ({"tasks": ["sts13"], "resamples": 0}, "resamples"),
        ({"tasks": ["sts13"], "model": "baseline:no"}, "no such baseline"),
    ],
)
def test_bad_arguments(data_dir: Path, arguments: dict[str, Any], message: str) -> None:
    """Each says what was got and what was expected."""
    with pytest.raises(InputError, match=message):
        evaluate(**{"model": "baseline:dice", "data_dir": data_dir, **arguments})


def test_an_unwritable_file_is_an_input_error(data_dir: Path, tmp_path: Path) -> None:
    """With its path; nothing half-written is left."""
    found = evaluate("baseline:dice", ["sts13"], data_dir)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        found.to_json(tmp_path / "file" / "found.json")


def test_finding_a_figure(data_dir: Path) -> None:
    """By task and, where wanted, metric, subtask and split."""
    found = evaluate("baseline:dice", ["sts-b:dev", "sts-b:test"], data_dir)
    assert found.find("sts-b").metric == "spearman"
    assert found.find("sts-b").split == "dev"
    assert found.find("sts-b", "pearson", subtask="news", split="test").n == 15
    with pytest.raises(InputError, match="no result for lee"):
        found.find("lee")


def both(data_dir: Path) -> tuple[Evaluation, Evaluation]:
    """Two baselines on two sets."""
    tasks = ["sts13", "wiki-sections"]
    return evaluate("baseline:dice", tasks, data_dir), evaluate("baseline:tfidf", tasks, data_dir)


def test_the_table_shows_figures_side_by_side(data_dir: Path) -> None:
    """A column a model, `all` only unless asked, `-` for what one lacks, notes once."""
    one, two = both(data_dir)
    lines = tabulate([one, two]).splitlines()
    assert lines[0].split() == ["task", "split", "metric", "n", "baseline:dice", "baseline:tfidf"]
    assert len([line for line in lines if line.startswith("sts13 ")]) == 2
    assert len([line for line in one.table(subtasks=True).splitlines() if "FNWN  " in line]) == 2
    spearman = one.find("sts13")
    assert f"{spearman.value:.1f} [{spearman.low:.1f}, {spearman.high:.1f}]" in lines[2]
    assert sum("SMT is missing" in line for line in lines) == 1
    fewer = evaluate("baseline:dice", ["sts13"], data_dir)
    assert tabulate([two, fewer]).splitlines()[4].endswith("  -")


def test_comparisons_are_about_the_same_pairs(data_dir: Path) -> None:
    """One line a figure; the difference is that of the figures; signs follow the order."""
    one, two = both(data_dir)
    there, back = compare(one, two), compare(two, one)
    assert [(c.task, c.metric) for c in there] == [
        ("sts13", "spearman"),
        ("sts13", "pearson"),
        ("wiki-sections", "accuracy"),
    ]
    assert len(compare(one, two, subtasks=True)) == 7
    for forth, reverse in zip(there, back, strict=True):
        values = [e.find(forth.task, forth.metric).value for e in (one, two)]
        assert forth.difference.value == pytest.approx((values[0] or 0) - (values[1] or 0))
        assert forth.difference.value == pytest.approx(-(reverse.difference.value or 0))
        assert str(forth).startswith(f"{forth.task} test {forth.metric}: ")


def test_comparisons_refuse_different_data_and_seeds(data_dir: Path) -> None:
    """Other rows, other resamples, or nothing in common."""
    one, _ = both(data_dir)
    with pytest.raises(InputError, match="resampled differently"):
        compare(one, evaluate("baseline:tfidf", ["sts13"], data_dir, seed=1))
    with pytest.raises(InputError, match="share no evaluated set"):
        compare(one, evaluate("baseline:tfidf", ["sts-b"], data_dir))
    file = data_dir / "STS13" / "pairs.tsv"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match="the rows differ in sts13 test"):
        compare(one, evaluate("baseline:tfidf", ["sts13"], data_dir))


def test_an_object_that_is_no_scorer_is_refused() -> None:
    """The message names its type and what would do, as for a corpus or an encoder's object."""
    with pytest.raises(InputError, match=r"type list; expected .* `similarities\(pairs\)`"):
        evaluate([1.0], ["lee"])  # type: ignore[arg-type]
