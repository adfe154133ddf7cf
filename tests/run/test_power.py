"""The machine loses power, or a process is killed: then the disk has the old content or the new.

A call is run once with the library of `power.c`, which logs what the system is told to write. At
moments of that log the disk is made as it may be then. Bytes are lost that were written to a file
since it was synced, all or some of them. Names are lost that were made, moved or removed in a
folder since it was synced, from some moment on. Where a process is killed, nothing is lost; the
same call again then ends as if nobody had killed it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from firth.corpus import build
from firth.corpus.corpus import Corpus
from firth.corpus.store import FILE, damage
from firth.run.errors import MissingStageError
from firth.run.files import write_json, write_text
from firth.run.outputs import write_file
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.run.stage import SCRATCH, Stage

MOMENTS = 60
"""Of a call, at which the power is lost, at most; each in four ways."""
KINDS = ("nothing", "names", "some", "all")
"""What is left of the bytes and names that were not synced; all names, and no bytes; all of both,
as after SIGKILL."""
Record = tuple[str, int, int, str, str, bytes]


# --- The disk ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A file or folder: its bytes, those on the disk for sure, and what was written since."""

    is_folder: bool
    content: bytes = b""
    synced: bytes = b""
    writes: list[tuple[int, bytes | None]] = field(default_factory=list)


Names = dict[Node, dict[str, Node]]
Place = tuple[Node, str]


@dataclass(eq=False)
class Change:
    """A name that was made (no `old`), moved, or removed (no `new`)."""

    node: Node
    old: Place | None
    new: Place | None
    is_synced: bool = False

    @property
    def folders(self) -> list[Node]:
        """Where the name is after it, and where it was."""
        return [place[0] for place in (self.new, self.old) if place]

    def apply(self, names: Names) -> None:
        if self.old and names[self.old[0]].get(self.old[1]) is self.node:
            del names[self.old[0]][self.old[1]]
        if self.new:
            names[self.new[0]][self.new[1]] = self.node


def written(content: bytes, at: int, data: bytes | None) -> bytes:
    """Return a content with bytes written at a place; cut there where they are None."""
    start = content[:at].ljust(at, b"\0")
    return start if data is None else start + data + content[at + len(data) :]


class Disk:
    """A folder as it was, and what a log does to it; without `syncs`, these do nothing."""

    def __init__(self, root: Path, syncs: bool = True) -> None:
        self.root, self.syncs = root, syncs
        self.nodes: dict[int, Node] = {}
        self.before: Names = {}
        self.changes: list[Change] = []
        self.top = self._read(root)
        self.names = {node: {**inner} for node, inner in self.before.items()}

    def _read(self, path: Path) -> Node:
        node = self.nodes[path.stat().st_ino] = Node(path.is_dir())
        if node.is_folder:
            self.before[node] = {inner.name: self._read(inner) for inner in path.iterdir()}
        else:
            node.content = node.synced = path.read_bytes()
        return node

    def _place(self, path: str) -> Place:
        *folders, name = Path(path).relative_to(self.root).parts
        node = self.top
        for folder in folders:
            node = self.names[node][folder]
        return node, name

    def do(self, record: Record) -> None:
        """Do what a record says."""
        op, inode, at, path, other, data = record
        if op in "CM":  # A new file, or folder.
            node = self.nodes[inode] = Node(op == "M")
            self.before[node], self.names[node] = {}, {}
            self.changes.append(Change(node, None, self._place(path)))
        elif op in "UR":  # Removed, or renamed.
            folder, name = self._place(path)
            new = self._place(other) if other else None
            self.changes.append(Change(self.names[folder][name], (folder, name), new))
        elif op in "WT":  # Written, or cut.
            node, bytes_of = self.nodes[inode], data if op == "W" else None
            node.content = written(node.content, at, bytes_of)
            node.writes.append((at, bytes_of))
        elif self.syncs:
            node = self.nodes[inode]
            node.synced, node.writes = node.content, []
            for change in self.changes:
                change.is_synced |= node in change.folders
        if op in "CMUR":
            self.changes[-1].apply(self.names)

    def lose_power(self, target: Path, kind: str, rng: Random) -> None:
        """Write to a new folder what may be left."""
        names, stopped = {node: {**inner} for node, inner in self.before.items()}, set[Node]()
        for change in self.changes:
            if kind == "nothing" or (kind == "some" and rng.random() < 0.3):
                stopped.add(change.folders[0])
            if change.is_synced or change.folders[0] not in stopped:
                change.apply(names)

        def write(node: Node, path: Path) -> None:
            if node.is_folder:
                path.mkdir()
                for name, inner in names[node].items():
                    write(inner, path / name)
                return
            content = node.synced
            for at, data in node.writes:
                if kind == "all" or (kind == "some" and rng.random() < 0.5):
                    content = written(content, at, data)
            path.write_bytes(content)

        write(self.top, target)


def read_log(path: Path) -> Iterator[Record]:
    """Yield what `power.c` logged."""
    log, place = path.read_bytes(), 0
    while place < len(log):
        end = log.index(b"\n", place)
        op, inode, at, size, old, new = log[place:end].decode().split("\t")
        place = end + 1 + int(size)
        yield op, int(inode), int(at), old, new, log[end + 1 : place]


# --- The calls ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """What makes the folder before a call, the call, and what a reader has of the folder."""

    prepare: Callable[[Path], object]
    work: Callable[[Path], object]
    seen: Callable[[Path], object]


def records(**numbers: int) -> list[dict[str, str]]:
    """Return id → a text like no other, some longer than a page of the database."""
    return [
        {"id": id, "text": " ".join(f"Sentence {n * 100 + i} is here." for i in range(size))}
        for id, n in numbers.items()
        for size in [99 if n % 2 else 3]
    ]


