"""The causal language model: Bayes' rule, the prefix cache, and texts as they come."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from firth.corpus.context import Context
from firth.paper.generation.causal_lm import CausalLM
from firth.paper.generation.language_model import LanguageModel, Layout
from firth.paper.generation.protocol import Role
from firth.run.errors import InputError

from .conftest import CONTEXTS, SENTENCES, all_pairs, causal_tokenizer, stack, tiny_gpt2, tiny_llama

MODELS = [tiny_llama, tiny_gpt2]


def log_p(model: PreTrainedModel, start: int, *parts: tuple[int, ...]) -> float:
    """log p(last part | parts before it), one text at a time, without cache, batch or padding."""
    before = [start, *(t for part in parts[:-1] for t in part)]
    text = torch.tensor([[*before, *parts[-1]]])
    with torch.inference_mode():
        logs = model(input_ids=text, use_cache=False).logits[0].log_softmax(-1)
    return float(sum(logs[len(before) + i - 1, t] for i, t in enumerate(parts[-1])))


def reference(
    model: PreTrainedModel, generator: CausalLM, sentence: str, context: Context
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(likelihoods, baseline) of one pair by the formulae of the module, one text at a time."""
    start, reader = generator.start, generator._reader
    ((left, s, right),) = reader.triples([sentence], [context], np.array([[0, 0]]))
    a, b, c = (
        log_p(model, start, left, s), log_p(model, start, left, s, right),
        log_p(model, start, left, right),
    )  # fmt: skip
    d, e = log_p(model, start, s), log_p(model, start, s, right)
    f, g = log_p(model, start, left), log_p(model, start, right)
    sizes = np.array([len(s), len(left), len(right)], dtype=float)
    divisor = np.where(sizes > 0, sizes, np.inf)
    return np.array([a + b - c, f + a + b - d - e, b]) / divisor, np.array(
        [d, f + c - g, c]
    ) / divisor


def with_layout(generator: CausalLM, layout: Layout) -> CausalLM:
    """The same generator, reading texts the other way."""
    generator._model = LanguageModel(generator._model.model, layout)
    return generator


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("layout", list(Layout))
def test_equals_one_text_at_a_time(make: Callable[[], PreTrainedModel], layout: Layout) -> None:
    """Cache, packing, padding and sharing change no term by more than 1e-3, the promised bound."""
    model = make()
    generator = with_layout(CausalLM(model, causal_tokenizer(), batch_tokens=64), layout)
    pairs = all_pairs()
    found = stack(generator.likelihoods(SENTENCES, CONTEXTS, pairs))
    without = stack(generator.baseline(SENTENCES, CONTEXTS, pairs))
    expected = [reference(model, generator, SENTENCES[s], CONTEXTS[c]) for s, c in pairs]
    assert found.std(axis=1).min() > 0.1, "premise: terms differ between pairs"
    np.testing.assert_allclose(found, np.array([e for e, _ in expected]).T, atol=1e-3)
    np.testing.assert_allclose(without, np.array([b for _, b in expected]).T, atol=1e-3)


@pytest.mark.parametrize("make", MODELS)
def test_the_probe_chooses_the_forest_for_ordinary_models(
    make: Callable[[], PreTrainedModel],
) -> None:
    """Llama and GPT-2 dispatch their attention, so the fast layout is right for them."""
    assert CausalLM(make(), causal_tokenizer()).layout is Layout.FOREST


def test_the_probe_falls_back_where_the_forest_is_wrong() -> None:
    """A model that scales its logits after the head is read row by row, and rightly."""
    from transformers import GraniteConfig, GraniteForCausalLM

    torch.manual_seed(0)
    config = GraniteConfig(
        vocab_size=320, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, initializer_range=0.35, logits_scaling=3.0,
    )  # fmt: skip
    model = GraniteForCausalLM(config).train(False)
    generator = CausalLM(model, causal_tokenizer())
    assert generator.layout is Layout.ROWS
    found = stack(generator.likelihoods(SENTENCES[:1], CONTEXTS[:1], np.array([[0, 0]])))
    expected, _ = reference(model, generator, SENTENCES[0], CONTEXTS[0])
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-3)


def test_scoring_leaves_the_model_usable_as_before() -> None:
    """The attention of the forest is taken off again: the caller's model answers as it did."""
    model = tiny_llama()
    ids = torch.tensor([[1, 5, 9, 20]])
    before = model(input_ids=ids).logits
    CausalLM(model, causal_tokenizer()).likelihoods(SENTENCES, CONTEXTS, all_pairs())
    torch.testing.assert_close(model(input_ids=ids).logits, before)


