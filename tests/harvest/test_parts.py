"""A harvest in parts, by whoever in whatever order, has the bytes of the whole one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harvest.conftest import contents
from typer.testing import CliRunner

from firth.cli.main import app
from firth.harvest import HARVEST, scorer
from firth.harvest.harvest import PARTS, Part, build_harvest, harvest_part
from firth.harvest.scorer import ShardScorer
from firth.harvest.shards import Shard
from firth.run import progress
from firth.run.errors import InputError
from firth.run.run import Run


def test_parts_share_all_shards_out() -> None:
    """Each shard is in one part, and parts differ by one shard at most."""
    for of in (1, 2, 3, 7):
        parts = [[n for n in range(20) if n % of == part - 1] for part in range(1, of + 1)]
        assert sorted(n for part in parts for n in part) == list(range(20))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert str(Part.parse("2/8")) == "2/8"
    for text in ("0/3", "4/3", "3", "a/b", "1/0", "-1/2", "1/2/3"):
        with pytest.raises(InputError, match="expected I/N"):
            Part.parse(text)


def test_merged_parts_are_the_whole(tiny_run: Path, run: Run, tmp_path: Path) -> None:
    """Scored in copies of the run at other places, in any order; then merged in one of them, where
    nothing is scored, and nothing is left of the parts."""
    folders = []
    for number in (3, 1, 2):
        machine = Run.open(shutil.copytree(run.path, tmp_path / f"machine-{number}"))
        done = harvest_part(machine, Part(number, 3))
        assert (done.shards, done.missing) == {1: (2, 3), 2: (2, 3), 3: (1, 4)}[number]
        assert not machine.has(HARVEST)
        folders.append(machine.path / PARTS)
    for folder in folders:
        shutil.copytree(folder, run.path / PARTS, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ShardScorer, "score", None)  # a call would fail
        assert not build_harvest(run, merge=True).reused
    assert contents(run.path) == contents(tiny_run)
    assert not (run.path / PARTS).exists()
    assert build_harvest(run, merge=True).reused


def test_what_is_missing_is_named_or_scored(tiny_run: Path, run: Run) -> None:
    """`--merge` refuses; the plain command scores the rest."""
    harvest_part(run, Part(2, 5))
    with pytest.raises(InputError, match=r"4 of 5 shards are missing \(number 0, 2, 3, 4\)"):
        build_harvest(run, merge=True)
    assert not run.has(HARVEST)
    scored: list[int] = []
    score = ShardScorer.score

    def noted(scorer: ShardScorer, shard: Shard) -> Any:
        scored.append(shard.number)
        return score(scorer, shard)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ShardScorer, "score", noted)
        build_harvest(run)
    assert scored == [0, 2, 3, 4]
    assert contents(run.path) == contents(tiny_run)


def test_parts_of_another_harvest_are_not_taken(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another seed is another folder; a file that was put there by hand is known as foreign."""
    other = run.changed({"seed": 99})
    done = harvest_part(other, Part(1, 1))
    with pytest.raises(InputError, match=r"parts of other harvests \(" + done.folder.name):
        build_harvest(run, merge=True)
    right = harvest_part(run, Part(1, 1)).folder
    shutil.copy(done.folder / "shard-000002.parquet", right / "shard-000002.parquet")
    progress.set_quiet(False)
    with pytest.raises(InputError, match=r"1 of 5 shards are missing \(number 2\)"):
        build_harvest(run, merge=True)
    assert "of another harvest" in capfd.readouterr().err.replace("\n", " ")
    progress.set_quiet(True)
    build_harvest(run)
    assert done.folder.is_dir(), "what belongs to another harvest stays"


def test_a_part_that_was_killed_continues(tiny_run: Path, run: Run) -> None:
    """SIGKILL in the middle of a part; started again, it scores what is missing."""
    script = (
        "import os, signal, sys\n"
        "from firth.harvest import harvest, scorer\n"
        "from firth.run.run import Run\n"
        "score = scorer.ShardScorer.score\n"
        "def dying(self, shard):\n"
        "    if shard.number == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return score(self, shard)\n"
        "scorer.ShardScorer.score = dying\n"
        "harvest.harvest_part(Run.open(sys.argv[1]), harvest.Part(1, 2))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(run.path)], capture_output=True)
    assert done.returncode == -9, done.stderr.decode()
    (folder,) = (run.path / PARTS).iterdir()
    assert [path.name for path in folder.iterdir()] == ["shard-000000.parquet"]
    first = (folder / "shard-000000.parquet").stat().st_mtime_ns
    harvest_part(run, Part(1, 2))
    assert (folder / "shard-000000.parquet").stat().st_mtime_ns == first
    harvest_part(run, Part(2, 2))
    build_harvest(run, merge=True)
    assert contents(run.path) == contents(tiny_run)


def test_on_the_command_line(tiny_run: Path, run: Run) -> None:
    """What is to be done next is said; `--json` has the figures."""

    def firth(*arguments: str) -> str:
        found = CliRunner().invoke(app, ["harvest", "--run", str(run.path), *arguments, "--quiet"])
        assert found.exit_code == 0, found.output
        return found.stdout.replace("\n", " ")

    assert "Part 1/2 is scored: 3 shards" in (said := firth("--part", "1/2"))
    assert "2 shards of other parts are not there yet." in said
    assert json.loads(firth("--part", "2/2", "--json"))["missing"] == 0
    assert "firth harvest --merge" in firth("--part", "2/2")
    assert firth("--merge").startswith("harvest: Scored ")
    assert contents(run.path) == contents(tiny_run)
    both = CliRunner().invoke(app, ["harvest", "--run", "x", "--part", "1/2", "--merge"])
    assert isinstance(both.exception, InputError)


def test_models_that_nothing_asks_stay_closed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that merges needs no memory for them."""
    harvest_part(run, Part(1, 1))
    monkeypatch.setattr(scorer, "ShardScorer", None)
    build_harvest(run, merge=True)
    assert run.has(HARVEST)
