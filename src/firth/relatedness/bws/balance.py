"""How even a design is: how often items occur, and how often they meet."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.relatedness.bws.design import Ints, pair_codes
from firth.relatedness.bws.records import Tuple


@dataclass(frozen=True)
class Spread:
    """How often things happen: least, mean and most, and number of times → number of things."""

    least: int
    mean: float
    most: int
    histogram: Mapping[int, int]

    def __str__(self) -> str:
        """`7 to 8 times, 7.9 on average`."""
        if self.least == self.most:
            return f"exactly {self.most} times"
        return f"{self.least} to {self.most} times, {self.mean:.4g} on average"


@dataclass(frozen=True)
class Balance:
    """What is even about a set of tuples.

    Attributes:
        items: Number of items.
        tuples: Number of tuples.
        size: Items of a tuple.
        occurrences: In how many tuples each item is.
        meetings: In how many tuples each pair of items is; pairs that never meet count too.
        best_most: The smallest `meetings.most` that so many tuples of so many items allow.
        repeated: Tuples that hold the same items as an earlier one.
        components: Groups of items that no tuple connects. More than one means that scores of
            different groups cannot be compared.
    """

    items: int
    tuples: int
    size: int
    occurrences: Spread
    meetings: Spread
    best_most: int
    repeated: int
    components: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def text(self) -> str:
        """Lines for a screen."""
        again = sum(count for times, count in self.meetings.histogram.items() if times > 1)
        return "\n".join(
            [
                f"{self.tuples:,} tuples of {self.size}, of {self.items:,} items",
                f"each item occurs {self.occurrences}",
                f"most meetings of two items: {self.meetings.most} (no design has less than "
                f"{self.best_most}); {again:,} pairs meet more than once",
                f"{self.repeated:,} tuples repeated; {self.components:,} connected part"
                + ("" if self.components == 1 else "s"),
            ]
        )


def measure_balance(tuples: Ints, items: int) -> Balance:
    """Measure a design.

    Args:
        tuples: Shape (tuples, size), numbers of items in [0, items), distinct in each row.
        items: Number of items.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    occurrences = np.bincount(tuples.ravel(), minlength=items)
    codes, counts = np.unique(pair_codes(tuples, items), return_counts=True)
    pairs = math.comb(items, 2)
    graph = coo_array(
        (np.ones(len(codes), dtype=np.int8), (codes // items, codes % items)), shape=(items, items)
    )
    return Balance(
        items=items,
        tuples=len(tuples),
        size=tuples.shape[1],
        occurrences=_spread(occurrences),
        meetings=_spread(counts, others=pairs - len(codes)),
        best_most=math.ceil(int(counts.sum()) / pairs),
        repeated=len(tuples) - len(np.unique(np.sort(tuples, axis=1), axis=0)),
        components=int(connected_components(graph, directed=False)[0]),
    )


def number_items(tuples: Sequence[Tuple], items: Sequence[str] = ()) -> tuple[list[str], Ints]:
    """Ids of items, and the tuples as numbers of items, shape (tuples, size).

    Args:
        tuples: All of one size.
        items: Ids in the wanted order, all that occur in tuples among them; without, the ids that
            occur, sorted.
    """
    names = list(items) or sorted({name for one in tuples for name in one.items})
    numbers = {name: number for number, name in enumerate(names)}
    rows = [[numbers[name] for name in one.items] for one in tuples]
    return names, np.array(rows, dtype=np.int64)


def _spread(counts: npt.NDArray[Any], others: int = 0) -> Spread:
    times, numbers = np.unique(counts, return_counts=True)
    histogram = dict(zip(times.tolist(), numbers.tolist(), strict=True))
    if others:
        histogram = {0: others} | histogram
    total = len(counts) + others
    return Spread(
        min(histogram), float(counts.sum()) / total, max(histogram), dict(sorted(histogram.items()))
    )