WORDS = ["sea", "ship", "wave", "wind", "sail", "port", "rope", "crew", "deck", "mast"]


def word_model() -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """A language model in which every word is one token, so that sums over all texts are finite."""
    vocabulary = {word: i for i, word in enumerate(["<s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapped = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>"
    )
    return tiny_llama(len(vocabulary)), wrapped


def word_ids(tokenizer: PreTrainedTokenizerFast, *words: str) -> tuple[int, ...]:
    """The token of each word."""
    vocabulary = tokenizer.get_vocab()
    return tuple(vocabulary[word] for word in words)


def normalised(logs: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """exp of logs, divided by its sum."""
    values: npt.NDArray[np.float64] = np.exp(logs.astype(float) - logs.max())
    values /= values.sum()
    return values


def test_sentence_term_is_the_posterior_over_all_one_word_sentences() -> None:
    """Bayes: exp of the term over all s is p(s | c_<, c_>), counted out from the joint."""
    model, tokenizer = word_model()
    generator = CausalLM(model, tokenizer)
    context = Context(("wind sail",), ("port rope crew",))
    pairs = np.array([(s, 0) for s in range(len(WORDS))])
    found = normalised(generator.likelihoods(WORDS, [context], pairs).sentence)
    ids = word_ids(tokenizer, "wind", "sail", "port", "rope", "crew")
    whole = [log_p(model, 0, (*ids[:2], *word_ids(tokenizer, s), *ids[2:])) for s in WORDS]
    np.testing.assert_allclose(found, normalised(np.array(whole)), atol=1e-5)
    prior = normalised(generator.baseline(WORDS, [context], pairs).sentence)
    assert np.abs(found - prior).max() > 0.01, "premise: the context changes the posterior"


def test_left_term_is_the_posterior_over_all_one_word_left_contexts() -> None:
    """Bayes: exp of the term over all c_< is p(c_< | s, c_>), counted out from the joint."""
    model, tokenizer = word_model()
    generator = CausalLM(model, tokenizer)
    contexts = [Context((word,), ("port rope",)) for word in WORDS]
    pairs = np.array([(0, c) for c in range(len(WORDS))])
    found = normalised(generator.likelihoods(["wave mast"], contexts, pairs).left)
    ids = word_ids(tokenizer, "wave", "mast", "port", "rope")
    whole = [log_p(model, 0, (*word_ids(tokenizer, w), *ids)) for w in WORDS]
    np.testing.assert_allclose(found, normalised(np.array(whole)), atol=1e-5)


def test_cutting_keeps_what_is_next_to_the_sentence() -> None:
    """A left side keeps its end; a sentence and a right side keep their beginning."""
    generator = CausalLM(tiny_llama(), causal_tokenizer(), max_tokens=5)
    reader = generator._reader
    whole = tuple(reader.tokens([SENTENCES[4]])[0])
    assert len(whole) > 5, "premise"
    assert reader.sentences([SENTENCES[4]]) == [whole[:5]]
    assert reader.sides([Context((SENTENCES[4],), ())], Role.LEFT) == [whole[-5:]]
    assert reader.sides([Context((), (SENTENCES[4],))], Role.RIGHT) == [whole[:5]]


def test_parts_have_the_tokens_of_running_text() -> None:
    """Tokenised by themselves and put together, the parts are the tokens of the filled context."""
    reader = CausalLM(tiny_llama(), causal_tokenizer())._reader
    context = CONTEXTS[0]
    ((left, s, right),) = reader.triples(SENTENCES, [context], np.array([[0, 0]]))
    assert [*left, *s, *right] == reader.tokens([context.filled(SENTENCES[0])])[0]


def test_a_model_too_short_is_refused() -> None:
    """Three parts and the start token must fit into the model's positions."""
    with pytest.raises(InputError, match=r"Lower max_tokens to 66"):
        CausalLM(tiny_gpt2(), causal_tokenizer(), max_tokens=67)


def test_a_tokenizer_without_a_start_token_is_refused() -> None:
    """Neither bos nor eos: the message says what to do; an explicit token mends it."""
    known = causal_tokenizer().backend_tokenizer
    bare = PreTrainedTokenizerFast(tokenizer_object=known)  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="start-of-text"):
        CausalLM(tiny_llama(), bare)
    assert CausalLM(tiny_llama(), bare, start="</s>").start == 1


def test_the_forest_is_read_in_bfloat16_too() -> None:
    """The probe allows for its rounding."""
    model: Any = tiny_llama()
    assert CausalLM(model.to(torch.bfloat16), causal_tokenizer()).layout is Layout.FOREST
