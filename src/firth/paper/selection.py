"""Greedy, diverse choice of a context set from ranked candidates (§3.3)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from firth.lexical.words import jaccard


def select_diverse(
    fits: npt.NDArray[np.float64],
    chunks: npt.NDArray[np.int64],
    preceding: Sequence[frozenset[str]],
    size: int,
    max_jaccard: float,
) -> npt.NDArray[np.int64]:
    """Add contexts one at a time, best fit first, skipping those too like the chosen ones.

    At most one context a chunk, and the words of the sentence before the slot (i−1) must have a
    Jaccard similarity below `max_jaccard` with each of those already chosen.

    Args:
        fits: S(s, c) of each candidate, shape (n,).
        chunks: Chunk of each candidate, shape (n,).
        preceding: Words of the sentence before each candidate's slot.
        size: |C_s|.
        max_jaccard: The paper: 0.5.

    Returns:
        Positions of the chosen candidates, best first; fewer than `size` where the candidates
        run out. Equal fits are taken in the order given.
    """
    chosen: list[int] = []
    seen_chunks: set[int] = set()
    for position in np.argsort(-fits, kind="stable").tolist():
        if len(chosen) == size:
            break
        if int(chunks[position]) in seen_chunks:
            continue
        if any(jaccard(preceding[position], preceding[other]) >= max_jaccard for other in chosen):
            continue
        chosen.append(position)
        seen_chunks.add(int(chunks[position]))
    return np.array(chosen, dtype=np.int64)


def select_best(fits: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.int64]:
    """The `size` best fits, best first, without regard to diversity (§5.4, third strategy)."""
    return np.argsort(-fits, kind="stable")[:size].astype(np.int64)
