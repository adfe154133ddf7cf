"""Own directions of stems: what they share, by plain loops; and their sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.lexical.spelling import (
    LONGEST,
    SHORTEST,
    alike,
    gram_table,
    ngrams,
    product,
    runs,
    spelled,
)

STEMS = st.lists(st.text("abé1", max_size=6), max_size=6)
WEIGHTED = st.lists(st.tuples(st.text("abc", max_size=5), st.floats(0, 9)), max_size=6)


def runs_by_loops(text: str) -> set[str]:
    found = set()
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if SHORTEST <= end - start <= LONGEST:
                found.add(text[start:end])
    return found or {text}


@given(st.text("abcé<>", max_size=9))
def test_runs_are_all_of_their_lengths(text: str) -> None:
    """Every run of 3 to 5 characters; what is shorter stands for itself."""
    assert set(runs(text)) == runs_by_loops(text)
    assert len(set(runs(text))) == len(runs(text))


@given(st.lists(st.text("abé1\U0001d4d0\ud800", max_size=9), max_size=8, unique=True))
def test_a_table_has_the_ngrams_of_each_stem(stems: list[str]) -> None:
    """A column for each n-gram of any, 1 where a stem has it: what stems share, counted by sets."""
    found, held = gram_table(stems), [set(ngrams(stem)) for stem in stems]
    assert found.shape == (len(stems), len(set().union(*held)))
    shared = [[len(one & two) for two in held] for one in held]
    assert (found @ found.T).toarray().tolist() == shared


@given(STEMS, STEMS)
def test_alike_is_its_definition(one: list[str], two: list[str]) -> None:
    """Shared n-grams over the geometric mean of how many each has; empty stems included."""
    found = alike(one, two)
    assert found.shape == (len(one), len(two))
    for i, s in enumerate(one):
        for j, t in enumerate(two):
            shared = len(set(ngrams(s)) & set(ngrams(t)))
            expected = shared / math.sqrt(len(ngrams(s)) * len(ngrams(t)))
            assert found[i, j] == expected
            assert 0 <= found[i, j] <= 1
            assert (found[i, j] == 1) == (set(ngrams(s)) == set(ngrams(t)))


@given(STEMS, STEMS, STEMS)
def test_alike_is_symmetric_and_does_not_see_others(
    one: list[str], two: list[str], more: list[str]
) -> None:
    """To the last bit, whichever list comes first and whatever else it holds."""
    assert (alike(one, two) == alike(two, one).T).all()
    assert (alike(one, two + more)[:, : len(two)] == alike(one, two)).all()


def test_numbers_are_whole() -> None:
    """Figures that look alike are not alike; words that look alike are, by half."""
    assert alike(["1984", "b52"], ["1985", "b53", "1984"]).tolist() == [[0, 0, 1], [0, 0, 0]]
    ((near, far),) = alike(["israel"], ["israeli", "harbour"]).tolist()
    assert 0.5 < near < 1
    assert far == 0


def test_a_stem_of_nothing_is_alike_to_itself_only() -> None:
    """It has one n-gram, so that nothing is divided by zero."""
    assert ngrams("") == ("<>",)
    assert alike(["", "sea"], ["", "sea"]).tolist() == np.eye(2).tolist()
    assert alike([], ["sea"]).shape == (0, 1)
    assert alike(["sea"], []).shape == (1, 0)


@given(WEIGHTED, WEIGHTED)
def test_products_of_sums_are_sums_of_products(
    one: list[tuple[str, float]], two: list[tuple[str, float]]
) -> None:
    """Σ Σ of weight, weight and `alike`; a stem given twice counts twice."""
    expected = sum(
        weight1 * weight2 * alike([stem1], [stem2])[0, 0]
        for stem1, weight1 in one
        for stem2, weight2 in two
    )
    assert product(spelled(one), spelled(two)) == pytest.approx(expected, abs=1e-9)
    assert product(spelled(one), spelled(two)) == product(spelled(two), spelled(one))
