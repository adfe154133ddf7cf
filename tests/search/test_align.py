"""`firth.search.align`: alignments are optimal or greedy, symmetric, and exact for equal words."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.search.align import LONGEST, RUN, SHAPES, Side, Windows, align, copied_runs, cosines
from firth.search.align import _align as align_windows

SENTENCES = st.lists(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join),
    min_size=1, max_size=5,
)  # fmt: skip


def side(sentences: list[str], seed: int = 0) -> Side:
    """A document with vectors at random."""
    rows = np.random.default_rng(seed).standard_normal((len(sentences), 6))
    return Side(sentences, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


@given(SENTENCES, SENTENCES, st.booleans())
def test_an_alignment_is_symmetric_and_in_range(a: list[str], b: list[str], monotone: bool) -> None:
    """Swapping the documents swaps the shares; no two matches share a sentence."""
    one, two = side(a, 1), side(b, 2)
    there = align(one, two, cosines(one, two), 0.4, monotone)
    back = align(two, one, cosines(two, one), 0.4, monotone)
    if not monotone:  # Of equally good monotone alignments either may be taken.
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
    if monotone:
        assert sorted(m.b for m in there.matches) == [m.b for m in there.matches]


@given(SENTENCES, st.booleans())
def test_a_document_covers_itself(sentences: list[str], monotone: bool) -> None:
    """Equal words are similar, even if the model knows none of them."""
    unknown = Side(sentences, np.zeros((len(sentences), 4), np.float32))
    whole = align(unknown, unknown, cosines(unknown, unknown), 0.5, monotone)
    assert whole.score == pytest.approx(1)
    assert whole.coverage == (1, 1)


def test_a_sentence_matches_the_two_it_was_split_into() -> None:
    """The sum of two vectors is nearer to the whole than either."""
    e = np.eye(3, dtype=np.float32)
    whole = Side(["x y z w"], ((e[:1] + e[1:2]) / np.sqrt(2)).astype(np.float32))
    parts = Side(["p q", "r s", "t u"], e)
    aligned = align(whole, parts, cosines(whole, parts), 0.8)
    assert [(m.a, m.b) for m in aligned.matches] == [((0, 1), (0, 2))]
    assert aligned.coverage == (1, pytest.approx(2 / 3))


def random_windows(rows: int, columns: int, seed: int) -> Windows:
    """Similarities at random."""
    rng = np.random.default_rng(seed)
    return {(m, n): rng.random((max(rows - m + 1, 0), max(columns - n + 1, 0))) for m, n in SHAPES}


def best_gain(windows: Windows, a: np.ndarray, b: np.ndarray, threshold: float) -> float:
    """The largest gain of a monotone alignment, by trying all."""

    def gain(i: int, j: int, m: int, n: int) -> float:
        score = windows[m, n][i, j]
        fewer = []
        if n > 1:
            fewer = [windows[m, n - 1][i, j], windows[m, n - 1][i, j + 1]]
        elif m > 1:
            fewer = [windows[m - 1, n][i, j], windows[m - 1, n][i + 1, j]]
        if score < threshold or any(score <= f for f in fewer):
            return -np.inf
        return float((score - threshold) * (a[i : i + m].sum() + b[j : j + n].sum()))

    best = np.zeros((len(a) + 1, len(b) + 1))
    for i, j in product(range(len(a) + 1), range(len(b) + 1)):
        options = [best[i - 1, j]] if i else []
        options += [best[i, j - 1]] if j else []
        options += [
            best[i - m, j - n] + gain(i - m, j - n, m, n) for m, n in SHAPES if i >= m and j >= n
        ]
        best[i, j] = max(options, default=0.0)
    return float(best[-1, -1])


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 50))
def test_a_monotone_alignment_is_the_best(rows: int, columns: int, seed: int) -> None:
    """No other alignment in order gains more."""
    windows = random_windows(rows, columns, seed)
    rng = np.random.default_rng(seed + 1)
    a, b = (rng.integers(1, 9, size).astype(float) for size in (rows, columns))
    matches = align_windows(windows, a, b, 0.5, monotone=True)
    total = sum((m.score - 0.5) * (a[slice(*m.a)].sum() + b[slice(*m.b)].sum()) for m in matches)
    assert total == pytest.approx(best_gain(windows, a, b, 0.5))


def test_sentences_may_move_unless_order_is_kept() -> None:
    """Of two crossed pairs, order keeps one."""
    a, b = side(["a b c", "d e f g"]), side(["d e f g", "a b c"])
    a_vectors = Side(a.sentences, np.eye(2, dtype=np.float32))
    b_vectors = Side(b.sentences, np.eye(2, dtype=np.float32)[::-1].copy())
    windows = cosines(a_vectors, b_vectors)
    assert len(align(a_vectors, b_vectors, windows, 0.9).matches) == 2
    kept = align(a_vectors, b_vectors, windows, 0.9, monotone=True).matches
    assert [(m.a, m.b) for m in kept] == [((1, 2), (0, 1))]


@given(SENTENCES, SENTENCES)
def test_hashes_are_equal_where_words_are(a: list[str], b: list[str]) -> None:
    """Runs of words of two documents have equal hashes exactly where their words are equal."""
    one, two = side(a), side(b)
    for length in (1, 2, RUN):
        firsts = [np.arange(max(len(s.words) - length + 1, 0)) for s in (one, two)]
        keys = [s.hashes(f, f + length) for s, f in zip((one, two), firsts, strict=True)]
        for i, j in product(firsts[0].tolist(), firsts[1].tolist()):
            same = one.words[i : i + length] == two.words[j : j + length]
            assert bool(keys[0][i] == keys[1][j]) == same


@given(SENTENCES, SENTENCES)
def test_copied_runs_are_common_and_cover_what_is_copied(a: list[str], b: list[str]) -> None:
    """Runs do not overlap, and together have nearly all copied words of the first document."""
    one, two = side(a), side(b)
    runs = copied_runs(one, two)
    end = 0
    for i, j, n in runs:
        assert i >= end
        assert n >= RUN
        assert one.words[i : i + n] == two.words[j : j + n]
        end = i + n
    copied = align(one, two, cosines(one, two), 0.99).copied[0]
    words = sum(n for _, _, n in runs)
    assert (words > 0) == (copied > 0)
    assert words <= round(copied * len(one.words))


def test_copied_words_are_found_across_sentences() -> None:
    """A copied passage need not be a sentence."""
    words = [f"w{n}" for n in range(20)]
    one = side([" ".join(words[:10]), " ".join(words[10:])])
    two = side(["x y", "z " + " ".join(words[6:14])])
    assert copied_runs(one, two) == [(6, 3, 8)]
    assert align(one, two, cosines(one, two), 0.99).copied == (8 / 20, 8 / 11)
