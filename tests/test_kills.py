"""SIGKILL at random times: the same command again ends with the same bytes, and loses nothing.

Results in one file have --force: a kill after the rename leaves a whole file, which is refused.

The campaign: `FIRTH_KILLS=15 FIRTH_SEED=1 python -m pytest -m slow tests/test_kills.py`. It writes
the figures of docs/benchmarks/reliability.md.
"""

import errno
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from tests.conftest import toy_documents
from tests.paper.conftest import SMALL
from tests.run.test_power import read_log

from firth.run.settings import parse_settings, settings_text

SEED = int(os.environ.get("FIRTH_SEED", "1"))
KILLS = int(os.environ.get("FIRTH_KILLS", "15"))
ERRORS = 8
"""Of the disk, that each command gets."""
CHILD = """
import os, sys
import firth.cli.main, firth.evaluation.evaluate, firth.pipeline.stages
import firth.search.documents, firth.search.duplicates
if sys.argv[1] in ("train", "paper"):
    import sentence_transformers
    from firth.train import loop
    loop.CHECKPOINT_STEPS = 5
print("ready", flush=True)
firth.cli.main.main()
os._exit(0)
"""
"""Says when the work begins: a kill during imports, or while Python exits, would show nothing."""


def without_index(folder: Path) -> None:
    shutil.rmtree(folder / "run" / "index")


def without_run(folder: Path) -> None:
    shutil.copy(folder / "run" / "settings.toml", folder / "toy.toml")
    shutil.rmtree(folder / "run")


@dataclass(frozen=True)
class Command:
    """A command of firth that works in a folder, and what is done to the folder first."""

    words: str
    prepare: Callable[[Path], object] = Path.exists


COMMANDS = {
    "build": Command("build docs.jsonl --run run --set toy.toml", without_run),
    "index": Command("build --run run", without_index),
    "add": Command("add new.jsonl --run run"),
    "replace": Command("add changed.jsonl --run run"),
    "remove": Command(f"remove {' '.join(f'doc-{n}' for n in range(0, 40, 2))} --run run"),
    "evaluate": Command("evaluate run baseline:dice --task pairs.tsv --out scores.json --force"),
    "duplicates": Command("duplicates --run run --out cleaned.jsonl --force"),
    "train finetune": Command("train finetune run/static --data pairs.tsv --out out --epochs 4"),
}

PAPER = Command("paper build --run run --set paper.toml --to surrogate")
DISK = {
    **{name: COMMANDS[name] for name in COMMANDS if name != "train finetune"},
    "match": Command("match docs.jsonl new.jsonl --out matched.jsonl --force"),
}


@pytest.fixture(scope="module")
def start(toy_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the toy run and the files that the commands read."""
    folder = tmp_path_factory.mktemp("start")
    shutil.copytree(toy_folder, folder / "run")
    old, new = toy_documents(), toy_documents(60)[40:]
    changed = [{**one, "text": f"A new text. {one['text']}"} for one in old[:9]]
    for name, records in (("docs", old), ("new", new), ("changed", changed)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
    sentences = [one["text"].split(".")[0] for one in old]
    rows = [f"{a}\t{b}\t{n % 6}\n" for n, (a, b) in enumerate(pairwise(sentences))]
    (folder / "pairs.tsv").write_text("sentence1\tsentence2\tscore\n" + "".join(rows))
    paper = parse_settings({"paper": {**SMALL, "contexts": {"size": 2, "shortlist": 4}}}, "test")
    (folder / "paper.toml").write_text(settings_text(paper))
    return folder


def begin(words: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """Start a command, and return when its work begins."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *words.split(), "-q"], cwd=folder, text=True,
        env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()
    return process


def end(process: subprocess.Popen[str], seconds: float | None = None) -> bool:
    """Wait for the end of a command; return whether it came in time. It must succeed."""
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    assert process.returncode == 0, errors
    return True


def documents(folder: Path) -> list[tuple[object, ...]]:
    """Return what the store has of each document, with the keys that the index names."""
    if not (folder / "run" / "corpus.db").exists():
        return []
    with sqlite3.connect(folder / "run" / "corpus.db") as database:
        return database.execute(
            "SELECT key, id, title, date, text FROM documents JOIN texts USING (key) ORDER BY key"
        ).fetchall()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file, hidden ones included; documents stand for the database."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock" and not path.name.startswith("corpus.db")
    }
    return {**files, "corpus.db": repr(documents(folder)).encode()}


