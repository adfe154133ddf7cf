"""MTEB's figures of our models are those of their similarities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from tests.evaluate.conftest import made_up_pairs
from typer.testing import CliRunner

from firth.cli.main import app
from firth.evaluate import mteb as ours
from firth.evaluate.models import resolve_model
from firth.evaluate.mteb import PairModel, evaluate_mteb, mteb_model, register
from firth.run.errors import FirthError, InputError, MissingExtraError

mteb = pytest.importorskip("mteb")
PAIRS = [(str(row[0]), str(row[1]), float(str(row[2]))) for row in made_up_pairs(40, "test", ["x"])]


def made_up_task(kind: str = "STS") -> Any:
    """A task over `PAIRS`, in memory."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class MadeUp(AbsTaskSTS):
        metadata = TaskMetadata(
            type="STS",
            name="MadeUpSTS",
            main_score="cosine_spearman",
            description="Made-up sentences.",
            reference=None,
            dataset={"path": "none/none", "revision": "1"},
            category="t2t",
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            date=("2020-01-01", "2020-12-31"),
            domains=[],
            task_subtypes=[],
            license="not specified",
            annotations_creators="derived",
            dialect=[],
            sample_creation="created",
            bibtex_citation="",
        )

        def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
            columns = zip(*PAIRS, strict=True)
            names = ("sentence1", "sentence2", "score")
            data = Dataset.from_dict(dict(zip(names, map(list, columns), strict=True)))
            self.dataset = DatasetDict({"test": data})
            self.data_loaded = True

    task = MadeUp()
    task.metadata = task.metadata.model_copy(update={"type": kind})
    return task


@pytest.mark.parametrize("model", ["baseline:dice", "baseline:tfidf", "surrogate", "run"])
def test_figures_are_those_of_the_similarities(model: str, tiny_run: Path) -> None:
    """Pairwise scorers and encoders alike; ties, which Dice has many of, stay ties."""
    spec = {"surrogate": str(tiny_run / "surrogate"), "run": str(tiny_run)}.get(model, model)
    (found,) = evaluate_mteb(spec, [made_up_task()])
    scores = resolve_model(spec).similarities([pair[:2] for pair in PAIRS])
    gold = [pair[2] for pair in PAIRS]
    assert len(set(scores.round(9).tolist())) < 40 or model != "baseline:dice"
    spearman, pearson = spearmanr(gold, scores)[0], pearsonr(gold, scores)[0]
    assert found.spearman == pytest.approx(100 * spearman, abs=0.02)
    assert found.pearson == pytest.approx(100 * pearson, abs=0.02)
    assert found.main_score == pytest.approx(100 * spearman, abs=0.02)
    assert (found.task, found.split, found.model) == ("MadeUpSTS", "test", spec)


def test_models_are_named_and_told_apart(tiny_run: Path) -> None:
    """`firth/…`, and the fingerprint as their revision."""
    dice, surrogate = mteb_model("baseline:dice"), mteb_model(tiny_run / "surrogate")
    assert dice.mteb_model_meta.name == "firth/baseline-dice"
    assert surrogate.mteb_model_meta.name.startswith("firth/")
    revisions = {one.mteb_model_meta.revision for one in (dice, surrogate)}
    assert len(revisions) == 2
    assert "unknown" not in revisions


def test_registered_models_are_opened_by_name() -> None:
    """`mteb.get_model` gives a model that runs a task."""
    assert register("baseline:dice") == ["firth/baseline-dice"]
    assert "firth/baseline-tfidf" in register()
    model = mteb.get_model("firth/baseline-dice")
    result = mteb.evaluate(model, made_up_task(), cache=None, co2_tracker=False)
    assert result.task_results[0].scores["test"][0]["spearman"] > 0


def test_other_types_of_tasks_are_refused() -> None:
    """Before any data is loaded, and by the model itself too."""
    task = made_up_task("Retrieval")
    with pytest.raises(InputError, match="only tasks of type STS"):
        evaluate_mteb("baseline:dice", [task])
    with pytest.raises(InputError, match="compares pairs only"):
        mteb_model("baseline:dice").encode(
            [], task_metadata=task.metadata, hf_split="test", hf_subset="default"
        )


def test_what_the_trick_rests_on_is_checked() -> None:
    """As many second texts as first ones; similarities in [-1, 1]."""

    class Wild:
        name = "wild"

        def similarities(self, pairs: Any) -> Any:
            return np.full(len(pairs), 7.0)

    keys: dict[str, Any] = {
        "task_metadata": made_up_task().metadata,
        "hf_split": "test",
        "hf_subset": "default",
    }
    model = PairModel(Wild(), "wild")
    model.encode([{"text": ["a", "b"]}], **keys)
    with pytest.raises(InputError, match="2 first and 1 second"):
        model.encode([{"text": ["a"]}], **keys)
    model.encode([{"text": ["a"]}], **keys)
    with pytest.raises(InputError, match="expected -1 to 1"):
        model.encode([{"text": ["b"]}], **keys)


def test_tasks_by_name_need_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """No such task, no connection, no mteb: said in one line."""
    monkeypatch.setattr(ours, "hub_is_reachable", lambda: False)
    with pytest.raises(InputError, match="no such task"):
        evaluate_mteb("baseline:dice", ["STS1912"])
    found = CliRunner().invoke(app, ["mteb", "baseline:dice", "--task", "STS12"])
    assert isinstance(found.exception, FirthError)
    assert "cannot be reached" in str(found.exception)

    def missing() -> None:
        raise MissingExtraError("Running tasks of MTEB", "mteb")

    monkeypatch.setattr(ours, "_import_mteb", missing)
    with pytest.raises(MissingExtraError, match=r"firth\[mteb\]"):
        mteb_model("baseline:dice")


def test_the_command_prints_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a model and task; the same in JSON."""
    monkeypatch.setattr(ours, "_task", lambda _, name: made_up_task())
    monkeypatch.setattr(ours, "hub_is_reachable", lambda: True)
    file = tmp_path / "mteb.json"
    arguments = ["mteb", "baseline:dice", "baseline:tfidf", "--task", "MadeUpSTS"]
    found = CliRunner().invoke(app, [*arguments, "--out", str(file), "-q"])
    assert found.exit_code == 0, found.exception
    assert found.output.count("MadeUpSTS") == 2
    assert '"mteb": "' in file.read_text()
    found = CliRunner().invoke(app, [*arguments, "--json", "-q"])
    assert json.loads(found.stdout) == json.loads(file.read_text())
