"""The inverted index on disk: shards of consecutive chunks, each three memory-mapped arrays."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from firth.run.files import read_json, write_json

INDEX = "index.json"
IDF = "idf.npy"


@dataclass(frozen=True)
class Shard:
    """The postings of consecutive chunks.

    Attributes:
        first_chunk: Number of the first chunk.
        postings: Shape (features, chunks): row f lists the chunks that hold feature f, ascending,
            with the feature's weight in each. Its arrays may be memory-mapped.
    """

    first_chunk: int
    postings: csr_matrix


def write_shard(folder: Path, number: int, rows: csr_matrix) -> None:
    """Write the weighted `rows` (chunks × features) of a shard in inverted form."""
    columns = rows.tocsc()
    stem = folder / f"shard-{number:04d}"
    np.save(f"{stem}-starts.npy", columns.indptr.astype(np.int32))
    np.save(f"{stem}-chunks.npy", columns.indices.astype(np.int32))
    np.save(f"{stem}-weights.npy", columns.data.astype(np.float32))


def write_table(folder: Path, idf: npt.NDArray[np.float64], shard_chunks: list[int]) -> None:
    """Write what belongs to all shards: `shard_chunks` counts the chunks of each."""
    np.save(folder / IDF, idf)
    write_json(folder / INDEX, {"shard_chunks": shard_chunks})


def open_shards(folder: Path) -> tuple[npt.NDArray[np.float64], list[Shard]]:
    """The inverse document frequencies and the shards of an index, memory-mapped."""
    # Mode "c": sparse-dot-topn refuses read-only arrays. It never writes to them, and if it did,
    # the file would stay as it is.
    idf = np.load(folder / IDF)
    shards, first = [], 0
    for number, chunks in enumerate(read_json(folder / INDEX)["shard_chunks"]):
        parts = [
            np.load(folder / f"shard-{number:04d}-{part}.npy", mmap_mode="c")
            for part in ("weights", "chunks", "starts")
        ]
        shards.append(Shard(first, csr_matrix(tuple(parts), shape=(len(idf), chunks))))
        first += chunks
    return idf, shards
