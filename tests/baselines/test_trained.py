"""Training baselines: reuse, opening, identity; every one of them alike."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from firth.baselines.registry import open_baseline
from firth.baselines.trained import (
    TRAINED,
    build_baseline,
    section_of,
    stage_of,
    train_baseline,
    trained_folder,
)
from firth.evaluate.models import fingerprint_model
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import Run
from firth.run.stage import Manifest

PAIRS = [
    ("The ship reached the harbour.", "The sailor saw the island near the wave."),
    ("The judge met the jury.", "The ship left the harbour."),
]


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Run:
    """A copy of the trained run that may be changed."""
    return Run.open(Path(shutil.copytree(trained_run, tmp_path / "run")))


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_baseline_is_a_stage(run: Run, name: str) -> None:
    """Nothing changed: reused. Another seed: trained again, to other bytes."""
    first = build_baseline(run, name)
    assert first.reused
    other = build_baseline(run.changed({"seed": 14}), name)
    assert not other.reused
    assert other.manifest.digest != first.manifest.digest
    again = build_baseline(run.changed({"seed": 13}), name)
    assert again.manifest.digest == first.manifest.digest, "equal seeds give equal bytes"


@pytest.mark.parametrize("name", sorted(set(TRAINED) - {"simcse", "tsdae", "ct"}))
def test_it_learned_whose_company_words_keep(run: Run, name: str) -> None:
    """Sentences of one topic are more alike than sentences of two, though no noun is shared."""
    scorer = open_baseline(f"baseline:{name}@{run.path}")
    alike, apart = scorer.similarities(PAIRS)
    assert alike > apart


@pytest.mark.parametrize("name", TRAINED)
def test_every_name_has_settings(name: str) -> None:
    """A line in the table without a section of settings would fail only when trained."""
    assert section_of(name) in type(Config().baselines).model_fields


def test_a_folder_is_as_good_as_a_run(run: Run, tmp_path: Path) -> None:
    """A copied baseline scores the same and has the same fingerprint, wherever it lies."""
    copy = Path(shutil.copytree(run.path / "baselines" / "cbow", tmp_path / "elsewhere"))
    specs = [f"baseline:cbow@{source}" for source in (run.path, copy)]
    here, there = (open_baseline(spec).similarities(PAIRS) for spec in specs)
    np.testing.assert_array_equal(here, there)
    assert fingerprint_model(specs[0]) == fingerprint_model(specs[1])
    vectors = copy / "vectors.safetensors"
    data = bytearray(vectors.read_bytes())
    data[-1] ^= 1
    vectors.write_bytes(data)
    assert fingerprint_model(specs[0]) != fingerprint_model(specs[1])


def test_what_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    """No run, a run without it, another baseline's folder, an unknown name."""
    with pytest.raises(InputError, match="neither a run nor a trained baseline"):
        open_baseline(f"baseline:cbow@{tmp_path}")
    with pytest.raises(InputError, match="holds baselines/skip-gram"):
        trained_folder("cbow", run.path / "baselines" / "skip-gram")
    with pytest.raises(InputError, match="Known: skip-gram"):
        train_baseline("dice", run)
    shutil.rmtree(run.path / "baselines" / "cbow")
    with pytest.raises(MissingStageError, match="firth train baseline cbow --run"):
        open_baseline(f"baseline:cbow@{run.path}")


def test_python_takes_the_settings(run: Run) -> None:
    """Settings are checked, kept in the configuration, and decide the result."""
    with pytest.raises(ConfigError, match="no such setting"):
        train_baseline("cbow", run, colour="red")
    before = Manifest.read(run.path / "baselines" / "cbow")
    scorer = train_baseline("cbow", run, dimensions=7)
    assert "7-d" in scorer.name
    after = Manifest.read(run.path / "baselines" / "cbow")
    assert before is not None
    assert after is not None
    assert before.request != after.request
    assert after.config["baselines.cbow.dimensions"] == 7
    assert Run.open(run.path).config.baselines.cbow.dimensions == 7
    assert stage_of("cbow").name == after.stage


def test_a_corpus_too_small_is_refused(tmp_path: Path) -> None:
    """No word occurs often enough: the error says which setting to lower."""
    from firth import Corpus

    (tmp_path / "a.txt").write_text("One two three. Four five six. Seven eight nine.")
    Corpus.build([tmp_path / "a.txt"], tmp_path / "run")
    with pytest.raises(InputError, match="lower min_count"):
        train_baseline("cbow", tmp_path / "run")
