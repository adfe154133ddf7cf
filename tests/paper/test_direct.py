"""Each sentence as the other's context: shares of tokens, their sums, and continuations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.encoders.conftest import tiny_bert  # noqa: F401
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from firth.encoders.folder import PretrainedFiles
from firth.paper.direct import PROMPT, Direct, LanguageModel, open_causal_lm
from firth.paper.harvest import HARVEST, build_harvest
from firth.paper.origin import open_origin
from firth.run.errors import InputError
from firth.run.run import Run

A, B, C = "The ship left the harbour.", "A boat sailed away", "The judge praised the jury."


def causal_tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer with a beginning-of-text token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([A, B, C] * 3, trainer)
    return wrapped(tokenizer, bos_token="<s>", eos_token="</s>")


def wrapped(tokenizer: Tokenizer, **tokens: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **tokens
    )


SIZES: Any = {
    "vocab_size": 320, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.35,
}  # fmt: skip


def tiny_llama() -> Any:
    """Return random weights, so large that the words before a word matter."""
    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**SIZES, max_position_embeddings=200)).train(False)


def scaled_granite() -> Any:
    """A model that scales its logits after the head."""
    torch.manual_seed(0)
    return GraniteForCausalLM(GraniteConfig(**SIZES, logits_scaling=3.0)).train(False)


def log_p(model: PreTrainedModel, before: list[int], after: list[int]) -> float:
    """Return log p(after | before), one text at a time, without cache or padding."""
    text = torch.tensor([[*before, *after]])
    with torch.inference_mode():
        logs = model(input_ids=text, use_cache=False).logits[0].log_softmax(-1)
    return float(sum(logs[len(before) + i - 1, t] for i, t in enumerate(after)))


@pytest.fixture(scope="module", params=[tiny_llama, scaled_granite])
def reader(request: pytest.FixtureRequest) -> LanguageModel:
    """A tiny language model with random weights."""
    return LanguageModel(request.param(), causal_tokenizer(), max_tokens=24, batch_tokens=300)


def test_a_share_is_that_of_the_definition(reader: LanguageModel) -> None:
    """log p with the other sentence less log p without, over the surprise; both directions."""

    def share(context: str, target: str) -> float:
        after = reader.target(target)[0]
        prompts = reader.prompt(context), reader.prompt("")
        conditional, alone = (log_p(reader.model, prompt, after) for prompt in prompts)
        return (conditional - alone) / -alone

    expected = (share(A, B) + share(B, A)) / 2
    assert abs(expected) > 1e-3, "premise"
    assert Direct(reader).similarity(A, B) == pytest.approx(expected, abs=1e-5)


def test_scores_are_symmetric_and_independent(reader: LanguageModel) -> None:
    direct = Direct(reader)
    together = direct.similarities([(A, B), (B, A), (C, C), (A, C)])
    assert together[0] == pytest.approx(together[1], abs=1e-6)
    assert together[2] == 1.0
    assert together[3] == pytest.approx(direct.similarity(A, C), abs=1e-5)
    assert direct.similarities([]).shape == (0,)


def test_an_explanation_sums_to_the_score(reader: LanguageModel) -> None:
    """What is explained of each word of both sentences is the whole score."""
    explanation = Direct(reader).explain(A, B)
    assert explanation.score == pytest.approx(Direct(reader).similarity(A, B), abs=1e-6)
    words = [*explanation.words1, *explanation.words2]
    assert sum(word.contribution or 0.0 for word in words) == pytest.approx(explanation.score)
    assert sum(row.contribution for row in explanation.rows) == pytest.approx(explanation.score)
    assert [word.text for word in explanation.words2] == ["A", "boat", "sailed", "away"]
    assert explanation.contexts[0].text == B
    assert set(explanation.contexts[0].details) == {word.text for word in explanation.words1}


def test_long_texts_are_cut(reader: LanguageModel) -> None:
    """No prompt is longer than its frame and the limit, and scores stay finite."""
    long = "The ship left the harbour. " * 40
    frame = len(reader.prompt("")) + 4
    assert len(reader.prompt(long)) <= frame + 24
    assert len(reader.target(long)[0]) == 24
    assert np.isfinite(Direct(reader).similarity(long, A))
    assert "{}" in PROMPT


def test_a_run_opens_and_harvests_them(tmp_path: Path, fresh: Callable[..., Run]) -> None:
    """`paper.direct` names the model, which reads no stage; another model is another harvest."""
    folders = [tmp_path / name for name in ("one", "two")]
    for number, folder in enumerate(folders):
        torch.manual_seed(number)
        LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(folder)
        causal_tokenizer().save_pretrained(folder)
    run = fresh(direct=str(folders[0]))
    assert isinstance(open_origin(run), Direct)
    manifest = build_harvest(run).manifest
    assert build_harvest(run).reused
    other = build_harvest(run.changed({"paper": {"direct": str(folders[1])}}))
    assert other.manifest.outputs != manifest.outputs
    assert run.has(HARVEST)


def test_unusable_models_are_refused(tiny_bert: Path) -> None:  # noqa: F811
    with pytest.raises(InputError, match="start-of-text"):
        LanguageModel(tiny_llama(), wrapped(causal_tokenizer().backend_tokenizer))
    place, where = PretrainedFiles.find(str(tiny_bert)), torch.device("cpu")
    with pytest.raises(InputError, match="masked-lm; expected a causal language model"):
        open_causal_lm(place, torch.float32, where)
