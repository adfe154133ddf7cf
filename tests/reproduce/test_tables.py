"""The tables: published figures, metrics, and what is measured on toy data."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from firth.evaluation.sets import load_set
from firth.reproduce import cli
from firth.reproduce.result import VariedRun, published
from firth.reproduce.sun import surrogate_row
from firth.reproduce.tables import TABLES, reproduce
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run

from .conftest import find


def with_tables(run: Run, **tables: object) -> Run:
    return VariedRun.of(run, {"reproduce": {"tables": tables}})


def test_sweep_of_cbos(run: Run, data_dir: Path) -> None:
    """Each value has a stage; figures with k = 1 and m = 2 are those of Table I."""
    sweep = reproduce("cbos-k", with_tables(run, sizes=["1", "3"]), data_dir)
    assert {cell.row for cell in sweep.cells} == {"k = 1", "k = 3"}
    table = reproduce("cbos-table1", run, data_dir)
    measured = find(table, "sts14 OnWN", "cbos")
    assert measured.measured == find(sweep, "k = 1", "sts14 OnWN").measured
    assert measured.published == 72.45
    assert find(table, "sts14 OnWN", "skip-thought").measured is None
    assert any("sts12 MSRpar" in note for note in table.notes)
    named = [note for note in table.notes if "prints a mean" in note]
    assert ["44.79" in named[0], "41.7;" in named[1], len(named)] == [True, True, 2]
    with pytest.raises(ConfigError, match=r"(?s)got 0; .*got 101; expected 1 to 100"):
        reproduce("cbos-k", with_tables(run, sizes=["0", 101]), data_dir)
    with pytest.raises(ConfigError, match=r"sizes\.0: got '1e3'"):
        with_tables(run, sizes=["1e3"])


def test_encoders_are_fine_tuned_once(run: Run, data_dir: Path, tiny_bert: Path) -> None:
    """Table 2 has a row of what learned from STSb; the second call trains nothing."""
    varied = with_tables(run, start=[str(tiny_bert)], epochs=1)
    result = reproduce("sun-table2", varied, data_dir)
    surrogate = find(result, "Surrogate base", "sts-b")
    assert (surrogate.measured, surrogate.published) == (None, 87.91), "it was not distilled"
    assert [cell for cell in result.cells if cell.row.endswith(", trained")]
    assert any("did not learn from NLI" in note for note in result.notes)
    reports = [*(run.path / "reproduce" / "models").rglob("report.json")]
    times = {path: path.stat().st_mtime_ns for path in reports}
    assert reproduce("sun-table2", varied, data_dir).cells == result.cells
    assert times == {path: path.stat().st_mtime_ns for path in reports}
    plain = reproduce("sun-table1", varied, data_dir)
    assert find(plain, "Dice", "sts14").measured is not None
    assert find(plain, "Origin", "sts14").published == 75.45


def test_a_sample_of_table_3(run: Run, data_dir: Path, tiny_bert: Path) -> None:
    """Cosines of all rows, each learned from the other folds, are cut to the sample."""
    varied = with_tables(run, start=[str(tiny_bert)], sample=30)
    scores = load_set("afs:all", data_dir).scores
    with patch("firth.reproduce.sun.cross_validated", return_value=scores):
        result = reproduce("sun-table3", varied, data_dir)
    row = "/".join(tiny_bert.parts[-2:])
    for scheme in ("10-fold", "cross-topic"):
        figure = find(result, f"{row}, {scheme}", "AFS, spearman").measured
        assert str(figure) == "100.0 [100.0, 100.0]"
    assert any("30 random rows of 60" in note for note in result.notes)


def test_a_surrogate_of_another_base_is_not_compared_with_roberta(run: Run) -> None:
    """The row says its base, and has no published figure beside it."""
    static = VariedRun.of(run, {"paper": {"surrogate": {"base": "static"}}})
    roberta = VariedRun.of(run, {"paper": {"surrogate": {"base": "models/roberta-base"}}})
    assert surrogate_row(static) == "Surrogate (static)"
    assert surrogate_row(static) not in published("sun", "table1")
    assert surrogate_row(roberta) in published("sun", "table1")


def test_what_is_missing_is_said(run: Run, tmp_path: Path, data_dir: Path) -> None:
    """An unknown table, a missing run and missing sets have messages that say what to do."""
    with pytest.raises(InputError, match="no such table"):
        reproduce("table99", run, data_dir)
    with pytest.raises(InputError, match="--run"):
        reproduce("cbos-k", None, data_dir)
    with pytest.raises(InputError, match="no set of the table"):
        reproduce("sun-table1", run, tmp_path)
    assert len({title for title, _ in TABLES.values()}) == len(TABLES) == 18


def test_commands(run: Run, data_dir: Path, tmp_path: Path) -> None:
    """The commands list, train and measure; `--set` of a table changes no settings."""
    before, out = (run.path / "settings.toml").read_bytes(), tmp_path / "table.json"

    def output(*words: object) -> str:
        result = CliRunner().invoke(cli.app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.output.replace("\n", "")

    assert "baseline:cbos@RUN" in output("list")
    trained = output("baseline", "cbow", "--run", run.path, "-q")
    assert f"baseline:cbow@{run.path}" in trained
    given = ("--run", run.path, "--data-dir", data_dir, "--out", out)
    output("table", "cbos-m", *given, "--set", "reproduce.tables.sizes=[1]")
    assert {cell["row"] for cell in json.loads(out.read_text())["cells"]} == {"m = 1"}
    assert (run.path / "settings.toml").read_bytes() == before
