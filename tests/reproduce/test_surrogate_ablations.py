"""Table 7 and §5.6 on tiny models: nested harvests, two structures, nothing trained twice."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from firth.corpus import CORPUS
from firth.evaluate import EVALUATION
from firth.reproduce import surrogate_ablations
from firth.reproduce.derived import Derived
from firth.reproduce.options import Options
from firth.reproduce.published import SUN_TABLE7
from firth.reproduce.registry import reproduce
from firth.run.errors import ConfigError, MissingStageError
from firth.run.run import CONFIG, Run
from firth.surrogate import CROSS_ENCODER
from firth.surrogate.cross_scorer import CrossScorer


def weights_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.safetensors")}


def test_table7(whole_run: Run, stsb: Path) -> None:
    """Harvests are nested; all the pairs give the run's own Surrogate; a rerun trains nothing."""
    run, before = whole_run.path, (whole_run.path / CONFIG).read_bytes()
    own = weights_of(run / "surrogate")
    total = pq.read_metadata(run / "harvest" / "train.parquet").num_rows
    options = Options(sizes=("30", "100%"))
    report = reproduce("table7", run, stsb, options=options)
    assert [row.name for row in report.rows][:3] == ["0 (start)", "30", str(total)]
    rows = {}
    for size in (30, total):
        folder = run / "reproduce" / "table7" / str(size)
        table = pq.read_table(folder / "harvest" / "train.parquet")
        rows[size] = {tuple(row.values()) for row in table.select(["index1", "index2"]).to_pylist()}
        assert len(table) == size
    assert rows[30] < rows[total]
    trained = weights_of(run / "reproduce" / "table7")
    assert len(own) == 1
    assert next(iter(own.values())) in trained.values()
    assert weights_of(run / "surrogate") == own
    printed = [row.cells[-1] for row in report.rows if row.cells[-1] is not None]
    assert printed == list(SUN_TABLE7.values())
    assert any("Origin as printed, " in text for text in report.notes)
    blended = surrogate_ablations._labelled_by({"origin.method": "ensemble"})
    assert blended == "the default Origin, of sentences, words and terms"
    start, first, change = report.rows[0].cells[0], *report.rows[1].cells[:4:3]
    assert start is not None
    assert first is not None
    assert change == pytest.approx(first - start)
    again = reproduce("table7", run, stsb, options=options)
    assert (again.rows, weights_of(run / "reproduce" / "table7")) == (report.rows, trained)
    assert (run / CONFIG).read_bytes() == before


def test_structures(whole_run: Run, stsb: Path) -> None:
    """Both learn from the same pairs; the cross-encoder sees the two sentences together."""
    run = whole_run.path
    own = weights_of(run / "surrogate")
    report = reproduce("siamese-vs-cross", run, stsb)
    models = run / "reproduce" / "siamese-vs-cross" / "models"
    stored = json.loads((models / "cross-encoder" / "report.json").read_text())
    train = pq.read_metadata(run / "harvest" / "train.parquet").num_rows
    assert stored["pairs"]["train"] == train
    assert stored["settings"]["base"] == report.details["surrogate"]["base"] == "transformer"
    agreed = report.details["harvest_test"]
    assert agreed["Siamese"]["constant_l2"] == agreed["cross-encoder"]["constant_l2"]
    assert stored["after"]["test"]["all"] == agreed["cross-encoder"]
    scorer = CrossScorer.open(str(models / CROSS_ENCODER.name))
    a, b, c = "The ship saw the storm.", "The cow met the judge.", "The wave left the barn."
    d = "The trial praised the piano."
    ac, ad, bc, bd = scorer.similarities([(a, c), (a, d), (b, c), (b, d)])
    assert abs(ac - ad - bc + bd) > 1e-6, "no sum of what either sentence says alone"
    assert scorer.similarities([]).shape == (0,)
    trained = weights_of(models)
    assert len(trained) == 2
    again = reproduce("siamese-vs-cross", run, stsb)
    assert (again.rows, weights_of(models)) == (report.rows, trained)
    assert weights_of(run / "surrogate") == own


def test_a_pretrained_base(whole_run: Run, stsb: Path, tiny_bert: Path) -> None:
    """A folder with an encoder serves both structures."""
    report = reproduce(
        "siamese-vs-cross", whole_run.path, stsb, options=Options(base=str(tiny_bert), pairs=10)
    )
    assert report.details["surrogate"]["base"] == tiny_bert.name
    assert [row.name for row in report.rows][:2] == ["Siamese", "cross-encoder"]


def test_what_cannot_be_compared(whole_run: Run, stsb: Path) -> None:
    """A static base has no layers for two sentences; sizes beyond the harvest; no harvest."""
    run = whole_run.path
    with pytest.raises(ConfigError, match="no layer"):
        reproduce("siamese-vs-cross", run, stsb, options=Options(base="static"))
    with pytest.raises(ConfigError) as caught:
        reproduce("table7", run, stsb, options=Options(sizes=("5", "1M", "50")))
    assert len(caught.value.problems) >= 2
    assert not (run / "reproduce").exists()
    (run / "harvest" / "manifest.json").unlink()
    for name in ("table7", "siamese-vs-cross"):
        with pytest.raises(MissingStageError, match="firth harvest"):
            reproduce(name, run, stsb)


def test_a_derived_run_leaves_its_base_alone(whole_run: Run) -> None:
    """Stages it lacks are the base's; those it has are its own; both report what nobody has."""
    derived = Derived(whole_run, "trial", {"surrogate": {"epochs": 2}})
    assert derived.folder(CORPUS) == whole_run.folder(CORPUS)
    assert derived.inputs(CORPUS) == whole_run.inputs(CORPUS)
    assert derived.has(CORPUS)
    assert not derived.has(EVALUATION)
    assert (derived.config.surrogate.epochs, whole_run.config.surrogate.epochs) == (2, 1)
    with pytest.raises(MissingStageError, match=str(whole_run.path)):
        derived.folder(EVALUATION)
