"""PromptEOL: the state after each prompt, as the model gives it for that prompt alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from firth.baselines.prompt_eol import LONGEST, REFERENCES, TEMPLATES
from firth.baselines.registry import identify_baseline, open_baseline
from firth.context import language_model
from firth.context.language_model import PromptStates
from firth.run.errors import InputError

TEXTS = ["The ship sailed.", "", "a", "The old red ship left the harbour in a storm of snow."]
PAIRS = [(TEXTS[0], TEXTS[3]), (TEXTS[2], TEXTS[0]), (TEXTS[3], TEXTS[2])]


def model_of(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder).train(False)


def states_of(folder: Path, longest: int = LONGEST) -> PromptStates:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return PromptStates(model_of(folder), tokenizer, torch.float32, TEMPLATES, longest)


@pytest.mark.parametrize("budget", [1, 300, 10_000])
def test_states_equal_those_of_one_prompt_alone(
    tiny_llm: Path, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However prompts are batched, each gets the last state of the plain model."""
    monkeypatch.setattr(language_model, "_BATCH_TOKENS", budget)
    tokenizer = AutoTokenizer.from_pretrained(tiny_llm)
    model = model_of(tiny_llm)
    found = states_of(tiny_llm)(TEXTS)
    assert found.shape == (4, len(TEMPLATES), 32)
    for text, row in zip(TEXTS, found, strict=True):
        for template, state in zip(TEMPLATES, row, strict=True):
            prompt = tokenizer(template.format(text), return_tensors="pt")
            with torch.inference_mode():
                plain = model(**prompt, output_hidden_states=True).hidden_states[-1]
            np.testing.assert_allclose(state, plain[0, -1].numpy(), atol=1e-5)


def test_the_state_decides_the_next_word(tiny_llm: Path) -> None:
    """The premise of the method: the output layer reads the distribution off this state."""
    model = model_of(tiny_llm)
    tokenizer = AutoTokenizer.from_pretrained(tiny_llm)
    state = torch.tensor(states_of(tiny_llm)([TEXTS[0]])[0, 0], dtype=torch.float32)
    prompt = tokenizer(TEMPLATES[0].format(TEXTS[0]), return_tensors="pt")
    with torch.inference_mode():
        logits = model(**prompt).logits[0, -1]
        torch.testing.assert_close(model.lm_head(state), logits, atol=1e-4, rtol=1e-4)


def test_long_sentences_lose_their_end_and_not_the_question(tiny_llm: Path) -> None:
    """What lies behind the limit changes nothing, and the prompt still ends as it should."""
    states = states_of(tiny_llm, longest=20)
    short, long, other = states([TEXTS[3][:20], TEXTS[3], TEXTS[0]])
    np.testing.assert_allclose(short, long, atol=1e-5)
    assert not np.allclose(short, other, atol=1e-3)


def test_scores_are_the_mean_cosine_of_scaled_states(tiny_llm: Path, tiny_run: Path) -> None:
    """With z-scores: each dimension over the deviation that sentences of the corpus have."""
    raw = open_baseline(f"baseline:prompt-eol+float32@{tiny_llm}").similarities(PAIRS)
    states = states_of(tiny_llm)(TEXTS)
    unit = states / np.linalg.norm(states, axis=2, keepdims=True)
    index = [(TEXTS.index(a), TEXTS.index(b)) for a, b in PAIRS]
    assert raw == pytest.approx([(unit[a] * unit[b]).sum(1).mean() for a, b in index], abs=1e-5)

    scaled = open_baseline(f"baseline:prompt-eol+zscore={tiny_run}+float32@{tiny_llm}")
    mean, deviation = states_of(tiny_llm).statistics(str(tiny_run), REFERENCES)
    z = (states - mean) / deviation
    z /= np.linalg.norm(z, axis=2, keepdims=True)
    expected = [(z[a] * z[b]).sum(1).mean() for a, b in index]
    assert scaled.similarities(PAIRS) == pytest.approx(expected, abs=1e-5)
    assert str(tiny_run) in scaled.name
    assert np.abs(scaled.similarities(PAIRS) - raw).max() > 1e-3


def test_identity_follows_model_corpus_and_options(tiny_llm: Path, tiny_run: Path) -> None:
    """Another model, option or corpus is another baseline; the same is the same."""
    specs = (
        f"baseline:prompt-eol@{tiny_llm}",
        f"baseline:prompt-eol+float32@{tiny_llm}",
        f"baseline:prompt-eol+zscore={tiny_run}@{tiny_llm}",
    )
    identities = [str(identify_baseline(spec)) for spec in specs]
    assert len(set(identities)) == 3
    assert identities == [str(identify_baseline(spec)) for spec in specs]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("baseline:prompt-eol", "nothing after @"),
        ("baseline:prompt-eol+zscore@x", r"\+zscore needs a value"),
        ("baseline:prompt-eol@no/such/model.gguf", "no such file"),
        ("baseline:prompt-eol@no/such/model", "neither a folder nor a model"),
    ],
)
def test_bad_specs_are_named(spec: str, message: str) -> None:
    """What cannot be opened says what was asked for."""
    with pytest.raises(InputError, match=message):
        open_baseline(spec)
