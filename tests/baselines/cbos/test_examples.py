"""Which sentences meet: neighbours, order, negatives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines.cbos.examples import Order, neighbours

documents = st.lists(st.integers(1, 5), min_size=1, max_size=6).map(
    lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
)


@given(documents, st.integers(1, 3))
def test_neighbours_are_those_of_the_document(found: np.ndarray, k: int) -> None:
    """Up to k on each side, never another document's, never the sentence itself."""
    around, there = neighbours(found, np.arange(len(found)), k)
    for i, (row, exists) in enumerate(zip(around, there, strict=True)):
        expected = [
            j
            for j in range(i - k, i + k + 1)
            if j != i and 0 <= j < len(found) and found[j] == found[i]
        ]
        assert row[exists].tolist() == expected


@given(documents, st.integers(1, 7))
def test_an_epoch_meets_every_centre_once(found: np.ndarray, size: int) -> None:
    """Each sentence with a neighbour, once, in batches of at most `size`; epochs differ."""
    order = Order(found, 1, 2, seed=3)
    batches = order.batches(0, size)
    met = [int(i) for centres, _ in batches for i in centres]
    sizes = np.bincount(found)
    assert sorted(met) == [i for i in range(len(found)) if sizes[found[i]] > 1]
    for centres, negatives in batches:
        assert len(centres) <= size
        assert negatives.shape == (len(centres), 2)
        assert ((negatives >= 0) & (negatives < len(found))).all()


def test_order_is_a_function_of_seed_and_epoch() -> None:
    """The same again after other epochs were asked for; another seed, another order."""
    documents = np.zeros(50, int)
    order = Order(documents, 1, 2, seed=3)
    first = order.batches(0, 50)
    other = order.batches(1, 50)
    again = order.batches(0, 50)
    np.testing.assert_array_equal(first[0][0], again[0][0])
    np.testing.assert_array_equal(first[0][1], again[0][1])
    assert (first[0][0] != other[0][0]).any()
    assert (first[0][0] != Order(documents, 1, 2, seed=4).batches(0, 50)[0][0]).any()
