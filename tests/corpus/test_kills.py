"""SIGKILL at system calls that change a file: old or new content, and then the same end."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent
FEWEST = {"create": 40, "build": 60, "add": 40, "remove": 10}
"""Steps that each call surely has; fewer would show that calls are not counted."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    path = tmp_path_factory.mktemp("library") / "killed.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(path), str(HERE / "killed.c"), "-ldl"]
    subprocess.run(command, check=True)
    return path


@pytest.mark.parametrize("call", ["create", "build", "add", "remove"])
def test_a_call_that_is_killed_anywhere_leaves_old_or_new_content(library: Path, call: str) -> None:
    """Add and remove at each step, builds at each second or third, and again after some of them.

    The same call then ends with the keys and the digest of a call that nobody killed.
    """
    memory = Path("/dev/shm")  # No disk has to sync there.
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        done = subprocess.run(
            [sys.executable, str(HERE / "killed.py"), str(library), folder, call],
            env={**os.environ, "LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["steps"] > FEWEST[call]
    assert (counts["other"], counts["unequal"]) == (0, 0)
    assert counts["old"] > 0
    assert counts["new"] > 0
