"""Each sentence as the other's context: shares of tokens, their sums, and continuations."""

from collections.abc import Callable

import numpy as np
import pytest

from firth.paper.direct import PROMPT, Direct, Reader, Sampled
from firth.run.errors import ConfigError
from firth.run.run import Run

from .test_language_model import causal_tokenizer, log_p, tiny_llama

A, B, C = "The ship left the harbour.", "A boat sailed away", "The judge praised the jury."


@pytest.fixture(scope="module")
def reader() -> Reader:
    """A tiny language model with random weights."""
    return Reader(tiny_llama(), causal_tokenizer(), max_tokens=24, batch_tokens=300)


def test_a_share_is_that_of_the_definition(reader: Reader) -> None:
    """log p with the other sentence less log p without, over the surprise; both directions."""

    def share(context: str, target: str) -> float:
        after = tuple(reader.target(target)[0])
        given, alone = (
            log_p(reader.model, prompt[0], tuple(prompt[1:]), after)
            for prompt in (reader.prompt(context), reader.prompt(""))
        )
        return (given - alone) / -alone

    expected = (share(A, B) + share(B, A)) / 2
    assert abs(expected) > 1e-3, "premise"
    assert Direct(reader).similarity(A, B) == pytest.approx(expected, abs=1e-5)


def test_scores_are_symmetric_and_independent(reader: Reader) -> None:
    direct = Direct(reader)
    together = direct.similarities([(A, B), (B, A), (C, C), (A, C)])
    assert together[0] == pytest.approx(together[1], abs=1e-6)
    assert together[2] == 1.0
    assert together[3] == pytest.approx(direct.similarity(A, C), abs=1e-5)
    assert direct.similarities([]).shape == (0,)


def test_an_explanation_sums_to_the_score(reader: Reader) -> None:
    """What is explained of each word of both sentences is the whole score."""
    explanation = Direct(reader).explain(A, B)
    assert explanation.score == pytest.approx(Direct(reader).similarity(A, B), abs=1e-6)
    words = [*explanation.words1, *explanation.words2]
    assert sum(word.contribution or 0.0 for word in words) == pytest.approx(explanation.score)
    assert sum(row.contribution for row in explanation.rows) == pytest.approx(explanation.score)
    assert [word.text for word in explanation.words2] == ["A", "boat", "sailed", "away"]
    assert explanation.contexts[0].text == B
    assert set(explanation.contexts[0].details) == {word.text for word in explanation.words1}


def test_long_texts_are_cut(reader: Reader) -> None:
    """No prompt is longer than its frame and the limit, and scores stay finite."""
    long = "The ship left the harbour. " * 40
    frame = len(reader.prompt("")) + 4
    assert len(reader.prompt(long)) <= frame + 24
    assert len(reader.target(long)[0]) == 24
    assert np.isfinite(Direct(reader).similarity(long, A))
    assert "{}" in PROMPT


def test_sampled_contexts(reader: Reader) -> None:
    """Equal sentences judge alike; the seed decides what is drawn, and the order nothing."""
    sampled = Sampled(reader, seed=3)
    equal, one, two = sampled.similarities([(A, A), (A, C), (C, A)])
    assert equal == pytest.approx(0.0, abs=1e-6)
    assert one == pytest.approx(two, abs=1e-6)
    assert one < -1e-3
    assert sampled.similarities([(A, C)])[0] == pytest.approx(one, abs=1e-5)
    assert Sampled(reader, seed=4).similarities([(A, C)])[0] != pytest.approx(one, abs=1e-6)


def test_a_trained_generator_is_refused(fresh: Callable[..., Run]) -> None:
    with pytest.raises(ConfigError, match="causal-lm"):
        fresh(contexts={"selection": "direct"})
