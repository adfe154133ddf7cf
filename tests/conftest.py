"""Settings of all tests. Fixtures of a package are in its folder's conftest.py."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from firth.run.console import set_quiet
from firth.run.run import Run
from firth.run.settings import parse_settings

# Threads gain nothing from tiny models. Set before numpy is imported; processes inherit it.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# How long an example takes depends on what else the machine does.
settings.register_profile("firth", deadline=None)
settings.load_profile("firth")


@pytest.fixture(autouse=True)
def _noisy() -> None:
    """Each test begins with notes and progress switched on."""
    set_quiet(False)


@pytest.fixture
def empty_run(tmp_path: Path) -> Run:
    """A run with default settings and no stage, in a new folder."""
    return Run.create(tmp_path / "run", parse_settings({}, "test"))
