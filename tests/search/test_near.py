"""`firth.search.near`: near copies are all found, and similar vectors nearly all."""

from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.search.near import NEAR, Pairs, WordTable, similar_pairs
from firth.text.words import normal_form

TEXT = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)


def bigrams(text: str) -> set[tuple[str, str]]:
    """Pairs of consecutive words."""
    return set(pairwise(normal_form(text).split()))


@given(st.lists(TEXT, max_size=12), st.sampled_from((0.3, NEAR, 1.0)))
def test_all_near_copies_are_found(texts: list[str], threshold: float) -> None:
    """The pairs are those of comparing every text with every other."""
    table = WordTable([texts[:3], texts[3:]], min_words=2)
    forms = [normal_form(text) for text in texts]
    distinct = [
        i for i, form in enumerate(forms) if len(form.split()) > 1 and form not in forms[:i]
    ]
    assert table.distinct().tolist() == distinct
    expected = {}
    for i, j in combinations(distinct, 2):
        one, two = bigrams(texts[i]), bigrams(texts[j])
        if (score := len(one & two) / len(one | two)) >= threshold:
            expected[i, j] = score
    with patch("firth.search.near.NEAR", threshold):
        pairs = table.near()
    hits = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    assert dict(zip(hits, pairs.scores.tolist(), strict=True)) == pytest.approx(expected)
    assert sorted(expected) == [*expected]


def test_repeats_have_the_same_words() -> None:
    """Case and punctuation do not count, and short texts repeat nothing."""
    table = WordTable([["The ship sailed.", "Yes.", "the SHIP sailed", "yes", "a the ship"]], 2)
    assert table.repeats() == {0: [2]}
    assert table.distinct().tolist() == [0, 4]
    assert table.long.tolist() == [True, False, True, False, True]


def unit_rows(n: int, d: int, seed: int) -> np.ndarray:
    """Draw unit vectors, a third of which are near an earlier one."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    copies = rng.choice(np.arange(1, n), n // 3, replace=False)
    rows[copies] = rows[copies - 1] + 0.3 * rng.standard_normal((len(copies), d))
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float16).astype(np.float32)


def expected_pairs(rows: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    """Compare all vectors with each other."""
    i, j = np.nonzero(np.triu(rows @ rows.T >= threshold, 1))
    return set(zip(i.tolist(), j.tolist(), strict=True))


def found_pairs(pairs: Pairs) -> set[tuple[int, int]]:
    """The pairs by number."""
    return set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def test_similar_pairs_are_exact_where_vectors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles change nothing, and a zero vector is similar to none."""
    monkeypatch.setattr("firth.search.near._TILE", 64)
    rows = unit_rows(300, 32, 1)
    rows[7] = 0
    pairs = similar_pairs(rows.__getitem__, len(rows), 0.7, seed=13)
    assert found_pairs(pairs) == expected_pairs(rows, 0.7)
    assert len(pairs) > 50
    assert (pairs.scores >= 0.7).all()
    assert (pairs.left < pairs.right).all()
    assert (np.lexsort((pairs.right, pairs.left)) == np.arange(len(pairs))).all()


def test_lists_find_nearly_all_similar_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the exact size few pairs are missed, and none is invented."""
    monkeypatch.setattr("firth.search.near.EXACT", 500)
    rows = unit_rows(2_000, 64, 2)
    expected = expected_pairs(rows, 0.8)
    hits = found_pairs(similar_pairs(rows.__getitem__, len(rows), 0.8, seed=13))
    assert hits <= expected
    assert len(hits) > 0.97 * len(expected) > 300


def test_of_too_many_pairs_the_most_similar_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold rises above what is left out."""
    rows = unit_rows(300, 8, 3)
    everything = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    monkeypatch.setattr("firth.search.near.LIMIT", 100)
    some = similar_pairs(rows.__getitem__, len(rows), 0.2, seed=13)
    assert len(everything) > 200
    assert 50 < len(some) <= 100
    assert some.threshold > 0.2
    assert found_pairs(some) == found_pairs(
        everything.where(everything.scores >= np.float32(some.threshold))
    )


def test_renumbered_pairs_stay_ordered() -> None:
    """Left is below right under any numbers."""
    pairs = Pairs(np.array([0, 1]), np.array([2, 2]), np.array([0.5, 0.6], np.float32), 0.5)
    again = pairs.renumbered(np.array([9, 4, 6]))
    assert [*zip(again.left.tolist(), again.right.tolist(), strict=True)] == [(4, 6), (6, 9)]
    assert again.scores.tolist() == pytest.approx([0.6, 0.5])
