"""Whole runs that are killed, starved, damaged and led astray; what comes of them, byte by byte.

    python benchmarks/reliability.py kills WORK [--kills 50] [--seed 13] [--only NAME …]
    python benchmarks/reliability.py disk WORK
    python benchmarks/reliability.py changes WORK
    python benchmarks/reliability.py damage WORK [--asked 2] [--seed 13]

    [--out FILE]

Two small runs of made-up documents are whole between them: `printed`, with Origin as printed and
students of its pairs, and `words`, with Origin by word vectors, an adapted encoder, a teacher and a
student of its matrices, an index, a scale, documents that came later, an evaluation, a baseline, a
fine-tuned model and an export. They are made once in WORK, and are what all else is compared with.

`kills`: works in random order, each of them built anew, and sent SIGKILL from outside when it has
used a random share of the processor time that it takes; what goes on from there is killed again in
half of the cases. All files of both runs are then compared.

`disk`: the whole way on a tmpfs that is too small, and a quarter larger each time (needs the right
to mount one); then the same folder read-only.

`changes`: inputs that vanish or change between a kill and the resumption, and what they should come
to; two processes at once; manifests deleted; clocks wrong.

`damage`: a file of each kind of each stage with a bit flipped at its beginning, middle or end, cut
in half, emptied, or gone. `firth check-run` has to name it; two of the commands that read the
stage, drawn anew each time, must end well, or with one message. A flipped bit may go unnoticed
where only sizes are compared.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from firth.run.screen import say

_NOUNS = {
    "sea": "ship harbour wave sailor storm sail captain anchor island tide",
    "farm": "farmer field wheat plough cow barn harvest tractor seed meadow",
    "court": "judge lawyer trial jury witness verdict appeal court law crime",
    "music": "singer song violin concert piano melody orchestra choir drum stage",
}
_VERBS = ("saw", "met", "left", "found", "watched", "reached", "followed", "praised", "feared")
_SHOWN = 300
_PAIR = ("The ship reached the harbour.", "The sailor found the island.")
Contents = dict[str, str]
"""Path in a folder → fingerprint of the file's bytes."""


# What is worked on


def document(rng: random.Random, nouns: Sequence[str]) -> str:
    """Three paragraphs of three to five sentences."""
    return "\n\n".join(
        " ".join(
            "The {} {} the {} near the {}.".format(
                (drawn := rng.sample(nouns, 3))[0], rng.choice(_VERBS), *drawn[1:]
            )
            for _ in range(rng.randint(3, 5))
        )
        for _ in range(3)
    )


