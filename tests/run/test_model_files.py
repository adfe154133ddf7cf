"""`firth.run.model_files`: the files of a model are found, and known again by their bytes."""

import shutil
from pathlib import Path

import pytest

from firth.run import model_files
from firth.run.errors import InputError
from firth.run.model_files import PretrainedFiles, find_model


def test_another_model_of_the_same_size_is_noticed(tiny_bert: Path, tmp_path: Path) -> None:
    """One byte of the weights differs: sizes are equal, and it is named."""
    model = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    found = PretrainedFiles.find(str(model))
    found.check()
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match=r"model\.safetensors has other bytes"):
        found.check()
    assert PretrainedFiles.find(str(model)).fingerprint != found.fingerprint


def test_a_name_that_is_nowhere_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder nor in the cache, and the hub is out of reach; however odd the name is."""
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: False)
    for name in ("no-one/nothing", "x" * 600, "no such folder", "../nowhere"):
        with pytest.raises(InputError, match="neither a folder nor a model"):
            find_model(name)


def test_a_model_of_the_hub_is_downloaded(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not in the cache is fetched, without pickled weights; offline it is told."""

    def fetched(
        name: str, allow_patterns: list[str], ignore_patterns: list[str], local_files_only: bool
    ) -> str:
        if local_files_only:
            raise OSError("not in the cache")
        assert name == "some/model"
        assert "*.safetensors" in allow_patterns
        assert not any("bin" in pattern for pattern in allow_patterns)
        assert "*.bin" in ignore_patterns
        return str(tiny_bert)

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: False)
    with pytest.raises(InputError, match="cannot be reached"):
        PretrainedFiles.find("some/model")
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: True)
    found = PretrainedFiles.find("some/model")
    assert "model.safetensors" in found.files
    assert found.model == "some/model"


def test_a_gguf_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With those that are."""
    (tmp_path / "one.gguf").touch()
    with pytest.raises(InputError, match=r"no two\.gguf .*: one\.gguf"):
        PretrainedFiles.find(str(tmp_path), "two.gguf")
