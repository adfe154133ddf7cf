"""Which items are asked about together: balanced n-tuples by repaired permutations, and how even
they are.

Kiritchenko and Mohammad (2017) ask for tuples with distinct items, no tuple twice, each item in
equally many tuples, and each pair of items together as seldom as possible. Permutations of all
items, one after the other, cut into tuples, balance the items exactly; swapping items between
tuples keeps that balance, and is done as long as it separates pairs that met too often.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.relatedness.bws.records import SMALLEST, Tuple, read_items, write_tuples
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.results import write_folder
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_PROPOSALS, _IN_VAIN = 150_000, 50
"""Swaps tried at most (seconds), and for each place of the design without any gain. Only small sets
of items, where pairs must meet again, need more than a few thousand."""
_TRIES = 50
_REPEAT = 1 << 30


def design_tuples(items: int, *, size: int = 4, factor: float = 2.0, seed: int = 13) -> Ints:
    """A balanced design.

    Args:
        items: Number of items N.
        size: Items of a tuple n, at least 3.
        factor: Tuples per item; there are `ceil(factor × N)` tuples, and each item is in about
            `factor × n` of them.
        seed: The same seed gives the same design.

    Returns:
        Shape (tuples, size), numbers of items in [0, N). Distinct in a row; no row holds the same
        items as another; the numbers of times that items occur differ by at most 1. With the
        default size and factor, no two of fifty items or more meet twice.

    Raises:
        InputError: A size below 3 or above N, a factor with which some item would not occur, or
            more tuples than there are different ones.
    """
    if problem := _impossible(items, size, factor):
        raise InputError(problem)
    count, different = count_tuples(items, factor), math.comb(items, size)
    rng = random.Random(derive_seed(seed, "bws", "tuples"))
    if count > different // 2:
        # Of the rows that are left out, too, each item has equally many.
        left_out = {tuple(sorted(row)) for row in _designed(items, size, different - count, rng)}
        rows = [list(row) for row in combinations(range(items), size) if row not in left_out]
        rng.shuffle(rows)
    else:
        rows = _designed(items, size, count, rng)
    for row in rows:
        rng.shuffle(row)  # so that an item's place tells nothing
    return np.array(rows, dtype=np.int64)


def count_tuples(items: int, factor: float) -> int:
    """Number of tuples: `factor × items` rounded up, but for what a binary fraction is off by."""
    return math.ceil(round(factor * items, 6))


def pair_codes(tuples: Ints, items: int) -> Ints:
    """Each pair of each tuple as `smaller × items + larger`, shape (tuples, n (n − 1) / 2)."""
    one, two = np.triu_indices(tuples.shape[1], 1)
    low = np.minimum(tuples[:, one], tuples[:, two])
    return np.asarray(low * items + np.maximum(tuples[:, one], tuples[:, two]))


def _impossible(items: int, size: int, factor: float) -> str:
    if size < SMALLEST:
        return f"tuples of {size} items; expected at least {SMALLEST}"
    if items < size:
        return f"{items} items are too few for tuples of {size}; add items or choose a smaller size"
    if not math.isfinite(factor) or count_tuples(items, factor) * size < items:
        return (
            f"a factor of {factor:g} gives too few tuples for {items:,} items; expected at least "
            f"{1 / size:g}, so that each item occurs"
        )
    if (count := count_tuples(items, factor)) > (different := math.comb(items, size)):
        return (
            f"a factor of {factor:g} asks for {count:,} tuples, but {items} "
            f"items have only {different:,} different tuples of {size}; expected a factor of at "
            f"most {different / items:g}"
        )
    return ""


def _designed(items: int, size: int, count: int, rng: random.Random) -> list[list[int]]:
    rows = _cut_permutations(items, size, count, rng)
    return _Repair(rows, items, rng).run() if count > 1 else rows


def _cut_permutations(items: int, size: int, count: int, rng: random.Random) -> list[list[int]]:
    """Rows of distinct items, each item equally often but for the last permutation."""
    # The generator of numpy shuffles 100,000 items at once.
    shuffle = np.random.default_rng(rng.getrandbits(63))
    rows: list[list[int]] = []
    head: list[int] = []
    while len(rows) < count:
        fresh = shuffle.permutation(items).tolist()
        if head:
            # A row that begins in one permutation ends in the next with other items.
            taken = set(head)
            rest = [item for item in fresh if item not in taken][: size - len(head)]
            rows.append(head + rest)
            gone = set(rest)
            fresh = [item for item in fresh if item not in gone]
        whole = len(fresh) // size * size
        rows += [fresh[start : start + size] for start in range(0, whole, size)]
        head = fresh[whole:]
    return rows[:count]


class _Repair:
    """Swaps items between rows while pairs that met often are separated by it.

    The cost is the sum of squares of how often each pair meets, least when all meet equally often,
    plus a large amount for each row that repeats another one.
    """

    def __init__(self, rows: list[list[int]], items: int, rng: random.Random) -> None:
        self.rows, self.items, self.rng = rows, items, rng
        self.size = len(rows[0])
        codes, counts = np.unique(pair_codes(np.array(rows), items), return_counts=True)
        self.met = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        self.keys = Counter(tuple(sorted(row)) for row in rows)
        meetings, pairs = int(counts.sum()), math.comb(items, 2)
        often, rest = divmod(meetings, pairs)
        self.cap = often + (rest > 0)
        self.excess = int((counts**2).sum()) - (rest * (often + 1) ** 2 + (pairs - rest) * often**2)
        self.tried = self.last_gain = 0

    def run(self) -> list[list[int]]:
        with bar("pairs that meet again") as shown:
            while (self.excess or self.repeats()) and not self.spent():
                before = self.excess
                suspects = self.suspects()
                for row in suspects or self.all_rows():
                    if not suspects or self.is_suspect(row):  # a swap mends two rows
                        self.separate(row)
                    if self.spent():
                        break
                shown.advance(status=f"{before - self.excess:,} separated")
        if self.repeats():
            raise InputError(
                f"found no {len(self.rows):,} different tuples of {self.items} items; add items or "
                "choose a smaller factor"
            )
        return self.rows

    def spent(self) -> bool:
        patience = 2_000 + _IN_VAIN * self.size * len(self.rows)
        return self.tried >= _PROPOSALS or self.tried - self.last_gain >= patience

    def repeats(self) -> int:
        return len(self.rows) - len(self.keys)

    def suspects(self) -> list[int]:
        """Rows that repeat another one, or hold a pair that meets too often."""
        codes = pair_codes(np.array(self.rows), self.items)
        _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
        worst = counts[places.reshape(codes.shape)].max(axis=1)
        found: list[int] = np.flatnonzero(worst > self.cap).tolist()
        if self.repeats():
            found += [n for n, row in enumerate(self.rows) if self.keys[tuple(sorted(row))] > 1]
        self.rng.shuffle(found)
        return found

    def all_rows(self) -> list[int]:
        rows = list(range(len(self.rows)))
        self.rng.shuffle(rows)
        return rows

    def is_suspect(self, row: int) -> bool:
        members = self.rows[row]
        pairs = (self.code(*pair) for pair in combinations(members, 2))
        return self.keys[tuple(sorted(members))] > 1 or any(self.met[p] > self.cap for p in pairs)

    def separate(self, row: int) -> None:
        """Swap one item of a row for that of another, the first of some tries that helps."""
        for _ in range(_TRIES):
            self.tried += 1
            place, other = self.rng.randrange(self.size), self.rng.randrange(len(self.rows))
            gain = self.swap(row, place, other, self.rng.randrange(self.size))
            if gain > 0:
                self.last_gain = self.tried
                return

    def swap(self, row: int, place: int, other: int, there: int) -> int:
        """Swap two items unless that makes things worse; how much the cost fell."""
        one, two = self.rows[row], self.rows[other]
        x, y = one[place], two[there]
        if row == other or y in one or x in two:
            return 0
        first = [item for item in one if item != x and item not in two]
        second = [item for item in two if item != y and item not in one]
        more = [self.code(y, item) for item in first] + [self.code(x, item) for item in second]
        less = [self.code(x, item) for item in first] + [self.code(y, item) for item in second]
        met = self.met
        rise = sum(2 * met.get(code, 0) + 1 for code in more)
        rise -= sum(2 * met[code] - 1 for code in less)
        old = (tuple(sorted(one)), tuple(sorted(two)))
        new = (
            tuple(sorted(y if item == x else item for item in one)),
            tuple(sorted(x if item == y else item for item in two)),
        )
        fewer = sum(self.keys[key] > 1 for key in old) - sum(key in self.keys for key in new)
        if rise - _REPEAT * fewer > 0 or new[0] == new[1]:
            return 0
        for code in less:
            met[code] -= 1
        for code in more:
            met[code] = met.get(code, 0) + 1
        one[place], two[there] = y, x
        self.keys.subtract(old)
        self.keys.update(new)
        for key in old:
            if not self.keys[key]:
                del self.keys[key]
        self.excess += rise
        return int(_REPEAT * fewer - rise)

    def code(self, one: int, two: int) -> int:
        return one * self.items + two if one < two else two * self.items + one


def write_design(
    items: Path,
    out: Path,
    *,
    size: int = 4,
    factor: float = 2.0,
    seed: int = 13,
    force: bool = False,
) -> Outcome:
    """Write `tuples.csv` and `balance.json` for a file of items; see `design_tuples`.

    `force` replaces other tuples that stand in `out`, to which there may be answers.

    Raises:
        InputError: As `read_items`, `design_tuples` and `write_folder`.
    """
    names = [item.id for item in read_items(items)]

    def build(folder: Path) -> str:
        rows = design_tuples(len(names), size=size, factor=factor, seed=seed)
        width = len(str(len(rows)))
        write_tuples(
            folder / "tuples.csv",
            [
                Tuple(f"{number:0{width}}", tuple(names[item] for item in row))
                for number, row in enumerate(rows.tolist(), start=1)
            ],
        )
        balance = measure_balance(rows, len(names))
        write_json(folder / "balance.json", balance.to_dict())
        return balance.text()

    config = {"size": size, "factor": factor, "seed": seed}
    return write_folder(
        out,
        command="firth bws tuples",
        inputs={"items": items},
        config=config,
        build=build,
        replace=force,
    )


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
