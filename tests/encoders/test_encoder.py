"""Normalized vectors, batches by length, and states of words, against plain loops."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.encoders.encoder import Normalized, PretrainedEncoder, StatesOfWords, by_length
from firth.text.types import Floats, Ints, Singles


class Letters(PretrainedEncoder):
    """Counts three letters: a text without them has the zero vector."""

    name, dimensions = "letters", 3

    def raw(self, texts: Sequence[str]) -> Singles:
        return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32).reshape(-1, 3)


def test_vectors_are_centered_scaled_and_of_length_1() -> None:
    mean, deviation = np.array([1.0, 0.5, 0.0]), np.array([2.0, 1.0, 0.5])
    encoder = Normalized(Letters(), mean, deviation, name="scaled letters")
    expected = (np.array([2.0, 1.0, 1.0]) - mean) / deviation
    found = encoder.encode(["aabc", "xyz"])
    np.testing.assert_allclose(found[0], expected / np.linalg.norm(expected), rtol=1e-6)
    assert not found[1].any(), "nothing is known of it"
    assert found.dtype == np.float32
    assert (encoder.name, encoder.dimensions) == ("scaled letters", 3)
    assert (encoder.raw(["aabc"]) == Letters().raw(["aabc"])).all()


@given(st.lists(st.integers(0, 40), max_size=40), st.integers(1, 100), st.integers(1, 9))
def test_batches_hold_every_text_once_and_no_more_than_fits(
    sizes: list[int], most: int, texts: int
) -> None:
    batches = list(by_length(sizes, most, texts))
    assert sorted(n for some in batches for n in some) == list(range(len(sizes)))
    for some in batches:
        assert len(some) == 1 or len(some) * max(sizes[n] for n in some) <= most
        assert len(some) <= texts
        assert sizes[some[-1]] == max(sizes[n] for n in some)


def token_states(texts: Sequence[str]) -> list[tuple[Floats, Ints]]:
    """Two characters are a token; its state is (its place, its length, 1). The first is special."""
    read = []
    for text in texts:
        begins = range(0, len(text), 2)
        offsets = [(0, 0), *((n, min(n + 2, len(text))) for n in begins)]
        states = [[9.0, 9.0, 9.0], *([n, min(2, len(text) - n), 1.0] for n in begins)]
        read.append((np.array(states, float), np.array(offsets, np.int64)))
    return read


def test_a_word_is_the_mean_of_its_tokens_and_a_stem_of_its_words() -> None:
    """By hand: "ships" is in the tokens at characters 4, 6 and 8; "ship" in those at 10 and 12."""
    text = "No, ships ship"
    states = StatesOfWords(token_states, "porter", np.zeros(3))([text])[0]
    first = np.mean([[4, 2, 1], [6, 2, 1], [8, 2, 1]], axis=0)
    second = np.mean([[10, 2, 1], [12, 2, 1]], axis=0)
    expected = (first + second) / 2
    assert states.shape == (2, 3), "no and ship"
    np.testing.assert_allclose(states[1], expected / np.linalg.norm(expected))


def test_words_beyond_the_last_token_have_no_direction() -> None:
    def cut(texts: Sequence[str]) -> list[tuple[Floats, Ints]]:
        return [(states[:3], offsets[:3]) for states, offsets in token_states(texts)]

    states = StatesOfWords(cut, "none", np.array([1.0, 1.0, 1.0]))(["sail ship"])[0]
    assert states[0].any()
    assert not states[1].any()


def test_states_are_centered_by_the_words_of_sentences() -> None:
    fitted = StatesOfWords.fit(token_states, "none", ["sail on", "", "ship"])
    words_of = StatesOfWords(token_states, "none", np.zeros(3))._of(["sail on", "ship"])
    np.testing.assert_allclose(fitted.mean, np.concatenate(words_of).mean(axis=0))
    assert StatesOfWords.fit(token_states, "none", ["", "!"]).mean.tolist() == [0.0]
