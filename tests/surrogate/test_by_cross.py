"""The cross-encoder: it learns, its folder stands alone, and the run's Surrogate stays as it is."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sentence_transformers import CrossEncoder
from tests.surrogate.conftest import contents
from typer.testing import CliRunner

from firth.cli.main import app
from firth.evaluate.label_free import check
from firth.evaluate.models import resolve_model
from firth.harvest import HARVEST
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import Run
from firth.surrogate import CROSS_ENCODER, SURROGATE
from firth.surrogate.cross_scorer import CrossScorer
from firth.surrogate.distill import Distilled, distill
from firth.surrogate.settings import Architecture

TINY = {"dimensions": 16, "layers": 1, "batch": 100, "learning_rate": 5e-3}


def small(run: Path | Run) -> Run:
    """A run whose cross-encoder takes a second."""
    return Run.open(run).changed({"cross_encoder": TINY})


@pytest.fixture(scope="module")
def crossed(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    """That of the harvested run."""
    path = tmp_path_factory.mktemp("crossed") / "run"
    shutil.copytree(harvested, path)
    return distill(small(path), architecture="cross-encoder", epochs=4)


def test_it_learns_labels_from_pairs(crossed: Distilled) -> None:
    """L2 falls; it lies beside the Surrogate, whose settings it leaves alone."""
    before, after = (crossed.report[when]["test"]["all"] for when in ("before", "after"))
    assert after["l2"] < before["l2"]
    run = Run.open(crossed.path.parent)
    assert crossed.path == run.folder(CROSS_ENCODER)
    assert not run.has(SURROGATE)
    assert run.config.surrogate == Run.open(run.path).config.surrogate
    assert crossed.report["architecture"] == "cross-encoder"
    assert crossed.report["settings"]["epochs"] == 4
    assert "teacher" not in crossed.report["settings"]
    assert Distilled.open(run, architecture=Architecture.CROSS_ENCODER).report == crossed.report


def test_its_library_opens_it_and_answers_with_labels(crossed: Distilled) -> None:
    """No sigmoid is put on top; the figures of the report are those of the folder."""
    run = Run.open(crossed.path.parent)
    table = pq.read_table(run.folder(HARVEST) / "test.parquet")
    pairs = list(zip(table["sentence1"].to_pylist(), table["sentence2"].to_pylist(), strict=True))
    said = CrossEncoder(str(crossed.path), device="cpu").predict(pairs, show_progress_bar=False)
    labels = crossed.labels.apply(table["score"].to_numpy())
    l2 = float(np.mean((np.asarray(said, np.float64) - labels) ** 2))
    assert crossed.report["after"]["test"]["all"]["l2"] == pytest.approx(l2, abs=1e-5)
    scorer = resolve_model(crossed.path)
    assert isinstance(scorer, CrossScorer)
    assert scorer.similarities(pairs) == pytest.approx(said, abs=1e-5)


def test_a_check_without_labels_asks_it_for_pairs(crossed: Distilled) -> None:
    """Its folder and its scorer answer alike; opened as an encoder it would not."""
    scorer = CrossScorer.open(str(crossed.path))
    scorer.name = "in memory"
    found = check([str(crossed.path), scorer], crossed.path.parent, items=20, resamples=20)
    one, two = (system.accuracy for system in found.systems)
    assert {kind: each.value for kind, each in one.items()} == {
        kind: each.value for kind, each in two.items()
    }


def test_the_card_says_what_it_is(crossed: Distilled) -> None:
    """safetensors only, no traces of the place, and no vectors promised."""
    found = contents(crossed.path)
    assert {Path(name).suffix for name in found} <= {".safetensors", ".json", ".md"}
    card = found["README.md"].decode()
    assert "CrossEncoder(" in card
    assert "difference (L2)\n  of score and label" in card
    assert "mean pooling" not in card
    assert "$" not in card
    texts = "".join(data.decode() for name, data in found.items() if not name.endswith("tensors"))
    assert str(crossed.path.parent.parent) not in texts
    assert not re.search(r"20\d\d-\d\d-\d\d", texts)


def test_the_same_bytes_twice_and_again_from_an_encoder(
    fresh: Callable[..., Run], roberta: Path
) -> None:
    """Another folder, the same bytes; a third call reuses; a base with layers serves."""
    runs = [small(fresh(name)) for name in ("one", "two")]
    first, second = (distill(run, architecture="cross-encoder", epochs=1) for run in runs)
    assert contents(first.path) == contents(second.path)
    assert not second.reused
    assert distill(runs[1], architecture="cross-encoder", epochs=1).reused
    based = distill(small(fresh("based")), str(roberta), architecture="cross-encoder", epochs=1)
    assert based.report["settings"]["base"] == roberta.name


def test_what_cannot_be_is_refused(
    fresh: Callable[..., Run], crossed: Distilled, tiny_static: Path
) -> None:
    """Each with what to do, before any work; a run is not taken for the model in it."""
    run = fresh("refused")
    with pytest.raises(InputError, match="no Transformer, which could read two texts"):
        distill(run, str(tiny_static), architecture="cross-encoder")
    for name, what in ((run.path, "the folder of a run"), (tiny_static, "a sentence-encoder")):
        with pytest.raises(InputError, match=f"{what}; expected a cross-encoder"):
            CrossScorer.open(str(name))
    for base in ("static", "layers"):
        with pytest.raises(ConfigError, match="no layer that could see two sentences"):
            distill(run, base, architecture="cross-encoder")
    with pytest.raises(ConfigError, match="of which a cross-encoder"):
        distill(run, architecture="cross-encoder", calibration="match")
    with pytest.raises(InputError, match="leave out teacher and way"):
        distill(run, architecture="cross-encoder", way="paper")
    with pytest.raises(InputError, match="expected bi-encoder, cross-encoder"):
        distill(run, architecture="tri-encoder")
    with pytest.raises(InputError, match="or another classifier"):
        distill(run, str(crossed.path), epochs=1)


def test_without_a_harvest(tiny_folder: Path, tmp_path: Path) -> None:
    """Origin as printed would take days: the command is named. (Others make one.)"""
    from firth.corpus.build import build_corpus
    from firth.corpus.tokenizer import build_tokenizer

    settings = {"corpus": {"inputs": [str(tiny_folder)]}, "tokenizer": {"vocabulary": 400},
                "origin": {"method": "paper"}}  # fmt: skip
    run = Run.create(tmp_path / "run", Config.parse(settings, "test"))
    for build in (build_corpus, build_tokenizer):
        build(run)
    with pytest.raises(MissingStageError, match="firth harvest"):
        distill(run, architecture="cross-encoder")


def test_the_command(harvested: Path, tmp_path: Path) -> None:
    """Where a harvest is missing and Origin is not the printed one, it is made first."""
    path = tmp_path / "run"
    shutil.copytree(harvested, path)
    shutil.rmtree(path / "harvest")
    asked = ["distill", "--run", str(path), "--architecture", "cross-encoder", "--quiet"]
    tiny = [f"cross_encoder.{name}={value}" for name, value in {**TINY, "epochs": 1}.items()]
    tiny += ["harvest.pairs=60", "harvest.shard_pairs=12", "harvest.cluster=3",
             "retrieve.chunks=50", "retrieve.features_log2=12"]  # fmt: skip
    sets = [part for setting in tiny for part in ("--set", setting)]
    result = CliRunner().invoke(app, [*asked, *sets])
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    assert Run.open(path).has(CROSS_ENCODER)
    refused = CliRunner().invoke(app, [*asked, "--teacher", "x"])
    assert "learns from the harvest" in str(refused.exception)
