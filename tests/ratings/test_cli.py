"""The commands, one after the other, as a user goes through them."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from firth.ratings.cli import app
from firth.ratings.records import ANSWER, read_items, read_tuples, write_table
from firth.run.errors import ConfigError

from .conftest import simulate_judgements

RUNNER = CliRunner()


def run(*arguments: object) -> Result:
    return RUNNER.invoke(app, [str(one) for one in arguments])


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_from_sentences_to_scores(sentence_file: Path, tmp_path: Path) -> None:
    pairs, tuples = tmp_path / "pairs", tmp_path / "tuples"
    asked = ("--num-pairs", 60, "--strategy", "random", "--set", "seed=14", "--quiet")
    assert "60 pairs from" in done("pairs", sentence_file, "--out", pairs, *asked)
    assert "unchanged" in done("pairs", sentence_file, "--out", pairs, *asked)
    balance = json.loads(done("tuples", pairs / "pairs.csv", "--out", tuples, "--json"))
    assert balance["tuples"] == 120
    items = read_items(pairs / "pairs.csv")
    made = read_tuples(tuples / "tuples.csv", [item.id for item in items])
    names = [item.id for item in items]
    rows = np.array([[names.index(item) for item in one.items] for one in made])
    judged = simulate_judgements(np.arange(60) / 60, rows, 4, 0.01, seed=1)
    crowd = ("--items", pairs / "pairs.csv", "--tuples", tuples / "tuples.csv")
    assert "120 questions" in done("questions", *crowd, "--out", tmp_path / "questions.csv")
    assert "item4_text2" in (tmp_path / "questions.csv").read_text().splitlines()[0]
    answers = zip(judged.asked, judged.best, judged.worst, strict=True)
    given = [
        (made[t].id, f"w{n % 20}", names[best], names[worst])
        for n, (t, best, worst) in enumerate(answers)
    ]
    write_table(tmp_path / "annotations.csv", ANSWER, given)
    gold = [(made[n].id, names[rows[n].max()], names[rows[n].min()]) for n in range(5)]
    write_table(tmp_path / "gold.csv", ("tuple", "best", "worst"), gold)
    files = ("--tuples", tuples / "tuples.csv", "--annotations", tmp_path / "annotations.csv")
    options = ("--gold", tmp_path / "gold.csv", "--quiet", "--splits", 20)
    scoring = ("score", *files, *options, "--out", tmp_path / "scores")
    scores = done(*scoring)
    assert "60 of 60 items have scores" in scores
    assert "60" in (tmp_path / "scores" / "scores.csv").read_text()
    reliability = json.loads(done(*scoring, "--json"))["reliability"]
    assert 0.7 < reliability["spearman"]["mean"] <= 1


def test_serving_begins_with_the_database(
    sentence_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("starlette")
    done("pairs", sentence_file, "--out", tmp_path / "p", "--num-pairs", 10)
    items = tmp_path / "p" / "pairs.csv"
    done("tuples", items, "--out", tmp_path / "t")
    monkeypatch.setattr(
        "firth.ratings.web.serve", lambda store, port, ready: ready(f"{store.rules.title} {port}")
    )
    files = ("--items", items, "--tuples", tmp_path / "t" / "tuples.csv", "--port", 0)
    result = run("serve", "--db", tmp_path / "db", *files, "--set", "answers=0", "--set", "x")
    assert isinstance(result.exception, ConfigError)
    text = done("serve", "--db", tmp_path / "db", *files, "--set", "title=Which?")
    assert "0 of 20 tuples complete" in text
    assert "Which? 0" in text
