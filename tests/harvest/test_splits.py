"""From shards to tables: the same rows as with all of them in memory, without all of them there."""

import json
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.harvest import splits as module
from firth.harvest.blocklist import Blocklist, sentence_hashes
from firth.harvest.labels import LABELS
from firth.harvest.plan import Kind
from firth.harvest.settings import HarvestConfig
from firth.harvest.shards import SCHEMA
from firth.harvest.splits import SPLITS, first_of_each, pair_keys, write_splits
from firth.lexical.words import normal_form

NOTHING = Blocklist(sentence_hashes([]))
Row = dict[str, Any]


def shard_files(folder: Path, shards: Sequence[Sequence[Row]]) -> list[Path]:
    paths = [folder / f"{number:03}.parquet" for number in range(len(shards))]
    for path, rows in zip(paths, shards, strict=True):
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), path, write_page_checksum=True)
    return paths


def drawn(rng: random.Random, count: int, shard: int, padding: str = "") -> list[Row]:
    """Rows of few sentences, so that pairs repeat, in both orders and with other punctuation."""
    rows = []
    for _ in range(count):
        one, two = (f"Sentence {rng.randrange(9)}{rng.choice('.!?')}{padding}" for _ in range(2))
        rows.append({"sentence1": one, "sentence2": two, "score": rng.random(),
                     "kind": rng.choice(list(Kind)).value, "index1": 1, "index2": 2,
                     "contexts1": [3], "contexts2": [], "shard": shard})  # fmt: skip
    return rows


def all_in_memory(shards: Sequence[Sequence[Row]], config: HarvestConfig) -> dict[str, list[Row]]:
    """The plain way: a set of all pairs seen, test first."""
    dev, test = config.held_out
    train = len(shards) - dev - test
    seen: set[frozenset[str]] = set()
    kept: dict[str, list[Row]] = {}
    for split, part in (("test", shards[train + dev :]), ("dev", shards[train : train + dev]),
                        ("train", shards[:train])):  # fmt: skip
        kept[split] = []
        for row in (row for shard in part for row in shard):
            key = frozenset(normal_form(row[name]) for name in ("sentence1", "sentence2"))
            if key not in seen:
                seen.add(key)
                kept[split].append(row)
    return kept


@pytest.mark.parametrize("group", [1, 2_000, 1 << 30])
def test_tables_hold_the_same_rows_as_the_plain_way(
    tmp_path: Path, group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows are held at once; and the figures count and describe them."""
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", group)
    rng = random.Random(4)
    shards = [drawn(rng, 10, number) for number in range(12)]
    config = HarvestConfig(pairs=120, shard_pairs=10, train=0.7, dev=0.2)
    summary = write_splits(tmp_path, shard_files(tmp_path, shards), config, NOTHING)
    expected = all_in_memory(shards, config)
    assert all(0 < len(rows) < 70 for rows in expected.values()), "the premise: pairs repeat"
    for split in SPLITS:
        table = pq.read_table(tmp_path / f"{split}.parquet")
        assert table.equals(pa.Table.from_pylist(expected[split], SCHEMA))
    assert summary["pairs"] == {split: len(expected[split]) for split in SPLITS}
    assert summary["repeated_pairs_dropped"] == 120 - sum(summary["pairs"].values())
    for kind in ("all", *Kind):
        scores = [
            r["score"] for rows in expected.values() for r in rows if kind in ("all", r["kind"])
        ]
        found = summary["scores"][str(kind)]
        assert found["n"] == len(scores)
        assert found["mean"] == pytest.approx(np.mean(scores), abs=2e-6)
        assert found["quantiles"]["50"] == pytest.approx(np.median(scores), abs=2e-6)


@pytest.mark.parametrize("held", [1, 4, 1 << 18])
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9),
        min_size=1,
        max_size=5,
    )
)
def test_first_of_each(
    tmp_path_factory: pytest.TempPathFactory, held: int, blocks: list[list[tuple[int, int]]]
) -> None:
    """A row is fresh unless an earlier one is the same in both numbers, however many are held and
    in however many files; nothing of them is left."""
    rows = [row for block in blocks for row in block]
    keys = (np.array(block, np.uint64).reshape(-1, 2) for block in blocks)
    folder = tmp_path_factory.mktemp("seen")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "HELD_PAIRS", held)
        found = first_of_each(keys, len(rows) or 1, folder / "seen")
    assert found.tolist() == [row not in rows[:place] for place, row in enumerate(rows)]
    assert not list(folder.iterdir())


def test_pairs_are_known_by_what_they_say() -> None:
    """In either order, whatever the punctuation; another sentence is another pair."""
    pairs = [("A cat.", "A dog"), ("a DOG!", "A cat"), ("A cat.", "A cat.")]
    columns = {name: [pair[side] for pair in pairs] for side, name in
               enumerate(("sentence1", "sentence2"))}  # fmt: skip
    one, other, third = pair_keys(pa.table(columns)).tolist()
    assert one == other != third


def test_leakage_is_counted(tmp_path: Path) -> None:
    """Held-out sentences that training shards have too, and blocked ones, wherever they are."""
    said = [f"A sentence that says {number}." for number in range(9)]
    pairs = [[(0, 1), (2, 3)], [(0, 2), (0, 4)], [(5, 1), (6, 7)]]  # train, dev, test
    rows = drawn(random.Random(1), 6, 0)
    shards = [[rows[2 * n + k] | {"sentence1": said[a], "sentence2": said[b]} for k, (a, b) in
               enumerate(some)] for n, some in enumerate(pairs)]  # fmt: skip
    config = HarvestConfig(pairs=30, shard_pairs=10)
    assert config.held_out == (1, 1)
    blocked = Blocklist(sentence_hashes([said[0].upper(), "another one of them"]))
    summary = write_splits(tmp_path, shard_files(tmp_path, shards), config, blocked)
    found = json.loads((tmp_path / LABELS).read_text())["leakage"]
    assert found["blocked"] == 3
    assert found["dev"] == {"one": 1.0, "both": 0.5}
    assert found["test"] == {"one": 0.5, "both": 0.0}
    assert "LEAKAGE: 3 sentences" in " ".join(summary["labels"]["warnings"])


def test_memory_holds_no_more_than_a_few_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's and Python's memory together stay far below the size of the texts."""
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 1 << 20)
    monkeypatch.setattr(module, "SAMPLE", 50)
    rng = random.Random(4)
    shards = [drawn(rng, 20, number, f" {number}" + "x" * 4_000) for number in range(150)]
    paths = shard_files(tmp_path, shards)
    texts = sum(len(row["sentence1"] + row["sentence2"]) for rows in shards for row in rows)
    del shards
    config = HarvestConfig(pairs=3000, shard_pairs=20, train=0.9, dev=0.05)
    assert config.shards == len(paths)
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        write_splits(tmp_path, paths, config, NOTHING)
        arrow, python = pool.max_memory(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert texts > 20 << 20, "the premise"
    assert 0 < arrow + python < texts / 3
