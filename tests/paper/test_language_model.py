"""The causal language model: Bayes' rule, and texts in batches as one at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GraniteConfig,
    GraniteForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from firth.corpus.corpus import Context
from firth.paper.language_model import CausalLM
from firth.paper.tokens import Role, joined
from firth.run.errors import InputError

from .conftest import CONTEXTS, SENTENCES, all_pairs

WORDS = ["sea", "ship", "wave", "wind", "sail", "port", "rope", "crew", "deck", "mast"]


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
    texts = SENTENCES + [text for c in CONTEXTS for text in (*c.left, *c.right)]
    tokenizer.train_from_iterator(texts * 3, trainer)
    return wrapped(tokenizer, bos_token="<s>", eos_token="</s>")


def wrapped(tokenizer: Tokenizer, **tokens: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **tokens
    )


def tiny_llama(vocabulary: int = 320) -> Any:
    """Return random weights, so large that the words before a word matter."""
    torch.manual_seed(3)
    sizes: Any = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 200}
    config = LlamaConfig(vocab_size=vocabulary, initializer_range=0.35, **sizes)
    return LlamaForCausalLM(config).train(False)


def tiny_gpt2() -> Any:
    """Learned positions, as many key heads as query heads, biases, tied embeddings."""
    torch.manual_seed(4)
    sizes: Any = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 200}
    config = GPT2Config(vocab_size=320, initializer_range=0.35, **sizes)
    return GPT2LMHeadModel(config).train(False)


def log_p(model: PreTrainedModel, start: int, *parts: tuple[int, ...]) -> float:
    """Return log p(last part | parts before it), one text at a time, without cache or padding."""
    before = [start, *(t for part in parts[:-1] for t in part)]
    text = torch.tensor([[*before, *parts[-1]]])
    with torch.inference_mode():
        logs = model(input_ids=text, use_cache=False).logits[0].log_softmax(-1)
    return float(sum(logs[len(before) + i - 1, t] for i, t in enumerate(parts[-1])))


def reference(
    model: PreTrainedModel, generator: CausalLM, sentence: str, context: Context
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return likelihoods and baseline of one pair by the formulae of the module."""
    start = generator.language_model.start
    (triple,) = generator.reader.triples([sentence], [context], np.array([[0, 0]]))
    left, s, right = map(joined, triple)
    a, b = log_p(model, start, left, s), log_p(model, start, left, s, right)
    c, d = log_p(model, start, left, right), log_p(model, start, s)
    e, f = log_p(model, start, s, right), log_p(model, start, left)
    g = log_p(model, start, right)
    sizes = np.array([len(left), len(s), len(right)], dtype=float)
    divisor = np.where(sizes > 0, sizes, np.inf)
    whole = np.array([f + a + b - d - e, a + b - c, b]) / divisor
    return whole, np.array([f + c - g, d, c]) / divisor


def scaled_granite() -> Any:
    """A model that scales its logits after the head."""
    torch.manual_seed(0)
    config = GraniteConfig(
        vocab_size=320, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, initializer_range=0.35, logits_scaling=3.0,
    )  # fmt: skip
    return GraniteForCausalLM(config).train(False)


@pytest.mark.parametrize("make", [tiny_llama, tiny_gpt2, scaled_granite])
def test_equals_one_text_at_a_time(make: Callable[[], Any]) -> None:
    """Batches and padding change no term by more than 1e-3, whatever follows the head."""
    model, pairs = make(), all_pairs()
    generator = CausalLM(model, causal_tokenizer(), batch_tokens=64)
    logs = generator.likelihoods(SENTENCES, CONTEXTS, pairs)
    without = generator.likelihoods(SENTENCES, CONTEXTS, pairs, evidence=False)
    expected = [reference(model, generator, SENTENCES[s], CONTEXTS[c]) for s, c in pairs]
    assert logs.std(axis=1).min() > 0.1, "premise: terms differ between pairs"
    np.testing.assert_allclose(logs, np.array([e for e, _ in expected]).T, atol=1e-3)
    np.testing.assert_allclose(without, np.array([b for _, b in expected]).T, atol=1e-3)


def normalized(logs: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return exp of logs, divided by its sum."""
    values = np.exp(np.asarray(logs, float) - np.max(logs))
    return values / values.sum()  # type: ignore[no-any-return]


def test_terms_are_posteriors_over_all_one_word_texts() -> None:
    """Bayes: exp of a term over all s, or all c_<, is the posterior counted from the joint."""
    vocabulary = {word: i for i, word in enumerate(["<s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = tiny_llama(len(vocabulary))
    generator = CausalLM(model, wrapped(tokenizer, bos_token="<s>", unk_token="<unk>"))

    def joint(text: str) -> float:
        return log_p(model, 0, tuple(vocabulary[word] for word in text.split()))

    numbers = np.arange(len(WORDS))
    context = Context(("wind sail",), ("port rope crew",))
    pairs = np.stack([numbers, 0 * numbers], 1)
    sentence = normalized(generator.likelihoods(WORDS, [context], pairs)[Role.SENTENCE])
    expected = normalized([joint(f"wind sail {s} port rope crew") for s in WORDS])
    np.testing.assert_allclose(sentence, expected, atol=1e-5)
    prior = normalized(
        generator.likelihoods(WORDS, [context], pairs, evidence=False)[Role.SENTENCE]
    )
    assert np.abs(sentence - prior).max() > 0.01, "premise: the context changes the posterior"

    contexts = [Context((word,), ("port rope",)) for word in WORDS]
    left = generator.likelihoods(["wave mast"], contexts, pairs[:, ::-1])[Role.LEFT]
    expected = normalized([joint(f"{w} wave mast port rope") for w in WORDS])
    np.testing.assert_allclose(normalized(left), expected, atol=1e-5)


def test_parts_have_the_tokens_of_running_text() -> None:
    """Parts that are tokenized singly and joined are the tokens of the filled context."""
    reader = CausalLM(tiny_llama(), causal_tokenizer()).reader
    context = CONTEXTS[1]
    (triple,) = reader.triples(SENTENCES, [context], np.array([[0, 0]]))
    text = " ".join((*context.left, SENTENCES[0], *context.right))
    assert [t for part in triple for t in joined(part)] == reader.tokens([text])[0]


def test_unusable_models_are_refused() -> None:
    """All sentences must fit into the model's positions, and texts need a token to start with."""
    with pytest.raises(InputError, match=r"5 sentences .* Lower max_tokens to 39"):
        CausalLM(tiny_gpt2(), causal_tokenizer(), max_tokens=40, window=2)
    with pytest.raises(InputError, match="start-of-text"):
        CausalLM(tiny_llama(), wrapped(causal_tokenizer().backend_tokenizer))
