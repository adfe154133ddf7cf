"""Tuples for best-worst scaling: which items are judged together, and how balanced that is.

Kiritchenko and Mohammad (2017) ask for tuples of distinct items, no tuple twice, each item in
equally many tuples, and each pair of items together as rarely as possible. Permutations of all
items, cut into tuples, balance the items exactly. Of many permutations the one is taken whose
tuples repeat the fewest pairs.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from firth.ratings.records import SMALLEST, Tuple, write_table
from firth.run.errors import InputError
from firth.run.settings import derive_seed
from firth.text.types import Ints

_TRIES = 100
"""Permutations of which the best is taken."""


def design_tuples(items: int, *, size: int = 4, factor: float = 2.0, seed: int = 13) -> Ints:
    """Return a balanced design: `factor` times `items` tuples, rounded up, (tuples, size).

    Items are distinct in a tuple. No two tuples hold the same items. The numbers of tuples of two
    items differ by 1 at most. Few pairs of items meet twice. Where the design is impossible, an
    `InputError` says which values are possible.
    """
    if problem := _impossible(items, size, factor):
        raise InputError(problem)
    rng = random.Random(derive_seed(seed, "bws", "tuples"))
    rows = _balanced(items, size, count_tuples(items, factor), rng)
    for row in rows:
        rng.shuffle(row)  # The place of an item must say nothing about it.
    return np.array(rows, dtype=np.int64)


def count_tuples(items: int, factor: float) -> int:
    """Return `factor` times `items`, rounded up except for the error of a binary fraction."""
    return math.ceil(round(factor * items, 6))


def pair_codes(tuples: Ints, items: int) -> Ints:
    """Return each pair of each tuple as smaller × items + larger, (tuples, size (size - 1) / 2)."""
    first, second = np.triu_indices(tuples.shape[1], 1)
    low = np.minimum(tuples[:, first], tuples[:, second])
    codes: Ints = low * items + np.maximum(tuples[:, first], tuples[:, second])
    return codes


@dataclass(frozen=True)
class Design:
    """The tuples of a questionnaire, and how balanced they are, as `measure_balance` returns it."""

    tuples: tuple[Tuple, ...]
    balance: Mapping[str, Any]

    @classmethod
    def of(cls, items: Sequence[str], *, size: int, factor: float, seed: int) -> "Design":
        """Return tuples of named items; arguments and errors are those of `design_tuples`."""
        rows = design_tuples(len(items), size=size, factor=factor, seed=seed)
        width = len(str(len(rows)))
        tuples = (
            Tuple(f"{number:0{width}}", tuple(items[item] for item in row))
            for number, row in enumerate(rows.tolist(), start=1)
        )
        return cls(tuple(tuples), measure_balance(rows, len(items)))

    def as_dict(self) -> dict[str, Any]:
        """Return the balance as plain values."""
        return dict(self.balance)

    def text(self) -> str:
        """Return lines for a screen."""
        least, most = self.balance["occurrences"]
        times = f"{most} tuples" if least == most else f"{least} to {most} tuples"
        return (
            "{tuples:,} tuples of {size}, of {items:,} items\n"
            "each item is in {times}\n"
            "two items meet at most {meetings} times (the least possible: {least_meetings}); "
            "{repeated_pairs:,} pairs meet more than once"
        ).format(**self.balance, times=times)

    def write(self, folder: Path) -> None:
        """Write `tuples.csv`: `tuple`, `item1`, ..., `itemN`."""
        header = ("tuple", *(f"item{n + 1}" for n in range(self.balance["size"])))
        write_table(
            folder / "tuples.csv",
            header,
            ((question.id, *question.items) for question in self.tuples),
        )


# --- Making a design -----------------------------------------------------------------------------


def _impossible(items: int, size: int, factor: float) -> str:
    if size < SMALLEST:
        return f"tuples of {size} items; expected at least {SMALLEST}"
    if items < size:
        return f"{items} items are too few for tuples of {size}. Add items, or lower --size"
    if not math.isfinite(factor) or count_tuples(items, factor) * size < items:
        return (
            f"a factor of {factor:g} gives too few tuples for {items:,} items; expected at least "
            f"{1 / size:g}, so that each item occurs"
        )
    if (count := count_tuples(items, factor)) > (most := math.comb(items, size) // 2):
        return (
            f"a factor of {factor:g} asks for {count:,} tuples, half of all different ones of "
            f"{items} items are {most:,}; expected a factor of at most {most / items:g}"
        )
    return ""


def _balanced(items: int, size: int, count: int, rng: random.Random) -> list[list[int]]:
    """Return rows of distinct items, each item equally often except for the last permutation."""
    shuffle = np.random.default_rng(rng.getrandbits(63))  # many times as fast as `random`
    rows: list[list[int]] = []
    head: list[int] = []
    met, taken = set[tuple[int, int]](), set[tuple[int, ...]]()

    def cost(cut: tuple[list[list[int]], list[int]]) -> tuple[int, int]:
        """Return how many rows repeat another one, and how many pairs met before."""
        keys = [tuple(sorted(row)) for row in cut[0]]
        repeats = len(keys) - len({*keys} - taken)
        return repeats, sum(pair in met for key in keys for pair in combinations(key, 2))

    while len(rows) < count:
        cuts = (_cut(shuffle.permutation(items).tolist(), head, size) for _ in range(_TRIES))
        new, head = min(cuts, key=cost)
        if cost((new, head))[0]:
            raise InputError(
                f"{count:,} different tuples of {items} items could not be made. Add items, or "
                "lower --factor"
            )
        rows += new
        taken.update(tuple(sorted(row)) for row in new)
        met.update(pair for row in new for pair in combinations(sorted(row), 2))
    return rows[:count]


def _cut(permutation: list[int], head: list[int], size: int) -> tuple[list[list[int]], list[int]]:
    """Return the rows of a permutation, and the beginning of one that the next one ends.

    The row that begins with `head` takes other items.
    """
    rows: list[list[int]] = []
    if head:
        row = [*head, *[item for item in permutation if item not in head][: size - len(head)]]
        rows.append(row)
        permutation = [item for item in permutation if item not in row[len(head) :]]
    end = len(permutation) // size * size
    rows += [permutation[start : start + size] for start in range(0, end, size)]
    return rows, permutation[end:]


# --- Measuring a design --------------------------------------------------------------------------


def measure_balance(tuples: Ints, items: int) -> dict[str, Any]:
    """Measure a design: numbers of items, (tuples, size), distinct in each row.

    Returns:
        `items`, `tuples` and `size`; `occurrences`, the least and largest number of tuples of an
        item; `meetings`, the largest number of tuples of a pair; `least_meetings`, the smallest
        possible one; `repeated_pairs`, pairs that meet more than once; `components`, groups of
        items that no tuple connects, whose scores cannot be compared.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    codes, counts = np.unique(pair_codes(tuples, items), return_counts=True)
    ones = np.ones(len(codes), dtype=np.int8)
    graph = coo_array((ones, (codes // items, codes % items)), shape=(items, items))
    occurrences = np.bincount(tuples.ravel(), minlength=items)
    return {
        "items": items,
        "tuples": len(tuples),
        "size": tuples.shape[1],
        "occurrences": (int(occurrences.min()), int(occurrences.max())),
        "meetings": int(counts.max(initial=0)),
        "least_meetings": math.ceil(int(counts.sum()) / math.comb(items, 2)),
        "repeated_pairs": int((counts > 1).sum()),
        "components": int(connected_components(graph, directed=False)[0]),
    }
