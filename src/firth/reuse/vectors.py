"""The vectors of a run's sentences, for as long as they are needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from firth.corpus.library import Library
from firth.index.encoder import TextEncoder
from firth.index.vectors import open_array, write_vectors
from firth.lexical.arrays import Ints
from firth.reuse.neighbours import Vectors
from firth.run.run import Run
from firth.surrogate import SURROGATE


def open_model(model: str | Path | None, run: Run | None) -> TextEncoder:
    """A sentence-transformers model, or a run's Surrogate.

    Raises:
        InputError: It is refused or cannot be loaded.
        MissingStageError: The run has no Surrogate.
    """
    if model is None and run is not None:
        model = run.folder(SURROGATE)
    return TextEncoder.open(str(model))


@contextmanager
def encoded(encoder: TextEncoder, library: Library, sentences: Ints) -> Iterator[Vectors]:
    """Unit vectors of some sentences, float16, memory-mapped from a file that goes afterwards."""
    with TemporaryDirectory(prefix="firth-") as folder:
        path = Path(folder) / "vectors.npy"
        write_vectors(
            path, Path(folder) / "done.json", encoder,
            lambda start, stop: library.texts(sentences[start:stop]),
            len(sentences), "Encoding sentences",
        )  # fmt: skip
        yield open_array(path)
