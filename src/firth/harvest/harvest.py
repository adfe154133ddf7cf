"""The harvest stage: plan a shard, score it with Origin, write it; at the end, three tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.harvest.blocklist import Blocklist
from firth.harvest.plan import Kind, PlannedPair, Planner
from firth.harvest.settings import HarvestConfig
from firth.lexical.words import normal_form
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import ChunkIndex
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, write_atomically
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

SPLITS = ("train", "dev", "test")
SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("score", pa.float32()),
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
fits into all contexts (method `blend`)."""


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

    Example:
        >>> found = harvest("run")
        >>> sorted(found.summary["pairs"])
        ['dev', 'test', 'train']
    """
    run = Run.open(run).changed({"harvest": {"pairs": pairs}})
    outcome = build_harvest(run)
    return Harvest(run.folder(HARVEST), outcome.reused, outcome.manifest.summary)


def build_harvest(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration."""
    files = [Path(name) for name in run.config.harvest.exclude]
    blocklist = Blocklist.load(files)
    own = [f"harvest.{name}" for name in HarvestConfig.model_fields if name != "exclude"]

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        config, corpus = handed.config, Corpus.open(handed)
        index = ChunkIndex.open(handed)
        planner = Planner(corpus, index, blocklist, config.corpus, config.harvest, config.seed)
        origin = Origin.open(handed)
        shards = _score(workspace / SCRATCH, planner, corpus, origin, config.harvest)
        return _write_splits(workspace, shards, config.harvest)

    return run.build(
        HARVEST,
        fill,
        reads=list(dict.fromkeys([RETRIEVE, *Origin.reads(run)])),
        settings=list(dict.fromkeys([*Origin.settings(run), *LIMITS, "seed", *own])),
        places=["harvest.exclude"],
        inputs={f"exclude/{number}": fingerprint_file(path) for number, path in enumerate(files)},
    )


def _score(
    folder: Path, planner: Planner, corpus: Corpus, origin: Origin, config: HarvestConfig
) -> list[Path]:
    folder.mkdir(exist_ok=True)
    count = -(-config.pairs // config.shard_pairs)
    paths = [folder / f"shard-{number:06}.parquet" for number in range(count)]
    with bar("Harvest: pairs", config.pairs) as shown:
        for number, path in enumerate(paths):
            size = min(config.shard_pairs, config.pairs - number * config.shard_pairs)
            if not path.is_file():
                planned = planner.shard(number, size)
                table = _table(corpus, origin, planned, number)
                with write_atomically(path) as partial:
                    pq.write_table(table, partial, compression="zstd")
            shown.advance(size)
    return paths


def _table(corpus: Corpus, origin: Origin, planned: Sequence[PlannedPair], shard: int) -> pa.Table:
    texts1 = corpus.texts([pair.first for pair in planned])
    texts2 = corpus.texts([pair.second for pair in planned])
    scored = _scored(origin, list(zip(texts1, texts2, strict=True)))
    return pa.table(
        {
            "sentence1": texts1,
            "sentence2": texts2,
            "kind": [pair.kind.value for pair in planned],
            "index1": [pair.first for pair in planned],
            "index2": [pair.second for pair in planned],
            "shard": [shard] * len(planned),
            **scored,
        }
    ).select(SCHEMA.names).cast(SCHEMA)  # fmt: skip


def _scored(origin: Origin, pairs: Sequence[tuple[str, str]]) -> dict[str, Sequence[Any]]:
    """Scores and, where Origin chooses contexts for each sentence, these."""
    if not isinstance(origin, PaperOrigin):
        nothing: list[list[int]] = [[] for _ in pairs]
        scores = origin.similarities(pairs, "Harvest: shard").tolist()
        return {"score": scores, "contexts1": nothing, "contexts2": nothing}
    profiles = list(origin.profiles(pairs, "Harvest: shard"))
    weights, measure = origin.config.weights, origin.config.measure
    return {
        "score": [profile.similarity(weights, measure) for profile in profiles],
        "contexts1": [profile.set1.slots.tolist() for profile in profiles],
        "contexts2": [profile.set2.slots.tolist() for profile in profiles],
    }


def _write_splits(
    workspace: Path, shards: Sequence[Path], config: HarvestConfig
) -> Mapping[str, Any]:
    held_out = max(1, round(config.dev * len(shards)))
    tested = max(1, round((1 - config.train - config.dev) * len(shards)))
    bounds = {
        "test": (len(shards) - tested, len(shards)),
        "dev": (len(shards) - tested - held_out, len(shards) - tested),
        "train": (0, len(shards) - tested - held_out),
    }
    seen: set[frozenset[str]] = set()
    tables, repeated = {}, 0
    # Test first: a pair drawn twice is kept where it is held out.
    for split, (start, end) in bounds.items():
        table = pa.concat_tables([pq.read_table(path) for path in shards[start:end]])
        fresh = []
        for one, two in zip(table["sentence1"], table["sentence2"], strict=True):
            key = frozenset((normal_form(one.as_py()), normal_form(two.as_py())))
            fresh.append(key not in seen)
            seen.add(key)
        repeated += fresh.count(False)
        tables[split] = table.filter(pa.array(fresh))
        with write_atomically(workspace / f"{split}.parquet") as partial:
            pq.write_table(tables[split], partial, compression="zstd")
    if not all(len(tables[split]) for split in SPLITS):
        sizes = ", ".join(f"{split} {len(tables[split])}" for split in SPLITS)
        raise InputError(f"The corpus is too small for this harvest: {sizes} distinct pairs.")
    return {
        "pairs": {split: len(tables[split]) for split in SPLITS},
        "repeated_pairs_dropped": repeated,
        "scores": _scores(pa.concat_tables(tables.values())),
    }


def _scores(table: pa.Table) -> dict[str, Any]:
    scores = table["score"].to_numpy()
    kinds = np.array(table["kind"].to_pylist())
    report = {}
    for kind in ("all", *(kind.value for kind in Kind)):
        chosen = scores if kind == "all" else scores[kinds == kind]
        if len(chosen):
            report[kind] = {
                "n": len(chosen),
                "mean": round(float(chosen.mean()), 6),
                "deviation": round(float(chosen.std()), 6),
                "quantiles": {
                    str(q): round(float(np.quantile(chosen, q / 100)), 6)
                    for q in (0, 5, 25, 50, 75, 95, 100)
                },
            }
    return report


def read_pairs(run: str | Path | Run, split: str) -> pa.Table:
    """One split of a finished harvest as an Arrow table with the columns of `SCHEMA`."""
    folder = Run.open(run).folder(HARVEST)
    if split not in SPLITS:
        raise InputError(f"got split {split!r}; expected one of {', '.join(SPLITS)}")
    return pq.read_table(folder / f"{split}.parquet")
