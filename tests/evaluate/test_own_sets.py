"""A user's own file is measured like any set: figures, differences, plots, leakage, and clashes."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score
from tests.evaluate.conftest import made_up_pairs, table
from typer.testing import CliRunner

from firth.baselines.dice import Dice
from firth.cli.main import app
from firth.evaluate.evaluate import evaluate
from firth.evaluate.load import find_named, select_every_split, select_sets
from firth.evaluate.own_files import read_own
from firth.evaluate.own_sets import own_set, stem
from firth.run.errors import InputError

HEADER = ("a", "b", "c", "topic", "split")
COLUMNS = {"sentence1": "a", "sentence2": "b", "score": "c"}


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """40 pairs of two topics, of which 10 are `test`; columns of odd names."""
    path = tmp_path / "my_pairs.tsv"
    rows = [*made_up_pairs(30, "train", ["sea", "farm"]), *made_up_pairs(10, "test", ["sea"], 2)]
    path.write_text(table(HEADER, rows), encoding="utf-8")
    return path


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """30 pairs of duplicates, or not."""
    path = tmp_path / "copies.csv"
    rows = [(*map(str, row[:2]), "duplicate" if float(str(row[2])) > 2 else "not_duplicate")
            for row in made_up_pairs(30, "", [""])]  # fmt: skip
    path.write_text("".join(",".join(row) + "\n" for row in [("s1", "s2", "label"), *rows]))
    return path


def test_scores_give_correlations(scored: Path) -> None:
    """Of the test rows where the file has such, of all where that is asked; groups are subtasks."""
    found = evaluate(Dice(), [str(scored), f"{scored}:all"], columns=COLUMNS, resamples=20)
    of_test, of_all = (found.find("my_pairs", split=split) for split in ("test", "all"))
    data = own_set(read_own(scored, COLUMNS), "all")
    gold = [row.score for row in data.rows]
    expected = spearmanr(gold, Dice().similarities(data.pairs)).statistic
    assert (of_test.n, of_all.n, of_all.metric) == (10, 40, "spearman")
    assert of_all.value == pytest.approx(100 * expected)
    assert found.find("my_pairs", split="all", subtask="farm").n == 15
    assert "my_pairs test: 10 of the 40 rows" in found.notes
    with pytest.raises(InputError, match=r"my_pairs: no split 'dev'\. It has: train, test, all"):
        evaluate(Dice(), [str(scored)], split="dev", columns=COLUMNS)


def test_labels_give_precision_and_area(labelled: Path) -> None:
    """As scikit-learn has them, and what counts as alike is said."""
    found = evaluate(Dice(), [str(labelled)], resamples=20)
    data = own_set(read_own(labelled))
    gold, said = [row.score for row in data.rows], Dice().similarities(data.pairs)
    assert [one.metric for one in found.results] == ["average-precision", "auc", "spearman"]
    assert found.results[0].value == pytest.approx(100 * average_precision_score(gold, said))
    assert found.results[1].value == pytest.approx(100 * roc_auc_score(gold, said))
    share = 100 * sum(gold) / len(gold)
    assert f"copies all: duplicate counts 1 ({share:.1f} % of the rows" in "\n".join(found.notes)


def test_triplets_give_accuracy(tmp_path: Path) -> None:
    """Of an anchor's two similarities the first is the larger."""
    path = tmp_path / "three.jsonl"
    one = {"anchor": "the red ship", "positive": "a red ship", "negative": "a captain"}
    turned = {**one, "positive": one["negative"], "negative": one["positive"]}
    path.write_text("\n".join(map(json.dumps, [one, turned, one, one])))
    found = evaluate(Dice(), [str(path)], resamples=20).results
    assert [(one.metric, one.value, one.n) for one in found] == [("accuracy", 75.0, 4)]


