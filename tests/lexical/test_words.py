"""`firth.lexical.words` and `firth.run.seeds`: sameness of texts, independence of choices."""

import re

from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.words import has_word, jaccard, normal_form, words
from firth.run.seeds import derive_seed


@given(st.text())
def test_normal_form_is_idempotent(text: str) -> None:
    """A normal form is its own normal form, so that comparing twice changes nothing."""
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.lists(st.text()), st.lists(st.text()))
def test_jaccard_is_symmetric_and_in_range(a: list[str], b: list[str]) -> None:
    """0 ≤ J(a, b) = J(b, a) ≤ 1, and J(a, a) = 1."""
    one, two = frozenset(a), frozenset(b)
    assert 0 <= jaccard(one, two) == jaccard(two, one) <= 1
    assert jaccard(one, one) == 1


def test_words_are_lowercased_runs() -> None:
    """Punctuation separates, digits and underscores belong to words."""
    assert words("Don't panic, U_2 in 1984!") == ["don", "t", "panic", "u_2", "in", "1984"]


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
def test_words_are_those_of_the_pattern(text: str) -> None:
    r"""ASCII is read in a way of its own, and every text as `\w+` reads it."""
    assert words(text) == re.findall(r"\w+", text.lower())
    assert has_word(text) == bool(words(text))


@given(st.integers(0, 2**40), st.text(max_size=5), st.text(max_size=5))
def test_seeds_are_functions_of_their_names(seed: int, one: str, two: str) -> None:
    """The same name gives the same seed, another name another."""
    assert derive_seed(seed, one) == derive_seed(seed, one)
    assert (derive_seed(seed, one) == derive_seed(seed, two)) == (one == two)
    assert 0 <= derive_seed(seed, one) < 2**63
