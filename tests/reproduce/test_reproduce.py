"""Experiments end to end on made-up sets: tables, plots, what is missing, what is reused."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from firth.baselines.registry import open_baseline
from firth.baselines.trained import TRAINED
from firth.evaluate import readers
from firth.evaluate.evaluate import evaluate
from firth.reproduce.cbos import available, pearson
from firth.reproduce.published import CBOS_SETS, CBOS_SYSTEMS, CBOS_TABLE1
from firth.reproduce.registry import EXPERIMENTS, reproduce
from firth.reproduce.report import mean
from firth.run.errors import InputError, MissingStageError
from firth.run.run import CONFIG

COLUMNS = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
NOUNS = ["ship", "harbour", "wave", "sailor", "storm", "judge", "lawyer", "trial", "cow", "barn"]


def write_set(path: Path, subtasks: Sequence[str], rows: int = 12) -> None:
    rng = random.Random(3)
    text = COLUMNS
    for subtask in subtasks:
        for _ in range(rows):
            one, two = (rng.choices(NOUNS, k=rng.randint(3, 7)) for _ in range(2))
            score = 5 * len({*one} & {*two}) / len({*one} | {*two})
            text += f"{' '.join(one)}\t{' '.join(two)}\t{score:.2f}\t{subtask}\ttest\n"
    path.parent.mkdir(parents=True)
    path.write_text(text)


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "hub_is_reachable", lambda: False)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """STS12 with two of its subtasks, STS14 with three."""
    folder = tmp_path / "eval"
    write_set(folder / "STS12" / "pairs.tsv", ["MSRpar", "OnWN"])
    write_set(folder / "STS14" / "pairs.tsv", ["OnWN", "images", "deft-news"])
    return folder


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A copy of the trained run that may be changed."""
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


def test_the_printed_table_is_whole() -> None:
    """20 sets, five systems; the means of the paper's rows are those it prints."""
    assert len(CBOS_SETS) == len(set(CBOS_SETS)) == 20
    assert set(CBOS_SYSTEMS) <= set(TRAINED)
    printed = {"sts12": 53.59, "sts13": 49.52, "sts14": 66.14, "sts15": 33.96}
    for task, expected in printed.items():
        found = mean([CBOS_TABLE1["cbos"][key] for key in CBOS_SETS if key[0] == task])
        assert found == pytest.approx(expected, abs=0.02)


def test_smt_is_counted_where_it_is(run: Path, data_dir: Path) -> None:
    """Table I has it: where the data has it too, sts13 is read with it, else without."""
    wanted = [("sts13", "FNWN"), ("sts13", "SMT")]
    write_set(data_dir / "STS13" / "pairs.tsv", ["FNWN", "SMT"])
    found, missing = available(wanted, data_dir)
    assert (list(found), missing) == (wanted, [])
    dice = open_baseline("baseline:dice")
    assert set(pearson(dice, found, data_dir, seed=13)) == set(wanted)
    shutil.rmtree(data_dir / "STS13")
    write_set(data_dir / "STS13" / "pairs.tsv", ["FNWN", "OnWN"])
    assert list(available(wanted, data_dir)[0]) == wanted[:1]


def test_table1(run: Path, data_dir: Path, tmp_path: Path) -> None:
    """Our figures are those of `evaluate`; what is missing is said; a rerun trains nothing."""
    before = (run / CONFIG).read_bytes()
    report = reproduce("cbos-table1", run, data_dir, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.json",
        "table.md",
        "plot.png",
        "plot.svg",
        "manifest.json",
    }
    names = [row.name for row in report.rows]
    assert [name for name in names if "mean" not in name] == [
        "sts12 MSRpar",
        "sts12 OnWN",
        "sts14 OnWN",
        "sts14 deft-news",
        "sts14 images",
    ]
    place = list(CBOS_SYSTEMS).index("cbos")
    direct = evaluate(f"baseline:cbos@{run}", ["sts14"], data_dir)
    row = report.rows[names.index("sts14 images")]
    assert row.cells[place] == direct.find("sts14", "pearson", subtask="images").value
    assert row.cells[len(CBOS_SYSTEMS) + place] == 77.22
    notes = " ".join(report.notes)
    assert "missing: sts13" in notes
    assert "missing: MSRvid, SMTeuroparl, SMTnews of sts12" in notes
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert stored["details"]["intervals"]["cbos"]["sts14 images"][3] == 12
    again = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    reproduce("cbos-table1", run, data_dir, tmp_path / "out")
    assert again == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert (run / CONFIG).read_bytes() == before


@pytest.mark.parametrize("name", ["cbos-k", "cbos-m"])
def test_sweeps(run: Path, data_dir: Path, name: str) -> None:
    """A column a value; the value of the run's own settings gives what the run has."""
    own = (run / "baselines" / "cbos" / "vectors.safetensors").read_bytes()
    before = (run / CONFIG).read_bytes()
    report = reproduce(name, run, data_dir)
    assert (run / CONFIG).read_bytes() == before
    assert not list(run.glob(f"reproduce/**/{CONFIG}")), "no half of a run that one could open"
    assert (run / "reproduce" / name / "plot.svg").is_file()
    assert len(report.columns) == 6
    assert [row.name for row in report.rows] == ["OnWN", "deft-news", "images", "mean"]
    usual = 1 if name == "cbos-k" else 2
    folder = run / "reproduce" / f"{name}-{usual}" / "baselines" / "cbos"
    trained = folder / "vectors.safetensors"
    assert trained.read_bytes() == own, "k = 1 and m = 2 are the defaults"
    assert (
        len({path.read_bytes() for path in run.glob(f"reproduce/{name}-*/baselines/cbos/vec*")})
        == 5
    )


def test_what_cannot_be_reproduced(run: Path, tmp_path: Path) -> None:
    """Unknown names, no data, no corpus: found before anything is trained."""
    with pytest.raises(InputError, match="Known: cbos-table1"):
        reproduce("table9", run)
    (tmp_path / "empty").mkdir()
    for name in (name for name in EXPERIMENTS if not name.startswith("str-")):
        with pytest.raises(InputError, match=r"no set of the table|sts-b: nowhere to be found"):
            reproduce(name, run, tmp_path / "empty")
    assert not (run / "reproduce").exists()


def test_a_run_without_a_corpus(run: Path, data_dir: Path) -> None:
    """The error names the command."""
    shutil.rmtree(run / "corpus")
    with pytest.raises(MissingStageError, match="firth corpus build"):
        reproduce("cbos-k", run, data_dir)