def write_inputs(work: Path) -> None:
    """Documents, those that come later, and scored pairs."""
    rng, topics = random.Random(5), [nouns.split() for nouns in _NOUNS.values()]
    for folder, count in (("texts", 40), ("later", 4)):
        (work / folder).mkdir(parents=True)
        for number in range(count):
            path = work / folder / f"{folder}-{number:02}.txt"
            path.write_text(document(rng, topics[number % len(topics)]), encoding="utf-8")
    rows = ["sentence1\tsentence2\tscore"]
    for number in range(60):
        one, two = (rng.sample(topics[(number * k) % 4], 3) for k in (1, 3))
        said = [f"The {each[0]} {rng.choice(_VERBS)} the {each[1]}." for each in (one, two)]
        rows.append("\t".join([*said, f"{len({*one} & {*two}) + rng.random():.3f}"]))
    (work / "pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def configurations(work: Path) -> dict[str, dict[str, Any]]:
    """Settings of the two runs."""
    shared = {
        "corpus": {"inputs": [str(work / "texts")]},
        "tokenizer": {"vocabulary": 400},
        "retrieve": {"chunks": 50, "features_log2": 12},
        "harvest": {"pairs": 60, "shard_pairs": 12, "cluster": 3},
        "context": {"bag": {"dimensions": 12, "epochs": 4, "batch": 32},
                    "tune": {"layers": 1, "steps": 6, "batch": 6, "checkpoint_steps": 2}},
    }  # fmt: skip
    student = {"base": "transformer", "dimensions": 16, "layers": 1, "epochs": 1, "batch": 8,
               "checkpoint_steps": 2}  # fmt: skip
    printed = {
        "origin": {"method": "paper"},
        "paper": {"contexts": 4, "shortlist": 6},
        "coherence": {"hidden": 8, "embedding": 8, "batch": 16, "steps": 12, "held_out": 0.2,
                      "checkpoint_steps": 4},
        "generator": {"layers": 1, "width": 16, "heads": 2, "feedforward": 32, "steps": 12,
                      "batch_tokens": 512, "warmup": 2, "held_out": 0.2, "checkpoint_steps": 4},
        "surrogate": student,
        "cross_encoder": student,
    }  # fmt: skip
    words = {
        "adapt": {"encoder": str(work / "encoder")},
        "surrogate": student | {"teacher": str(work / "encoder"), "sentences": 200},
        "evaluate": {"tasks": [str(work / "pairs.tsv")], "resamples": 50},
        "baselines": {"skip_thought": {"dimensions": 8, "hidden": 12, "steps": 40, "batch": 16}},
    }
    return {"printed": shared | printed, "words": shared | words}


def way(work: Path, out: Path) -> list[list[str]]:
    """Commands that make everything in the folder `out`."""
    printed, words, tuned = (str(out / name) for name in ("printed", "words", "tuned"))
    return [
        ["run", str(work / "printed.yaml"), "--run", printed],
        ["distill", "--architecture", "cross-encoder", "--run", printed],
        ["run", str(work / "words.yaml"), "--run", words],
        ["corpus", "build", str(work / "texts"), "--run", words],
        ["harvest", "--run", words],
        ["index", "--run", words],
        ["scale", "--run", words],
        ["train", "baseline", "skip-thought", "--run", words],
        ["corpus", "add", str(work / "later"), "--run", words],
        ["finetune", "sts", str(work / "encoder"), str(work / "pairs.tsv"), "--out", tuned,
         "--epochs", "2", "--resamples", "20"],
        ["encode", words, "--out", str(out / "vectors.npy")],
    ]  # fmt: skip


# Processes


def load_libraries() -> None:
    """What the processes below are forked with, which takes most of the time of a small run."""
    from firth.pipeline import STEPS
    from firth.run import code, progress

    progress.set_quiet(True)
    import_module("firth.cli.main")
    for step in STEPS:
        import_module(step.module)
        code.fingerprint_code(step.module)
    for name in ("firth.finetune.train", "firth.index.encode", "firth.evaluate.models",
                 "firth.baselines.trained", "sentence_transformers"):  # fmt: skip
        import_module(name)


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status (below 0: a signal), its processor time, what it printed."""

    status: int
    seconds: float
    printed: str

    @property
    def told(self) -> bool:
        """Whether it ended well, or with one message."""
        return self.status in (0, 1) and "Traceback (most" not in self.printed


def forked(
    act: Callable[[], object], killed_after: float | None = None, limit: float = 300.0
) -> Ended:
    """Do something in a process of its own, sent SIGKILL when it has used so many seconds of
    processor, or after `limit` by the clock."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for name, number in (("stdout", 1), ("stderr", 2)):
                os.dup2(writing, number)
                setattr(sys, name, os.fdopen(number, "w", buffering=1, closefd=False))
            act()
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        except BaseException:  # noqa: BLE001
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    os.set_blocking(reading, False)
    printed, started = b"", time.monotonic()
    while True:
        printed += _rest(reading)
        done, ended, used = os.wait4(pid, os.WNOHANG)
        if done:
            break
        late = time.monotonic() - started > limit
        if late or (killed_after is not None and _processor(pid) >= killed_after):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    while more := _rest(reading):
        printed += more
    os.close(reading)
    status = os.waitstatus_to_exitcode(ended)
    return Ended(status, used.ru_utime + used.ru_stime, printed.decode(errors="replace"))


def _rest(reading: int) -> bytes:
    try:
        return os.read(reading, 1 << 16)
    except BlockingIOError:
        return b""


def _processor(pid: int) -> float:
    """Seconds of processor that a process has used: Linux' clock of it."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def firth(*arguments: str) -> None:
    """The command line, in this process."""
    from firth.cli.main import main

    sys.argv = ["firth", *arguments, *(["-q"] if arguments[0] != "check-run" else [])]
    main()


def contents(folder: Path) -> Contents:
    """Of all files, hidden ones too, but for the locks of runs; where a configuration says that its
    run lies, is no difference."""
    return {
        path.relative_to(folder).as_posix(): hashlib.blake2b(_said(path)).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def _said(path: Path) -> bytes:
    lines = path.read_bytes().splitlines(keepends=True)
    is_config = path.name == "config.yaml"
    return b"".join(line for line in lines if not (is_config and line.startswith(b"run:")))


def differing(one: Contents, two: Contents) -> list[str]:
    """Files that only one has, or that differ."""
    return sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))


def prepare(work: Path) -> Path:
    """The folder of the uninterrupted runs, made where it is missing."""
    from firth.run.config import Config
    from firth.run.run import Run

    whole = work / "whole"
    if (work / "whole.done").is_file():
        return whole
    if work.exists() and any(work.iterdir()):
        raise SystemExit(
            f"{work}: holds something, and no runs that are whole; name another folder"
        )
    write_inputs(work)
    for name, settings in configurations(work).items():
        text = Config.parse(settings, name).to_yaml()
        (work / f"{name}.yaml").write_text(text, encoding="utf-8")
    for command in way(work, whole):
        say(" ".join(command[:2]))
        ended = forked(partial(firth, *command))
        if ended.status:
            raise SystemExit(f"{command}: {ended.printed}")
        if not (work / "encoder").is_dir():
            shutil.copytree(Run(whole / "printed", Config()).path / "surrogate", work / "encoder")
    (work / "whole.done").touch()
    return whole


# Kills


@dataclass(frozen=True)
class Work:
    """Something that is built.

    Attributes:
        name: Run and stage, or the name of what a command writes.
        paths: What is removed to have it built, relative to the folder of all.
        act: Builds it, given that folder.
        telling: Files that may say that it was called more than once.
    """

    name: str
    paths: tuple[str, ...]
    act: Callable[[Path], None]
    telling: tuple[str, ...] = ()

    def remove(self, out: Path) -> None:
        """Have it to be built again."""
        for path in (out / each for each in self.paths):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    @property
    def workspaces(self) -> list[str]:
        """Where it is built, as glob patterns."""
        return [str(Path(each).with_name(f".{Path(each).name}.*")) for each in self.paths]


def works(work: Path) -> list[Work]:
    """All that the two runs consist of."""
    from firth.pipeline import STEPS, bring_up_to_date
    from firth.run.run import Run

    def stage(run: str, step: Any) -> Work:
        def act(out: Path) -> None:
            bring_up_to_date(Run.open(out / run), step.stage)

        return Work(f"{run}: {step.stage.name}", (f"{run}/{step.stage.name}",), act)

    found = [
        stage(run, step)
        for run in ("printed", "words")
        for step in STEPS
        if (work / "whole" / run / step.stage.name / "manifest.json").is_file()
        and not step.stage.name.startswith("added")
    ]

    def last(number: int) -> Callable[[Path], None]:
        return lambda out: firth(*way(work, out)[number])

    return [
        *found,
        Work("words: baseline", ("words/baselines/skip-thought",), last(7)),
        # Killed between its two stages, it finds its documents there already, and counts them so.
        Work(
            "words: added",
            ("words/added/corpus", "words/added/index"),
            last(8),
            ("words/added/corpus/manifest.json",),
        ),
        Work("finetune", ("tuned",), last(9)),
        Work("encode", ("vectors.npy", "vectors.npy.ids.jsonl"), last(10)),
    ]


def kills(work: Path, wanted: int, seed: int, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Kill and resume until there were so many kills, and one at least in every work (or in those
    of `names`)."""
    whole = prepare(work)
    expected, rng = contents(whole), random.Random(seed)
    out = Path(shutil.copytree(whole, work / "killed", dirs_exist_ok=False))
    rows: dict[str, dict[str, Any]] = {}
    chosen = [each for each in works(work) if not names or each.name in names]
    for each in chosen:
        each.remove(out)
        quiet = forked(partial(each.act, out))
        if quiet.status:
            raise SystemExit(f"{each.name}: {quiet.printed}")
        rows[each.name] = {"work": each.name, "seconds": round(quiet.seconds, 2), "kills": 0,
                           "inside": 0, "at": [], "equal": 0, "trials": 0,
                           "different": differing(contents(out), expected)}  # fmt: skip
    queue: list[Work] = []
    while sum(row["kills"] for row in rows.values()) < wanted or not all(
        row["kills"] for row in rows.values()
    ):
        if not queue:
            queue = rng.sample(chosen, len(chosen))
        each = queue.pop()
        row = rows[each.name]
        each.remove(out)
        lives = 0
        while True:
            share = rng.random() if not lives or rng.random() < 0.5 else None
            ended = forked(partial(each.act, out), share and share * row["seconds"])
            if ended.status != -signal.SIGKILL:
                break
            lives += 1
            row["at"].append(round(share or 0.0, 3))
            row["inside"] += any(any(out.glob(pattern)) for pattern in each.workspaces)
        found = [name for name in differing(contents(out), expected) if name not in each.telling]
        row["kills"] += lives
        row["trials"] += 1
        row["equal"] += ended.status == 0 and not found
        row["different"] += found
        if ended.status:
            row["different"].append(ended.printed[-_SHOWN:])
        if found or each.telling:  # what comes next is not to be blamed for it
            shutil.rmtree(out)
            shutil.copytree(whole, out)
    return list(rows.values())


# Disks


@contextmanager
def small_disk(place: Path) -> Iterator[Callable[[str], None]]:
    """A tmpfs, and what changes its options."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=True)

    def remount(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)

    try:
        yield remount
    finally:
        subprocess.run(["umount", str(place)], check=True)


def disk(work: Path) -> list[dict[str, Any]]:
    """The whole way on disks that are too small; then read-only."""
    whole = prepare(work)
    expected, rows = contents(whole), []
    with small_disk(work / "disk") as remount:
        out, size = work / "disk" / "out", 64 << 10
        commands = way(work, out)
        while commands:
            ended = forked(partial(firth, *commands[0]))
            if ended.status == 0:
                commands.pop(0)
                continue
            said = ended.printed.strip()
            rows.append({"size": size, "command": " ".join(commands[0][:2]), "told": ended.told,
                         "full": "space" in said, "said": said[-_SHOWN:]})  # fmt: skip
            size = size * 5 // 4
            remount(f"size={size}")
        equal = not (found := differing(contents(out), expected))
        rows.append({"size": size, "command": "whole", "told": equal, "full": False,
                     "said": " ".join(found)})  # fmt: skip
        remount("ro")
        for name, command in {**asking(work, out), **building(work, out)}.items():
            ended = forked(partial(firth, *command))
            good = ended.status == 0 if name in asking(work, out) else ended.told
            rows.append({"size": 0, "command": f"read-only: {name}", "told": good,
                         "full": False, "said": ended.printed.strip()[-_SHOWN:]})  # fmt: skip
    (work / "disk").rmdir()
    return rows


def asking(work: Path, out: Path) -> dict[str, list[str]]:
    """Commands that read runs and write nothing there."""
    printed, words = str(out / "printed"), str(out / "words")
    return {
        "similarity, printed": ["similarity", *_PAIR, "--run", printed],
        "explain, printed": ["explain", *_PAIR, "--run", printed],
        "contexts": ["contexts", _PAIR[0], "--run", printed],
        "similarity": ["similarity", *_PAIR, "--run", words],
        "explain": ["explain", *_PAIR, "--run", words],
        "search": ["search", words, "a ship in a storm", "--why"],
        "rerank": ["search", words, "a ship", "--rerank-by", f"{printed}/cross-encoder"],
        "duplicates": ["duplicates", words],
        "stats": ["corpus", "stats", "--run", words],
        "check": ["check", f"{words}/surrogate", "--run", words],
        "evaluate": ["evaluate", f"{words}/surrogate", "--task", str(work / "pairs.tsv"),
                     "--resamples", "20"],
        "baseline": ["evaluate", f"baseline:skip-thought@{words}", "--task",
                     str(work / "pairs.tsv"), "--resamples", "20"],
    }  # fmt: skip


def building(work: Path, out: Path) -> dict[str, list[str]]:
    """Commands that build on what is there."""
    printed, words = str(out / "printed"), str(out / "words")
    return {
        "run, printed": ["run", str(work / "printed.yaml"), "--run", printed],
        "run": ["run", str(work / "words.yaml"), "--run", words],
        "harvest": ["harvest", "--run", words, "--pairs", "72"],
        "index": ["index", "--run", words, "--seed", "14"],
        "scale": ["scale", "--run", words, "--seed", "14"],
        "distill": ["distill", "--run", words, "--set", "surrogate.batch=9"],
        "cross-encoder": ["distill", "--architecture", "cross-encoder", "--run", printed,
                          "--set", "cross_encoder.batch=9"],
        "encode": ["encode", words, "--out", str(out / "again.npy")],
        "add": ["corpus", "add", str(work / "texts"), "--run", words],
    }  # fmt: skip


# Changes


def changes(work: Path, seed: int) -> list[dict[str, Any]]:
    """What is changed between a kill and the resumption, and what comes of it."""
    whole, rng = prepare(work), random.Random(seed)
    rows: list[dict[str, Any]] = []

    def note(name: str, good: bool, said: str = "") -> None:
        rows.append({"change": name, "good": good, "said": said.strip()[-_SHOWN:]})

    def fresh(name: str) -> Path:
        shutil.rmtree(work / name, ignore_errors=True)
        return Path(shutil.copytree(whole, work / name))

    def cut(texts: Path, how: str) -> None:
        path = sorted(texts.iterdir())[7]
        if how == "vanished":
            path.unlink()
        else:
            path.write_text("The tide was high. Nobody left the harbour.", encoding="utf-8")

    for how in ("vanished", "changed"):
        corpora = []
        for stopped in (True, False):
            texts = work / "texts-now"
            shutil.rmtree(texts, ignore_errors=True)
            shutil.rmtree(work / "now", ignore_errors=True)
            shutil.copytree(work / "texts", texts)
            command = ["corpus", "build", str(texts), "--run", str(work / "now")]
            if stopped:
                forked(partial(firth, *command), rng.uniform(0.05, 0.2))
            cut(texts, how)
            ended = forked(partial(firth, *command))
            corpora.append(contents(work / "now"))
        note(f"a document {how}: the bytes of a run that never saw it",
             ended.status == 0 and corpora[0] == corpora[1], ended.printed)  # fmt: skip
    named = work / "texts-now" / "texts-08.txt"
    command = ["corpus", "build", str(named), "--run", str(work / "named")]
    shutil.rmtree(work / "named", ignore_errors=True)
    forked(partial(firth, *command), 0.05)
    named.unlink()
    ended = forked(partial(firth, *command))
    note("a named file vanished", ended.status == 1 and ended.told, ended.printed)

    for what, folder, arguments in (
        ("encoder of adapt", "encoder", ["run", "{work}/words.yaml", "--run", "{out}/words"]),
        ("teacher", "encoder", ["distill", "--run", "{out}/words"]),
        ("data of finetune", "pairs.tsv", way(work, Path("{out}"))[9]),
    ):
        out = fresh("changed")
        for path in ("words/adapt", "words/teacher", "words/surrogate", "tuned"):
            shutil.rmtree(out / path)
        command = [each.format(work=work, out=out) for each in arguments]
        forked(partial(firth, *command), 0.3)
        (work / folder).rename(work / "away")
        try:
            ended = forked(partial(firth, *command))
        finally:
            (work / "away").rename(work / folder)
        note(f"{what} vanished", ended.status == 1 and ended.told, ended.printed)
        ended = forked(partial(firth, *command))
        found = differing(contents(out / "words"), contents(whole / "words"))
        note(f"{what} back again", ended.status == 0, ended.printed + " ".join(found[:3]))

    out = fresh("changed")
    shutil.rmtree(out / "words")
    command = way(work, out)[2]
    both = [subprocess.Popen([sys.executable, "-m", "firth", *command, "-q"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for _ in range(2)]  # fmt: skip
    said = [each.communicate()[0] for each in both]
    statuses = sorted(each.returncode for each in both)
    note("two processes on one run: one builds, the other is told", statuses == [0, 1]
         and any("another firth process" in each for each in said), " | ".join(said))  # fmt: skip
    for command in way(work, out)[3:9]:
        forked(partial(firth, *command))
    found = differing(contents(out), contents(whole))
    note("two processes on one run: equal bytes", not found, " ".join(found))

    out = fresh("changed")
    for manifest in sorted(out.rglob("manifest.json")):
        name = manifest.parent.relative_to(out).as_posix()
        kept = manifest.read_bytes()
        manifest.unlink()
        run = "printed" if name.startswith("printed") else "words"
        command = ["run", str(work / f"{run}.yaml"), "--run", str(out / run)]
        if name == "tuned":
            command = way(work, out)[9]
        ended = forked(partial(firth, *command))
        manifest.parent.mkdir(exist_ok=True)
        manifest.write_bytes(kept)
        note(f"no manifest: {name}", ended.told, ended.printed)

    for year, moment in (("1980", 315_532_800.0), ("2080", 3_471_292_800.0)):
        out = fresh("changed")
        for each in out.rglob("*"):
            os.utime(each, (moment, moment))
        ended = forked(partial(_at, moment, *building(work, out)["run"], "--json"))
        unchanged = ended.status == 0 and differing(contents(out), contents(whole)) == []
        note(f"all files, and the clock, of {year}: nothing is built", unchanged, ended.printed)
        for name in ("words/surrogate", "words/index", "tuned"):
            shutil.rmtree(out / name)
        for number in (2, 5, 6, 9):
            ended = forked(partial(_at, moment, *way(work, out)[number]))
        found = differing(contents(out), contents(whole))
        note(f"built in {year}: equal bytes", not found, ended.printed + " ".join(found))
    return rows


def _at(moment: float, *arguments: str) -> None:
    """The command line with a clock that says something else, and goes backwards."""
    start, clock = time.time(), time.time

    def wrong() -> float:
        return moment - (clock() - start)

    time.time = wrong
    firth(*arguments)


# Damage


def damaged(content: bytes) -> Mapping[str, bytes | None]:
    """What may become of a file: name → content, None where it is gone."""

    def flipped(place: int) -> bytes:
        return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]

    found: dict[str, bytes | None] = {
        "gone": None,
        "emptied": b"",
        "cut": content[: len(content) // 2],
    }
    if content:
        places = {"first": min(9, len(content) - 1), "middle": len(content) // 2,
                  "last": len(content) - min(3, len(content))}  # fmt: skip
        found |= {f"flipped, {name}": flipped(place) for name, place in places.items()}
    return found


def read_by(commands: Mapping[str, Sequence[str]], out: Path) -> dict[str, set[str]]:
    """Command → stages that it asks for, as `run/stage`."""
    from firth.run import run as runs

    def act(command: Sequence[str]) -> None:
        folder = runs.Run.folder

        def told(self: Any, stage: Any) -> Path:
            os.write(2, f"\n@{(Path(self.path) / stage.name).resolve()}\n".encode())
            return folder(self, stage)

        runs.Run.folder = told  # type: ignore[method-assign]
        firth(*command)

    found = {}
    for name, command in commands.items():
        ended = forked(partial(act, command))
        if ended.status:
            raise SystemExit(f"{name}: {ended.printed}")
        paths = [Path(line[1:]) for line in ended.printed.splitlines() if line.startswith("@/")]
        found[name] = {path.relative_to(out.resolve()).as_posix() for path in paths}
        for argument in command:  # models that are named by their folder
            path = Path(argument.partition("@")[2] or argument)
            if path.is_relative_to(out) and (path / "manifest.json").is_file():
                found[name].add(path.relative_to(out).as_posix())
    return found


def damage(work: Path, asked: int, seed: int) -> list[dict[str, Any]]:
    """Every kind of file of every stage, every kind of damage, some commands that read it."""
    from firth.run.run import Run

    whole = prepare(work)
    shutil.rmtree(work / "damaged", ignore_errors=True)
    out = Path(shutil.copytree(whole, work / "damaged"))
    commands = asking(work, out)
    reads, rng = read_by(commands, out), random.Random(seed)
    seen: set[tuple[str, str]] = set()
    rows: list[dict[str, Any]] = []
    for manifest in sorted(out.rglob("manifest.json")):
        stage = manifest.parent.relative_to(out).as_posix()
        kinds: dict[str, Path] = {}
        for name in [*json.loads(manifest.read_bytes())["outputs"], "manifest.json"]:
            kinds.setdefault(_kind(name), manifest.parent / name)
        for kind, path in kinds.items():
            if (known := (stage.partition("/")[2], kind)) in seen:  # of the other run
                continue
            seen.add(known)
            content = path.read_bytes()
            row: dict[str, Any] = {"stage": stage, "kind": kind, "file": path.name, "named": 0,
                                   "of": 0, "commands": Counter(), "bad": []}  # fmt: skip
            rows.append(row)
            for how, now in damaged(content).items():
                if now == content:  # empty before, too
                    continue
                path.unlink() if now is None else path.write_bytes(now)
                if stage.split("/")[0] in ("printed", "words"):
                    run = stage.split("/")[0]
                    found = Run.open(out / run).check().get(stage.partition("/")[2])
                    # A manifest that is gone is a stage that is not built.
                    row["named"] += bool(found) or (kind == "manifest.json" and found is None)
                    row["of"] += 1
                readers = [name for name in commands if stage in reads[name]]
                for name in rng.sample(readers, min(asked, len(readers))):
                    ended = forked(partial(firth, *commands[name]), limit=60)
                    row["commands"][_outcome(ended)] += 1
                    if not ended.told:
                        row["bad"].append([name, how, ended.status, ended.printed[-_SHOWN:]])
                path.write_bytes(content)
    return rows


def _kind(name: str) -> str:
    path = Path(name)
    return path.name if path.suffix == ".json" else path.suffix or path.name


def _outcome(ended: Ended) -> str:
    if not ended.told:
        return "bad"
    return "unnoticed" if ended.status == 0 else "one message"


# Tables


def show(command: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """A line a row; whether all is well."""
    good = True
    for row in rows:
        match command:
            case "kills":
                fine = row["equal"] == row["trials"] and not row["different"]
                told = (f"{row['work']:24} {row['seconds']:6.2f} s  {row['kills']:3} kills, "
                        f"{row['inside']:3} with work begun, {row['trials']:3} trials, "
                        f"{row['equal']:3} equal  {row['different'][:3] or ''}")  # fmt: skip
            case "disk":
                fine = row["told"]
                told = (
                    f"{row['size'] >> 10:6,} KiB  {row['command']:28} {'ok ' if fine else 'BAD'} "
                )
                told += row["said"].replace("\n", " ")[-160:]
            case "changes":
                fine = row["good"]
                told = f"{'ok ' if fine else 'BAD'} {row['change']}: {row['said'][-160:]!r}"
            case _:
                fine = row["named"] == row["of"] and not row["bad"]
                counts = ", ".join(f"{n} {name}" for name, n in row["commands"].items())
                told = (f"{row['stage']:26} {row['kind']:22} named {row['named']} of {row['of']}; "
                        f"{counts} {row['bad'][:2] or ''}")  # fmt: skip
        say(told)
        good &= bool(fine)
    return good


def main() -> None:
    """Do what is asked for; status 1 where anything is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["kills", "disk", "changes", "damage"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--asked", type=int, default=2, help="Commands for each damage.")
    parser.add_argument("--only", nargs="+", default=[], help="Works that are killed.")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    load_libraries()
    work = given.work.resolve()
    match given.command:
        case "kills":
            shutil.rmtree(work / "killed", ignore_errors=True)
            rows = kills(work, given.kills, given.seed, given.only)
        case "disk":
            rows = disk(work)
        case "changes":
            rows = changes(work, given.seed)
        case _:
            rows = damage(work, given.asked, given.seed)
    good = show(given.command, rows)
    if given.out:
        given.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
