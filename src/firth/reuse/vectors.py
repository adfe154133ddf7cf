"""The vectors of a run's sentences: those of its index, or made for as long as they are needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt

from firth.corpus.library import Library
from firth.index import INDEX
from firth.index.encoder import TextEncoder
from firth.index.index import Index
from firth.index.vectors import open_array, write_vectors
from firth.lexical.arrays import Ints
from firth.reuse.neighbours import Rows
from firth.run.run import Run
from firth.surrogate import SURROGATE


@dataclass(frozen=True)
class Chosen:
    """Some rows of an array, which stays where it is; `numbers` (n,) are the rows."""

    rows: Rows
    numbers: Ints

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def __getitem__(self, wanted: "slice | npt.NDArray[Any]") -> "npt.NDArray[Any]":
        """Some of these rows."""
        return self.rows[self.numbers[wanted]]


def open_model(model: str | Path | None, run: Run | None) -> TextEncoder:
    """A sentence-transformers model; by default that of a run's index, or its Surrogate.

    Raises:
        InputError: It is refused or cannot be loaded.
        MissingStageError: The run has neither.
        DamagedError: The index is not of the run's corpus and Surrogate.
    """
    if model is None and run is not None:
        if run.has(INDEX):
            return Index.open(run).encoder
        model = run.folder(SURROGATE)
    return TextEncoder.open(str(model))


@contextmanager
def sentence_vectors(
    model: str | Path | None, run: Run, library: Library, sentences: Ints
) -> Iterator[tuple[Rows, str]]:
    """Unit vectors of some sentences of a run, float16, memory-mapped, and the model's name.

    They are those of the run's index where it has one and no other model is asked for; else they
    are written to a file that goes afterwards. Errors are those of `open_model`.
    """
    if model is None and run.has(INDEX):
        index = Index.open(run)
        yield Chosen(index.vectors, sentences), index.model
        return
    encoder = open_model(model, run)
    with TemporaryDirectory(prefix="firth-") as folder:
        path = Path(folder) / "vectors.npy"
        write_vectors(
            path,
            Path(folder) / "done.json",
            encoder,
            lambda start, stop: library.texts(sentences[start:stop]),
            len(sentences),
            "Encoding sentences",
        )
        yield open_array(path), encoder.name
