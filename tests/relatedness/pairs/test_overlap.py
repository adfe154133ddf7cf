"""The inverted index finds exactly what comparing every pair finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.baselines.dice import Dice
from firth.lexical.tfidf import fit_idf
from firth.lexical.words import Stemmer, words
from firth.relatedness.pairs.overlap import Bags, Index, bags_of, close_in_length, length_window
from firth.relatedness.pairs.settings import OverlapMeasure

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=9), min_size=2, max_size=25)


def brute_force(
    bags: Bags, measure: OverlapMeasure, first: int, low: float, high: float, tolerance: float
) -> dict[int, float]:
    """Every fitting partner by looking at all sentences."""
    others = np.array([other for other in range(len(bags)) if other != first])
    overlaps = bags.overlaps(np.full(len(others), first), others, measure)
    close = close_in_length(bags.lengths[first], bags.lengths[others], tolerance)
    return {
        int(other): float(overlap)
        for other, overlap, near in zip(others, overlaps, close, strict=True)
        if near and low <= overlap < high
    }


@settings(max_examples=150)
@given(
    tokens=TEXTS,
    measure=st.sampled_from(list(OverlapMeasure)),
    low=st.floats(0.01, 1),
    width=st.floats(0.05, 1.1),
    tolerance=st.sampled_from([0, 0.25, 0.5, 1]),
)
def test_partners_are_those_of_brute_force(
    tokens: list[list[str]], measure: OverlapMeasure, low: float, width: float, tolerance: float
) -> None:
    """Same partners, same overlaps, for every measure, range and length difference."""
    bags = bags_of(tokens)
    index = Index(bags, measure)
    for first in range(len(bags)):
        found = index.partners(first, low, low + width, tolerance)
        expected = brute_force(bags, measure, first, low, low + width, tolerance)
        assert dict(zip(found.sentences.tolist(), found.overlaps.tolist(), strict=True)) == expected


@settings(max_examples=60)
@given(tokens=TEXTS, measure=st.sampled_from(list(OverlapMeasure)), seed=st.integers(0, 99))
def test_partners_among_some_are_those_of_all_that_are_among_them(
    tokens: list[list[str]], measure: OverlapMeasure, seed: int
) -> None:
    """A smaller index changes who can be found, and neither overlaps nor weights."""
    bags = bags_of(tokens)
    some = np.flatnonzero(np.random.default_rng(seed).random(len(bags)) < 0.6)
    whole, part = Index(bags, measure), Index(bags, measure, among=some)
    for first in range(len(bags)):
        every, found = (index.partners(first, 0.1, 2.0, 1.0) for index in (whole, part))
        kept = np.isin(every.sentences, some)
        assert found.sentences.tolist() == every.sentences[kept].tolist()
        np.testing.assert_allclose(found.overlaps, every.overlaps[kept])


@pytest.mark.parametrize("low", [0.25, 0.5])
def test_partners_in_longer_text(sentences: list[str], low: float) -> None:
    """The same on sentences of 3 to 30 words, where the prefix filter leaves words out."""
    bags = bags_of([words(text) for text in sentences])
    for measure in OverlapMeasure:
        index = Index(bags, measure)
        total = 0
        for first in range(0, len(bags), 7):
            found = index.partners(first, low, 0.75, 0.25)
            assert dict(
                zip(found.sentences.tolist(), found.overlaps.tolist(), strict=True)
            ) == brute_force(bags, measure, first, low, 0.75, 0.25)
            total += len(found.sentences)
        assert total > 100  # the premise: there is something to find


def test_partners_stay_in_their_group(sentences: list[str]) -> None:
    """With groups, partners are those without groups that are of the same one."""
    bags = bags_of([words(text) for text in sentences])
    groups = np.arange(len(bags)) % 3
    every, grouped = Index(bags, OverlapMeasure.DICE), Index(bags, OverlapMeasure.DICE, groups)
    for first in range(50):
        found = every.partners(first, 0.3, 0.8, 0.5).sentences
        own = grouped.partners(first, 0.3, 0.8, 0.5).sentences
        assert own.tolist() == found[groups[found] == groups[first]].tolist()


def test_overlap_is_dice(sentences: list[str]) -> None:
    """The measure `dice` is the baseline of that name."""
    bags = bags_of([words(text) for text in sentences])
    left, right = np.arange(0, 200), np.arange(200, 400)
    expected = Dice().similarities(list(zip(sentences[:200], sentences[200:], strict=True)))
    assert bags.overlaps(left, right, OverlapMeasure.DICE) == pytest.approx(expected, abs=1e-8)


def test_overlap_weighted_by_idf(sentences: list[str]) -> None:
    """The measure `idf` is Dice weighted by `firth.lexical.tfidf` over the same sentences."""
    idf = fit_idf(sentences, "here", Stemmer.NONE)
    bags = bags_of([words(text) for text in sentences])
    for a, b in [(0, 1), (5, 300), (17, 18), (44, 44)]:
        one, two = set(words(sentences[a])), set(words(sentences[b]))
        shared = sum(idf.smooth_weight(word) for word in one & two)
        total = sum(map(idf.smooth_weight, one)) + sum(map(idf.smooth_weight, two))
        found = bags.overlaps(np.array([a]), np.array([b]), OverlapMeasure.IDF)
        assert found[0] == pytest.approx(2 * shared / total, abs=1e-8)


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from([0, 0.1, 0.25, 1 / 3, 0.5, 1]))
def test_the_window_of_lengths_is_the_tolerance(a: int, b: int, tolerance: float) -> None:
    """A slice of lengths holds exactly the partners whose difference is within the tolerance."""
    low, high = length_window(a, tolerance)
    assert (low <= b <= high) == bool(close_in_length(a, b, tolerance))


def test_an_index_looks_for_some_overlap() -> None:
    """A least overlap of 0 would mean all sentences, which an index does not list."""
    with pytest.raises(ValueError, match="more than 0"):
        Index(bags_of([["a"], ["b"]]), OverlapMeasure.DICE).partners(0, 0, 1, 1)
