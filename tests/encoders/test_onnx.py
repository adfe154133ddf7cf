"""Encoders as ONNX: pooling by hand, no vector that depends on other texts, and what is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.conftest import TEXTS

from firth.encoders import onnx as onnx_module
from firth.encoders.kinds import open_encoder
from firth.run.errors import InputError
from firth.run.settings import EncoderSettings

pytest.importorskip("onnxruntime")
Edited = Callable[..., Path]
POOLING = "1_Pooling/config.json"


def states_of(folder: Path, text: str) -> Any:
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    ids = np.array([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids])
    return session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]


@pytest.mark.parametrize(
    ("stored", "mode"),
    [
        ({"pooling_mode": "mean"}, "mean"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({}, "cls"),
    ],
)
def test_states_are_pooled_as_the_folder_says(
    tiny_onnx: Path, edited: Edited, stored: dict[str, Any], mode: str
) -> None:
    """By hand, from each text alone; without a word of the folder, the setting counts."""
    model = edited(tiny_onnx, POOLING, lambda _: stored)
    states = [states_of(model, text) for text in TEXTS]
    assert np.ptp([len(each) for each in states]) > 5, "premise: there is padding"
    expected = np.array([s.mean(axis=0) if mode == "mean" else s[0] for s in states])
    encoder = open_encoder(str(model), EncoderSettings(pooling="cls"))
    np.testing.assert_allclose(encoder.raw(TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(encoder.encode(TEXTS), axis=1), 1.0, atol=1e-6)
    assert (encoder.dimensions, encoder.name) == (16, model.name)


def test_no_vector_depends_on_the_other_texts(
    tiny_onnx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever batches there are, and in whatever order the texts come."""
    texts = [f"{'the cow ' * (n % 7)}met the ship" for n in range(40)]
    encoder = open_encoder(str(tiny_onnx))
    alone = np.concatenate([encoder.raw([text]) for text in texts])
    for tokens in (1, 50, 10_000):
        monkeypatch.setattr(onnx_module, "_BATCH_TOKENS", tokens)
        np.testing.assert_allclose(encoder.raw(texts), alone, atol=1e-5)
    np.testing.assert_allclose(encoder.raw(texts[::-1]), alone[::-1], atol=1e-5)
    assert encoder.encode([]).shape == (0, 16)


def test_quantized_numbers_do_not_depend_on_the_batch(tiny_onnx: Path, edited: Edited) -> None:
    """Their scale is that of a whole batch, so each text is run alone."""
    from onnxruntime.quantization import quantize_dynamic

    model = edited(tiny_onnx)
    quantize_dynamic(
        tiny_onnx / "model.onnx", model / "model.onnx", op_types_to_quantize=["MatMul"]
    )
    encoder: Any = open_encoder(str(model))
    texts = ["the cow", "the ship met the storm near the court of law", "a"]
    alone = np.concatenate([encoder.raw([text]) for text in texts])
    np.testing.assert_allclose(encoder.raw(texts), alone, atol=1e-6)
    exact = open_encoder(str(tiny_onnx)).encode(texts)
    assert np.einsum("nd,nd->n", encoder.encode(texts), exact).min() > 0.98
    encoder._alone = False
    assert np.abs(encoder.raw(texts) - alone).max() > 1e-4, "premise: a batch changes them"


def test_states_of_tokens_and_where_they_are(tiny_onnx: Path, edited: Edited) -> None:
    """As each text alone gives them, in the pass that gives the vectors. A prompt has no words."""
    encoder: Any = open_encoder(str(tiny_onnx))
    vectors, tokens = encoder.read_tokens(TEXTS)
    np.testing.assert_allclose(vectors, encoder.raw(TEXTS), atol=1e-6)
    for text, (states, offsets) in zip(TEXTS, tokens, strict=True):
        np.testing.assert_allclose(states, states_of(tiny_onnx, text), atol=1e-5)
        assert offsets.shape == (len(states), 2)
    _, offsets = encoder.read_tokens(["the ship"])[1][0]
    assert offsets.tolist() == [[0, 0], [0, 3], [4, 8], [0, 0]]
    stated = {"prompts": {"query": "the "}, "default_prompt_name": "query"}
    prompted: Any = open_encoder(
        str(edited(tiny_onnx, "config_sentence_transformers.json", lambda _: stated))
    )
    vectors, ((states, offsets),) = prompted.read_tokens(["ship"])
    np.testing.assert_allclose(vectors, encoder.raw(["the ship"]), atol=1e-6)
    np.testing.assert_allclose(states, states_of(tiny_onnx, "the ship"), atol=1e-5)
    assert offsets[2].tolist() == [0, 4]
    assert offsets[1, 1] <= 0


def test_long_texts_are_cut_where_the_model_ends(tiny_onnx: Path, edited: Edited) -> None:
    """At the length that the folder states, and the setting's where it states none."""
    long, short = "the cow " * 30, "the cow the cow the"
    model = edited(tiny_onnx, "sentence_bert_config.json", lambda _: {"max_seq_length": 7})
    found = open_encoder(str(model)).encode([long, short])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert np.abs(np.diff(open_encoder(str(tiny_onnx)).encode([long, short]), axis=0)).max() > 1e-3


DENSE = [{"type": "sentence_transformers.models.Dense", "path": ""}]


@pytest.mark.parametrize(
    ("file", "value", "message"),
    [
        (POOLING, {"pooling_mode": ["mean", "cls"]}, "can do mean and cls"),
        ("modules.json", DENSE, "its module Dense is not in the ONNX file"),
    ],
)
def test_what_onnx_cannot_do_is_refused(
    tiny_onnx: Path, edited: Edited, file: str, value: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_encoder(str(edited(tiny_onnx, file, lambda _: value)))


def test_a_file_and_a_folder_called_onnx_are_found(tiny_onnx: Path, tmp_path: Path) -> None:
    """`FOLDER/onnx/model.onnx` belongs to FOLDER, where the tokenizer is."""
    expected = open_encoder(str(tiny_onnx)).encode(TEXTS)
    found = open_encoder(str(tiny_onnx / "model.onnx")).encode(TEXTS)
    np.testing.assert_array_equal(found, expected)
    inner = tmp_path / "some-model"
    (inner / "onnx").mkdir(parents=True)
    shutil.copy(tiny_onnx / "model.onnx", inner / "onnx")
    shutil.copy(tiny_onnx / "tokenizer.json", inner)
    for name in (inner, inner / "onnx" / "model.onnx"):
        encoder = open_encoder(str(name))
        np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
        assert encoder.name == "some-model"
    (inner / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"some-model: has no tokenizer\.json\. Copy"):
        open_encoder(str(inner))


def test_weights_outside_the_folder_are_not_read(tiny_onnx: Path, edited: Edited) -> None:
    """An ONNX file can name another file for its weights."""
    import onnx

    model = edited(tiny_onnx)
    loaded = onnx.load(str(model / "model.onnx"))
    table = next(each for each in loaded.graph.initializer if each.name == "table")
    (model.parent / "secret.bin").write_bytes(table.raw_data)
    table.data_location = onnx.TensorProto.EXTERNAL
    table.ClearField("raw_data")
    entry = table.external_data.add()
    entry.key, entry.value = "location", "../secret.bin"
    (model / "model.onnx").write_bytes(loaded.SerializeToString())
    with pytest.raises(InputError, match="cannot be opened"):
        open_encoder(str(model))
