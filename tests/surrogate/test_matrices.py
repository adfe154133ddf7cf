"""Distilling matrices: it learns, does no harm, resumes exactly, and its folder stands alone."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from tests.surrogate.conftest import contents

from firth.context.language_model import PromptEncoder
from firth.context.open import open_encoder
from firth.run.errors import InputError
from firth.run.run import Run
from firth.surrogate.distill import Distilled, distill
from firth.surrogate.losses import apart, listwise
from firth.surrogate.matrices import (
    Batches,
    HeldOut,
    _explicit_attention,
    encode,
    linear_fit,
    token_counts,
)
from firth.surrogate.settings import SurrogateConfig, Way
from firth.surrogate.smaller import halve, save, turn
from firth.surrogate.teacher import Teacher

Fresh = Callable[..., Run]
DRIVER = """
import os, signal, sys
from firth.run import progress
from firth.run.run import Run
from firth.surrogate import matrices
from firth.surrogate.distill import distill

progress.set_quiet(True)
left, found = int(sys.argv[2]), matrices.listwise

def dying(*given):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return found(*given)

matrices.listwise = dying
distill(Run.open(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def found(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    """A static student of a bag's Origin, with enough epochs to learn."""
    import shutil

    path = tmp_path_factory.mktemp("found") / "run"
    shutil.copytree(taught, path)
    return distill(path, epochs=12, batch=48, learning_rate=5e-3)


def test_it_learns(found: Distilled) -> None:
    """The agreement with Origin grows, on sentences that were not learned from."""
    before, after = (found.report[when]["test"]["all"] for when in ("before", "after"))
    assert after["spearman"] > before["spearman"] + 0.01
    history = found.report["history"]["distillation"]
    assert history[-1]["loss"] < history[0]["loss"]
    assert found.report["notes"] == [note for note in found.report["notes"] if "fewer than" in note]


def test_the_report_tells_what_the_folder_does(found: Distilled) -> None:
    """Figures recomputed from the saved folder are those of the report, by kind and by size."""
    run = Run.open(found.path.parent)
    teacher = Teacher.open(run)
    numbers = teacher.parts(None)["test"]
    model = SentenceTransformer(str(found.path), device="cpu")
    texts = [teacher.texts[n] for n in numbers]
    wanted, vectors = teacher.similarities(texts), encode(model, texts).astype(float)
    held = HeldOut.of(teacher, numbers, 3)
    shown = held.figures(vectors)["near"]["spearman"]
    assert shown == pytest.approx(found.report["after"]["test"]["near"]["spearman"], abs=1e-4)
    nearest = np.argsort(-(wanted - 9 * np.eye(len(texts))), axis=1)[:, 0]
    pairs = {tuple(pair) for pair in held.rows[:, : held.near].T.tolist()}
    assert all(tuple(sorted((n, int(m)))) in pairs for n, m in enumerate(nearest))
    whole = [one for one in found.report["sizes"] if one["dimensions"] == 32]
    assert [one["precision"] for one in whole] == ["float32", "int8"]
    assert whole[0]["spearman"] == found.report["after"]["test"]["all"]["spearman"]
    card = (found.path / "README.md").read_text()
    assert "$" not in card
    assert "Origin" in card


def test_the_start_is_kept_where_nothing_is_better(fresh_taught: Fresh) -> None:
    """A rate that ruins everything changes nothing, and the report says so."""
    run = fresh_taught("harm", epochs=1, learning_rate=50.0)
    report = distill(run).report
    assert report["chosen"]["step"] == 0
    for split in ("dev", "test"):
        before, after = (report[when][split]["all"]["spearman"] for when in ("before", "after"))
        assert after == pytest.approx(before, abs=1e-4)
    assert any("the start was kept" in note for note in report["notes"])


@pytest.mark.parametrize("base", ["static", "transformer"])
def test_killed_and_resumed(fresh_taught: Fresh, base: str) -> None:
    """SIGKILL in the midst of training: the same bytes as without, the best look among them."""
    settings: dict[str, Any] = {"base": base, "layers": 1, "epochs": 3, "batch": 48, "looks": 3,
                                "checkpoint_steps": 2, "learning_rate": 1e-2}  # fmt: skip
    quiet, killed = fresh_taught("quiet", **settings), fresh_taught("killed", **settings)
    killed.save()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(killed.path), "8"], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    scratch = killed.path / ".surrogate.work" / "scratch"
    assert (scratch / "checkpoint.safetensors").is_file()
    assert (scratch / "best.safetensors").is_file()
    assert contents(distill(killed).path) == contents(distill(quiet).path)


@pytest.mark.parametrize("keep", [None, [-1]])
def test_layers_of_the_language_model(fresh_prompt: Fresh, keep: list[int] | None) -> None:
    """A bidirectional encoder in the teacher's space, opened by sentence-transformers alone."""
    run = fresh_prompt("layers", base="layers", keep_layers=keep, epochs=2, batch=32)
    done = distill(run)
    model = SentenceTransformer(str(done.path), device="cpu")
    assert [type(part).__name__ for part in model] == ["Transformer", "Pooling", "Dense"]
    network: Any = model[0].auto_model
    assert type(network).__name__ == "EuroBertModel"
    assert network.config.num_hidden_layers == (2 if keep is None else 1)
    stored = load_file(done.path / "model.safetensors")
    assert {weight.dtype for weight in stored.values()} == {torch.float16}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    # It reads both ways: another last word changes the first word's state.
    ids = torch.tensor([[5, 6, 7], [5, 6, 9]])
    states = network(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    assert not torch.allclose(states[0, 0], states[1, 0])
    assert json.loads((done.path / "report.json").read_text())["sizes"]
    assert done.report["after"]["dev"]["all"]["spearman"] >= (
        done.report["before"]["dev"]["all"]["spearman"] - 0.01  # by float16
    )


@pytest.mark.parametrize("base", ["static", "transformer"])
def test_a_language_models_origin_teaches_any_student(fresh_prompt: Fresh, base: str) -> None:
    """Whatever the student is: its teacher reads with the language model, as it is set to."""
    run = fresh_prompt(base, base=base, layers=1, epochs=1, batch=32)
    assert isinstance(open_encoder(run), PromptEncoder), "the premise"
    done = distill(run)
    assert done.report["chosen"]["steps"] > 0


def test_layers_that_cannot_be(fresh_prompt: Fresh, fresh_taught: Fresh) -> None:
    """No such layer, and no language model: said before anything is trained."""
    with pytest.raises(InputError, match=r"keep_layers: got 7; the language model has 2 layers"):
        distill(fresh_prompt("seven", base="layers", keep_layers=[7]))
    with pytest.raises(InputError, match="got layers, but the run's encoder is no language model"):
        distill(fresh_taught("bag", base="layers"))


def test_an_encoder_teaches_a_static_student(fresh_taught: Fresh, tiny_bert: Path) -> None:
    """Spaces differ: the map between them is learned beside, and is no part of the model."""
    run = fresh_taught("other", teacher=str(tiny_bert), sentences=90, epochs=1, batch=32)
    done = distill(run)
    assert (done.path / "1_Dense").exists() is False
    assert tiny_bert.name in (done.path / "README.md").read_text()
    assert "No human judged" not in (done.path / "README.md").read_text()


def test_an_equal_order_costs_nothing() -> None:
    """The loss is 0 where both agree, and more the further they are apart."""
    rng = np.random.default_rng(0)
    vectors = torch.from_numpy(rng.standard_normal((7, 5)).astype(np.float32))
    units = torch.nn.functional.normalize(vectors, dim=1)
    same = listwise(3 * vectors, units @ units.T, 0.1)
    other = listwise(vectors, (units @ units.T).flip(0), 0.1)
    assert same.item() == pytest.approx(0.0, abs=1e-5)
    assert other.item() > 0.1
    assert apart(vectors, 2 * vectors).item() == pytest.approx(0.0, abs=1e-6)
    assert apart(vectors, -vectors).item() == pytest.approx(2.0, abs=1e-6)


def test_the_fitted_map_is_the_right_one() -> None:
    """Where one space is a linear image of the other, it is found."""
    rng = np.random.default_rng(0)
    states = rng.standard_normal((400, 6)).astype(np.float32) + 3
    image = states @ rng.standard_normal((6, 4)).astype(np.float32) + 1
    fitted = linear_fit(states, image)
    with torch.no_grad():
        assert fitted(torch.from_numpy(states)).numpy() == pytest.approx(image, abs=0.05)


def test_an_epoch_has_each_sentence_once() -> None:
    """But for what fills no batch; every epoch has another order, and a step is its own. Sentences
    of a batch are of similar length."""
    lengths = np.random.default_rng(0).permutation(23)
    groups = np.arange(10, 33)[:, None]
    batches = Batches(groups, lengths, 5, 1)
    epochs = [[batches(4 * epoch + step).tolist() for step in range(4)] for epoch in range(2)]
    for epoch in epochs:
        assert len({n for batch in epoch for n in batch}) == 20
    assert epochs[0] != epochs[1]
    assert batches(2).tolist() == epochs[0][2]
    assert all(np.ptp(lengths[np.array(batch) - 10]) < 9 for batch in epochs[0])


def test_a_group_comes_whole() -> None:
    """In one batch, whatever the size of a batch is."""
    groups = np.random.default_rng(0).permutation(24).reshape(6, 4)
    for size in (1, 8, 11, 100):
        batches = Batches(groups, np.zeros(6, int), size, 1)
        drawn = [set(batches(step).tolist()) for step in range(batches.steps)]
        assert sum(map(len, drawn)) <= 24
        assert all(any(set(group) <= batch for batch in drawn) for group in groups.tolist())


def test_halved_weights_are_all_that_is_saved(tiny_bert: Path, tmp_path: Path) -> None:
    """Nothing is lost beyond the rounding, which is small; what has no float16 stays."""
    texts = ["the ship met the storm", "a cow", ""]
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    network: Any = model.transformers_model
    words = network.get_input_embeddings()
    far = words.num_embeddings - 1
    assert far not in model.preprocess(texts)["input_ids"], "premise"
    with torch.no_grad():
        words.weight[far] = 1e6
    before = encode(model, texts)
    halve(model)
    after = encode(model, texts)
    cosines = (before * after).sum(1) / np.linalg.norm(before, axis=1)
    assert cosines / np.linalg.norm(after, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert (before != after).any(), "premise"
    save(model, tmp_path / "halved")
    opened = SentenceTransformer(str(tmp_path / "halved"), device="cpu")
    assert encode(opened, texts) == pytest.approx(after, abs=1e-6)
    kinds = {w.dtype for w in load_file(tmp_path / "halved" / "model.safetensors").values()}
    assert kinds == {torch.float16, torch.float32}


def test_attention_is_explicit_only_where_it_learns(tiny_bert: Path) -> None:
    """On a processor; afterwards it is as it was, with the same vectors but for rounding."""
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    network: Any = model.transformers_model
    usual, texts = network.config._attn_implementation, ["the ship met the storm", "a cow"]
    before = encode(model, texts)
    with _explicit_attention(model, torch.device("cpu")):
        assert network.config._attn_implementation == "eager" != usual
        assert encode(model, texts) == pytest.approx(before, abs=1e-5)
    assert network.config._attn_implementation == usual
    with _explicit_attention(model, torch.device("cuda")):
        assert network.config._attn_implementation == usual


def test_tokens_are_counted_as_they_are_read(tiny_bert: Path) -> None:
    """Padding is none, and what is cut off is not counted."""
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    texts = ["a cow", "the ship met the storm near the harbour", "cow " * 4_000]
    counts = token_counts(model, texts)
    assert counts[0] < counts[1] < counts[2] <= model.max_seq_length
    assert counts.tolist() == [token_counts(model, [text])[0] for text in texts]


def test_turning_keeps_every_cosine(found: Distilled) -> None:
    """And puts what differs most in front."""
    model = SentenceTransformer(str(found.path), device="cpu")
    texts = Teacher.open(Run.open(found.path.parent)).texts[:80]
    with torch.no_grad():
        spin, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((32, 32)))
        table: Any = model[0].embedding
        table.weight.copy_(table.weight @ torch.tensor(spin).float())
    before = encode(model, texts)
    turn(model, texts)
    after = encode(model, texts)
    assert after @ after.T == pytest.approx(before @ before.T, abs=1e-3)
    shares = (after / np.linalg.norm(after, axis=1, keepdims=True)).astype(float) ** 2
    assert np.all(np.diff(shares.mean(axis=0)) < 1e-6)


def test_a_static_student_is_trained_by_another_teacher_only() -> None:
    """Of the run's own Origin its start holds all that it can; what is asked for is done."""
    passes = {
        (teacher, epochs): SurrogateConfig(teacher=teacher, epochs=epochs).passes(Way.MATRICES)
        for teacher in (None, "an/encoder")
        for epochs in (None, 3)
    }
    assert passes[None, None] == 0
    assert passes["an/encoder", None] == 8
    assert {passes[teacher, 3] for teacher in (None, "an/encoder")} == {3}
    assert SurrogateConfig(base="layers").passes(Way.MATRICES) == 2
