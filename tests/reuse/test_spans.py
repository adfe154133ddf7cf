"""Re-used spans: what is planted is found, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from firth.reuse.spans import reused, runs, spans

WORDS = st.lists(st.sampled_from("abcd"), max_size=40)


def test_a_planted_span_is_found() -> None:
    """Seven words of one text stand in another, elsewhere and nowhere else."""
    planted = ["the", "old", "ship", "left", "the", "harbour", "slowly"]
    a = ["one", "two", *planted, "three"]
    b = ["four", *planted, "five", "six"]
    (found,) = spans(a, b)
    assert (found.a, found.b, found.words) == (2, 1, 7)
    assert reused(a, {*runs(b)}).tolist() == [False] * 2 + [True] * 7 + [False]


def test_shorter_runs_are_no_reuse() -> None:
    """Five equal words are too few."""
    words = ["a", "b", "c", "d", "e"]
    assert spans([*words, "x"], [*words, "y"]) == []
    assert not reused(words, {*runs(words)}).any()


@given(WORDS, WORDS)
def test_spans_are_equal_words_and_disjoint(a: list[str], b: list[str]) -> None:
    """Each span has equal words on both sides; all of its words are reused ones."""
    marked = reused(a, {*runs(b, 3)}, 3)
    last = 0
    for span in spans(a, b, 3):
        assert a[span.a : span.a + span.words] == b[span.b : span.b + span.words]
        assert span.a >= last
        assert span.words >= 3
        assert marked[span.a : span.a + span.words].all()
        last = span.a + span.words


@given(WORDS)
def test_all_of_a_text_is_in_itself(a: list[str]) -> None:
    """If it is long enough to have a run."""
    assert reused(a, {*runs(a, 3)}, 3).all() == (len(a) >= 3 or not a)