OLD = records(**{f"d{n}": n for n in range(8)}, e1=1, e2=2)
NEW = records(d0=0, d1=11, d2=12, d9=9, d10=10, e9=9)


def inputs(path: Path, rows: object) -> Path:
    file = path.with_name("inputs.json")
    file.write_text(json.dumps(rows))
    return file


def prepare_run(path: Path) -> Run:
    return Run.create(path, parse_settings({"corpus": {"held_out_fraction": 0.0}}, "test"))


def prepare_corpus(path: Path) -> None:
    build.build_corpus(prepare_run(path), inputs(path, OLD))


def seen_corpus(path: Path) -> object:
    try:
        corpus = Corpus.open(Run.open(path), "all")
    except MissingStageError:
        return None
    keys = [*corpus.keys.tolist(), *corpus.copies[:, 0].tolist()]
    ids = [corpus.document(d).id for d in range(len(keys))]
    return corpus.digest, keys, ids, corpus.texts(range(len(corpus))), damage(path / FILE)


def corpus_call(prepare: Callable[[Path], object], call: Callable[[Run, Path], object]) -> Call:
    def work(path: Path) -> object:
        build._SHARD, build._TRANSACTION = 1, 3_500
        return call(Run.open(path), inputs(path, NEW))

    return Call(prepare, work, seen_corpus)


TOY = Stage("wing/toy", 1)


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Write two files, with a checkpoint that a later call continues."""
    if not (workspace / SCRATCH / "state.json").is_file():
        write_json(workspace / SCRATCH / "state.json", run.settings.seed)
    write_text(workspace / "data" / "a.txt", f"{run.settings.seed}" * 100)
    for name in ("b.txt", "data/c.txt"):
        (workspace / name).write_text("c")
    return {"files": 2}


def build_stage(path: Path, seed: int) -> None:
    Run.open(path).changed({"seed": seed}).build(TOY, fill, settings=["seed"])


def prepare_stage(path: Path) -> None:
    prepare_run(path)
    build_stage(path, 1)


def seen_stage(path: Path) -> object:
    run = Run.open(path)
    if not run.has(TOY):
        return None
    return (run.folder(TOY) / "data" / "a.txt").read_text(), run.verify()[TOY.name]


def write_result(path: Path, text: str) -> None:
    path.mkdir(exist_ok=True)
    write_file(path / "result.txt", text * 9_000, force=True)


WORK = {
    "create": corpus_call(prepare_run, build.build_corpus),
    "build": corpus_call(prepare_corpus, build.build_corpus),
    "add": corpus_call(prepare_corpus, build.add_documents),
    "remove": corpus_call(prepare_corpus, lambda run, _: build.remove_documents(run, ["d1", "d2"])),
    "first stage": Call(prepare_run, lambda path: build_stage(path, 2), seen_stage),
    "stage": Call(prepare_stage, lambda path: build_stage(path, 2), seen_stage),
    "result": Call(
        lambda path: write_result(path, "old"),
        lambda path: write_result(path, "new"),
        lambda path: (path / "result.txt").read_text(),
    ),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    memory = Path("/dev/shm")  # No disk has to sync there.
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name).resolve()


def losses(
    name: str, disk: Disk, log: list[Record], folder: Path, moments: int = MOMENTS
) -> Iterator[tuple[str, object]]:
    """Yield what a reader has after moments of a log, or its error; and after the call again."""
    rng, step = Random(1), max(1, len(log) // moments)
    for moment, record in enumerate(log, 1):
        disk.do(record)
        if moment % step and moment < len(log):
            continue
        for kind in KINDS:
            disk.lose_power(folder / "lost", kind, rng)
            try:
                yield kind, WORK[name].seen(folder / "lost")
                if kind == "all":
                    WORK[name].work(folder / "lost")
                    hidden = [p.name for p in (folder / "lost").rglob(".*") if p.name != ".lock"]
                    yield "again", hidden or WORK[name].seen(folder / "lost")
            except Exception as error:  # noqa: BLE001
                yield kind, repr(error)
            finally:
                shutil.rmtree(folder / "lost")


@pytest.mark.parametrize("name", WORK)
def test_a_call_that_loses_power_leaves_the_old_or_the_new(
    name: str, library: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At moments of all that it tells the disk. Where syncs do nothing, it leaves other things."""
    for constant in ("_SHARD", "_TRANSACTION"):
        monkeypatch.setattr(build, constant, getattr(build, constant))
    call, start = WORK[name], folder / "start"
    call.prepare(start)
    path = Path(shutil.copytree(start, folder / "run"))
    disks = [Disk(path), Disk(path, syncs=False)]
    old = call.seen(path)
    program = f"from {__name__} import *; WORK[{name!r}].work(Path({str(path)!r}))"
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "LD_PRELOAD": str(library), "POWER_ROOT": str(path),
             "POWER_LOG": str(folder / "log"), "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )  # fmt: skip
    new, log = call.seen(path), [*read_log(folder / "log")]
    assert old != new
    after = [*losses(name, disks[0], log, folder)]
    assert [seen for _, seen in after if seen not in (old, new)] == []
    assert {repr(seen) for kind, seen in after if kind == "again"} == {repr(new)}
    assert old in [seen for _, seen in after]
    assert [seen for _, seen in after[-len(KINDS) :]] == [new] * len(KINDS), "what has ended stays"
    unsynced = losses(name, disks[1], log, folder, moments=12)
    assert any(seen not in (old, new) for _, seen in unsynced), "the premise"
