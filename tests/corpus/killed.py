"""Run a call of the store again and again, and kill it at each system call that changes a file.

It is started by `test_kills.py` with the library of `killed.c` preloaded. Arguments: the library, a
folder, and the call. It prints one line of JSON.
"""

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from firth.corpus import build
from firth.corpus.build import add_documents, build_corpus, remove_documents
from firth.corpus.corpus import Corpus
from firth.run.console import set_quiet
from firth.run.errors import MissingStageError
from firth.run.run import Run
from firth.run.settings import parse_settings

State = tuple[str, list[int], list[str]] | None


def text(n: int) -> str:
    """Return a text like no other, longer than a page of the database."""
    return " ".join(f"Sentence {n * 100 + i} is here." for i in range(99 if n % 2 else 3))


def records(*pairs: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"id": id, "text": text(n)} for id, n in pairs]


OLD = records(*((f"d{n}", n) for n in range(8)), ("e1", 1), ("e2", 2))
CALLS: dict[str, Callable[[Run, Path], object]] = {
    "create": lambda run, inputs: build_corpus(run, inputs),
    "build": lambda run, inputs: build_corpus(run, inputs),
    "add": lambda run, inputs: add_documents(run, inputs),
    "remove": lambda run, inputs: remove_documents(run, ["d1", "d2"]),
}


STRIDES = {"create": 3, "build": 2}
"""Steps between two kills, where it is not every step."""


def state(run: Run) -> State:
    try:
        corpus = Corpus.open(run, "all")
    except MissingStageError:
        return None
    keys = [*corpus.keys.tolist(), *corpus.copies[:, 0].tolist()]
    ids = [corpus.document(d).id for d in range(len(keys))]
    return corpus.digest, keys, [*ids, *corpus.texts(range(len(corpus)))]


def forked(call: Callable[[], object], library: ctypes.CDLL, countdown: int) -> bool:
    """Do a call in another process; return whether it came to its end."""
    child = os.fork()
    if child == 0:
        ctypes.c_int.in_dll(library, "countdown").value = countdown
        try:
            call()
        except BaseException as error:  # noqa: BLE001
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, 9), status
    return status == 0


def main(library: ctypes.CDLL, folder: Path, name: str) -> None:
    """Kill the call at each step, at some of them twice in a row, and then let it end."""
    set_quiet(True)
    build._SHARD, build._TRANSACTION = 1, 3_500
    inputs, new = folder / "old.jsonl", folder / "new.jsonl"
    inputs.write_text("".join(json.dumps(row) + "\n" for row in OLD))
    rows = records(("d0", 0), ("d1", 11), ("d2", 12), ("d9", 9), ("d10", 10), ("e9", 9))
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = parse_settings({"corpus": {"held_out_fraction": 0.0}}, "test")
    start = Run.create(folder / "start", settings)
    if name != "create":
        build_corpus(start, inputs)
    before = state(start)
    whole = Run.create(folder / "whole", settings)
    shutil.copytree(start.path, whole.path, dirs_exist_ok=True)
    CALLS[name](whole, new)
    after = state(whole)
    assert before != after
    step, counts, ended = 0, {"old": 0, "new": 0, "other": 0, "unequal": 0}, False
    kinds = {repr(before): "old", repr(after): "new"}
    while not ended:
        step += STRIDES.get(name, 1)
        run = Run(folder / f"run-{step}", settings)
        shutil.copytree(start.path, run.path)
        ended = forked(partial(CALLS[name], run, new), library, step)
        counts[kinds.get(repr(state(run)), "other")] += 1
        if step % 4 == 0:
            forked(partial(CALLS[name], run, new), library, step // 2)
            counts[kinds.get(repr(state(run)), "other")] += 1
        CALLS[name](run, new)
        left = {path.name for path in run.path.iterdir()} - {p.name for p in whole.path.iterdir()}
        counts["unequal"] += state(run) != after or bool(left)
        shutil.rmtree(run.path)
    sys.stdout.write(json.dumps({"steps": step, **counts}))


if __name__ == "__main__":
    main(ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
