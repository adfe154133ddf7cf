"""The core runs where a system lacks what Unix has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firth.run.files import lock, private_folder, remove_leftovers

JOB = """
import sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
import importlib, pkgutil, firth
for info in pkgutil.walk_packages(firth.__path__, "firth."):
    parts = info.name.split(".")
    if parts[1] not in {"train", "paper", "ratings", "reproduce", "serve", "__main__"}:
        try:
            importlib.import_module(info.name)
        except ImportError as error:
            assert error.name not in ("fcntl", "resource", "pwd", "grp"), (info.name, error)
"""


def test_the_core_is_imported_without_what_unix_alone_has() -> None:
    """Modules of Unix are imported where they are used, with another way beside them."""
    subprocess.run([sys.executable, "-c", JOB], check=True)


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    """A file that this process has locked cannot be locked again; a leftover can."""
    path = tmp_path / "lock"
    path.touch()
    first, second = (os.open(path, os.O_RDWR) for _ in range(2))
    lock(first)
    with pytest.raises(OSError, match=r".*"):
        lock(second)
    os.close(first)
    lock(second)
    os.close(second)
    with private_folder(tmp_path) as (folder, _):
        remove_leftovers(tmp_path)
        assert folder.is_dir(), "it is in use"
    assert not folder.exists()
