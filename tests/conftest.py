"""Settings of all tests. Fixtures of a package are in its folder's conftest.py."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from timeit import timeit
from typing import Any

import pytest
from hypothesis import settings

from firth.run.console import set_quiet
from firth.run.run import Run
from firth.run.settings import parse_settings

# Threads gain nothing from tiny models. Set before numpy is imported; processes inherit it.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# A test that opens a tiny model does not start a process for it first (tests/encoders/test_probe).
os.environ.setdefault("FIRTH_PROBED", "1")
# Runs learn from the text alone, whichever encoders are installed (tests/model/test_choice).
os.environ["FIRTH_ENCODER"] = "none"
# How long an example takes depends on what else the machine does.
settings.register_profile("firth", deadline=None)
settings.load_profile("firth")


@pytest.fixture(autouse=True)
def _noisy() -> None:
    """Each test begins with notes and progress switched on."""
    set_quiet(False)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What logs, or fails, the system calls of a process that change files."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    path = tmp_path_factory.mktemp("library") / "power.so"
    source = Path(__file__).parent / "run" / "power.c"
    command = ["cc", "-shared", "-fPIC", "-o", str(path), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def empty_run(tmp_path: Path) -> Run:
    """A run with default settings and no stage, in a new folder."""
    return Run.create(tmp_path / "run", parse_settings({}, "test"))


def blocks(page: str, kind: str = "python") -> list[str]:
    """Return the blocks of code of a kind on a page of `docs/`."""
    text = (Path(__file__).parents[1] / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def grows(work: Callable[[str], object], part: str, short: int, long: int, factor: int) -> bool:
    """Return whether the processor time of work on a repeated part, cut at two lengths, grows by
    more than a factor, in each of three tries; a twentieth of a second is no time, and garbage is
    not collected meanwhile."""

    def seconds(length: int) -> float:
        return timeit(partial(work, (part * length)[:length]), timer=process_time, number=1)

    return seconds(long) > 0.05 and all(seconds(long) > factor * seconds(short) for _ in range(3))


def toy_documents(count: int = 40) -> list[dict[str, str]]:
    """Return documents about ships or farms, each with sentences that follow one another."""
    sea = ["ship", "boat", "harbor", "storm", "captain"]
    farm = ["farmer", "field", "wheat", "cow", "barn"]
    documents = []
    for number in range(count):
        nouns = (sea, farm)[number % 2]
        sentences = [
            f"The {nouns[i % 5]} number {number} saw the {nouns[(i + 1 + number) % 5]} on day {i}."
            f" It was near the {nouns[(i + 2) % 5]} again."
            for i in range(6)
        ]
        documents.append(
            {
                "id": f"doc-{number}",
                "title": f"About the {nouns[0]} {number}",
                "date": f"20{10 + number % 10}-01-01",
                "section": ("sea", "farm")[number % 2],
                "text": "\n\n".join(sentences),
            }
        )
    return documents


TOY_SETTINGS: dict[str, Any] = {
    "corpus": {"fields": ["section"], "held_out_fraction": 0.2},
    "words": {"min_count": 2, "dimensions": 16, "epochs": 1},
    "static": {"dimensions": 32},
    "scorer": {"topics": 5},
}
"""Settings that make a build of toy documents fast."""


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was built from toy documents; tests that change it copy it first."""
    from firth.model import build

    folder = tmp_path_factory.mktemp("toy") / "run"
    set_quiet(True)
    build(toy_documents(), folder, settings=TOY_SETTINGS)
    return folder


@pytest.fixture
def toy_copy(toy_folder: Path, tmp_path: Path) -> Path:
    """A copy of the toy run that a test may change."""
    return Path(shutil.copytree(toy_folder, tmp_path / "toy"))
