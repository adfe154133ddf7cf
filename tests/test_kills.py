"""SIGKILL at random times: the same command again ends with the same bytes, and loses nothing."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import TOY_SETTINGS, toy_documents

BUILD = """
import sys
from pathlib import Path
from tests.conftest import TOY_SETTINGS, toy_documents
from firth.model import build
build(toy_documents(), sys.argv[1], **TOY_SETTINGS)
"""
ADD = """
import sys
from tests.conftest import toy_documents
from firth.model import load
load(sys.argv[1]).add(toy_documents(60)[40:])
"""
REPLACE = """
import sys
from tests.conftest import toy_documents
from firth.model import load
load(sys.argv[1]).add([{**one, "text": "A new text. " + one["text"]} for one in toy_documents(5)])
"""
REMOVE = """
import sys
from firth.model import load
load(sys.argv[1]).remove([f"doc-{n}" for n in range(0, 40, 2)])
"""
DISTILL = """
import sys
from firth.train.distill import distill
distill(sys.argv[1], base="static", epochs=1)
"""
ROOT = Path(__file__).parent.parent


def command(code: str, folder: Path) -> list[str]:
    """Return a command that runs some code on a run."""
    return [sys.executable, "-c", code, str(folder)]


def run_until_it_ends(
    code: str, folder: Path, rng: random.Random, longest: float, kills: int
) -> int:
    """Run a command, kill it at random times, and let it end at last; return the kills."""
    killed = 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    while True:
        process = subprocess.Popen(
            command(code, folder), stderr=subprocess.PIPE, text=True, env=environment
        )
        try:
            _, errors = process.communicate(
                timeout=rng.uniform(0.2, longest) if killed < kills else None
            )
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
            continue
        assert process.returncode == 0, errors
        return killed


def stages(folder: Path) -> dict[str, object]:
    """Return the manifest of each stage."""
    return {
        str(path.parent.relative_to(folder)): json.loads(path.read_text())
        for path in folder.rglob("manifest.json")
    }


def documents(folder: Path) -> list[tuple[object, ...]]:
    """Return what the store has of each document."""
    with sqlite3.connect(folder / "corpus.db") as database:
        return database.execute(
            "SELECT id, title, date, text FROM documents JOIN texts USING (key) ORDER BY id"
        ).fetchall()


def leftovers(folder: Path) -> list[str]:
    """Return hidden files and workspaces that should be gone."""
    return [path.name for path in folder.rglob(".*") if path.name != ".lock"]


@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_a_killed_build_ends_with_the_same_bytes(
    kills: int, toy_folder: Path, tmp_path: Path
) -> None:
    """Every stage has the manifest, and so the bytes, of an undisturbed build."""
    folder = tmp_path / "run"
    assert run_until_it_ends(BUILD, folder, random.Random(kills), 2.5, kills) >= 1
    assert stages(folder) == stages(toy_folder)
    assert documents(folder) == documents(toy_folder)
    assert leftovers(folder) == []


@pytest.mark.parametrize("code", [ADD, REPLACE, REMOVE], ids=["add", "replace", "remove"])
@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_documents_are_never_lost(kills: int, code: str, toy_folder: Path, tmp_path: Path) -> None:
    """After each kill the store has the old documents or the new ones; the same call ends equal."""
    undisturbed, folder = (
        Path(shutil.copytree(toy_folder, tmp_path / name)) for name in ("undisturbed", "run")
    )
    old = documents(folder)
    subprocess.run(command(code, undisturbed), check=True, cwd=ROOT)
    new = documents(undisturbed)
    assert old != new
    rng = random.Random(kills)
    for _ in range(kills):
        process = subprocess.Popen(command(code, folder), cwd=ROOT, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 3))
        process.kill()
        process.wait()
        assert documents(folder) in (old, new)
    if documents(folder) == old:
        subprocess.run(command(code, folder), check=True, cwd=ROOT)
    assert documents(folder) == new


@pytest.mark.slow
def test_a_killed_distillation_ends_with_the_same_bytes(toy_folder: Path, tmp_path: Path) -> None:
    """Training continues from its checkpoints to the same weights."""
    undisturbed, folder = (
        Path(shutil.copytree(toy_folder, tmp_path / name)) for name in ("undisturbed", "run")
    )
    subprocess.run(command(DISTILL, undisturbed), check=True, cwd=ROOT)
    assert run_until_it_ends(DISTILL, folder, random.Random(7), 12, 10) >= 1
    assert stages(folder) == stages(undisturbed)


def test_the_settings_of_the_toy_run_are_those_of_the_fixture(toy_folder: Path) -> None:
    """The premise of this file: what the commands build is what the fixture built."""
    text = (toy_folder / "config.yaml").read_text()
    assert f"dimensions: {TOY_SETTINGS['words']['dimensions']}" in text
    assert len(documents(toy_folder)) == len(toy_documents())
