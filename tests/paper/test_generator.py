"""The terms of a pair do not depend on other pairs."""

from collections.abc import Callable

import numpy as np
import pytest

from firth.paper.seq2seq import Seq2Seq
from firth.paper.tokens import Context, Role
from firth.paper.train_generator import open_generator
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs

ODD = ["", "   ", "naïve 😀 ‮ text", "lone \ud800 surrogate", "a\x00b", "\n\n", "long " * 10_000]
Make = Callable[..., Seq2Seq]


@pytest.fixture
def make(built: Run) -> Make:
    """Opens a generator with a budget of tokens and a number format."""

    def seq2seq(batch_tokens: int = 8_192, precision: str = "float32") -> Seq2Seq:
        changes = {"precision": precision, "generator": {"batch_tokens": batch_tokens}}
        return open_generator(built.changed({"paper": changes}))

    return seq2seq


def test_terms_left_out_are_zero_and_change_no_other(make: Make) -> None:
    """Asking for some terms saves work and nothing else."""
    generator, pairs = make(), all_pairs()
    for evidence in (True, False):
        values = generator.likelihoods(SENTENCES, CONTEXTS, pairs, evidence=evidence)
        for kept in Role:
            part = generator.likelihoods(SENTENCES, CONTEXTS, pairs, {kept}, evidence)
            expected = np.where(np.arange(3)[:, None] == kept, values, 0)
            np.testing.assert_allclose(part, expected, atol=1e-4)


def test_the_baseline_leaves_the_evidence_out(make: Make) -> None:
    """Baselines of sides do not depend on the sentence, and the sentence's not on the context."""
    logs = make().likelihoods(SENTENCES, CONTEXTS, all_pairs(), evidence=False)
    left, sentence, right = logs.reshape(3, len(SENTENCES), len(CONTEXTS))
    assert max(np.ptp(left, axis=0).max(), np.ptp(right, axis=0).max()) < 1e-4
    assert np.ptp(sentence, axis=1).max() < 1e-4
    assert np.ptp(sentence) > 0.1, "premise"


def test_empty_texts_are_worth_nothing(make: Make) -> None:
    """An empty sentence has no information for any context; an empty side has term 0."""
    generator = make()
    values = generator.likelihoods([""], CONTEXTS, all_pairs(1))
    gain = values - generator.likelihoods([""], CONTEXTS, all_pairs(1), evidence=False)
    np.testing.assert_allclose(gain, 0, atol=1e-4)
    assert not values[Role.SENTENCE].any()
    logs, context = generator.likelihoods(SENTENCES, CONTEXTS, all_pairs()), all_pairs()[:, 1]
    for values, empty in ((logs[Role.LEFT], context == 4), (logs[Role.RIGHT], context == 5)):
        assert not values[empty].any()
        assert values[~empty].all()


def test_no_pairs_and_odd_texts(make: Make) -> None:
    """Zero pairs give zero terms; blank, enormous and broken texts have finite ones."""
    generator, nothing = make(), np.zeros((0, 2), np.int64)
    assert generator.likelihoods([], [], nothing).shape == (3, 0)
    contexts, pairs = [Context((text,), (text,)) for text in ODD], all_pairs(len(ODD), len(ODD))
    for evidence in (True, False):
        logs = generator.likelihoods(ODD, contexts, pairs, evidence=evidence)
        assert np.isfinite(logs).all()


def test_bfloat16_stays_near_float32(make: Make) -> None:
    exact, rough = (
        make(precision=kind).likelihoods(SENTENCES, CONTEXTS, all_pairs())
        for kind in ("float32", "bfloat16")
    )
    assert 0 < np.abs(exact - rough).mean() < 0.1