def interrupt(
    command: Command, start: Path, place: Path, count: int, rng: random.Random
) -> dict[str, int]:
    """Kill a command `count` times; each folder that is left is continued until it ends.

    Returns:
        Number of kills, of those that left a folder between start and end, and of folders
        that ended, all of them with the bytes of the undisturbed command.
    """
    before = Path(shutil.copytree(start, place / "before"))
    command.prepare(before)
    undisturbed = Path(shutil.copytree(before, place / "undisturbed"))
    process, began = begin(command.words, undisturbed), time.monotonic()
    end(process)
    whole = time.monotonic() - began
    old, new, store = contents(before), contents(undisturbed), documents(before)
    assert old != new
    counts = {"kills": 0, "midway": 0, "ended": 0}
    while counts["kills"] < count:
        folder = Path(shutil.copytree(before, place / f"trial-{counts['ended']}"))
        longest, found = whole, old
        while True:
            process = begin(command.words, folder)
            is_last = counts["kills"] == count or found == new
            if end(process, None if is_last else rng.uniform(0, longest)):
                break
            process.kill()
            process.communicate()
            found, longest = contents(folder), whole / 2  # What was done is not done again.
            counts["kills"] += 1
            counts["midway"] += found not in (old, new)
            assert documents(folder) in (store, documents(undisturbed))
        found = contents(folder)
        assert {name for name in found if found[name] != new.get(name)} == set()
        assert found.keys() == new.keys()
        counts["ended"] += 1
        shutil.rmtree(folder)
    return counts


@pytest.mark.parametrize(
    ("command", "kills"),
    [(COMMANDS["build"], 3), (COMMANDS["add"], 2), pytest.param(PAPER, 4, marks=pytest.mark.slow)],
)
def test_a_killed_command_ends_with_the_same_bytes(
    command: Command, kills: int, start: Path, tmp_path: Path
) -> None:
    """Killed at random times and called again, with nothing lost and nothing left behind."""
    interrupt(command, start, tmp_path, kills, random.Random(kills))


@pytest.fixture(scope="module")
def counted() -> Iterator[dict[str, dict[str, int]]]:
    """Counts of each command; when all are there, they become stored figures."""
    counts: dict[str, dict[str, int]] = {}
    yield counts
    if counts.keys() == COMMANDS.keys():
        sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
        from figures import record

        kinds = ("kills", "midway", "ended")
        rows: dict[str, list[int | str]] = {
            name: [*counts[name].values(), "equal"] for name in COMMANDS
        }
        rows["all"] = [*(sum(each[kind] for each in counts.values()) for kind in kinds), "equal"]
        record(
            "kills",
            ["command", *kinds, "bytes"],
            rows,
            command=f"FIRTH_KILLS={KILLS} FIRTH_SEED={SEED} pytest -m slow tests/test_kills.py",
            data=f"{len(toy_documents())} documents made by tests/conftest.py",
            seed=SEED,
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_campaign(
    name: str, start: Path, tmp_path: Path, counted: dict[str, dict[str, int]]
) -> None:
    """Every command that writes."""
    counted[name] = interrupt(
        COMMANDS[name], start, tmp_path, KILLS, random.Random(f"{SEED} {name}")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DISK)
def test_an_error_of_the_disk_is_one_message(
    name: str, start: Path, tmp_path: Path, library: Path
) -> None:
    """A file cannot be made, written, synced or renamed; the same command again ends as usual."""
    words, rng = DISK[name].words, random.Random(f"{SEED} {name}")
    before = Path(shutil.copytree(start, tmp_path / "before"))
    DISK[name].prepare(before)
    whole, log = Path(shutil.copytree(before, tmp_path / "whole")), tmp_path / "log"
    disk = {"LD_PRELOAD": str(library), "POWER_ROOT": str(tmp_path)}
    end(begin(words, whole, **disk, POWER_LOG=str(log)))
    calls = sum(record[0] in "CWSR" for record in read_log(log))
    for number in range(ERRORS):
        folder = Path(shutil.copytree(before, tmp_path / "trial"))
        error = (errno.ENOSPC, errno.EIO)[number % 2]
        at, log_of_trial = rng.randint(1, calls), str(tmp_path / "unread")
        process = begin(
            words,
            folder,
            **disk,
            POWER_LOG=log_of_trial,
            POWER_FAILS=f"{at}",
            POWER_ERROR=f"{error}",
        )
        _, said = process.communicate()
        assert process.returncode == 0 or (said.count("firth: ") == 1 and "Traceback" not in said)
        assert documents(folder) in (documents(before), documents(whole))
        end(begin(words, folder))
        assert contents(folder) == contents(whole)
        shutil.rmtree(folder)


def test_a_clock_that_is_set_back_changes_nothing(start: Path, tmp_path: Path) -> None:
    """Times of files decide nothing: what has not changed is not built again, and what has is."""
    folder = Path(shutil.copytree(start, tmp_path / "set-back"))
    for path in (folder / "run").rglob("*"):
        os.utime(path, (2**32, 2**32))
    before = contents(folder)
    end(begin("build --run run", folder))
    assert contents(folder) == before
    (folder / "new.jsonl").touch()
    os.utime(folder / "new.jsonl", (0, 0))
    end(begin("add new.jsonl --run run", folder))
    assert len(documents(folder)) == len(toy_documents(60))
