"""A run built by a Ray cluster that loses workers and machines, beside the same by one process.

    python benchmarks/cluster.py CORPUS.jsonl WORK [--sentences 100000] [--pairs 20000] [--kills 3]
        [--stages corpus harvest teacher index] [--teacher MODEL] [--seed 13] [--out FILE]

The first documents of CORPUS (JSON lines, .gz too) that have so many sentences together become a
run with Origin by word vectors, in this process alone. Then each of the stages that are done in
shards is built anew on a real Ray cluster of two machines of one worker each, both of them here.
When a share of its shards has come back, drawn by the seed for each kill, a worker that is at work
then is sent SIGKILL; and after the last of those shares the second machine with all that it runs.
All bytes of the stage are compared with those of one process. (`teacher` has shards where a
`--teacher` reads: the folder of an encoder; Origin by word vectors is no work.)

Start it with OMP_NUM_THREADS=1, as Ray starts a worker.
"""

import argparse
import gzip
import json
import logging
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from firth.run.engine import HERE, Engine
from firth.run.screen import say

STAGES = ("corpus", "harvest", "teacher", "index")
_STORE = 200 << 20
"""Bytes of memory that Ray shares between its processes."""


@dataclass
class Counting:
    """An engine of which is counted what came back, and which loses something at some counts.

    Attributes:
        engine: Who does the work.
        kill_at: A worker is killed after so many shards.
        lose_at: A machine is lost after so many.
        lose: By this.
        shards: How many came back.
        killed: Those after which a worker was killed.
    """

    engine: Engine
    kill_at: frozenset[int] = frozenset()
    lose_at: int | None = None
    lose: Callable[[], None] | None = None
    shards: int = 0
    killed: list[int] = field(default_factory=list)

    def map(self, work: Any, shards: Iterable[Any]) -> Iterator[Any]:
        """As `firth.run.engine.Engine.map`."""
        for made in self.engine.map(work, shards):
            self.shards += 1
            if self.shards in self.kill_at and kill_worker():
                self.killed.append(self.shards)
            if self.shards == self.lose_at and self.lose:
                self.lose()
            yield made


def kill_worker(patience: float = 20.0) -> bool:
    """SIGKILL to a process of the cluster that is at a shard; False where none is."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                name = Path(f"/proc/{process}/cmdline").read_bytes()
                if name.startswith(b"ray::") and b"_do" in name and _descends(int(process)):
                    os.kill(int(process), signal.SIGKILL)
                    return True
            except OSError:
                continue
        time.sleep(0.01)
    return False


def _descends(process: int) -> bool:
    """Whether a process descends from this one."""
    while process > 1:
        if process == os.getpid():
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def write_documents(source: Path, sentences: int, path: Path) -> None:
    """The first documents, as long as they have no more sentences together."""
    from firth.corpus.split import split_paragraphs

    opened: Any = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as lines, path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line)
            sentences -= sum(map(len, split_paragraphs(json.loads(line)["text"])))
            if sentences <= 0:
                return


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Path → bytes of every file, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def compare(given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a stage."""
    from firth.harvest import HARVEST
    from firth.paper.retrieve import RETRIEVE
    from firth.pipeline import STEPS, bring_up_to_date, needed
    from firth.run.cluster import Cluster, quiet_ray
    from firth.run.config import Config
    from firth.run.run import Run

    given.work.mkdir(parents=True)
    write_documents(given.corpus, given.sentences, given.work / "documents.jsonl")
    config = {
        "corpus": {"inputs": [str(given.work / "documents.jsonl")]},
        "harvest": {"pairs": given.pairs},
        "surrogate": {"teacher": given.teacher},
    }
    run = Run.create(given.work / "run", Config.parse(config, "cluster.py"))
    chosen = {*given.stages}
    wanted = {stage.name for stage in needed(run)} | chosen
    wanted |= {RETRIEVE.name} if HARVEST.name in chosen else set()
    steps = [step for step in STEPS if step.stage.name in wanted]
    while steps[-1].stage.name not in chosen:
        steps.pop()
    rows: dict[str, dict[str, Any]] = {}
    for step in steps:
        engine, started = Counting(HERE), time.perf_counter()
        bring_up_to_date(run, step.stage, engine=engine)
        if step.stage.name in chosen:
            if engine.shards <= given.kills + 1:
                raise SystemExit(
                    f"{step.stage.name}: {engine.shards} shards, and {given.kills} kills; ask for "
                    "more sentences"
                )
            rows[step.stage.name] = {
                "stage": step.stage.name,
                "shards": engine.shards,
                "here": time.perf_counter() - started,
            }
    rng, ray = random.Random(given.seed), quiet_ray()
    from ray.cluster_utils import Cluster as Machines

    worker: dict[str, Any] = {"num_cpus": 1, "object_store_memory": _STORE}
    head = {**worker, "include_dashboard": False}
    machines: Any = Machines(initialize_head=True, head_node_args=head)
    session = ray.init(
        machines.address, log_to_driver=False, logging_level=logging.CRITICAL
    ).address_info["session_dir"]
    try:
        for step in (step for step in steps if step.stage.name in chosen):
            row, folder = rows[step.stage.name], run.folder(step.stage)
            expected = bytes_of(folder)
            shutil.rmtree(folder)
            *places, last = sorted(rng.sample(range(1, row["shards"]), given.kills + 1))
            lose = partial(machines.remove_node, machines.add_node(**worker), allow_graceful=False)
            engine = Counting(Cluster(), frozenset(places), last, lose)
            started = time.perf_counter()
            bring_up_to_date(run, step.stage, engine=engine)
            found = bytes_of(folder)
            row |= {
                "ray": time.perf_counter() - started,
                "killed": engine.killed,
                "lost": last,
                "bytes": sum(map(len, expected.values())),
                "files": len(expected),
                "different": sorted(
                    name
                    for name in expected.keys() | found.keys()
                    if expected.get(name) != found.get(name)
                ),
            }
            say(
                f"{row['stage']:8} {row['shards']:5,} shards, killed after "
                f"{', '.join(map(str, row['killed']))}, a machine lost after {row['lost']}: "
                f"{row['files']} files, {row['bytes']:,} B; "
                + (f"DIFFERENT: {row['different']}" if row["different"] else "equal")
                + f" ({row['here']:,.0f} s here, {row['ray']:,.0f} s there)"
            )
    finally:
        ray.shutdown()
        machines.shutdown()
        shutil.rmtree(session, ignore_errors=True)
    return list(rows.values())


def main() -> None:
    """Build, kill, compare; status 1 where a byte differs, or nothing was killed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--teacher")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.work = given.work.resolve()
    from firth.run import progress

    progress.set_quiet(True)
    rows = compare(given)
    if given.out:
        given.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(row["different"] or not row["killed"] for row in rows))


if __name__ == "__main__":
    main()
