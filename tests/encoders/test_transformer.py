"""Encoders of sentence-transformers, and Transformers that get a pooling, against the library."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.encoders.conftest import TEXTS
from transformers import AutoModel, AutoTokenizer

from firth.encoders.kinds import open_encoder
from firth.encoders.transformer import Pooling, device
from firth.run.errors import InputError
from firth.run.settings import EncoderSettings

Edited = Callable[..., Path]


@pytest.mark.parametrize("name", ["tiny_encoder", "tiny_bert"])
def test_vectors_are_those_of_the_library(name: str, request: pytest.FixtureRequest) -> None:
    folder = str(request.getfixturevalue(name))
    plain: Any = SentenceTransformer(folder, device="cpu")
    encoder = open_encoder(folder)
    np.testing.assert_allclose(encoder.raw(TEXTS), plain.encode(TEXTS), atol=1e-6)
    unit = plain.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), unit, atol=1e-6)
    assert np.ptp(unit @ unit.T) > 0.01, "premise: sentences differ"
    assert encoder.encode([]).shape == (0, encoder.dimensions)


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_a_bare_transformer_gets_the_pooling_that_is_set(tiny_bert: Path, pooling: Any) -> None:
    """The plain model's states, pooled by hand."""
    network: Any = AutoModel
    network = network.from_pretrained(tiny_bert)
    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_bert)
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        by_pooling = {"mean": states.mean(dim=0), "cls": states[0]}
        expected.append(by_pooling[pooling].numpy())
    encoder = open_encoder(str(tiny_bert), EncoderSettings(pooling=pooling))
    np.testing.assert_allclose(encoder.raw(TEXTS), np.array(expected), atol=1e-5)


def test_a_pooling_that_a_model_has_stays(tiny_encoder: Path) -> None:
    with pytest.raises(InputError, match=r"has a pooling already, and encoder\.pooling is cls"):
        open_encoder(str(tiny_encoder), EncoderSettings(pooling="cls"))


def test_without_pooling_there_is_no_sentence_vector(tiny_encoder: Path, edited: Edited) -> None:
    model = edited(tiny_encoder, "modules.json", lambda modules: modules[:1])
    with pytest.raises(InputError, match="it has no pooling"):
        open_encoder(str(model))


def test_states_of_tokens_are_those_of_one_text_alone(tiny_encoder: Path) -> None:
    """The pass that gives them gives the vectors."""
    encoder: Any = open_encoder(str(tiny_encoder))
    vectors, tokens_of = encoder.read_tokens(TEXTS)
    np.testing.assert_allclose(vectors, encoder.raw(TEXTS), atol=1e-6)
    for text, (states, offsets) in zip(TEXTS, tokens_of, strict=True):
        tokens = encoder.model.tokenizer([text], return_tensors="pt")
        with torch.inference_mode():
            alone = encoder.model[0](dict(tokens))["token_embeddings"][0]
        np.testing.assert_allclose(states[: len(alone)], alone, atol=1e-5)
        assert (offsets[len(alone) :] == 0).all(), "padding has no characters"


def test_the_device_is_the_variable_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRTH_DEVICE", "cpu")
    assert device().type == "cpu"
    monkeypatch.setenv("FIRTH_DEVICE", "tpu")
    with pytest.raises(InputError, match=r"FIRTH_DEVICE is tpu, and torch .* can use .*cpu"):
        device()
