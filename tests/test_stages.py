"""The version of a stage is raised when its content changes.

`stages.json` has the version of each stage of the toy run, and of each file its size, a digest of
its words and whole numbers, and a few sums of its other numbers, which differ a little from machine
to machine. When this test fails because code changed what a stage holds, raise the version of its
`Stage`, and record again: `python tests/test_stages.py RUN`.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np

from firth.run.files import read_arrays, write_arrays
from firth.run.stage import Manifest

RECORD = Path(__file__).parent / "stages.json"
SUMS, TOLERANCE = 4, 0.02
"""Sums of the numbers of a file with random signs, and how much they may differ."""
Content = dict[str, Any]


def numbers_of(value: Any, words: list[Any]) -> Iterator[float]:
    """Yield the fractions in a value of JSON, and append everything else to `words`."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict | list):
        words.append(sorted(value) if isinstance(value, dict) else len(value))
        items = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
        for item in items:
            yield from numbers_of(item, words)
    else:
        words.append(value)


def content_of(file: Path) -> Content:
    """Return size, if it is the same on every processor, digest and sums of a file."""
    exact: list[Any] = []
    fractions: list[Any] = []
    if file.suffix in (".npy", ".safetensors"):
        arrays = {"": np.load(file)} if file.suffix == ".npy" else read_arrays(file)[0]
        for name, array in sorted(arrays.items()):
            exact.append([name, str(array.dtype), array.shape])
            if file.name == "codes.npy":  # A sign of a number near 0 may differ.
                fractions.append(np.unpackbits(np.ascontiguousarray(array).view(np.uint8)))
            elif array.dtype.kind == "f":
                fractions.append(array.ravel())
            else:
                exact.append(array.tolist())
    else:
        text = file.read_text(encoding="utf-8")
        for line in text.splitlines() if file.suffix == ".jsonl" else [text]:
            fractions.append([*numbers_of(json.loads(line), exact)])
    values = np.concatenate([np.asarray(part, np.float64) for part in fractions] or [np.zeros(0)])
    signs = np.random.default_rng(13).choice([-1.0, 1.0], (SUMS, len(values)))
    length = max(float(np.linalg.norm(values)), 1e-12)
    # The last digits of fractions depend on the processor, and so does the length of their text.
    is_exact = file.suffix in (".npy", ".safetensors") or not len(values)
    return {
        "bytes": file.stat().st_size if is_exact else None,
        "digest": blake2b(json.dumps(exact).encode(), digest_size=8).hexdigest(),
        "length": float(f"{length:.4g}"),
        "sums": [round(total, 3) for total in (signs @ values / length).tolist()],
    }


def contents_of(folder: Path) -> dict[str, Content]:
    """Return the version of each stage of a run, and the content of its files."""
    found: dict[str, Content] = {}
    for path in sorted(folder.rglob("manifest.json")):
        manifest = Manifest.read(path.parent)
        assert manifest is not None
        files = {name: content_of(path.parent / name) for name in sorted(manifest.outputs)}
        found[manifest.stage] = {"version": manifest.version, "files": files}
    return found


def is_same(one: Content, two: Content) -> bool:
    """Return whether two files hold the same, but for rounding."""
    return (one["bytes"], one["digest"]) == (two["bytes"], two["digest"]) and np.allclose(
        [1, *one["sums"]], [two["length"] / one["length"], *two["sums"]], atol=TOLERANCE
    )


def test_changed_content_comes_with_a_new_version(toy_folder: Path) -> None:
    """Every stage has the recorded files, and every file the recorded content."""
    recorded, found = json.loads(RECORD.read_text()), contents_of(toy_folder)
    assert set(found) == set(recorded)
    for stage, now in found.items():
        assert now["version"] == recorded[stage]["version"], f"record {stage} again"
        files = recorded[stage]["files"]
        assert set(now["files"]) == set(files)
        for name, content in now["files"].items():
            assert is_same(content, files[name]), f"raise the version of {stage}: {name}"


def test_any_changed_number_is_seen(toy_folder: Path, tmp_path: Path) -> None:
    """A file whose rows are in another order is another file, and a copy of it is the same."""
    for file in toy_folder.rglob("*.safetensors"):
        arrays, _ = read_arrays(file)
        write_arrays(tmp_path / file.name, arrays)
        assert is_same(content_of(tmp_path / file.name), {**content_of(file), "bytes": ANY})
        write_arrays(tmp_path / file.name, {key: rows[::-1] for key, rows in arrays.items()})
        assert not is_same(content_of(tmp_path / file.name), {**content_of(file), "bytes": ANY})


if __name__ == "__main__":
    RECORD.write_text(json.dumps(contents_of(Path(sys.argv[1])), indent=1, sort_keys=True) + "\n")
