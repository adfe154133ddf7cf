"""Tables of STR-2021 on made-up pairs: what is ours, what is printed, what cannot be had."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.evaluate import readers
from firth.evaluate.evaluate import evaluate
from firth.reproduce.options import Options
from firth.reproduce.published import STR_BINS, STR_TABLE2, STR_TABLE4, STR_TABLE5, STR_TABLE6
from firth.reproduce.registry import reproduce
from firth.reproduce.report import Report
from firth.run import model_files
from firth.run.errors import FirthError

FILES = {"results.json", "table.md", "plot.png", "plot.svg", "manifest.json"}
NOUNS = ("ship", "harbour", "wave", "judge", "lawyer", "trial", "cow", "barn", "field")
KINDS = {"Formality_pp": "Formality", "Formality_r": "Formality", "STS": "STS", "SNLI": "SNLI"}


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "hub_is_reachable", lambda: False)
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: False)


def cells(report: Report) -> dict[str, Any]:
    """Name of a row → its cells."""
    return {row.name: row.cells for row in report.rows}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 pairs of three domains, one of them in two parts; those of STS are in STSb too."""
    folder = tmp_path_factory.mktemp("eval")
    rng = random.Random(6)
    related = "sentence1\tsentence2\tscore\tsubtask\tsplit\tsubset\n"
    similar = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
    for number in range(40):
        one, two = (f"the {' '.join(rng.sample(NOUNS, rng.randint(4, 6)))}" for _ in range(2))
        common = len({*one.split()} & {*two.split()}) / 7
        part = [*KINDS][number % 4]
        score = min(1.0, common + rng.random() / 5)
        related += f"{one}\t{two}\t{score:.3f}\t{KINDS[part]}\tall\t{part}\n"
        if part == "STS":
            split = ("train", "dev", "test")[number % 3]
            similar += f"{two.upper()}!\t{one}\t{5 * rng.random():.1f}\tmain-news/x\t{split}\n"
    for name, text in (("STR-2021", related), ("STSb", similar)):
        (folder / name).mkdir()
        (folder / name / "pairs.tsv").write_text(text, encoding="utf-8")
    return folder


def test_the_printed_tables_are_whole() -> None:
    """Parts add up to sources, sources to all; as many lines as the paper has; ours exist."""
    sources = [name for name in STR_TABLE2 if not name.endswith(("_pp", "_r")) and name != "ALL"]
    assert sum(STR_TABLE2[name] for name in sources) == STR_TABLE2["ALL"] == 5500
    for start in ("Formality", "ParaNMT"):
        assert STR_TABLE2[f"{start}_pp"] + STR_TABLE2[f"{start}_r"] == STR_TABLE2[start]
    assert set(STR_TABLE6) == set(sources)
    assert (len(STR_TABLE4), len(STR_TABLE5), len(STR_BINS)) == (16, 17, 5)


def test_table2_counts(data_dir: Path, tmp_path: Path) -> None:
    """Parts and sources; what a smaller set lacks is named."""
    report = reproduce("str-table2", None, data_dir, tmp_path)
    rows = cells(report)
    assert [rows[name][0] for name in ("Formality", "Formality_pp", "STS", "ALL")] == [
        20,
        10,
        10,
        40,
    ]
    assert rows["Goodreads"] == (None, 1000, None, None, None, None)
    assert "missing: Goodreads" in " ".join(report.notes)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert "| Formality_pp | 10 | 300 |" in (tmp_path / "table.md").read_text()
    histogram = json.loads((tmp_path / "results.json").read_text())["details"]["histogram"]
    assert sum(histogram["Formality"]) == 20


def test_table3_is_simulated(data_dir: Path, tmp_path: Path) -> None:
    """Two tuples a pair, eight places each, and the printed reliability by the noise chosen for
    it; who answered is not known."""
    report = reproduce("str-table3", None, data_dir, tmp_path)
    rows = cells(report)
    assert rows["tuples, 2 a pair, designed anew"] == (80, 11_000)
    assert rows["tuples a pair stands in, mean"][0] == 8
    assert rows["annotators"] == (None, 389)
    found = rows["split-half reliability, simulated to be the printed one"][0]
    assert found == pytest.approx(84, abs=8), "40 pairs: their noise is known roughly"
    assert "cannot be computed" in report.markdown()