def test_what_says_nothing_is_refused(tmp_path: Path, scored: Path) -> None:
    """Pairs alone, labels of unknown meaning, names that would be taken for others."""
    plain, odd = tmp_path / "plain.tsv", tmp_path / "odd.tsv"
    plain.write_text("anchor\tpositive\na ship\tthe ship\n")
    odd.write_text("s1\ts2\tlabel\na\tb\tship\na\tc\tcow\n")
    with pytest.raises(InputError, match=r"plain\.tsv: pairs without a score or a label"):
        evaluate(Dice(), [str(plain)])
    with pytest.raises(InputError, match=r"odd\.tsv: labels cow, ship; expected two"):
        evaluate(Dice(), [str(odd)])
    named, twice = tmp_path / "lee.tsv", tmp_path / "my_pairs.csv"
    for path in (named, twice):
        path.write_text("sentence1,sentence2,score\na,b,1\na,c,2\n".replace(",", "\t"))
    with pytest.raises(InputError, match=r"lee\.tsv: its figures would be called lee"):
        evaluate(Dice(), [str(named)])
    twice.write_text("a,b,c\nx,y,1\n")
    with pytest.raises(InputError, match=r"my_pairs\.csv: two have one name"):
        select_sets([str(scored), str(twice)], None, None, columns=COLUMNS)
    with pytest.raises(InputError, match="columns: for files of one's own"):
        evaluate(Dice(), ["lee"], columns=COLUMNS)
    for name in ("pears.tsv", "folder/pears"):
        with pytest.raises(InputError, match=f"{name}: no such file"):
            find_named(name)
    with pytest.raises(InputError, match=r"pears: no such task.* or a file of your own"):
        find_named("pears")
    assert stem(Path("a/my.pairs.tsv.gz")) == "my.pairs"


def test_rows_of_own_files_are_left_out(tmp_path: Path, scored: Path) -> None:
    """`--without` takes files too: what was trained on is not evaluated."""
    lines = scored.read_text().splitlines()
    known = tmp_path / "known.tsv"
    known.write_text("\n".join(["sentence1\tsentence2\tscore\tx\ty", *lines[1:6]]) + "\n")
    (data,), _ = select_sets([f"{scored}:all"], None, None, [str(known)], COLUMNS)
    assert len(data.rows) == 35
    (every,), _ = select_every_split([str(scored)], None, COLUMNS)
    assert (every.split, len(every.rows)) == ("all", 40)


def test_the_command(scored: Path, labelled: Path, tmp_path: Path) -> None:
    """Two models, two files: JSON, differences, table, plots; and what is saved is compared."""
    out = tmp_path / "out"
    models = ["baseline:dice", "baseline:tfidf-ngrams"]
    given = ["evaluate", *models, "--task", str(scored), "--columns", "sentence1=a", "sentence2=b",
             "score=c", "--out", str(out), "--no-cache", "--quiet", "--resamples", "20", "--json",
             "--against", "baseline:dice"]  # fmt: skip
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["data"][0]["source"] == str(scored)
    assert {one["task"] for one in values["differences"]} == {"my_pairs"}
    assert "| my_pairs test |" in (out / "table.md").read_text().splitlines()[0]
    assert (out / "plots" / "scatter-my_pairs-test.png").is_file()
    result = CliRunner().invoke(app, ["compare", str(out), "--no-cache", "--quiet"])
    assert "my_pairs test spearman:" in result.stdout
    result = CliRunner().invoke(
        app, ["evaluate", *models, "--task", str(labelled), "lee", "--no-cache", "--resamples", "9"]
    )
    assert result.exit_code == 0, result.output
    assert "copies" in result.stdout
    result = CliRunner().invoke(app, [*given[:3], "--task", str(scored), "--columns", "a"])
    assert "--columns a: expected OURS=YOURS" in str(result.exception)
    text = tmp_path / "text.csv"
    text.write_text(f"text\n{scored.read_text().splitlines()[1].split(chr(9))[0]}\n")
    leak = ["leakage", str(text), "--task", str(scored), "--columns", "sentence1=a", "sentence2=b",
            "score=c", "--json", "--no-cache", "--quiet", "--min-words", "2"]  # fmt: skip
    result = CliRunner().invoke(app, leak)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["sets"][0]["rows_touched"] >= 1
