"""Vectors on disk: written as a stream that can be interrupted, read as if they were one array."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.index.encoder import TextEncoder, Vectors
from firth.run.engine import HERE, Engine
from firth.run.files import read_json, write_json
from firth.run.mapped import create
from firth.run.progress import bar

SHARD = 16_384
"""Sentences that are encoded and kept together; an interrupted call goes on with the next shard."""
Numbers = npt.NDArray[Any]
Convert = Callable[[Vectors], Numbers]
"""Unit vectors in, rows of the file out."""


def halved(vectors: Vectors) -> Numbers:
    """As float16."""
    return vectors.astype(np.float16)


@dataclass(frozen=True, eq=False)
class _Encoding:
    """Work: texts in, rows of the file out."""

    encoder: TextEncoder
    convert: Convert

    def open(self) -> Callable[[Sequence[str]], Numbers]:
        return lambda texts: self.convert(self.encoder.encode(texts))


def write_vectors(
    path: Path,
    progress: Path,
    encoder: TextEncoder,
    texts: Callable[[int, int], Sequence[str]],
    count: int,
    title: str,
    convert: Convert = halved,
    engine: Engine = HERE,
) -> None:
    """Write the unit vectors of `count` texts to a .npy file; continue what a call has begun.

    Args:
        path: The file. Memory holds one shard of it.
        progress: File that says how many rows of `path` are done; it stays when all are, for calls
            that are interrupted later than that.
        encoder: Gives the vectors.
        texts: The texts from one number to another.
        count: Of texts.
        title: Shown beside the bar.
        convert: From float32 to what is stored; float16 by default.
        engine: Who encodes; the bytes are the same.
    """
    sample = convert(np.zeros((1, encoder.dimensions), np.float32))
    done = 0
    if progress.is_file() and path.is_file():
        done = int(read_json(progress))
        rows = np.load(path, mmap_mode="r+")
    else:
        progress.unlink(missing_ok=True)
        shape = (count, *sample.shape[1:])
        rows = create(path, sample.dtype, shape)
    with bar(title, count) as shown:
        shown.advance(done)
        starts = range(done, count, SHARD)
        shards = (texts(start, min(start + SHARD, count)) for start in starts)
        encoded = engine.map(_Encoding(encoder, convert), shards)
        for start, found in zip(starts, encoded, strict=True):
            end = start + len(found)
            rows[start:end] = found
            if isinstance(rows, np.memmap):
                rows.flush()
            write_json(progress, end)
            shown.advance(len(found))


def open_array(path: Path) -> Numbers:
    """A .npy file, memory-mapped."""
    found: Numbers
    try:
        # A plain view: slicing a `memmap` takes longer than many a list of words.
        found = np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # nothing can be mapped of an array without a number
        found = np.load(path)
    return found


class Stacked:
    """Arrays (n_p, d) one below the other, not copied: numbered on from one to the next.

    Slices and lists of numbers give arrays; a slice within one array is a view of it.

    Args:
        parts: The arrays, at least one, all with the same d and dtype.
    """

    def __init__(self, parts: Sequence[Numbers]) -> None:
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *map(len, self.parts)], dtype=np.int64)
        self.shape = (int(self.starts[-1]), *self.parts[0].shape[1:])
        self.dtype = self.parts[0].dtype

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    def __getitem__(self, rows: slice | npt.ArrayLike) -> Numbers:
        """Rows from one number to another, or those of some numbers, in their order."""
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            if step == 1:
                return self._between(low, max(low, high))
            rows = np.arange(low, high, step)
        wanted = np.asarray(rows)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        if len(self.parts) == 1:
            alone: Numbers = self.parts[0][wanted]
            return alone
        found = np.empty((len(wanted), *self.shape[1:]), self.dtype)
        part_of = np.searchsorted(self.starts, wanted, side="right") - 1
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(part_of == number)
            found[places] = part[wanted[places] - self.starts[number]]
        return found

    def blocks(self, rows: int) -> Iterator[tuple[int, Numbers]]:
        """All rows in order, at most `rows` at a time: the number of the first, and the rows."""
        for part, first in zip(self.parts, self.starts.tolist(), strict=False):
            for start in range(0, len(part), rows):
                yield first + start, part[start : start + rows]

    def _between(self, low: int, high: int) -> Numbers:
        first = int(np.searchsorted(self.starts, low, side="right")) - 1
        pieces = []
        for part, start in zip(
            self.parts[first:], self.starts[first:].tolist(), strict=False
        ):  # none behind `high`
            if start < high and low < start + len(part):
                pieces.append(part[max(0, low - start) : high - start])
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty((0, *self.shape[1:]), self.dtype)
