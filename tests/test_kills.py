"""A run killed in every stage and started again ends with the bytes of an uninterrupted run.

The process kills itself with SIGKILL, at a chosen write inside the stage's workspace: nothing can
be cleaned up, as when the machine loses power.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firth.pipeline import STEPS
from firth.run.run import CONFIG

_OTHERS = ("evaluation", "teacher", "added/corpus", "added/index")
NAMES = [step.stage.name for step in STEPS if step.stage.name not in _OTHERS]
"""Stages of the tiny run, which has no task to evaluate, whose Origin teaches pairs (of the other
way: `tests/surrogate/test_matrices.py`), and to which nothing was added (of that:
`tests/corpus/test_add.py`, `tests/index/test_add.py`)."""

DRIVER = """
import json, os, signal, sys, traceback
from importlib import import_module

from firth.run import code, files, progress, stage as stages
from firth.pipeline import STEPS, bring_up_to_date
from firth.run.run import Run

progress.set_quiet(True)
for step in STEPS:
    import_module(step.module)
    code.fingerprint_code(step.module)
import sentence_transformers  # loaded once, for all the processes below

def work(run, stage, left, names):
    replace, sync = os.replace, files.sync

    def count(path):
        nonlocal left
        if f".{stage}.work" in str(path):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def counted_replace(source, target):
        count(source)
        replace(source, target)

    def counted_sync(path):
        count(path)
        sync(path)

    os.replace, files.sync, stages.sync = counted_replace, counted_sync, counted_sync
    bring_up_to_date(Run.open(run), *[s.stage for s in STEPS if s.stage.name in names])

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(*json.loads(line))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
"""Runs each line of its input, a JSON list, in a process of its own; prints the exit status.

A process is forked from one that has loaded the libraries and done nothing else: they take most of
the time.
"""

Drive = Callable[[Path, str, int, list[str]], int]


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drive]:
    """Brings stages of a run up to date in a new process, killed at its n-th write in one of them;
    returns the exit status."""
    log = tmp_path_factory.mktemp("kills") / "stderr"
    with log.open("w") as errors:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip

    def call(run: Path, stage: str, writes: int, stages: list[str]) -> int:
        assert driver.stdin is not None
        assert driver.stdout is not None
        driver.stdin.write(json.dumps([str(run), stage, writes, stages]) + "\n")
        driver.stdin.flush()
        answer = driver.stdout.readline().strip()
        assert answer in ("0", str(-signal.SIGKILL)), log.read_text()
        return int(answer)

    yield call
    driver.communicate(timeout=60)


def contents(run: Path) -> dict[str, bytes]:
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for folder in NAMES
        for path in sorted((run / folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("writes", [3])
def test_killed_in_every_stage_and_resumed(
    tiny_run: Path, tmp_path: Path, drive: Drive, writes: int
) -> None:
    """Kill each stage at its n-th write; what the last start completes equals the quiet run."""
    run = tmp_path / "run"
    run.mkdir()
    (run / CONFIG).write_bytes((tiny_run / CONFIG).read_bytes())
    names = NAMES
    killed = []
    for place, name in enumerate(names):
        # One process finishes the stage before, and dies in this one.
        status = drive(run, name, writes, names[max(0, place - 1) : place + 1])
        if status == -signal.SIGKILL:
            killed.append(name)
            assert not (run / name / "manifest.json").exists()
    assert killed == names, "every stage writes often enough to be killed"
    assert drive(run, "none", 1, names) == 0
    assert contents(run) == contents(tiny_run)
    leftovers = [path.name for path in run.iterdir() if path.name.startswith(".")]
    assert set(leftovers) <= {".lock"}


def test_killed_again_and_again_while_distilling(
    tiny_run: Path, tmp_path: Path, drive: Drive
) -> None:
    """Each life of a distillation ends a few writes after the one before; between best weights,
    checkpoints and reports, both kinds of student end as the quiet ones."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    for name in ("surrogate", "cross-encoder"):
        shutil.rmtree(run / name)
        lives = 0
        while drive(run, name, 5 * (lives + 1), [name]) == -signal.SIGKILL:
            lives += 1
        assert lives > 2, "the premise"
    assert contents(run) == contents(tiny_run)


def test_killed_at_random_moments_from_outside(tiny_run: Path, tmp_path: Path) -> None:
    """A quick part of the campaign of `benchmarks/reliability.py`: by the processor time that a
    work has used, wherever it is then."""
    (tmp_path / "work" / "whole").mkdir(parents=True)
    shutil.copytree(tiny_run, tmp_path / "work" / "whole" / "printed")
    (tmp_path / "work" / "whole.done").touch()
    works = ["printed: harvest"]
    script = Path(__file__).parents[1] / "benchmarks" / "reliability.py"
    done = subprocess.run(
        [sys.executable, script, "kills", tmp_path / "work", "--kills", "2", "--only", *works,
         "--out", tmp_path / "kills.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "kills.json").read_text())
    assert [row["work"] for row in rows] == works
    assert sum(row["kills"] for row in rows) >= 2
    assert all(row["equal"] == row["trials"] for row in rows)


def test_the_comparison_sees_differences(tiny_run: Path) -> None:
    """The premise: a finished run has files in every stage to compare."""
    found = {name.split("/")[0] for name in contents(tiny_run)}
    assert found == set(NAMES)
    assert os.path.getsize(tiny_run / "harvest" / "train.parquet") > 0
