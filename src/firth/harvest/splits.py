"""From shards to three tables, without pairs that were drawn twice, in memory that hardly grows.

A sentence is known by 64 bits of its normal form, a pair by both, the smaller first. They are put
into files by their last bits, so that equal pairs are in one file, and each file fits into memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from firth.harvest.blocklist import Blocklist, Hashes, sentence_hashes
from firth.harvest.labels import LABELS, SAMPLE, label_report, told
from firth.harvest.plan import Kind
from firth.harvest.settings import HarvestConfig
from firth.harvest.shards import PART, SCHEMA, read_shard
from firth.lexical.arrays import Floats
from firth.run.errors import InputError
from firth.run.files import write_atomically, write_json
from firth.run.stage import SCRATCH

SPLITS = ("train", "dev", "test")
ROW_GROUP_BYTES = 16 << 20
"""Of a table, held in memory while it is written."""
HELD_PAIRS = 1 << 18
"""Pairs whose hashes are held in memory at once."""
_MOST_FILES = 256
_DECIMALS = 12
"""Of a distribution's figures: those of raw cosines differ in the last ones."""
_BLOCK = 1 << 20
Fresh = npt.NDArray[np.bool_]


def write_splits(
    folder: Path, shards: Sequence[Path], config: HarvestConfig, blocklist: Blocklist
) -> Mapping[str, Any]:
    """Write train, dev and test from the shards, and the report of their labels.

    Memory holds about thirteen bytes a pair, sixteen more of each that is held out, and the keys of
    `HELD_PAIRS` pairs.

    Args:
        folder: Where the three tables and `labels.json` are written; `SCRATCH` in it is used.
        shards: Parquet files of `SCHEMA`, in order.
        config: Which of them are held out.
        blocklist: Whose sentences are looked for.

    Returns:
        Numbers of pairs, kept and dropped, the scores' distribution by kind, and what the report of
        the labels comes to (`firth.harvest.labels.told`).

    Raises:
        InputError: A split has no pair.
    """
    dev, test = config.held_out
    train = len(shards) - dev - test
    # Test first: a pair drawn twice is kept where it is held out.
    parts = {"test": shards[train + dev :], "dev": shards[train : train + dev],
             "train": shards[:train]}  # fmt: skip
    leaks = Leaks(blocklist)
    keys = (leaks.seen(split, pair_keys(read_shard(s))) for split in parts for s in parts[split])
    fresh = first_of_each(keys, config.pairs, folder / SCRATCH / "seen")
    kept = int(np.count_nonzero(fresh))
    scores, kinds = np.empty(kept), np.empty(kept, np.int8)
    names = pa.array([kind.value for kind in Kind])
    sizes, sampled, start, end = {}, [], 0, 0
    for split, part in parts.items():
        size = 0
        apart = max(1, -(-(kept - end) // SAMPLE))  # what is left belongs to train, when it comes
        with (
            write_atomically(folder / f"{split}.parquet") as partial,
            pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer,
        ):
            for table in _joined(map(read_shard, part)):
                found = table.filter(pa.array(fresh[start : start + len(table)]))
                start += len(table)
                if split == "train":
                    sampled.append(found.take(np.arange(-size % apart, len(found), apart)))
                size += len(found)
                place, end = end, end + len(found)
                scores[place:end] = found["score"].to_numpy()
                kinds[place:end] = pc.index_in(found["kind"], names).to_numpy()
                writer.write_table(found.select(SCHEMA.names))
        sizes[split] = size
    sizes = {split: sizes[split] for split in SPLITS}
    if not all(sizes.values()):
        counted = ", ".join(f"{split} {size}" for split, size in sizes.items())
        raise InputError(f"The corpus is too small for this harvest: {counted} distinct pairs.")
    report = _report(pa.concat_tables(sampled), leaks)
    write_json(folder / LABELS, report)
    return {
        "pairs": sizes,
        "repeated_pairs_dropped": len(fresh) - sum(sizes.values()),
        "scores": _distribution(scores, kinds),
        "labels": told(report),
    }


def _report(table: pa.Table, leaks: "Leaks") -> Mapping[str, Any]:
    texts = (table[name].to_pylist() for name in ("sentence1", "sentence2"))
    parts = {
        name.removeprefix(PART): table[name].to_numpy()
        for name in table.column_names
        if name.startswith(PART)
    }
    pairs = list(zip(*texts, strict=True))
    return label_report(pairs, table["score"].to_numpy(), parts, leaks.figures())


def pair_keys(table: pa.Table) -> Hashes:
    """What knows a pair again, (n, 2): hashes of both sentences, in ascending order."""
    sides = [sentence_hashes(table[name].to_pylist()) for name in ("sentence1", "sentence2")]
    return np.sort(np.stack(sides, axis=1), axis=1)


def first_of_each(keys: Iterable[Hashes], expected: int, folder: Path) -> Fresh:
    """Which rows no earlier one equals, (n,).

    Args:
        keys: Blocks of rows, (m, 2) each.
        expected: How many rows there will be, about.
        folder: Made, filled with 24 bytes a row, and removed.
    """
    count = min(_MOST_FILES, -(-expected // HELD_PAIRS))
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    paths = [folder / f"{number:03}.bin" for number in range(count)]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        n = 0
        for block in _gathered(keys):
            rows = np.column_stack((block, np.arange(n, n + len(block), dtype=np.uint64)))
            n += len(block)
            places = (block[:, 0] % np.uint64(count)).astype(np.int64)
            order = np.argsort(places, kind="stable")
            borders = np.searchsorted(places[order], np.arange(count + 1))
            for file, low, high in zip(files, borders, borders[1:], strict=False):
                rows[order[low:high]].tofile(file)
    fresh = np.ones(n, bool)
    for path in paths:
        rows = np.fromfile(path, np.uint64).reshape(-1, 3)
        fresh[rows[_repeating(rows[:, :2]), 2].astype(np.int64)] = False
    rmtree(folder)
    return fresh


def _repeating(keys: Hashes) -> npt.NDArray[np.int64]:
    """Which rows repeat an earlier one."""
    order = np.lexsort(keys.T)  # stable: of equal rows the first comes first
    again = np.ones(max(0, len(keys) - 1), bool)
    for column in keys.T:
        ordered = column[order]
        again &= ordered[1:] == ordered[:-1]
    found: npt.NDArray[np.int64] = order[1:][again]
    return found


def _gathered(blocks: Iterable[Hashes]) -> Iterator[Hashes]:
    """The same rows, about `HELD_PAIRS` at a time."""
    waiting: list[Hashes] = []
    held = 0
    for block in blocks:
        waiting.append(block)
        held += len(block)
        if held >= HELD_PAIRS:
            yield np.concatenate(waiting)
            waiting, held = [], 0
    if waiting:
        yield np.concatenate(waiting)


class Leaks:
    """What stands where it should not: blocked sentences, and held-out ones in training pairs.

    Args:
        blocklist: Of sentences that should be nowhere.
    """

    def __init__(self, blocklist: Blocklist) -> None:
        self._blocklist, self._blocked = blocklist, 0
        self._keys: dict[str, list[Hashes]] = {"test": [], "dev": []}
        self._held: Hashes | None = None
        self._learned = np.empty(0, bool)

    def seen(self, split: str, keys: Hashes) -> Hashes:
        """Take the pairs of a split, all of test and dev before those of train; as they are."""
        self._blocked += int(self._blocklist.known(keys.ravel()).sum())
        if split in self._keys:
            self._keys[split].append(keys)
            return keys
        if self._held is None:
            held = [keys for some in self._keys.values() for keys in some]
            self._held = np.unique(np.concatenate(held))
            self._learned = np.zeros(len(self._held), bool)
        places = self._places(keys.ravel())
        self._learned[places[self._held[places] == keys.ravel()]] = True
        return keys

    def _places(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        assert self._held is not None
        found: npt.NDArray[np.int64] = np.searchsorted(self._held, hashes)
        return found.clip(max=len(self._held) - 1)

    def figures(self) -> dict[str, Any]:
        """`blocked`: sentences of pairs that are on the blocklist; of each held-out split the share
        of its pairs of which `one` sentence, or `both`, also stand in a training shard."""
        found: dict[str, Any] = {"blocked": self._blocked}
        for split, parts in self._keys.items():
            keys = np.concatenate(parts)
            learned = self._learned[self._places(keys.ravel())].reshape(-1, 2)
            shares = {"one": learned.any(axis=1).mean(), "both": learned.all(axis=1).mean()}
            found[split] = {name: round(float(share), 4) for name, share in shares.items()}
        return found


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of about `ROW_GROUP_BYTES`."""
    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        waiting.append(table.replace_schema_metadata(None))
        held += table.nbytes
        if held >= ROW_GROUP_BYTES:
            yield pa.concat_tables(waiting)
            waiting, held = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _distribution(scores: Floats, kinds: npt.NDArray[np.int8]) -> dict[str, dict[str, Any]]:
    """Figures of all scores, which are sorted in place, and of each kind's."""
    by_kind = {
        kind.value: _described(scores[kinds == number])
        for number, kind in enumerate(Kind)
        if (kinds == number).any()
    }
    return {"all": _described(scores), **by_kind}


def _described(values: Floats) -> dict[str, Any]:
    """Figures of n > 0 values, which are sorted in place: a copy would be as large again."""
    mean = float(values.mean())
    blocks = [values[start : start + _BLOCK] for start in range(0, len(values), _BLOCK)]
    deviation = (sum(float(((block - mean) ** 2).sum()) for block in blocks) / len(values)) ** 0.5
    values.sort()
    quantiles = {}
    for q in (0, 5, 25, 50, 75, 95, 100):
        place = q / 100 * (len(values) - 1)
        low, high = values[int(place)], values[min(int(place) + 1, len(values) - 1)]
        quantiles[str(q)] = round(float(low + (high - low) * (place % 1)), _DECIMALS)
    return {
        "n": len(values),
        "distinct": 1 + int(np.count_nonzero(values[1:] != values[:-1])),
        "mean": round(mean, _DECIMALS),
        "deviation": round(deviation, _DECIMALS),
        "quantiles": quantiles,
    }
