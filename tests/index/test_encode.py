"""Vectors into files: every format of numbers and of files, resumed and replaced."""

import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from firth.cli.main import app
from firth.corpus.library import Library
from firth.index.encode import Format, encode
from firth.index.encoder import TextEncoder
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.surrogate import SURROGATE


def read(path: Path) -> tuple[np.ndarray, list[str]]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return np.array(table["vector"].to_pylist()), table["id"].to_pylist()
    names = path.with_name(f"{path.name}.ids.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = np.load(path) if path.suffix == ".npy" else load_file(path)["vectors"]
    return vectors, [json.loads(name) for name in names]


@pytest.mark.parametrize("ending", [".npy", ".parquet", ".safetensors"])
def test_sentences_of_a_run(tiny_run: Path, tmp_path: Path, ending: str) -> None:
    """All of them, in order, by the Surrogate; named by document and place in it."""
    out = tmp_path / "deep" / f"vectors{ending}"
    done = encode(tiny_run, out)
    library = Library.open(tiny_run)
    vectors, ids = read(out)
    expected = TextEncoder.open(tiny_run / SURROGATE.name).encode(
        library.texts(np.arange(len(library)))
    )
    np.testing.assert_array_equal(vectors.astype(np.float32), expected)
    assert done.rows == len(ids) == len(set(ids)) == len(library)
    assert ids[0] == f"{library.document_id(0)}#1"
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("format", [*Format])
@pytest.mark.parametrize("ending", [".npy", ".parquet", ".safetensors"])
def test_numbers_keep_the_cosines(
    tiny_run: Path, tmp_path: Path, format: Format, ending: str
) -> None:
    """In 16 and 8 bits nearly; a bit each is its sign."""
    path = tmp_path / "records.jsonl"
    path.write_text(
        '{"id": "a", "text": "The ship left."}\n{"id": "b", "text": "A cow."}\n', encoding="utf-8"
    )
    out = tmp_path / f"v{ending}"
    encode(path, out, model=tiny_run / SURROGATE.name, format=format)
    vectors, ids = read(out)
    true = TextEncoder.open(tiny_run / SURROGATE.name).encode(["The ship left.", "A cow."])
    assert ids == ["a", "b"]
    if format is Format.BINARY:
        np.testing.assert_array_equal(np.unpackbits(vectors.astype(np.uint8), axis=1), true > 0)
        return
    stored = vectors.astype(np.float64)
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    np.testing.assert_allclose(stored @ stored.T, true @ true.T, atol=1e-2)


def test_lines_of_a_text(tiny_run: Path, tmp_path: Path) -> None:
    """A vector a line that is not empty, named by its number."""
    path = tmp_path / "lines.txt"
    path.write_text("The ship left.\n\nA cow.\n", encoding="utf-8")
    encode(path, tmp_path / "v.npy", model=tiny_run / SURROGATE.name)
    assert read(tmp_path / "v.npy")[1] == ["lines.txt:1", "lines.txt:3"]


def test_an_interrupted_call_goes_on(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bytes of an uninterrupted one; work for another request is not taken up."""
    monkeypatch.setattr("firth.index.vectors.SHARD", 50)
    encode(tiny_run, tmp_path / "whole.npy")
    write = write_json
    calls: list[str] = []

    class Killed(BaseException):
        pass

    def dying(path: Path, value: object) -> None:
        write(path, value)
        calls.append(path.name)
        if len(calls) == 3:
            raise Killed

    monkeypatch.setattr("firth.index.vectors.write_json", dying)
    with pytest.raises(Killed):
        encode(tiny_run, tmp_path / "broken.npy")
    assert (tmp_path / ".broken.npy.firth" / "rows.json").exists()
    monkeypatch.setattr("firth.index.vectors.write_json", write)
    encode(tiny_run, tmp_path / "broken.npy")
    whole, broken = ((tmp_path / f"{name}.npy").read_bytes() for name in ("whole", "broken"))
    assert whole == broken


def test_a_call_that_was_killed_while_it_placed_files_goes_on(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are in their place, vectors are not: the same call puts them there, and does not
    refuse its own file; nothing is encoded twice. One that is not its own is refused."""
    encode(tiny_run, tmp_path / "whole.npy")

    class Killed(BaseException):
        pass

    def dying(source: Path, target: Path) -> None:
        if target == tmp_path / "broken.npy":
            raise Killed
        replace(source, target)

    replace = os.replace
    monkeypatch.setattr("firth.index.encode.os.replace", dying)
    with pytest.raises(Killed):
        encode(tiny_run, tmp_path / "broken.npy")
    monkeypatch.setattr("firth.index.encode.os.replace", replace)
    assert (tmp_path / "broken.npy.ids.jsonl").exists()
    assert not (tmp_path / "broken.npy").exists()
    monkeypatch.setattr("firth.index.encode.write_vectors", None)
    encode(tiny_run, tmp_path / "broken.npy")
    for name in ("npy", "npy.ids.jsonl"):
        one, two = ((tmp_path / f"{stem}.{name}").read_bytes() for stem in ("whole", "broken"))
        assert one == two
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    (tmp_path / "mine.npy.ids.jsonl").write_text("mine")
    with pytest.raises(InputError, match="there already"):
        encode(tiny_run, tmp_path / "mine.npy")


def test_an_encoder_travels_as_its_name(tiny_run: Path, tmp_path: Path) -> None:
    """Who gets it opens a model of that name, and refuses one that is another."""
    folder = shutil.copytree(tiny_run / SURROGATE.name, tmp_path / "model")
    packed = pickle.dumps(encoder := TextEncoder.open(folder))
    assert len(packed) < 500
    texts = ["The ship left.", "A cow."]
    np.testing.assert_array_equal(pickle.loads(packed).encode(texts), encoder.encode(texts))
    with (folder / "modules.json").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match="another model here"):
        pickle.loads(packed)


def test_what_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    """Files in the way, unknown endings, files without a model, folders that are not firth's."""
    lines = tmp_path / "lines.txt"
    lines.write_text("A cow.\n", encoding="utf-8")
    (tmp_path / "there.npy").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="there already"):
        encode(tiny_run, tmp_path / "there.npy")
    with pytest.raises(InputError, match="ends in"):
        encode(tiny_run, tmp_path / "v.txt")
    with pytest.raises(InputError, match="--model"):
        encode(lines, tmp_path / "v.npy")
    (tmp_path / ".v.npy.firth").mkdir()
    (tmp_path / ".v.npy.firth" / "mine").touch()
    with pytest.raises(InputError, match="did not write"):
        encode(tiny_run, tmp_path / "v.npy")
    assert (tmp_path / ".v.npy.firth" / "mine").exists()


def test_the_command(tiny_run: Path, tmp_path: Path) -> None:
    """Says what was written."""
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    out = tmp_path / "v.parquet"
    arguments = ["encode", str(run), "--out", str(out), "--format", "int8", "-q"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "16 dimensions" in " ".join(done.output.split())
    assert pq.read_table(out)["vector"].type.value_type == "int8"
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
