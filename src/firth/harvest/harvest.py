"""The harvest stage: plan a shard, score it with Origin, write it; at the end, three tables."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.harvest.blocklist import Blocklist
from firth.harvest.plan import Kind, PlannedPair, Planner
from firth.harvest.settings import HarvestConfig
from firth.lexical.scorer import Explainer
from firth.lexical.words import normal_form
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import ChunkIndex
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, write_atomically
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

SPLITS = ("train", "dev", "test")
SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("score", pa.float64()),
        ("kind", pa.string()),
        ("index1", pa.int64()),
        ("index2", pa.int64()),
        ("contexts1", pa.list_(pa.int64())),
        ("contexts2", pa.list_(pa.int64())),
        ("shard", pa.int32()),
    ]
)
"""`index*` and `contexts*` are numbers of corpus sentences: with the manifest's configuration they
are all that is needed to compute the row again. `contexts*` are empty where Origin compares the
fits into all contexts (method `ensemble`). Scores are float64: Eq. 4 as printed lies so near 1 that
in float32 different scores are one."""
_DECIMALS = 12
"""Of a distribution's figures: those of raw cosines differ in the last ones."""
ROW_GROUP_BYTES = 16 << 20
"""Of a table, held in memory while it is written."""


@dataclass(frozen=True)
class Harvest:
    """A finished harvest.

    Attributes:
        path: Its folder, with train.parquet, dev.parquet and test.parquet.
        reused: Whether it was already there.
        summary: Counts by split and kind, and the distribution of scores by kind.
    """

    path: Path
    reused: bool
    summary: Mapping[str, Any]


def harvest(run: str | Path | Run, pairs: int | None = None) -> Harvest:
    """Score pairs of corpus sentences with Origin and write them as Parquet (§3.4).

    An interrupted harvest continues with the first shard that is not on disk.

    Args:
        run: A run whose corpus and index are built, and what its Origin needs.
        pairs: Number of pairs; None takes the run's configuration.

    Raises:
        MissingStageError: A stage is not built; the message names the command.
        ConfigError: `pairs` is out of range.
        InputError: A file of the blocklist cannot be read, or the corpus is too small.

    Example:
        >>> found = harvest("run")
        >>> sorted(found.summary["pairs"])
        ['dev', 'test', 'train']
    """
    run = Run.open(run).changed({"harvest": {"pairs": pairs}})
    outcome = build_harvest(run)
    return Harvest(run.folder(HARVEST), outcome.reused, outcome.manifest.summary)