def test_table4(data_dir: Path, tmp_path: Path) -> None:
    """Every printed line is there, shown or not in our data; Dice is that of `firth evaluate`."""
    report = reproduce("str-table4", None, data_dir, tmp_path)
    rows = cells(report)
    assert set(STR_TABLE4) <= set(rows)
    direct = evaluate("baseline:dice", ["str-2021"], data_dir).find("str-2021")
    assert rows["Dice"] == (direct.value, 57, 40, 5500)
    assert rows["NOUN"][3] == 4746


def test_tables_5_and_6(data_dir: Path, tmp_path: Path, tiny_run: Path, tiny_bert: Path) -> None:
    """What can be had beside what was printed; both tables share the folds of the fine-tuning."""
    five = reproduce(
        "str-table5",
        tiny_run,
        data_dir,
        tmp_path,
        options=Options(base=str(tiny_bert), train_pairs=4),
    )
    rows = cells(five)
    assert rows["Lexical overlap (Dice)"][1] == 57
    assert rows["GloVe (mean, 6B 50d)"][1] == 49
    assert rows["BERT-base (mean)"] == (None, 58)
    assert rows["Surrogate of the run"][0] is not None
    assert rows[f"{tiny_bert.name} (cls)"][0] is not None
    assert rows[f"{tiny_bert.name}, fine-tuned"][0] is not None
    assert "the hub cannot be reached" in " ".join(five.notes)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("folds/*/*.parquet")}
    assert len(kept) == 5
    six = reproduce(
        "str-table6", None, data_dir, tmp_path, options=Options(base=str(tiny_bert), train_pairs=4)
    )
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    assert len(list(tmp_path.glob("folds/*/*.parquet"))) == 5 + 3
    assert six.columns[1:4] == ("Dice", "CV", "leave-one-out")
    rows = cells(six)
    assert rows["STS"][3:] == (60, 79, 82)
    assert rows["Stance"][:3] == (None, None, None)


def test_what_the_hub_does_not_give_is_a_note(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline mode, or a hub that answers but not with the model, stops nothing either."""
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: True)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("offline mode is on")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    report = reproduce("str-table5", None, data_dir, tmp_path)
    assert cells(report)["BERT-base (mean)"] == (None, 58)
    said = " ".join(report.notes)
    assert "missing: BERT-base" in said
    assert "missing: RoBERTa-base" in said
    assert "offline mode is on" in said
    assert "nothing was fine-tuned" in said


def test_table6_without_an_encoder(data_dir: Path, tmp_path: Path) -> None:
    """Dice alone, and how to get the rest."""
    report = reproduce("str-table6", None, data_dir, tmp_path)
    assert report.columns[1:3] == ("Dice", "Dice, printed")
    assert "nothing was fine-tuned" in report.markdown()


def test_bins(data_dir: Path, tmp_path: Path) -> None:
    """All pairs of STS are found, whatever their case and order."""
    report = reproduce("str-bins", None, data_dir, tmp_path)
    assert [row.name for row in report.rows] == ["all", *STR_BINS]
    assert report.rows[0].cells[2] == 10
    assert sum(int(row.cells[2] or 0) for row in report.rows[1:]) == 10


def test_the_command(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a run results go to reproduce/NAME; what does not fit is refused."""
    monkeypatch.chdir(tmp_path)
    arguments = ["reproduce", "str-bins", "--data-dir", str(data_dir), "--quiet"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    assert {path.name for path in (tmp_path / "reproduce" / "str-bins").iterdir()} == FILES
    assert "\n(1, 2] " in result.output
    for wrong, message in (
        (["cbos-k"], "expected --run RUN"),
        (["cbos-k", "--vectors", "glove"], "takes no --vectors"),
        (["str-table2", "--data-dir", str(tmp_path)], "nowhere to be found"),
    ):
        refused = CliRunner().invoke(app, ["reproduce", *wrong])
        assert isinstance(refused.exception, FirthError)
        assert message in str(refused.exception)
