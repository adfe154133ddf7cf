"""`firth.search.align`: alignments are greedy, symmetric, and exact for equal words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.search.align import LONGEST, RUN, Side, align

SENTENCES = st.lists(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join),
    min_size=1, max_size=5,
)  # fmt: skip


def side(sentences: list[str], seed: int = 0) -> Side:
    """A document with vectors at random."""
    rows = np.random.default_rng(seed).standard_normal((len(sentences), 6))
    return Side(sentences, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


@given(SENTENCES, SENTENCES)
def test_an_alignment_is_symmetric_and_in_range(a: list[str], b: list[str]) -> None:
    """Swapping the documents swaps the shares; no two matches share a sentence."""
    one, two = side(a, 1), side(b, 2)
    there, back = align(one, two, 0.4), align(two, one, 0.4)
    assert there.score == pytest.approx(back.score)
    assert there.coverage == pytest.approx(back.coverage[::-1])
    assert there.copied == pytest.approx(back.copied[::-1])
    shares = (there.score, *there.coverage, *there.copied)
    assert all(0 <= share <= 1 for share in shares)
    assert all(c >= r for c, r in zip(there.coverage, there.copied, strict=True))
    for spans in ([m.a for m in there.matches], [m.b for m in there.matches]):
        taken = [place for start, end in spans for place in range(start, end)]
        assert len(taken) == len(set(taken))
    for match in there.matches:
        sizes = match.a[1] - match.a[0], match.b[1] - match.b[0]
        assert min(sizes) == 1
        assert max(sizes) <= LONGEST
        assert 0.4 <= match.score <= 1


@given(SENTENCES)
def test_a_document_covers_itself(sentences: list[str]) -> None:
    """Equal words are similar, even if the model knows none of them."""
    unknown = Side(sentences, np.zeros((len(sentences), 4), np.float32))
    whole = align(unknown, unknown, 0.5)
    assert whole.score == pytest.approx(1)
    assert whole.coverage == (1, 1)


def test_a_sentence_matches_the_two_it_was_split_into() -> None:
    """The sum of two vectors is nearer to the whole than either."""
    e = np.eye(3, dtype=np.float32)
    whole = Side(["x y z w"], ((e[:1] + e[1:2]) / np.sqrt(2)).astype(np.float32))
    parts = Side(["p q", "r s", "t u"], e)
    aligned = align(whole, parts, 0.8)
    assert [(m.a, m.b) for m in aligned.matches] == [((0, 1), (0, 2))]
    assert aligned.coverage == pytest.approx((1, 2 / 3))


def test_sentences_may_have_moved() -> None:
    """Matches may cross."""
    a = Side(["a b c", "d e f g"], np.eye(2, dtype=np.float32))
    b = Side(["q r s t", "u v w"], np.eye(2, dtype=np.float32)[::-1].copy())
    assert [(m.a, m.b) for m in align(a, b, 0.9).matches] == [((0, 1), (1, 2)), ((1, 2), (0, 1))]


@given(SENTENCES, SENTENCES)
def test_what_gains_most_is_taken_first(a: list[str], b: list[str]) -> None:
    """The best single pair of sentences is matched, alone or in a longer match that gains more."""
    one, two = side(a, 3), side(b, 4)
    scores = np.clip(one.vectors[0] @ two.vectors[0].T, 0, 1)
    equal = np.array([[x == y for y in b] for x in a])
    gains = (np.where(equal, 1, scores) - 0.5) * (one.masses[:, None] + two.masses)
    matches = align(one, two, 0.5).matches
    if gains.max() < -1e-6 or any(
        match.score == 1.0 for match in matches
    ):  # Equal runs come first.
        return
    most = max(
        (m.score - 0.5) * (one.masses[slice(*m.a)].sum() + two.masses[slice(*m.b)].sum())
        for m in matches
    )
    assert most >= gains.max() - 1e-5


@given(SENTENCES, SENTENCES)
def test_copied_words_are_those_of_common_runs(a: list[str], b: list[str]) -> None:
    """A word is copied exactly if a run of `RUN` words around it is in the other document."""
    one, two = side(a), side(b)
    runs = {tuple(two.words[j : j + RUN]) for j in range(len(two.words) - RUN + 1)}
    copied = {
        place
        for i in range(len(one.words) - RUN + 1)
        if tuple(one.words[i : i + RUN]) in runs
        for place in range(i, i + RUN)
    }
    assert align(one, two, 0.99).copied[0] == pytest.approx(len(copied) / len(one.words))


def test_copied_words_are_found_across_sentences() -> None:
    """A copied passage need not be a sentence."""
    words = [f"w{n}" for n in range(20)]
    one = side([" ".join(words[:10]), " ".join(words[10:])])
    two = side(["x y", "z " + " ".join(words[6:14])])
    assert align(one, two, 0.99).copied == (8 / 20, 8 / 11)
