"""The harvest stage: its shards scored by an engine, or in parts by several; then three tables.

Parts lie in the run, in `PARTS`, in a folder that is called after everything the harvest is made
of: what was scored for another harvest is never taken for this one's. Where machines share no
folder, they meet in a store.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.harvest.blocklist import Blocklist
from firth.harvest.scorer import Scoring
from firth.harvest.settings import HarvestConfig
from firth.harvest.shards import Shard, shards_of
from firth.harvest.shared import SharedParts
from firth.harvest.splits import SPLITS, write_splits
from firth.origin.origin import Origin
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.build import build_index
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.screen import plural
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.run.store import Store

PARTS = "harvest.parts"
_NAME = 16
"""Characters of a fingerprint that make a folder's name."""
_SHOWN = 5


@dataclass(frozen=True)
class Harvest:
    """A finished harvest.

    Attributes:
        path: Its folder, with train.parquet, dev.parquet and test.parquet.
        reused: Whether it was already there.
        summary: Counts by split and kind, the distribution of scores by kind, and `labels`: what
            they are worth (`firth.harvest.labels.told`).
    """

    path: Path
    reused: bool
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A share of a harvest's shards: every `of`-th, from the `number`-th on.

    Attributes:
        number: From 1.
        of: How many parts there are.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Part":
        """Of a text as `2/8`; raise `InputError` where it is none."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of:
            raise InputError(f"part: got {text!r}; expected I/N with I from 1 to N, as 2/8")
        return cls(number, of)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.number}/{self.of}"


@dataclass(frozen=True)
class PartDone:
    """A part that was scored.

    Attributes:
        part: Which.
        folder: Where the shards of all parts lie.
        shards: How many the part has.
        missing: How many of the whole harvest's are not there.
        store: Address of the store in which parts meet; "" where that is the folder.
    """

    part: Part
    folder: Path
    shards: int
    missing: int
    store: str = ""

    def text(self) -> str:
        """What was done, and what is to be done next."""
        place = self.store or self.folder
        done = f"Part {self.part} is scored: {plural(self.shards, 'shard')} in {place}."
        where = f" --store {self.store}" if self.store else ""
        left = plural(self.missing, "shard")
        more = (
            f"{left} of other parts are not there yet"
            if self.missing
            else f"All shards are there. Put them together: firth harvest --merge{where}"
        )
        return f"{done} {more}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        found = {"part": str(self.part), "folder": str(self.folder)}
        found |= {"store": self.store} if self.store else {}
        return {**found, "shards": self.shards, "missing": self.missing}


def harvest(run: str | Path | Run, pairs: int | None = None, *, engine: Engine = HERE) -> Harvest:
    """Score pairs of corpus sentences with Origin and write them as Parquet (§3.4).

    An interrupted harvest continues with the first shard that is not on disk; shards that
    `harvest_part` scored are taken.

    Args:
        run: A run whose corpus is built, and what its Origin needs. The index of its chunks is
            built where it is missing.
        pairs: Number of pairs; None takes the run's configuration.
        engine: Who scores shards, such as `firth.run.cluster.Cluster()`; the bytes are the same.

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
    outcome = build_harvest(run, engine=engine)
    return Harvest(run.folder(HARVEST), outcome.reused, outcome.manifest.summary)


