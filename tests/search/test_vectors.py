"""`firth.search.vectors`: a vector for each document of a file, whatever the format."""

import json
from pathlib import Path

import numpy as np
import pytest

from firth.encoders.static import StaticEncoder
from firth.run.errors import InputError
from firth.run.files import read_arrays
from firth.run.run import Run
from firth.search import vectors as module
from firth.search.vectors import encode_file

LINES = ["A ship left the harbor.", "The judge met the jury.", "A cow in the field."]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A text file with an empty line."""
    path = tmp_path / "lines.txt"
    path.write_text("\n".join([LINES[0], "", *LINES[1:]]) + "\n")
    return path


@pytest.mark.parametrize("shard", [4_096, 2])
def test_lines_are_encoded_by_the_encoder_of_a_run(
    run: Run, lines: Path, tmp_path: Path, shard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are those of the encoder, and ids name the lines."""
    monkeypatch.setattr(module, "_SHARD", shard)
    out = tmp_path / "out.npy"
    encoded = encode_file(lines, out, str(run.path))
    assert (encoded.rows, encoded.dimensions) == (3, 24)
    expected = StaticEncoder.open(run.path / "encoder").encode(LINES)
    np.testing.assert_array_equal(np.load(out), expected)
    ids = [json.loads(line) for line in encoded.ids.read_text().splitlines()]
    assert ids == ["lines.txt:1", "lines.txt:3", "lines.txt:4"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lines.txt", "out.npy", "out.npy.ids.jsonl",
    ]  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_records_and_precisions(run: Run, tmp_path: Path, precision: str) -> None:
    """Cosines stay, within the precision; safetensors has one array."""
    file = tmp_path / "records.jsonl"
    records = [{"id": f"r{n}", "text": text} for n, text in enumerate(LINES)]
    file.write_text("\n".join(map(json.dumps, records)) + "\nbroken\n")
    out = tmp_path / "new folder" / "out.safetensors"
    encode_file(file, out, str(run.path / "encoder"), precision)
    rows = read_arrays(out)[0]["vectors"]
    assert rows.dtype == np.dtype(precision)
    rows = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    expected = StaticEncoder.open(run.path / "encoder").encode(LINES)
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=0.02)
    ids = out.with_name("out.safetensors.ids.jsonl").read_text().splitlines()
    assert ids == ['"r0"', '"r1"', '"r2"']


def test_nothing_is_replaced_and_arguments_are_checked(
    run: Run, lines: Path, tmp_path: Path
) -> None:
    """What is wrong is said before the work."""
    out = tmp_path / "out.npy"
    out.write_text("mine")
    with pytest.raises(InputError, match="--force"):
        encode_file(lines, out, str(run.path))
    assert out.read_text() == "mine"
    encode_file(lines, out, str(run.path), force=True)
    assert len(np.load(out)) == 3
    with pytest.raises(InputError, match=r"ends in \.npy"):
        encode_file(lines, tmp_path / "out.parquet", str(run.path))
    with pytest.raises(InputError, match="float32, float16, int8"):
        encode_file(lines, tmp_path / "new.npy", str(run.path), "binary")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("broken\n")
    with pytest.raises(InputError, match="has no text"):
        encode_file(empty, tmp_path / "new.npy", str(run.path))
    assert not (tmp_path / "new.npy").exists()
