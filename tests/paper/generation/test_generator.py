"""What every generator keeps to, whichever backend: a pair's terms are its own."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from firth.corpus.context import Context
from firth.paper.generation import GENERATOR
from firth.paper.generation.causal_lm import CausalLM
from firth.paper.generation.open import open_seq2seq
from firth.paper.generation.protocol import Generator, Term
from firth.run.run import Run
from firth.run.section import Precision

from .conftest import CONTEXTS, SENTENCES, TERMS, all_pairs, causal_tokenizer, stack, tiny_llama

ODD = ["", "   ", "naïve 😀 ‮ text", "lone \ud800 surrogate", "a\x00b", "\n\n", "long " * 10_000]
Make = Callable[..., Generator]


@pytest.fixture(params=["causal-lm", "seq2seq"])
def make(request: pytest.FixtureRequest, trained: Run) -> Make:
    """Opens a generator with a budget of tokens and a number format."""

    def causal(batch_tokens: int = 8_192, dtype: torch.dtype = torch.float32) -> Generator:
        model = tiny_llama().to(dtype)  # type: ignore[arg-type]
        return CausalLM(model, causal_tokenizer(), batch_tokens=batch_tokens)

    def seq2seq(batch_tokens: int = 8_192, dtype: torch.dtype = torch.float32) -> Generator:
        precision = Precision.FLOAT32 if dtype == torch.float32 else Precision.BFLOAT16
        changes = {"batch_tokens": batch_tokens, "precision": precision}
        config = trained.config.generator.model_copy(update=changes)
        return open_seq2seq(trained.folder(GENERATOR), config)

    return causal if request.param == "causal-lm" else seq2seq


def test_order_repetition_company_and_budget_do_not_matter(make: Make) -> None:
    """Whatever else is asked for, and however it is cut into batches."""
    pairs = all_pairs()
    expected = stack(make().likelihoods(SENTENCES, CONTEXTS, pairs))
    assert expected.std(axis=1).min() > 0.1, "premise: terms differ between pairs"
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(pairs)), 2))
    for budget in (1, 60, 10_000):
        found = make(budget).likelihoods(SENTENCES, CONTEXTS, pairs[order])
        np.testing.assert_allclose(stack(found), expected[:, order], atol=1e-4)
    alone = make().likelihoods(SENTENCES, CONTEXTS, pairs[7:8])
    np.testing.assert_allclose(stack(alone)[:, 0], expected[:, 7], atol=1e-4)


def test_terms_left_out_are_zero_and_change_no_other(make: Make) -> None:
    """Asking for some terms saves work and nothing else."""
    generator, pairs = make(), all_pairs()
    for method in (generator.likelihoods, generator.baseline):
        whole = method(SENTENCES, CONTEXTS, pairs)
        for kept in Term:
            part = method(SENTENCES, CONTEXTS, pairs, frozenset({kept}))
            for term in TERMS:
                wanted = getattr(whole, term) if term == kept else np.zeros(len(pairs))
                np.testing.assert_allclose(getattr(part, term), wanted, atol=1e-4)


def test_the_baseline_leaves_the_evidence_out(make: Make) -> None:
    """Side baselines do not depend on the sentence, the sentence's own not on the context."""
    found = stack(make().baseline(SENTENCES, CONTEXTS, all_pairs()))
    sentence, left, right = found.reshape(3, len(SENTENCES), len(CONTEXTS))
    assert np.ptp(left, axis=0).max() < 1e-4
    assert np.ptp(right, axis=0).max() < 1e-4
    assert np.ptp(sentence, axis=1).max() < 1e-4
    assert np.ptp(sentence) > 0.1, "premise"


def test_an_empty_sentence_is_worth_nothing_in_any_context(make: Make) -> None:
    """No word, no information: each difference from the baseline is 0."""
    generator, pairs = make(), all_pairs(1)
    whole = generator.likelihoods([""], CONTEXTS, pairs)
    gain = whole - generator.baseline([""], CONTEXTS, pairs)
    np.testing.assert_allclose(stack(gain), 0, atol=1e-4)
    assert not whole.sentence.any()


def test_an_empty_side_has_term_zero(make: Make) -> None:
    """Nothing to generate: the normalised log-likelihood of an empty side is 0."""
    found, context = make().likelihoods(SENTENCES, CONTEXTS, all_pairs()), all_pairs()[:, 1]
    for values, empty in ((found.left, context == 4), (found.right, context == 5)):
        assert not values[empty].any()
        assert values[~empty].all()


def test_no_pairs_and_odd_texts(make: Make) -> None:
    """Zero pairs give zero terms; blank, enormous and broken texts have finite ones."""
    generator, nothing = make(), np.zeros((0, 2), np.int64)
    assert generator.likelihoods([], [], nothing).right.shape == (0,)
    assert generator.baseline(SENTENCES, CONTEXTS, nothing).left.shape == (0,)
    contexts, pairs = [Context((text,), (text,)) for text in ODD], all_pairs(len(ODD), len(ODD))
    for method in (generator.likelihoods, generator.baseline):
        assert np.isfinite(stack(method(ODD, contexts, pairs))).all()


def test_bfloat16_stays_near_float32(make: Make) -> None:
    """Eight bits of mantissa: terms move by some hundredths, not by a different reading."""
    exact, rough = (
        stack(make(dtype=dtype).likelihoods(SENTENCES, CONTEXTS, all_pairs()))
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert 0 < np.abs(exact - rough).mean() < 0.1
