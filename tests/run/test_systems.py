"""The core runs where a system lacks what Unix has."""

import subprocess
import sys

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
