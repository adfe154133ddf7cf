"""Lee & Pincombe's ratings of 50 news texts, from the files that gensim ships.

Lee, Pincombe & Welsh (2005) had 50 short news texts compared by 83 students; each of the 1,225
pairs has the mean of its 8 to 12 ratings, scaled to [0, 1]. gensim itself is not imported.
"""

import importlib.util
from pathlib import Path

import numpy as np

from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, LEE
from firth.run.errors import InputError

TEXTS, RATINGS = "lee.cor", "similarities0-1.txt"


def gensim_files() -> Path | None:
    """The folder of gensim's bundled data; None when gensim (or its data) is not installed."""
    found = importlib.util.find_spec("gensim")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "test" / "test_data"
    return folder if all((folder / name).is_file() for name in (TEXTS, RATINGS)) else None


def read_lee(folder: Path) -> EvaluationSet:
    """Read the texts and the upper triangle of the rating matrix.

    Args:
        folder: Holds `lee.cor`, a text a line (Latin-1), and `similarities0-1.txt`, as many rows
            of as many tab-separated numbers.

    Raises:
        InputError: The two files do not fit each other.
    """
    texts = (folder / TEXTS).read_text(encoding="latin-1").removesuffix("\n").split("\n")
    try:
        ratings = np.loadtxt(folder / RATINGS, delimiter="\t", ndmin=2)
    except ValueError as error:
        raise InputError(f"{folder / RATINGS}: not a matrix of numbers ({error})") from error
    n = len(texts)
    if ratings.shape != (n, n):
        raise InputError(
            f"{folder}: {TEXTS} has {n} texts, so {RATINGS} should have shape {(n, n)}; "
            f"got {ratings.shape}"
        )
    first, second = np.triu_indices(n, k=1)
    rows = tuple(
        Row((texts[i], texts[j]), float(ratings[i, j])) for i, j in zip(first, second, strict=True)
    )
    return EvaluationSet(
        task=LEE,
        split=ALL,
        rows=rows,
        source="the files bundled with gensim",
        notes=(f"intervals resample the {n} texts, since the pairs share them",),
        units=np.stack([first, second], axis=1).astype(np.int64),
    )
