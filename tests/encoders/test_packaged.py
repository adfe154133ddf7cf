"""A name opens the model of an installed package, whose code never runs."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from firth.encoders.folder import PretrainedFiles
from firth.encoders.kinds import open_encoder
from firth.encoders.packaged import packaged
from firth.encoders.static import word_tokenizer
from firth.run.errors import InputError


def test_a_package_brings_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of packages are known; another name gets the list of them."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("firth.encoders.packaged.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wordllama"):
        PretrainedFiles.find("wordllama")
    with pytest.raises(InputError, match="packages bring: all-MiniLM-L6-v2, wordllama"):
        PretrainedFiles.find("owner/nothing-of-this-name")
