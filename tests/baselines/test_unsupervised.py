"""SimCSE, TSDAE and CT: an encoder tuned on the corpus, saved as a folder anyone can open."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from firth.baselines.registry import open_baseline
from firth.baselines.trained import build_baseline
from firth.baselines.unsupervised import damaged, fit
from firth.cli.main import app
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import Run

PEERS = ["simcse", "tsdae", "ct"]
TEXTS = ["The ship reached the harbour.", "The judge met the jury near the court."]


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Run:
    """A copy of the trained run that may be changed."""
    return Run.open(Path(shutil.copytree(trained_run, tmp_path / "run")))


@pytest.mark.parametrize("name", PEERS)
def test_the_folder_is_a_sentence_transformer(trained_run: Path, name: str) -> None:
    """Opened without firth it gives the vectors that the baseline compares, in no unsafe file."""
    folder = trained_run / "baselines" / name
    vectors = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    cosine = vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1])
    scorer = open_baseline(f"baseline:{name}@{trained_run}")
    assert scorer.similarities([(TEXTS[0], TEXTS[1])])[0] == pytest.approx(cosine, abs=1e-5)
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    assert not (folder / "scratch").exists()


@pytest.mark.parametrize("name", PEERS)
def test_training_changes_the_encoder(trained_run: Path, tiny_bert: Path, name: str) -> None:
    """The premise of every figure: it is no longer the base."""
    pooling = "+mean" if name == "ct" else "+cls"
    pairs = [(TEXTS[0], TEXTS[1])]
    before = open_baseline(f"baseline:bert{pooling}@{tiny_bert}").similarities(pairs)
    after = open_baseline(f"baseline:{name}@{trained_run}").similarities(pairs)
    assert abs(before - after).item() > 1e-4


def test_losses_fall(run: Run) -> None:
    """With a high learning rate, the last tenth is easier than the first."""
    for name in ("simcse", "tsdae"):
        changed = run.changed({"baselines": {name: {"epochs": 6, "learning_rate": 3e-3}}})
        losses = build_baseline(changed, name).manifest.summary["loss"]
        assert losses[-1] < losses[0]


def test_another_base_is_another_model(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    """What its files hold counts, not where they lie or how long they are."""
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    moved = run.changed({"baselines": {"simcse": {"base": str(copy)}}})
    assert build_baseline(moved, "simcse").reused
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-2] ^= 1  # of the same size, in the same place
    weights.write_bytes(data)
    assert not build_baseline(moved, "simcse").reused


def test_the_command_takes_a_base(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    """Kept in the configuration; refused for what starts from nothing; asked for where missing."""
    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    (copy / "notes.txt").write_text("another")
    given = ["train", "baseline", "simcse", "--run", str(run.path), "-q"]
    found = CliRunner().invoke(app, [*given, "--base", str(copy)])
    assert found.exit_code == 0, found.exception
    assert Run.open(run.path).config.baselines.simcse.base == str(copy)
    wrong = CliRunner().invoke(app, ["train", "baseline", "cbow", *given[3:], "--base", str(copy)])
    assert "cbow starts from nothing" in str(wrong.exception)
    with pytest.raises(InputError, match="--base NAME_OR_PATH"):
        build_baseline(Run(run.path, Config()), "ct")
    with pytest.raises(InputError, match="Expected the folder or hub name of a sentence encoder"):
        build_baseline(run.changed({"baselines": {"ct": {"base": str(tmp_path)}}}), "ct")


def test_processes_do_not_share_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's trainer would give each process other batches: what torchrun starts is refused,
    before any connection."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="baseline simcse takes one process"):
        fit(run, "simcse", tmp_path)


@given(st.text().filter(lambda text: bool(text.split())), st.floats(0, 0.99), st.integers(0, 99))
def test_damaged_texts_are_parts_of_the_text(text: str, deletion: float, seed: int) -> None:
    """A subsequence of its words, never empty; all of them without deletion."""
    rest = damaged(text, deletion, random.Random(seed)).split()
    words = iter(text.split())
    assert rest
    assert all(word in words for word in rest)
    assert damaged(text, 0.0, random.Random(seed)).split() == text.split()
