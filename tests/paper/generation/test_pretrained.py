"""Adopting a pretrained language model: what is recorded, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from firth.paper.generation import GENERATOR
from firth.paper.generation.build import train_generator
from firth.paper.generation.causal_lm import CausalLM
from firth.paper.generation.open import open_generator
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs, causal_tokenizer, tiny_llama


def saved(folder: Path) -> Path:
    """A tiny model as its user has it on disk."""
    tiny_llama().save_pretrained(folder)
    causal_tokenizer().save_pretrained(folder)
    return folder


def causal_run(folder: Path, model: str | Path, **more: object) -> Run:
    """A run that adopts `model`; it needs no corpus."""
    section = {"backend": "causal-lm", "model": str(model), "precision": "float32", **more}
    return Run.create(folder, Config.parse({"generator": section}, "test"))


def test_an_adopted_model_answers_as_the_model_itself(tmp_path: Path) -> None:
    """Name and fingerprints are recorded, weights are not copied, and likelihoods are the same."""
    run = causal_run(tmp_path / "run", saved(tmp_path / "model"))
    outcome = train_generator(run)
    assert set(outcome.manifest.outputs) == {"config.json"}
    assert outcome.manifest.summary["layout"] == "forest"
    assert train_generator(run).reused
    pairs = all_pairs()
    found = open_generator(run).likelihoods(SENTENCES, CONTEXTS, pairs)
    direct = CausalLM(tiny_llama(), causal_tokenizer()).likelihoods(SENTENCES, CONTEXTS, pairs)
    np.testing.assert_allclose(found.sentence, direct.sentence, atol=1e-5)
    np.testing.assert_allclose(found.left, direct.left, atol=1e-5)


def test_changed_weights_make_the_stage_stale(tmp_path: Path) -> None:
    """Another model in the same folder is another input."""
    model = saved(tmp_path / "model")
    run = causal_run(tmp_path / "run", model)
    first = train_generator(run).manifest.inputs["model"]
    changed = tiny_llama()
    next(changed.parameters()).data.mul_(1.5)
    changed.save_pretrained(model)
    second = train_generator(run)
    assert not second.reused
    assert second.manifest.inputs["model"] != first


def test_a_model_replaced_by_another_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    """The run does not answer with a model it did not adopt: content counts, not size."""
    model = saved(tmp_path / "model")
    run = causal_run(tmp_path / "run", model)
    train_generator(run)
    weights = model / "model.safetensors"
    content = weights.read_bytes()
    changed = tiny_llama()
    next(changed.parameters()).data.mul_(1.5)
    changed.save_pretrained(model)
    assert weights.stat().st_size == len(content), "premise"
    with pytest.raises(InputError, match=r"model\.safetensors has other bytes than it had"):
        open_generator(run)
    weights.write_bytes(content)
    open_generator(run)
    weights.unlink()
    with pytest.raises(InputError, match=r"model\.safetensors is gone"):
        open_generator(run)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((), r"no \.safetensors file"),
        (("pytorch_model.bin",), "pickled weights are never opened"),
        (("some.gguf",), r"Set gguf_file to one of its GGUF files: some\.gguf"),
    ],
)
def test_a_folder_without_safe_weights_is_refused(
    tmp_path: Path, files: tuple[str, ...], message: str
) -> None:
    """Nothing is unpickled; a GGUF file lying there is pointed out."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in files:
        (folder / name).write_bytes(b"x")
    run = causal_run(tmp_path / "run", folder)
    with pytest.raises(InputError, match=message):
        train_generator(run)
    assert not run.has(GENERATOR)


def test_a_broken_folder_says_what_was_tried(tmp_path: Path) -> None:
    """The message names the folder and what it should hold."""
    folder = saved(tmp_path / "model")
    (folder / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"model: cannot be opened: .*Expected the folder or hub"):
        train_generator(causal_run(tmp_path / "run", folder))
