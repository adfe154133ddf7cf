"""A harvest to be built, and what one consists of."""

import shutil
from pathlib import Path

import pytest

from firth.harvest import HARVEST
from firth.run.run import Run


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Run:
    """A run whose harvest of five shards is not built."""
    found = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    shutil.rmtree(found.path / HARVEST.name)
    return found


def contents(run: Path) -> dict[str, bytes]:
    """File → bytes, of a run's harvest."""
    return {path.name: path.read_bytes() for path in (run / HARVEST.name).iterdir()}
