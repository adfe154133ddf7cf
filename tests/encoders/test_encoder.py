"""Texts are read once, batches by length, and directions of words, against plain loops."""

from collections.abc import Sequence

import numpy as np
import pytest

from firth.encoders import encoder as module
from firth.encoders.encoder import (
    SAMPLES,
    AdaptedEncoder,
    PretrainedEncoder,
    Tokens,
    WordDirections,
)
from firth.text.types import Floats, Singles
from firth.text.words import words as text_words


class Letters(PretrainedEncoder):
    """Counts three letters: a text without them has the zero vector."""

    name, dimensions = "letters", 3

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def raw(self, texts: Sequence[str]) -> Singles:
        self.encoded += texts
        return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32).reshape(-1, 3)


def test_no_text_is_encoded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a call or in two; another encoder has its own. A full memory begins again."""
    encoder, other = Letters(), Letters()
    texts = ["aabc", "xyz", "aabc", "c"]
    expected = [[2, 1, 1], [0, 0, 0], [2, 1, 1], [0, 0, 1]]
    assert encoder.vectors(texts).tolist() == expected
    assert encoder.vectors(texts[::-1]).tolist() == expected[::-1]
    assert encoder.vectors([]).shape == (0, 3)
    assert encoder.encoded == ["aabc", "xyz", "c"]
    assert other.encode(["c"]).tolist() == [[0, 0, 1]]
    monkeypatch.setattr(module, "_MEMORY", 12 * 1_000)
    small = Letters()
    many = [f"{n} {'a' * (n % 5)}" for n in range(3_000)]
    for start in range(0, len(many), 900):
        small.vectors(many[start : start + 900])
    assert small.vectors(many).tolist() == [[n % 5, 0, 0] for n in range(len(many))]
    assert len(small.encoded) > len(many), "premise: the memory was full"


class Pairs(Letters):
    """Two characters are a token; its state is (its place, its length, 1). The first is special."""

    name, longest = "pairs", 99

    def read_tokens(self, texts: Sequence[str]) -> tuple[Singles, list[Tokens]]:
        tokens: list[Tokens] = []
        for text in texts:
            begins = range(0, len(text), 2)
            offsets = [(0, 0), *((n, min(n + 2, len(text))) for n in begins)]
            states = [[9.0, 9.0, 9.0], *([n, min(2, len(text) - n), 1.0] for n in begins)]
            arrays = np.array(states, float), np.array(offsets, np.int64)
            tokens.append((arrays[0][: self.longest], arrays[1][: self.longest]))
        return self.raw(texts), tokens


def reader(stemmer: str, longest: int = 99, mean: float = 0.0) -> WordDirections:
    encoder = Pairs()
    encoder.longest = longest
    return WordDirections(encoder, stemmer, np.full(3, mean))


def test_a_word_is_the_mean_of_its_tokens_and_a_stem_of_its_words() -> None:
    """By hand: "ships" is in the tokens at characters 4, 6 and 8; "ship" in those at 10 and 12."""
    words = reader("porter")
    vectors, (states,) = words(["No, ships ship"])
    first = np.mean([[4, 2, 1], [6, 2, 1], [8, 2, 1]], axis=0)
    second = np.mean([[10, 2, 1], [12, 2, 1]], axis=0)
    expected = (first + second) / 2
    assert states.shape == (2, 3), "no and ship"
    np.testing.assert_allclose(states[1], expected / np.linalg.norm(expected))
    assert vectors.tolist() == [[0, 0, 0]]
    assert isinstance(words.encoder, Pairs)
    assert words.encoder.encoded == ["No, ships ship"], "one pass gives both"


def test_words_beyond_the_last_token_have_no_direction() -> None:
    states = reader("none", longest=3, mean=1.0)(["sail ship"])[1][0]
    assert states[0].any()
    assert not states[1].any()


def test_words_are_centered_by_those_of_sentences() -> None:
    """What was read for it is not read again."""
    encoder = Pairs()
    fitted = WordDirections.fit(encoder, "none", ["sail on", "", "ship"])
    tokens = encoder.read_tokens(["sail on", "ship"])[1]
    states = [tokens[0][0][1:3].mean(axis=0), tokens[0][0][3:].mean(axis=0)]
    words: Floats = np.array([*states, tokens[1][0][1:].mean(axis=0)])
    np.testing.assert_allclose(fitted.mean, words.mean(axis=0))
    before = len(encoder.encoded)
    encoder.encode(["ship"])
    assert len(encoder.encoded) == before
    assert WordDirections.fit(Pairs(), "none", ["", "!"]).mean.tolist() == [0.0]


def test_without_states_each_word_is_encoded_by_itself() -> None:
    """Once, whatever the texts; a stem is its first word in a text. Unrelated words: the floor."""
    encoder = Letters()
    words = WordDirections.fit(encoder, "porter", ["cab bab", "bab"])
    usual = list(dict.fromkeys(word for text in SAMPLES for word in text_words(text)))
    assert encoder.encoded == usual
    assert words.floor == 0.0, "most of them have none of three letters in common"
    _, states = words(["cabs cab", "bab cab", ""])
    assert [len(rows) for rows in states] == [1, 2, 0]
    others = sorted(encoder.encoded[len(usual) :])
    assert others == ["", "bab", "bab cab", "cab", "cabs", "cabs cab"]
    np.testing.assert_allclose(states[1][0], np.array([1, 2, 0]) / 5**0.5, atol=1e-6)
    encoder.raw = lambda texts: np.ones((len(texts), 3), np.float32)  # type: ignore[method-assign]
    assert WordDirections.fit(AdaptedEncoder(encoder), "porter", []).floor == 0.95
