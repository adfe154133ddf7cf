"""`firth bws …` as a user types it: from items to reliability, and what stops it."""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firth.cli.main import main
from firth.run import progress

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bws(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `firth bws ARGUMENTS…`; returns exit status, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["firth", "bws", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
        finally:
            progress.set_quiet(True)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    rows = "".join(f"one {n}\tother {n}\t{n / 79}\n" for n in range(80))
    path.write_text("sentence1\tsentence2\tscore\n" + rows)
    return path


def test_the_whole_way(bws: Command, items: Path, tmp_path: Path) -> None:
    """Items, tuples, answers, scores, reliability; a second call finds everything done."""
    out = {name: tmp_path / name for name in ("tuples", "answers", "scores", "reliability")}
    tuples = out["tuples"] / "tuples.csv"
    answers = ("--tuples", tuples, "--annotations", out["answers"] / "annotations.csv")
    gold = ("--gold", out["answers"] / "gold.csv")
    commands = [
        ("tuples", items, "--out", out["tuples"]),
        ("simulate", items, "--tuples", tuples, "--out", out["answers"], "--shr", "0.8",
         "--gold", "10", "--annotators", "20", "--careless", "0.1"),
        ("score", *answers, *gold, "--items", items, "--out", out["scores"], "--resamples", "50"),
        ("reliability", *answers, *gold, "--out", out["reliability"], "--splits", "30"),
    ]  # fmt: skip
    printed = []
    for command in commands:
        status, shown, error = bws(*command, "--quiet")
        assert status == 0, error
        printed.append(shown)
    assert "160 tuples of 4, of 80 items" in printed[0]
    assert "below the gold threshold: w01" in printed[2]
    assert "split-half reliability over 30 random splits" in printed[3]
    assert json.loads((out["tuples"] / "balance.json").read_text())["meetings"]["most"] == 1
    rows = list(csv.DictReader((out["scores"] / "scores.csv").open()))
    assert [row["item"] for row in rows] == [f"{n:02}" for n in range(1, 81)]
    assert (out["reliability"] / "reliability.svg").is_file()
    found = json.loads((out["reliability"] / "reliability.json").read_text())
    assert [level["answers"] for level in found["by answers per tuple"]] == [1, 2]
    for command, before in zip(commands, printed, strict=True):
        status, again, _ = bws(*command, "--quiet")
        assert status == 0
        once, twice = (" ".join(text.split()) for text in (before, again))  # broken elsewhere
        assert twice == once.replace(": written", ": up to date")


def test_plan(bws: Command) -> None:
    """The table is printed, or all of it as JSON."""
    few = ("--factor", "1", "--factor", "2", "--answers", "2", "--answers", "4")
    command = ("plan", "--items", 100, "--target-shr", 0.7, "--noise", 0.2, *few, "--quiet")
    status, out, error = bws(*command)
    assert status == 0, error
    assert "cheapest with 0.7 or more" in out
    plan = json.loads(bws(*command, "--json")[1])
    assert len(plan["options"]) == 4
    assert plan["cheapest"]["shr"]["mean"] >= 0.7


def test_a_plan_from_a_pilot(bws: Command, items: Path, tmp_path: Path) -> None:
    """The noise is that of the pilot, found without knowing it."""
    bws("tuples", items, "--out", tmp_path / "t", "--quiet")
    tuples = tmp_path / "t" / "tuples.csv"
    bws("simulate", items, "--tuples", tuples, "--out", tmp_path / "a", "--noise", 0.2, "--quiet")
    status, out, error = bws(
        "plan", "--items", 100, "--tuples", tuples, "--annotations",
        tmp_path / "a" / "annotations.csv", "--scores", items, "--factor", 2, "--answers", 2,
        "--quiet",
    )  # fmt: skip
    assert status == 0, error
    assert "fits the pilot's reliability" in out
    assert 0.1 < float(out.split("noise ")[1].split()[0]) < 0.3


def test_problems_stop_before_anything_is_written(
    bws: Command, items: Path, tmp_path: Path
) -> None:
    """Each with a message; no folder appears."""
    broken = tmp_path / "broken.csv"
    broken.write_text("tuple,item1,item2,item3\nt,a,b,c\n")
    out = ("--out", tmp_path / "out", "--quiet")
    simulate = ("simulate", items, "--tuples", broken, *out)
    for arguments, message in [
        (("tuples", tmp_path / "none.tsv", *out), "cannot be read"),
        (("tuples", items, "--size", 90, *out), "too few for tuples of 90"),
        (("score", "--tuples", broken, "--annotations", broken, *out), "no column annotator"),
        (simulate, "no such item: a, b, c"),
        ((*simulate, "--noise", 1, "--shr", 0.8), "both --noise and --shr"),
        ((*simulate, "--noise-kind", "uniform"), "expected normal or gumbel"),
        (("plan", "--items", 50, "--tuples", broken, "--quiet"), "got one of them"),
        (("plan", "--items", 50, "--target-shr", 84, "--noise", 1, "--quiet"), "between 0 and 1"),
    ]:
        status, _, error = bws(*arguments)
        assert status == 1
        assert message in error
    assert not (tmp_path / "out").exists()


def test_tuples_in_use_are_not_replaced(bws: Command, items: Path, tmp_path: Path) -> None:
    """Another seed would make answers to the old ones worthless."""
    command = ("tuples", items, "--out", tmp_path / "t", "--quiet")
    assert bws(*command)[0] == 0
    status, _, error = bws(*command, "--seed", 14)
    assert status == 1
    assert "--force" in error
    assert bws(*command, "--seed", 14, "--force")[0] == 0


def test_files_of_the_user_are_not_replaced(bws: Command, items: Path, tmp_path: Path) -> None:
    """Crowd files and exports need --force where there is a file; the answers themselves are never
    replaced, and a database of another kind is left byte for byte as it is."""
    import sqlite3

    from firth.relatedness.questionnaire.setup import read_questionnaire
    from firth.relatedness.questionnaire.store import Store

    assert bws("tuples", items, "--out", tmp_path / "t", "--quiet")[0] == 0
    tuples, db = tmp_path / "t" / "tuples.csv", tmp_path / "answers.db"
    store = Store.create(db, read_questionnaire(items, tuples))
    question = store.next(store.enter("a"))
    assert question is not None
    store.answer("a", question.id, *question.items[:2])
    store.close()
    mine = tmp_path / "mine.csv"
    mine.write_text("precious")
    asked = ("--tuples", tuples, "--items", items)
    for command in (("crowd", *asked), ("export", "--db", db)):
        status, _, error = bws(*command, "--out", mine, "--quiet")
        assert status == 1
        assert "mine.csv: there already" in error
        assert mine.read_text() == "precious"
    for command in (("crowd", *asked), ("export", "--db", db)):
        assert bws(*command, "--out", mine, "--force", "--quiet")[0] == 0
    assert len(mine.read_text().splitlines()) == 2
    status, _, error = bws("export", "--db", db, "--out", db, "--force", "--quiet")
    assert status == 1
    assert "the questionnaire itself" in error
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = other.read_bytes()
    for foreign in (("serve", *asked, "--port", 0), ("export", "--out", tmp_path / "new.csv")):
        status, _, error = bws(*foreign, "--db", other, "--quiet")
        assert status == 1
        assert "a database of another kind" in error
    assert other.read_bytes() == before
    assert not list(tmp_path.glob("other.db-*"))
    assert not (tmp_path / "new.csv").exists()
