"""Vectors of sentences or records into a file, in pieces that an interrupted call goes on from."""

import json
import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from firth.corpus import ADDED, CORPUS
from firth.corpus.formats import Format as Kind
from firth.corpus.inputs import Problem, resolve_inputs
from firth.corpus.library import Library
from firth.corpus.read import read_source
from firth.corpus.settings import CorpusConfig
from firth.corpus.store import ArrowWriter
from firth.index.encoder import TextEncoder, Vectors
from firth.index.vectors import SHARD, Convert, Numbers, halved, open_array, write_vectors
from firth.lexical.arrays import to_int8
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.files import claim_file, fingerprint_value, sync, write_atomically
from firth.run.model_files import PretrainedFiles
from firth.run.progress import note
from firth.run.run import CONFIG, Run
from firth.run.stage import open_workspace
from firth.surrogate import SURROGATE

_TEXTS, _ROWS, _DONE = "texts.arrow", "rows.npy", "rows.json"
_WHOLE, _IDS = "whole", "whole.ids"
"""What is put to its place when all is written, names first."""
_COLUMNS = {"id": pa.string(), "text": pa.string()}
_ENDINGS = (".npy", ".parquet", ".safetensors")
_SHOWN = 3


class Format(StrEnum):
    """How numbers are stored."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"
    """Each vector scaled so that its largest number is 127: cosines stay, within 1 %."""
    BINARY = "binary"
    """A bit for each number above 0, eight to a byte, the first in the highest bit."""


def _signs(vectors: Vectors) -> Numbers:
    return np.packbits(vectors > 0, axis=1)


_CONVERT: Mapping[Format, Convert] = {
    Format.FLOAT32: np.asarray,
    Format.FLOAT16: halved,
    Format.INT8: to_int8,
    Format.BINARY: _signs,
}


@dataclass(frozen=True)
class Encoded:
    """What was written.

    Attributes:
        vectors: The file of vectors.
        ids: The file of their names, a JSON string a line; None where they stand beside the vectors
            (Parquet).
        rows: How many.
        dimensions: Of each.
    """

    vectors: Path
    ids: Path | None
    rows: int
    dimensions: int


def encode(
    source: str | Path,
    out: str | Path,
    *,
    model: str | Path | None = None,
    format: str | Format = Format.FLOAT32,
    text_field: str | None = None,
    id_field: str | None = None,
    force: bool = False,
    engine: Engine = HERE,
) -> Encoded:
    """Write the unit vectors of all sentences of a run, or of all records of a file.

    Memory holds one block of texts and vectors. What an interrupted call has done lies in a hidden
    folder beside `out`, and the same call goes on from there.

    Args:
        source: Folder of a run: a vector a sentence, named `DOCUMENT#N`, N counting from 1. Or a
            file: a vector a line of .txt, or a record of the others that `firth corpus build`
            reads.
        out: .npy or .safetensors (then names go to `OUT.ids.jsonl` beside it), or .parquet with
            columns `id` and `vector`.
        model: Folder or hub name of an encoder; for a run, its Surrogate by default.
        format: Of the numbers.
        text_field: Field of the text in records.
        id_field: Field of their names.
        force: Replace what is in the way.
        engine: Who encodes, such as `firth.run.cluster.Cluster()`; the bytes are the same.

    Raises:
        InputError: A file is in the way or cannot be written; the source or the model cannot be
            used; or no model is named for a file.
    """
    out, source, kind = Path(out), Path(source), Format(format)
    if out.suffix not in _ENDINGS:
        raise InputError(f"{out}: expected a name that ends in {', '.join(_ENDINGS)}")
    ids = None if out.suffix == ".parquet" else out.with_name(f"{out.name}.ids.jsonl")
    work = out.with_name(f".{out.name}.firth")
    placed = (work / _WHOLE).is_file() and not (work / _IDS).is_file()  # names, before a kill
    for path in (out, None if placed else ids):
        if path is not None:
            claim_file(path, force)
    is_run = (source / CONFIG).is_file()
    if model is None and not is_run:
        raise InputError(f"{source}: a file has no Surrogate; name an encoder: --model")
    named = str(model) if model is not None else str(Run.open(source).folder(SURROGATE))
    fields = {"text_field": text_field, "id_field": id_field}
    config = CorpusConfig.model_validate(
        {name: value for name, value in fields.items() if value is not None}
    )
    request = fingerprint_value(
        {
            "source": _fingerprint(source, is_run),
            "model": PretrainedFiles.find(named).fingerprint,
            "format": kind.value,
            **fields,
        }
    )
    open_workspace(work, request)
    if not (work / _TEXTS).is_file():
        with write_atomically(work / _TEXTS) as partial:
            rows = _sentences(source) if is_run else _records(source, config)
            with closing(ArrowWriter(partial, _COLUMNS)) as texts:
                for row in rows:
                    texts.append(row)
    table = pa.ipc.open_file(pa.memory_map(str(work / _TEXTS))).read_all()
    if not len(table):
        shutil.rmtree(work)
        raise InputError(f"{source}: no text in it")
    encoder = TextEncoder.open(named)
    if not (work / _WHOLE).is_file():
        _fill(work, encoder, table, kind, out.suffix, ids is not None, engine)
    if ids is not None and (work / _IDS).is_file():
        os.replace(work / _IDS, ids)
    os.replace(work / _WHOLE, out)
    sync(out.parent)
    shutil.rmtree(work)
    return Encoded(out, ids, len(table), encoder.dimensions)


def _fill(
    work: Path,
    encoder: TextEncoder,
    table: pa.Table,
    kind: Format,
    ending: str,
    named: bool,
    engine: Engine,
) -> None:
    """Encode the texts of a table, and write the files that are put to their places then."""

    def texts_between(start: int, end: int) -> list[str]:
        found: list[str] = table["text"].slice(start, end - start).to_pylist()
        return found

    write_vectors(
        work / _ROWS,
        work / _DONE,
        encoder,
        texts_between,
        len(table),
        "Encoding",
        _CONVERT[kind],
        engine,
    )
    if named:
        with write_atomically(work / _IDS) as partial, partial.open("w", encoding="utf-8") as file:
            for chunk in table["id"].chunks:
                for name in chunk.to_pylist():
                    file.write(json.dumps(name, ensure_ascii=False) + "\n")
    with write_atomically(work / _WHOLE) as partial:
        _write(partial, ending, open_array(work / _ROWS), table["id"])


def _fingerprint(source: Path, is_run: bool) -> object:
    if is_run:
        run = Run.open(source)
        return run.inputs(CORPUS, *([ADDED] if run.has(ADDED) else []))
    return [each.fingerprint() for each in resolve_inputs([source])]


def _sentences(run: Path) -> Iterator[tuple[str, str]]:
    library = Library.open(run)
    bounds = library.document_bounds.tolist()
    for d, (low, high) in enumerate(pairwise(bounds)):
        name = library.document_id(d)
        for n, text in enumerate(library.texts(np.arange(low, high)), start=1):
            yield f"{name}#{n}", text


def _records(path: Path, config: CorpusConfig) -> Iterator[tuple[str, str]]:
    skipped: list[Problem] = []
    for source in resolve_inputs([path]):
        for item in read_source(source, config, lambda _: None):
            if isinstance(item, Problem):
                skipped.append(item)
            elif source.format is Kind.TEXT:
                lines = ((n, line.strip()) for n, line in enumerate(item.text.split("\n")))
                for n, line in lines:
                    if line:
                        yield f"{source.name}:{item.line + n}", line
            else:
                yield item.id, item.text
    for problem in skipped[:_SHOWN]:
        note(f"left out: {problem}")
    if len(skipped) > _SHOWN:
        note(f"left out: {len(skipped) - _SHOWN:,} more")


def _write(path: Path, ending: str, rows: Numbers, ids: Any) -> None:
    if ending == ".parquet":
        import pyarrow.parquet as pq

        width = rows.shape[1]
        vector = pa.list_(pa.from_numpy_dtype(rows.dtype), width)
        schema = pa.schema([("id", pa.string()), ("vector", vector)])
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(0, len(rows), SHARD):
                block = rows[start : start + SHARD]
                names = pa.chunked_array(ids).slice(start, len(block)).combine_chunks()
                flat = pa.array(np.ascontiguousarray(block).ravel())
                vectors = pa.FixedSizeListArray.from_arrays(flat, width)
                writer.write_batch(pa.record_batch([names, vectors], schema=schema))
        return
    with path.open("wb") as file:
        if ending == ".npy":
            header = np.lib.format.header_data_from_array_1_0(rows)
            np.lib.format.write_array_header_1_0(file, header)
        else:
            file.write(_safetensors_header(rows))
        for start in range(0, len(rows), SHARD):
            file.write(np.ascontiguousarray(rows[start : start + SHARD]).tobytes())


_NAMES = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8"}


def _safetensors_header(rows: Numbers) -> bytes:
    """Length and JSON that stand before the numbers; safetensors' own writer wants all at once."""
    tensor = {
        "dtype": _NAMES[rows.dtype.name],
        "shape": list(rows.shape),
        "data_offsets": [0, rows.nbytes],
    }
    text = json.dumps({"vectors": tensor}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text
