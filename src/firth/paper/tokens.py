"""The tokens of a whole corpus in flat memory: a file under the scratch folder of a stage."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.run.files import write_atomically
from firth.run.mapped import mapped


def encodable(text: str) -> str:
    """`text` with "?" for what has no UTF-8 form: lone halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def stored_tokens(
    batches: Iterable[Sequence[str]],
    tokens: Callable[[Sequence[str]], Sequence[Sequence[int]]],
    scratch: Path,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Tokenise a corpus once; what an interrupted call left in `scratch` is used again.

    Returns:
        The tokens of all sentences one after the other, memory-mapped, and n + 1 bounds: sentence
        i is `tokens[bounds[i]:bounds[i + 1]]`.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    flat, bounds = scratch / "tokens.i32", scratch / "bounds.npy"
    if not bounds.is_file():
        counts = [0]
        with flat.open("wb") as file:
            for texts in batches:
                rows = tokens(texts)
                counts.extend(len(row) for row in rows)
                np.fromiter(chain.from_iterable(rows), np.int32).tofile(file)
        with write_atomically(bounds) as partial, partial.open("wb") as file:
            np.save(file, np.cumsum(counts, dtype=np.int64))
    found = np.load(bounds)
    return mapped(flat, np.int32), found
