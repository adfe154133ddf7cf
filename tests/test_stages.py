"""The version of a stage is raised when its bytes change.

`stages.json` has the version of each stage of the toy run, and the sizes of its files; of stages
without floating-point sums also their digest. When this test fails because code changed the bytes
of a stage, raise the version of its `Stage`, and record again: `python tests/test_stages.py RUN`.
"""

import json
import sys
from pathlib import Path

from firth.run.stage import Manifest

RECORD = Path(__file__).parent / "stages.json"
EXACT = ("questions", "blend")
"""Stages without floating-point sums, whose bytes are the same on every machine."""


def versions_of(folder: Path) -> dict[str, dict[str, object]]:
    """Return version and digest of each stage of a run."""
    found = {}
    for path in sorted(folder.rglob("manifest.json")):
        manifest = Manifest.read(path.parent)
        assert manifest is not None
        files = {name: known["bytes"] for name, known in manifest.outputs.items()}
        exact = manifest.digest if manifest.stage in EXACT else ""
        found[manifest.stage] = {"version": manifest.version, "files": files, "digest": exact}
    return found


def test_changed_bytes_come_with_a_new_version(toy_folder: Path) -> None:
    """Every stage has the recorded files and sizes, and the exact ones the recorded bytes."""
    recorded = json.loads(RECORD.read_text())
    found = versions_of(toy_folder)
    assert set(found) == set(recorded)
    for stage, now in found.items():
        if now["version"] == recorded[stage]["version"]:
            assert now == recorded[stage], f"raise the version of the stage {stage}"


if __name__ == "__main__":
    RECORD.write_text(json.dumps(versions_of(Path(sys.argv[1])), indent=1, sort_keys=True) + "\n")
