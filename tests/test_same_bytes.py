"""A run has the same bytes wherever it is built."""

import os
import subprocess
import sys
from pathlib import Path

from firth.run.run import CONFIG

from .test_kills import NAMES, contents

BUILD = """
import sys
from firth.pipeline import STEPS, bring_up_to_date
from firth.run import progress
from firth.run.run import Run

progress.set_quiet(True)
bring_up_to_date(Run.open(sys.argv[1]), *[s.stage for s in STEPS if s.stage.name in sys.argv[2:]])
"""


def test_another_environment(tiny_run: Path, tmp_path: Path) -> None:
    """Hash seed, locale, time zone, folder and threads of the tokenizer decide nothing, in any
    stage. Threads of PyTorch do: they add up in another order."""
    run = tmp_path / "ein anderer Ordner, später"
    run.mkdir()
    (run / CONFIG).write_bytes((tiny_run / CONFIG).read_bytes())
    other = {
        "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Pacific/Kiritimati", "RAYON_NUM_THREADS": "2",
    }  # fmt: skip
    assert all(os.environ.get(name) != value for name, value in other.items()), "the premise"
    done = subprocess.run(
        [sys.executable, "-c", BUILD, run.name, *NAMES],
        cwd=tmp_path, env=os.environ | other, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert contents(run) == contents(tiny_run)
