"""Context sets C_s: greedy, diverse choice from a shortlist of ranked candidates (§3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.lexical.words import jaccard, words
from firth.paper.context_fit import Indices, Terms
from firth.paper.settings import Selection, Weights


@dataclass(frozen=True)
class ContextSet:
    """C_s: the contexts into which a sentence fits, best first.

    Attributes:
        sentence: s.
        positions: Corpus sentences whose neighbours are the contexts, int64 of shape (|C_s|,).
        terms: The four terms of S(s, c) for these contexts.
    """

    sentence: str
    positions: Indices
    terms: Terms


@dataclass(frozen=True)
class Choice:
    """How C_s is cut from a shortlist.

    Attributes:
        size: |C_s|, at least 1.
        weights: λ1 … λ4 of the sum by which the greedy choice goes.
        diverse: At most one context a chunk, and preceding sentences with Jaccard below
            `max_jaccard`.
        selection: `random` takes the first `size` positions of a shortlist drawn at random.
        max_jaccard: The paper: 0.5.
    """

    size: int
    weights: Weights
    diverse: bool = True
    selection: Selection = Selection.TWO_STEP
    max_jaccard: float = 0.5


def choose(corpus: Corpus, shortlist: Indices, terms: Terms, choice: Choice) -> Indices:
    """Which of a shortlist's n positions make C_s: their indices 0 … n − 1, best first (§3.3).

    A smaller `size` gives a prefix of a larger one.
    """
    if choice.selection is Selection.RANDOM:
        return np.arange(min(choice.size, len(shortlist)), dtype=np.int64)
    fits = terms.fit(choice.weights)
    if not choice.diverse:
        return select_best(fits, choice.size)
    preceding = [frozenset(words(text)) for text in corpus.texts(shortlist - 1)]
    chunks = corpus.chunk_of(shortlist)
    return select_diverse(fits, chunks, preceding, choice.size, choice.max_jaccard)


def select_diverse(
    fits: npt.NDArray[np.float64],
    chunks: Indices,
    preceding: Sequence[frozenset[str]],
    size: int,
    max_jaccard: float,
) -> Indices:
    """Add contexts one at a time, best fit first, skipping those too like the chosen ones.

    At most one context a chunk, and the words `preceding` the position (those of sentence i−1) must
    have a Jaccard similarity below `max_jaccard` with each of those already chosen.

    Returns:
        Indices of the chosen candidates, best first; fewer than `size` where the candidates run
        out. Equal fits are taken in the order given.
    """
    chosen: list[int] = []
    seen_chunks: set[int] = set()
    for candidate in np.argsort(-fits, kind="stable").tolist():
        if len(chosen) == size:
            break
        if int(chunks[candidate]) in seen_chunks:
            continue
        if any(jaccard(preceding[candidate], preceding[other]) >= max_jaccard for other in chosen):
            continue
        chosen.append(candidate)
        seen_chunks.add(int(chunks[candidate]))
    return np.array(chosen, dtype=np.int64)


def select_best(fits: npt.NDArray[np.float64], size: int) -> Indices:
    """The `size` best fits, best first, without regard to diversity (§5.4, third strategy)."""
    return np.argsort(-fits, kind="stable")[:size].astype(np.int64)
