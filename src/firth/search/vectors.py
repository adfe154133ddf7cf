"""Vectors of the documents of a file, for use elsewhere."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.document import Problem
from firth.corpus.read import read_documents
from firth.encoders.kinds import open_encoder
from firth.encoders.static import ENCODER
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.files import private_folder, write_arrays, write_atomically
from firth.run.outputs import claim_output
from firth.run.run import CONFIG, Run
from firth.run.settings import CorpusSettings
from firth.text.types import Singles, to_int8

Array = npt.NDArray[Any]
_CONVERT: Mapping[str, Callable[[Singles], Array]] = {
    "float32": lambda vectors: vectors,
    "float16": lambda vectors: vectors.astype(np.float16),
    "int8": to_int8,
}
_SHARD = 4_096
_SHOWN = 3


@dataclass(frozen=True)
class Encoded:
    """The files of vectors and of their ids, and the shape of the vectors."""

    vectors: Path
    ids: Path
    rows: int
    dimensions: int


def encode_file(
    file: str | Path, out: str | Path, model: str, precision: str = "float32", force: bool = False
) -> Encoded:
    """Write the unit vector of each document of a file, and the ids to `OUT.ids.jsonl`.

    Memory holds one shard.

    Args:
        file: A file that `firth build` reads; of a text file each line is a document.
        out: Name of the result, which ends in .npy or .safetensors.
        model: Folder of a run, whose encoder and fields are used; or an encoder of any kind.
        precision: `float32`, `float16`, or `int8`, which scales each vector to a largest number of
            127.
    """
    file, out = Path(file), Path(out)
    ids = out.with_name(f"{out.name}.ids.jsonl")
    if out.suffix not in (".npy", ".safetensors"):
        raise InputError(f"{out}: expected a name that ends in .npy or .safetensors")
    if precision not in _CONVERT:
        known = ", ".join(_CONVERT)
        raise InputError(f"--precision {precision}: expected one of {known}")
    for path in (out, ids):
        claim_output(path, force)
    settings = CorpusSettings()
    if (Path(model) / CONFIG).is_file():
        run = Run.open(model)
        model, settings = str(run.folder(ENCODER)), run.settings.corpus
    encoder, convert = open_encoder(model), _CONVERT[precision]
    rows, dtype = 0, np.dtype(np.float32)
    out.parent.mkdir(parents=True, exist_ok=True)
    with private_folder(out.absolute().parent) as (work, _):
        with (
            (work / "rows").open("wb") as vectors,
            write_atomically(work / "ids") as partial,
            partial.open("w", encoding="utf-8") as names,
            Progress(None, "Encoding") as bar,
        ):
            documents = read_texts(file, settings)
            while some := list(islice(documents, _SHARD)):
                names.writelines(f"{json.dumps(id, ensure_ascii=False)}\n" for id, _ in some)
                encoded = convert(encoder.encode([text for _, text in some]))
                vectors.write(np.ascontiguousarray(encoded).tobytes())
                rows, dtype = rows + len(some), encoded.dtype
                bar.advance(len(some))
        if not rows:
            raise InputError(f"{file}: has no text")
        with write_atomically(ids) as partial:
            os.replace(work / "ids", partial)
        whole = np.memmap(work / "rows", dtype, "r", shape=(rows, encoder.dimensions))
        if out.suffix == ".npy":
            with write_atomically(out) as partial:
                np.save(partial, whole)
        else:
            write_arrays(out, {"vectors": whole})
    return Encoded(out, ids, rows, encoder.dimensions)


def read_texts(file: Path, settings: CorpusSettings) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document; of a text file, of each line.

    `settings` name the fields of both. What cannot be read is skipped, and said.
    """
    skipped, settings = 0, settings.model_copy(update={"lines": True, "group_by": None})
    for item in read_documents([str(file)], settings):
        if isinstance(item, Problem):
            skipped += 1
            if skipped <= _SHOWN:
                note(f"skipped: {item}")
        else:
            yield item.id, item.text.strip()
    if skipped > _SHOWN:
        note(f"skipped: {skipped - _SHOWN:,} more")
