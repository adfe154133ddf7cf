"""The coherence stage: it learns, and always to the same bytes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE, build, reading
from firth.paper.coherence.build import HISTORY, train_coherence
from firth.paper.coherence.coherence import Coherence
from firth.paper.coherence.model import load_model, save_model
from firth.paper.coherence.reading import VECTORS, tokenize, tokenize_corpus
from firth.run.errors import MissingStageError
from firth.run.files import write_json
from firth.run.run import Run
from firth.run.stage import SCRATCH

from .conftest import again

KILLED = """
import os, signal, sys
from firth.run import progress, training
from firth.paper.coherence.build import train_coherence
from firth.run.run import Run

progress.set_quiet(True)
save, left = training.save_checkpoint, [2]

def killed(*arguments):
    save(*arguments)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

training.save_checkpoint = killed
train_coherence(Run.open(sys.argv[1]))
"""


def contents(run: Run) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in run.folder(COHERENCE).iterdir()}


def test_equal_runs_give_equal_bytes(base_run: Run, trained_run: Run, tmp_path: Path) -> None:
    """Every file of two trainings is the same; another seed gives another model."""
    run = again(base_run, tmp_path / "run")
    train_coherence(run)
    assert contents(run) == contents(trained_run)
    assert not any("scratch" in str(path) for path in run.folder(COHERENCE).rglob("*"))
    other = again(base_run, tmp_path / "other").changed({"seed": 14})
    train_coherence(other)
    assert contents(other)["model.safetensors"] != contents(run)["model.safetensors"]


def test_killed_and_resumed_equals_uninterrupted(
    base_run: Run, trained_run: Run, tmp_path: Path
) -> None:
    """SIGKILL after the second checkpoint; the next start continues from it, to the same bytes."""
    run = again(base_run, tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(run.path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (run.path / ".coherence.work" / SCRATCH / "checkpoint.safetensors").is_file()
    train_coherence(run)
    assert contents(run) == contents(trained_run)


def test_stopped_while_encoding(
    base_run: Run, trained_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of the cache: nothing is trained again, encoded blocks are kept."""
    monkeypatch.setattr(reading, "BLOCK", 100)
    run = again(base_run, tmp_path / "run")
    write = write_json
    marks: list[int] = []

    def stop_at_second(path: Path, value: int) -> None:
        if len(marks) == 1:
            raise KeyboardInterrupt
        marks.append(value)
        write(path, value)

    monkeypatch.setattr(reading, "write_json", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        train_coherence(run)
    assert marks == [100]
    monkeypatch.setattr(reading, "write_json", write)
    monkeypatch.setattr(build, "train", None)
    train_coherence(run)
    assert contents(run)["model.safetensors"] == contents(trained_run)["model.safetensors"]
    stored, expected = (np.load(each.folder(COHERENCE) / VECTORS) for each in (run, trained_run))
    np.testing.assert_allclose(stored, expected, atol=2e-3)


def test_the_cache_holds_the_vectors(trained_run: Run, coherence: Coherence) -> None:
    """One float16 row a sentence: its vector, rounded."""
    corpus = Corpus.open(trained_run)
    stored = np.load(trained_run.folder(COHERENCE) / VECTORS, mmap_mode="r")
    assert stored.dtype == np.float16
    assert stored.shape == (len(corpus), 24)
    expected = coherence.encode(corpus.texts(np.arange(len(corpus))))
    np.testing.assert_allclose(stored, expected, atol=2e-3)


def test_it_learns(base_run: Run, tmp_path: Path) -> None:
    """Documents have one topic each: centres from elsewhere are found out on new documents, by more
    than chance (0.5) has it: of 450 items of three tiny trainings, 0.024 is its standard error."""
    found = []
    for seed in (13, 14, 15):
        run = again(base_run, tmp_path / f"{seed}", steps=160, learning_rate=0.003, hidden=32,
                    embedding=32)  # fmt: skip
        run.config = run.config.changed({"seed": seed}, "")
        summary = train_coherence(run).manifest.summary
        found.append(summary["accuracy_random"])
        history = json.loads((run.folder(COHERENCE) / HISTORY).read_text())
        assert len(history) == 20
        assert history[-1]["loss"] < history[0]["loss"] - 0.05
        assert {"step", "loss", "accuracy", "accuracy_random", "accuracy_same_document"} <= set(
            history[-1]
        )
        assert summary["accuracy"] == pytest.approx(
            (summary["accuracy_random"] + summary["accuracy_same_document"]) / 2
        )
    assert np.mean(found) > 0.57


def test_finished_is_reused(trained_run: Run) -> None:
    """The same request does nothing; other settings train again."""
    assert train_coherence(trained_run).reused


def test_a_corpus_of_one_document(tmp_path: Path, base_run: Run) -> None:
    """It trains without held-out figures, and says nothing it did not measure."""
    text = " ".join(f"Sentence number {n} follows the one before." for n in range(30))
    (tmp_path / "one.txt").write_text(text, encoding="utf-8")
    run = Run.create(tmp_path / "run", base_run.config)
    Corpus.build([tmp_path / "one.txt"], run.path)
    run = Run.open(run.path)
    with pytest.raises(MissingStageError, match="tokenizer"):
        train_coherence(run)
    from firth.corpus.tokenizer import build_tokenizer

    build_tokenizer(run)
    summary = train_coherence(run).manifest.summary
    assert summary["loss"] > 0
    assert "accuracy" not in summary


def test_model_round_trip(trained_run: Run, tmp_path: Path) -> None:
    """What is saved is what is loaded, and loading leaves torch's random state alone."""
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    model, settings = load_model(trained_run.folder(COHERENCE))
    assert torch.equal(torch.rand(3), expected)
    save_model(tmp_path, model, settings)
    loaded, same = load_model(tmp_path)
    assert same == settings
    assert not loaded.training
    for one, two in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(one, two)


def test_tokens_of_a_corpus(base_run: Run, tmp_path: Path) -> None:
    """Streamed to disk, once, they are the tokens of all sentences at once."""
    corpus, tokenizer = Corpus.open(base_run), open_tokenizer(base_run)
    streamed = tokenize_corpus(corpus.batches(), tokenizer, 9, tmp_path)
    whole = tokenize(corpus.texts(np.arange(len(corpus))), tokenizer, 9)
    np.testing.assert_array_equal(streamed.pieces, whole.pieces)
    np.testing.assert_array_equal(streamed.bounds, whole.bounds)
    assert np.diff(whole.bounds).max() == 9
    again = tokenize_corpus(iter([["other text"]]), tokenizer, 9, tmp_path)
    np.testing.assert_array_equal(again.pieces, whole.pieces)


def test_batches_hold_every_sentence_once(base_run: Run) -> None:
    """Whatever the budget; padded pieces stay within it unless one sentence alone exceeds it."""
    texts = ["ship " * (n % 13) for n in range(100)]
    tokens = tokenize(texts, open_tokenizer(base_run), 30)
    assert np.diff(tokens.bounds).min() == 1
    for budget in (1, 40, 300, 10**6):
        batches = list(tokens.batches(np.arange(100), budget))
        assert sorted(np.concatenate(batches).tolist()) == list(range(100))
        for batch in batches:
            padded, lengths = tokens.padded(batch)
            assert padded.numel() <= budget or len(batch) == 1
            for row, sentence in enumerate(batch):
                expected = tokens.pieces[tokens.bounds[sentence] : tokens.bounds[sentence + 1]]
                assert padded[row, : lengths[row]].tolist() == expected.tolist()
