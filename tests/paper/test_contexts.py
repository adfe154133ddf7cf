"""Greedy selection (§3.3): the rules hold, and nothing better was left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.paper.contexts import choose_diverse, jaccard

CANDIDATE = st.tuples(
    st.floats(-10, 0, allow_nan=False),
    st.integers(0, 6),
    st.frozensets(st.sampled_from("abcdef"), max_size=4),
)


@given(st.lists(CANDIDATE, max_size=30), st.integers(1, 10), st.floats(0, 1))
def test_selection_is_diverse_greedy_and_maximal(
    candidates: list[tuple[float, int, frozenset[str]]], size: int, limit: float
) -> None:
    """One context a chunk, Jaccard below the limit, best first; what is left out breaks a rule."""
    fits = np.array([fit for fit, _, _ in candidates])
    chunks = np.array([chunk for _, chunk, _ in candidates], dtype=np.int64)
    preceding = [words for _, _, words in candidates]
    chosen = choose_diverse(fits, chunks, preceding, size, limit).tolist()

    assert len(chosen) <= size
    assert len({int(chunks[i]) for i in chosen}) == len(chosen)
    assert [fits[i] for i in chosen] == sorted((fits[i] for i in chosen), reverse=True)
    for place, i in enumerate(chosen):
        assert all(jaccard(preceding[i], preceding[j]) < limit for j in chosen[:place])
    if len(chosen) < size:
        for i in set(range(len(candidates))) - set(chosen):
            better = [j for j in chosen if fits[j] >= fits[i]]
            assert any(
                chunks[j] == chunks[i] or jaccard(preceding[i], preceding[j]) >= limit
                for j in better
            )
