"""Sentences of a corpus in their contexts (Sun et al. 2022, §3.2)."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.text.types import Ints, ranges


@dataclass(frozen=True, slots=True)
class Context:
    """The neighbors of a sentence in its document, c = (c_<, c_>), in reading order."""

    left: tuple[str, ...]
    right: tuple[str, ...]


def contexts_of(corpus: Corpus, positions: npt.ArrayLike, window: int = 1) -> list[Context]:
    """Return up to `window` sentences on each side of each sentence, in its document."""
    centers = np.asarray(positions, np.int64).ravel()
    documents = corpus.document_of(centers)
    lows = np.maximum(corpus.document_bounds[documents], centers - window)
    highs = np.minimum(corpus.document_bounds[documents + 1], centers + window + 1)
    texts = iter(corpus.texts(ranges(lows, highs - lows)))
    contexts = []
    for low, center, high in zip(lows.tolist(), centers.tolist(), highs.tolist(), strict=True):
        around = tuple(islice(texts, high - low))
        contexts.append(Context(around[: center - low], around[center - low + 1 :]))
    return contexts


def positions_of(corpus: Corpus) -> Ints:
    """Return the usual sentences that have a neighbor on each side, ascending."""
    inner = np.ones(len(corpus) + 1, np.bool_)
    inner[corpus.document_bounds] = inner[corpus.document_bounds - 1] = False
    usual = corpus.usual_sentences()
    return usual[inner[usual]]
