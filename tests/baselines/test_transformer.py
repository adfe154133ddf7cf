"""Averaged token vectors: equal to the model's own states, pooled by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from firth.baselines.registry import identify_baseline, open_baseline
from firth.baselines.transformer import Pool, TokenPooler
from firth.run import model_files
from firth.run.errors import InputError

TEXTS = ["the ship sailed", "a", "", "the old red ship left the harbour in a storm"]


@pytest.mark.parametrize("pool", Pool)
def test_pooling_equals_the_states_of_one_text_alone(tiny_bert: Path, pool: Pool) -> None:
    """Without padding and batch, straight from the model: the same vectors."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    model = AutoModel.from_pretrained(tiny_bert).eval()
    found = TokenPooler(model, tokenizer, pool).encode(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        with torch.inference_mode():
            output = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        first, last = (output.hidden_states[i][0].numpy() for i in (1, -1))
        expected = {
            Pool.MEAN: last.mean(0),
            Pool.MAX: last.max(0),
            Pool.FIRST_LAST: (first.mean(0) + last.mean(0)) / 2,
            Pool.CLS: last[0],
        }[pool]
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_pools_differ(tiny_bert: Path) -> None:
    """The options reach the model."""
    scores = {
        option: round(
            float(
                open_baseline(f"baseline:bert{option}@{tiny_bert}").similarities(
                    [("the ship", "a storm left")]
                )[0]
            ),
            6,
        )
        for option in ("", "+mean", "+max", "+first-last", "+cls")
    }
    assert scores[""] == scores["+mean"]
    assert len(set(scores.values())) == 4
    with pytest.raises(InputError, match="exclude each other"):
        open_baseline(f"baseline:bert+max+cls@{tiny_bert}")


def test_truncation_is_stated_and_done(tiny_bert: Path) -> None:
    """What lies behind the limit changes nothing; the name says the limit."""
    scorer = open_baseline(f"baseline:roberta@{tiny_bert}")
    assert "cut at 64 tokens" in scorer.name
    long = "the ship sailed " * 40
    assert scorer.similarities([(long, long + "a storm")])[0] == pytest.approx(1, abs=1e-6)


def test_a_model_without_special_tokens_meets_an_empty_text(tiny_bert: Path) -> None:
    """No token, a zero vector, similarity 0."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.backend_tokenizer.post_processor = None
    model = AutoModel.from_pretrained(tiny_bert).eval()
    found = TokenPooler(model, tokenizer, Pool.CLS).encode(["", "the ship"])
    assert not found[0].any()
    assert found[1].any()


def test_failures_say_what_was_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a model; a name that cannot be had."""
    monkeypatch.setattr(model_files, "hub_is_reachable", lambda: False)
    for source, message in {tmp_path: "no .safetensors file", "bert-nowhere": "hub"}.items():
        with pytest.raises(InputError, match=message):
            open_baseline(f"baseline:bert@{source}")


def test_models_are_told_apart_by_their_bytes(tiny_bert: Path, tmp_path: Path) -> None:
    """Not by the name of their folder."""
    import shutil

    copy = shutil.copytree(tiny_bert, tmp_path / "copy")
    one = identify_baseline(f"baseline:bert@{tiny_bert}")
    assert identify_baseline(f"baseline:bert@{copy}") == one
    (copy / "model.safetensors").write_bytes(b"other")
    assert identify_baseline(f"baseline:bert@{copy}") != one
    assert identify_baseline(f"baseline:bert+max@{tiny_bert}") != one
    assert identify_baseline("baseline:bert@never/fetched") is None
