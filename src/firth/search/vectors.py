"""Vectors of the records of a file, written in shards that an interrupted call continues from."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.document import Document, Problem
from firth.corpus.read import find_inputs, read_given
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import open_encoder
from firth.encoders.static import ENCODER
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.files import claim_file, fingerprint_value, read_json, write_atomically, write_json
from firth.run.run import CONFIG, Run
from firth.run.settings import CorpusSettings
from firth.text.arrays import Singles, to_int8

Array = npt.NDArray[Any]
_CONVERT: Mapping[str, Callable[[Singles], Array]] = {
    "float32": lambda vectors: vectors,
    "float16": lambda vectors: vectors.astype(np.float16),
    "int8": to_int8,
}
_SHARD = 4_096
_REQUEST, _ROWS, _IDS = "request.json", "rows", "ids.jsonl"
_DTYPES = {"float32": "F32", "float16": "F16", "int8": "I8"}
_SHOWN = 3


@dataclass(frozen=True)
class Encoded:
    """The vectors that were written.

    Attributes:
        vectors: The file of vectors.
        ids: The file of their ids, a JSON string a line.
        rows: Number of vectors.
        dimensions: Length of a vector.
    """

    vectors: Path
    ids: Path
    rows: int
    dimensions: int


def encode_file(
    file: str | Path,
    out: str | Path,
    model: str,
    precision: str = "float32",
    force: bool = False,
) -> Encoded:
    """Write the unit vector of each document of a file, and the ids to `OUT.ids.jsonl`.

    Memory holds one shard. The same call continues an interrupted one.

    Args:
        file: A file that `firth build` reads; of a text file each line is a document.
        out: Name of the result, which ends in .npy or .safetensors.
        model: Folder of a run, whose encoder is used; or folder or hub name of an encoder.
        precision: `float32`, `float16`, or `int8`, which scales each vector to a largest number of
            127.
        force: Allows replacing files that are there.

    Raises:
        InputError: The file or the model cannot be used, or the result cannot be written.
    """
    file, out = Path(file), Path(out)
    ids, work = out.with_name(f"{out.name}.ids.jsonl"), out.with_name(f".{out.name}.firth")
    if out.suffix not in (".npy", ".safetensors"):
        raise InputError(f"{out}: expected a name that ends in .npy or .safetensors")
    if precision not in _CONVERT:
        known = ", ".join(_CONVERT)
        raise InputError(f"--precision {precision}: expected one of {known}")
    for path in (out, ids):
        claim_file(path, force)
    if (Path(model) / CONFIG).is_file():
        model = str(Run.open(model).folder(ENCODER))
    given, files = find_inputs([str(file)]), PretrainedFiles.find(model)
    sources = [source.fingerprint() for source in given.sources]
    request = fingerprint_value([sources, files.fingerprint, precision])
    encoder, convert = open_encoder(files), _CONVERT[precision]
    dtype = convert(np.zeros((1, 1), np.float32)).dtype
    width = encoder.dimensions * dtype.itemsize
    done = _resume(work, request, _SHARD * width) * _SHARD
    rows = 0
    with (
        (work / _ROWS).open("ab") as vectors,
        (work / _IDS).open("w", encoding="utf-8") as names,
        Progress[None]((), "Encoding", None) as bar,
    ):
        items = _documents(given, str(file))
        while documents := list(islice(items, _SHARD)):
            names.writelines(f"{json.dumps(id, ensure_ascii=False)}\n" for id, _ in documents)
            if rows >= done:
                encoded = convert(encoder.encode([text for _, text in documents]))
                vectors.write(np.ascontiguousarray(encoded).tobytes())
                vectors.flush()
            rows += len(documents)
            bar.advance(len(documents))
    if not rows:
        shutil.rmtree(work)
        raise InputError(f"{file}: has no text")
    shape = (rows, encoder.dimensions)
    for path, write in ((ids, _IDS), (out, _ROWS)):
        with write_atomically(path) as partial, partial.open("wb") as target:
            if write == _ROWS:
                target.write(_header(out.suffix, dtype, shape))
            with (work / write).open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
    shutil.rmtree(work)
    return Encoded(out, ids, rows, encoder.dimensions)


def _resume(work: Path, request: str, shard: int) -> int:
    """Prepare the work folder; return the number of whole shards that are there."""
    marker = work / _REQUEST
    if not marker.is_file() or read_json(marker) != request:
        if work.exists() and not marker.is_file() and any(work.iterdir()):
            raise InputError(f"{work}: holds files that firth did not write. Move them")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        write_json(marker, request)
    rows = work / _ROWS
    whole = rows.stat().st_size // shard if rows.is_file() else 0
    if rows.is_file():
        os.truncate(rows, whole * shard)
    return whole


def _documents(given: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document; of a text file, of each line."""
    skipped = 0
    for item in read_given(given, CorpusSettings(), lambda _: None):
        if isinstance(item, Problem):
            skipped += 1
            if skipped <= _SHOWN:
                note(f"skipped: {item}")
        elif isinstance(item, Document) and Path(name).suffix.lower() in (".txt", ".text"):
            for number, line in enumerate(item.text.split("\n"), start=item.line or 1):
                if line.strip():
                    yield f"{item.source}:{number}", line.strip()
        else:
            yield item.id, item.text
    if skipped > _SHOWN:
        note(f"skipped: {skipped - _SHOWN:,} more")


def _header(suffix: str, dtype: np.dtype[Any], shape: tuple[int, int]) -> bytes:
    """Return what stands before the numbers in a .npy or .safetensors file."""
    if suffix == ".npy":
        from io import BytesIO

        buffer = BytesIO()
        described = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, described)
        return buffer.getvalue()
    end = shape[0] * shape[1] * dtype.itemsize
    tensor = {"dtype": _DTYPES[dtype.name], "shape": [*shape], "data_offsets": [0, end]}
    text = json.dumps({"vectors": tensor}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
