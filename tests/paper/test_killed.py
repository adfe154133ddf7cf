"""A build that is killed, and a harvest by Ray: the bytes of an undisturbed build."""

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from firth.run.settings import parse_settings, settings_text

from .conftest import SMALL, tiny_documents

FIRTH = [sys.executable, "-m", "firth"]


def contents(folder: Path) -> dict[str, bytes]:
    """Return name → bytes of the artefacts of the paper's method in a run."""
    files = (path for path in (folder / "paper").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_killed_build_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """It is killed in the training of the generator, and continued."""
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(json.dumps(one) + "\n" for one in tiny_documents(80)))
    settings = tmp_path / "settings.toml"
    values = {"paper": SMALL, "corpus": {"held_out_fraction": 0.2}}
    settings.write_text(settings_text(parse_settings(values, "test")))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FIRTH_DEVICE": "cpu"}

    def command(run: Path) -> list[str]:
        build = [*FIRTH, "paper", "build", str(documents), "--set", str(settings), "--run"]
        return [*build, str(run), "--to", "surrogate", "-q"]

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), check=True, env=environment)
    process = subprocess.Popen(command(broken), env=environment)
    while not list(broken.glob("paper/.generator*/scratch/*/*.safetensors")):
        assert process.poll() is None, "the build ended before it was killed"
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert not (broken / "paper" / "generator").exists()
    subprocess.run(command(broken), check=True, env=environment)
    assert contents(broken) == contents(whole)

    if find_spec("ray") is None:
        return
    command_of_ray = [*FIRTH, "paper", "build", "--run", str(broken)]
    harvest = broken / "paper" / "harvest"
    harvest.rename(tmp_path / "harvest")
    subprocess.run(
        [*command_of_ray, "--to", "harvest", "--ray", "local", "--workers", "2", "-q"],
        check=True,
        env=environment,
    )
    assert contents(broken) == contents(whole)