def build_harvest(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `harvest`."""
    Origin.need(run)
    files = [Path(name) for name in run.config.harvest.blocklist]
    blocklist = Blocklist.load(files)
    count, asked = len(Corpus.open(run)), run.config.harvest.pairs
    if asked > (possible := count * (count - 1) // 2):
        raise InputError(
            f"harvest.pairs: got {asked:,}; the corpus has {count:,} sentences, which make "
            f"{possible:,} pairs. Ask for fewer, or build a larger corpus"
        )
    own = [f"harvest.{name}" for name in HarvestConfig.model_fields if name != "blocklist"]

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        corpus, index = Corpus.open(handed), ChunkIndex.open(handed)
        planner = Planner(corpus, index, blocklist, handed.config)
        origin = Origin.open(handed)
        shards = _score(workspace / SCRATCH, planner, corpus, origin, handed.config.harvest)
        return write_splits(workspace, shards, handed.config.harvest)

    return run.build(
        HARVEST,
        fill,
        reads=list(dict.fromkeys([RETRIEVE, *Origin.reads(run)])),
        # The index is opened with the number of chunks that Origin screens.
        settings=sorted({*Origin.settings(run), *LIMITS, "seed", "retrieve.chunks", *own}),
        places=["harvest"],
        # Numbered, for two files may have one name.
        inputs={f"blocklist/{number}": fingerprint_file(path) for number, path in enumerate(files)},
    )


def _score(
    folder: Path, planner: Planner, corpus: Corpus, origin: Explainer, config: HarvestConfig
) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"shard-{number:06}.parquet" for number in range(config.shards)]
    with bar("Harvest: pairs", config.pairs) as shown:
        for number, path in enumerate(paths):
            size = min(config.shard_pairs, config.pairs - number * config.shard_pairs)
            if not _is_whole(path):
                table = _table(corpus, origin, planner.shard(number, size), number)
                with write_atomically(path) as partial:
                    pq.write_table(table, partial, compression="zstd", write_page_checksum=True)
            shown.advance(size)
    return paths


def _is_whole(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        whole = bool(_read(path).schema == SCHEMA)
    except (pa.ArrowException, OSError):
        whole = False
    if not whole:
        note(f"{path}: damaged; it is scored again")
    return whole


def _read(shard: Path) -> pa.Table:
    return pq.read_table(shard, page_checksum_verification=True)


def _table(
    corpus: Corpus, origin: Explainer, planned: Sequence[PlannedPair], shard: int
) -> pa.Table:
    numbers = [[pair.first for pair in planned], [pair.second for pair in planned]]
    texts = [corpus.texts(side) for side in numbers]
    pairs = list(zip(*texts, strict=True))
    contexts: list[list[list[int]]] = [[[] for _ in planned] for _ in numbers]
    if isinstance(origin, PaperOrigin):
        profiles = list(origin.profiles(pairs, "Harvest: shard"))
        weights, measure = origin.config.weights, origin.config.measure
        scores = [profile.similarity(weights, measure) for profile in profiles]
        contexts = [[p.set1.positions.tolist() for p in profiles],
                    [p.set2.positions.tolist() for p in profiles]]  # fmt: skip
    else:
        scores = origin.similarities(pairs, "Harvest: shard").tolist()
    kinds, shards = [pair.kind.value for pair in planned], [shard] * len(planned)
    columns = [*texts, scores, kinds, *numbers, *contexts, shards]
    return pa.table(columns, SCHEMA.names).cast(SCHEMA)


def write_splits(folder: Path, shards: Sequence[Path], config: HarvestConfig) -> Mapping[str, Any]:
    """Write train, dev and test from the shards, without pairs that were drawn twice.

    Memory holds no texts but those of a few shards: about 50 bytes a pair, to know it again.

    Args:
        folder: Where the three tables are written.
        shards: Parquet files of `SCHEMA`, in order.
        config: Which of them are held out.

    Returns:
        Numbers of pairs, kept and dropped, and the scores' distribution by kind.

    Raises:
        InputError: A split has no pair.
    """
    dev, test = config.held_out
    train = len(shards) - dev - test
    # Test first: a pair drawn twice is kept where it is held out.
    parts = {"test": shards[train + dev :], "dev": shards[train : train + dev],
             "train": shards[:train]}  # fmt: skip
    digests = bytearray()
    for shard in (shard for part in parts.values() for shard in part):
        digests += b"".join(_digests(_read(shard)))
    fresh = first_of_each(np.frombuffer(digests, np.uint64).reshape(-1, 2))
    names = pa.array([kind.value for kind in Kind])
    scores, kinds, sizes, start = [], [], {}, 0
    for split, part in parts.items():
        size = 0
        with (
            write_atomically(folder / f"{split}.parquet") as partial,
            pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer,
        ):
            tables = (_read(shard) for shard in part)
            for table in _joined(tables):
                kept = table.filter(pa.array(fresh[start : start + len(table)]))
                start += len(table)
                size += len(kept)
                scores.append(kept["score"].to_numpy())
                kinds.append(pc.index_in(kept["kind"], names).to_numpy().astype(np.int8))
                writer.write_table(kept)
        sizes[split] = size
    sizes = {split: sizes[split] for split in SPLITS}
    if not all(sizes.values()):
        found = ", ".join(f"{split} {size}" for split, size in sizes.items())
        raise InputError(f"The corpus is too small for this harvest: {found} distinct pairs.")
    return {
        "pairs": sizes,
        "repeated_pairs_dropped": len(fresh) - sum(sizes.values()),
        "scores": _distribution(np.concatenate(scores), np.concatenate(kinds)),
    }


def first_of_each(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Which rows of `keys`, shape (n, 2), no earlier row equals, shape (n,)."""
    order = np.lexsort(keys.T)  # stable: of equal rows the first comes first
    again = np.ones(max(0, len(keys) - 1), bool)
    for column in keys.T:
        ordered = column[order]
        again &= ordered[1:] == ordered[:-1]
    fresh = np.ones(len(keys), bool)
    fresh[order[1:][again]] = False
    return fresh


def _digests(table: pa.Table) -> Iterator[bytes]:
    """16 bytes that know a pair again: two are the same when their sentences' normal forms are."""
    sides = (table[name].to_pylist() for name in ("sentence1", "sentence2"))
    for pair in zip(*sides, strict=True):
        key = "\n".join(sorted(map(normal_form, pair))).encode("utf-8", "surrogatepass")
        yield hashlib.blake2b(key, digest_size=16).digest()


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of about `ROW_GROUP_BYTES`."""
    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        waiting.append(table)
        held += table.nbytes
        if held >= ROW_GROUP_BYTES:
            yield pa.concat_tables(waiting)
            waiting, held = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _distribution(
    scores: npt.NDArray[np.float64], kinds: npt.NDArray[np.int8]
) -> dict[str, dict[str, Any]]:
    chosen = {"all": scores} | {
        kind.value: scores[kinds == number] for number, kind in enumerate(Kind)
    }
    return {
        kind: {
            "n": len(values),
            "distinct": len(np.unique(values)),
            "mean": round(float(values.mean()), _DECIMALS),
            "deviation": round(float(values.std()), _DECIMALS),
            "quantiles": {
                str(q): round(float(np.quantile(values, q / 100)), _DECIMALS)
                for q in (0, 5, 25, 50, 75, 95, 100)
            },
        }
        for kind, values in chosen.items()
        if len(values)
    }


def read_pairs(run: str | Path | Run, split: str) -> pa.Table:
    """One split of a finished harvest as an Arrow table with the columns of `SCHEMA`.

    Raises:
        MissingStageError: The run has no harvest.
        InputError: `split` is none of `SPLITS`.
    """
    folder = Run.open(run).folder(HARVEST)
    if split not in SPLITS:
        raise InputError(f"got split {split!r}; expected one of {', '.join(SPLITS)}")
    return pq.read_table(folder / f"{split}.parquet")
