"""The code that a harvest's fingerprint holds: all that Origin reads, and no other baseline."""

import ast
from pathlib import Path

import firth
from firth.harvest import HARVEST

ROOT = Path(firth.__file__).parent
BUILD_ONLY = {"fit/build.py", "fit/tune.py"}
"""They make the fit stage, whose bytes are an input of the harvest."""
PROTOCOL = "baselines/protocol"
"""Types only."""


def imported(path: Path) -> set[str]:
    """Modules of `firth.baselines` that a file imports, as the stage names them."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    names = [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {
        name.removeprefix("firth.").replace(".", "/")
        for name in names
        if name.startswith("firth.baselines.")
    }


def test_the_fingerprint_holds_the_baselines_that_origin_reads() -> None:
    """What `fit`, `origin` and `harvest` import of them is named, and what those import to score;
    a change of any other baseline leaves harvests valid."""
    files = [file for part in ("fit", "origin", "harvest") for file in (ROOT / part).glob("*.py")]
    read: set[str] = set()
    for file in files:
        if file.relative_to(ROOT).as_posix() not in BUILD_ONLY:
            read |= imported(file) - {PROTOCOL}
    assert "baselines/word_bag" in read, "the premise: imports are found"
    named = {part for part in HARVEST.code if part.startswith("baselines")}
    assert named == read
    assert all((ROOT / f"{part}.py").is_file() for part in named)