def build_harvest(
    run: Run, merge: bool = False, store: Store | None = None, *, engine: Engine = HERE
) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `harvest`.

    Args:
        run: The run.
        merge: Score nothing: all shards must have been scored in parts.
        store: Where parts are that are not in the run's folder.
        engine: Who scores shards.

    Raises:
        InputError: As `harvest`; with `merge`, a shard is missing; the store cannot be reached.
    """
    asked = _Asked.of(run)
    shards = asked.shards(run)
    folder = asked.folder(run)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        if store is not None:
            SharedParts(store, folder).fetch(shards)
        found = {shard.number: folder for shard in shards if shard.is_whole(folder)}
        left = [shard for shard in shards if shard.number not in found]
        if merge and left:
            raise InputError(_missing(run, folder, left, len(shards)))
        scratch = workspace / SCRATCH
        score(handed, left, scratch, asked.blocklist, engine)
        paths = [found.get(shard.number, scratch) / shard.file for shard in shards]
        return write_splits(workspace, paths, handed.config.harvest, asked.blocklist)

    outcome = run.build(
        HARVEST,
        fill,
        reads=asked.reads,
        settings=asked.settings,
        places=["harvest"],
        inputs=asked.inputs,
    )
    if not outcome.reused:
        for warning in outcome.manifest.summary["labels"]["warnings"]:
            note(warning)
    _discard(folder, shards)
    return outcome


def harvest_part(
    run: Run, part: Part, store: Store | None = None, *, engine: Engine = HERE
) -> PartDone:
    """Score a part of a run's harvest, beside other machines that score other parts.

    They need the same run (its folder, or a copy) with the same versions of firth and its
    libraries, and are asked for the same harvest. What they write goes into the run's folder
    `PARTS`, that of a copy to be copied back; or into a store, while they work. A part that was
    interrupted continues, with a store on any machine.

    Raises:
        MissingStageError, InputError: As `harvest`; or the store cannot be reached.
        DamagedError: A stage that is read is not as it was written.
    """
    asked = _Asked.of(run)
    shards, folder = asked.shards(run), asked.folder(run)
    mine = [shard for shard in shards if shard.number % part.of == part.number - 1]
    handed = run.handed(HARVEST, asked.reads, [*asked.settings, "harvest"])
    if store is not None:
        shared = SharedParts(store, folder)
        shared.fetch(mine)
        score(handed, mine, folder, asked.blocklist, engine, shared.keep)
        shared.flush()
        return PartDone(part, folder, len(mine), shared.missing(shards), store.address)
    score(handed, mine, folder, asked.blocklist, engine)
    there = {path.name for path in folder.glob("shard-*.parquet")} if folder.is_dir() else set()
    return PartDone(part, folder, len(mine), sum(shard.file not in there for shard in shards))


def score(
    run: Run,
    shards: Sequence[Shard],
    folder: Path,
    blocklist: Blocklist,
    engine: Engine = HERE,
    keep: Callable[[Shard], None] = lambda _: None,
) -> None:
    """Have the shards scored that a folder does not hold, and write them into it.

    Args:
        run: As the stage sees it.
        shards: Which; in any order and by however many such calls, the files are the same.
        folder: Made where it is missing.
        blocklist: Sentences that must not be harvested.
        engine: Who scores them.
        keep: Told of each shard when the folder holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left: list[Shard] = []
    with bar("Harvest: pairs", sum(shard.size for shard in shards)) as shown:
        for shard in shards:
            if not shard.is_whole(folder):
                left.append(shard)
                continue
            keep(shard)
            shown.advance(shard.size)
        scored = engine.map(Scoring(run, blocklist), left)
        for shard, table in zip(left, scored, strict=True):
            shard.write(table, folder)
            keep(shard)
            shown.advance(shard.size)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a harvest is made of."""

    reads: list[Stage]
    settings: list[str]
    inputs: dict[str, str]
    blocklist: Blocklist

    @classmethod
    def of(cls, run: Run) -> "_Asked":
        Origin.need(run)
        if not run.has(RETRIEVE):  # Origin has no use for it unless as printed
            build_index(run)
        files = [Path(name) for name in run.config.harvest.blocklist]
        blocklist = Blocklist.load(files)
        count, asked = len(Corpus.open(run)), run.config.harvest.pairs
        if asked > (possible := count * (count - 1) // 2):
            raise InputError(
                f"harvest.pairs: got {asked:,}; the corpus has {count:,} sentences, which make "
                f"{possible:,} pairs. Ask for fewer, or build a larger corpus"
            )
        own = [f"harvest.{name}" for name in HarvestConfig.model_fields if name != "blocklist"]
        # The index is opened with the number of chunks that Origin screens.
        settings = sorted({*Origin.settings(run), *LIMITS, "seed", "retrieve.chunks", *own})
        # Numbered, for two files may have one name.
        named = {f"blocklist/{n}": fingerprint_file(path) for n, path in enumerate(files)}
        reads = list(dict.fromkeys([RETRIEVE, *Origin.reads(run)]))
        return cls(reads, settings, named, blocklist)

    def _request(self, run: Run) -> str:
        return run.wanted(HARVEST, __name__, self.reads, self.settings, self.inputs).request

    def shards(self, run: Run) -> list[Shard]:
        return shards_of(run.config.harvest, self._request(run))

    def folder(self, run: Run) -> Path:
        """Where parts of it lie."""
        return run.path / PARTS / self._request(run)[:_NAME]


def _missing(run: Run, folder: Path, left: Sequence[Shard], count: int) -> str:
    numbers = ", ".join(str(shard.number) for shard in left[:_SHOWN])
    more = f" and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""
    others = [path.name for path in (run.path / PARTS).glob("*") if path != folder]
    hint = (
        f" Beside it lie parts of other harvests ({', '.join(sorted(others))}): were they asked "
        "for with the same settings, and the same versions of firth and its libraries?"
        if others
        else ""
    )
    return (
        f"{folder}: {len(left):,} of {count:,} shards are missing (number {numbers}{more}). Score "
        f"them on any machine: firth harvest --part I/N; or here, without --merge.{hint}"
    )


def _discard(folder: Path, shards: Iterable[Shard]) -> None:
    """Remove the parts of a harvest that is in place; whatever else lies there stays."""
    if not folder.is_dir():
        return
    for shard in shards:
        (folder / shard.file).unlink(missing_ok=True)
    for empty in (folder, folder.parent):
        if not any(empty.iterdir()):
            empty.rmdir()


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
