"""Prompted language models: the state after each prompt, as the model gives it for that alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.encoders.conftest import TEXTS
from transformers import AutoModelForCausalLM, AutoTokenizer

from firth.encoders import language_model
from firth.encoders.kinds import open_encoder
from firth.encoders.language_model import LanguageModelEncoder, open_causal_lm
from firth.run.errors import ConfigError, InputError
from firth.run.settings import EncoderSettings

PROMPT = 'In a word, "{}" is'
Edited = Callable[..., Path]


def opened(folder: Path, max_tokens: int = 256) -> LanguageModelEncoder:
    settings = EncoderSettings(prompt=PROMPT, max_tokens=max_tokens)
    encoder = open_encoder(str(folder), settings)
    assert isinstance(encoder, LanguageModelEncoder)
    encoder.bfloat16 = False
    return encoder


@pytest.mark.parametrize("budget", [1, 300])
def test_states_are_those_of_one_prompt_alone(
    tiny_llm: Path, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However prompts are batched. The output layer reads the next word off this state."""
    monkeypatch.setattr(language_model, "_BATCH_TOKENS_CPU", budget)
    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_llm)
    loader: Any = AutoModelForCausalLM
    model = loader.from_pretrained(tiny_llm).eval()
    states = opened(tiny_llm).raw(TEXTS)
    assert states.shape == (len(TEXTS), 32)
    for text, state in zip(TEXTS, states, strict=True):
        prompt = tokenizer(PROMPT.format(text), return_tensors="pt")
        with torch.inference_mode():
            output = model(**prompt, output_hidden_states=True)
            read = model.lm_head(torch.tensor(state))
        np.testing.assert_allclose(state, output.hidden_states[-1][0, -1].numpy(), atol=1e-5)
        torch.testing.assert_close(read, output.logits[0, -1], atol=1e-4, rtol=1e-4)


def test_long_texts_lose_their_end_and_not_the_question(tiny_llm: Path) -> None:
    text = TEXTS[2]
    short, long, other = opened(tiny_llm, 20).raw([text[:20], text, TEXTS[0]])
    np.testing.assert_allclose(short, long, atol=1e-5)
    assert not np.allclose(short, other, atol=1e-3)


@pytest.mark.parametrize("prompt", ["no place", "{} and {}"])
def test_a_prompt_has_one_place(tiny_llm: Path, prompt: str) -> None:
    with pytest.raises(ConfigError, match=r"expected one \{\} and no other brace"):
        open_encoder(str(tiny_llm), EncoderSettings(prompt=prompt))


def test_other_kinds_and_missing_weights_are_refused(
    tiny_bert: Path, tiny_llm: Path, edited: Edited
) -> None:
    from safetensors.torch import load_file, save_file

    where = torch.device("cpu")
    with pytest.raises(InputError, match="masked-lm; expected a causal language model"):
        open_causal_lm(str(tiny_bert), torch.float32, where)
    model = edited(tiny_llm)
    weights = load_file(model / "model.safetensors")
    renamed = {f"wrong.{name}": weight for name, weight in weights.items()}
    save_file(renamed, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="lacks weights of the network"):
        open_causal_lm(str(model), torch.float32, where)
