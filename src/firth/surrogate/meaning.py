"""What a Surrogate's cosines mean in its text, for its card: shares of drawn pairs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw
from firth.lexical.arrays import Floats
from firth.lexical.levels import Levels
from firth.run.seeds import derive_seed
from firth.surrogate.matrices import encode

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DRAWN = {Pairs.RANDOM: 10_000, Pairs.NEIGHBOURS: 2_500}
RATES = (0.1, 0.01, 0.001)


def meaning(model: "SentenceTransformer", corpus: Corpus, seed: int) -> dict[str, Any]:
    """How high pairs of corpus sentences score.

    Args:
        model: The Surrogate.
        corpus: What it was made of.
        seed: Of the draw.

    Returns:
        `pairs`: kind → how many were drawn; `levels`: for each rate that so many random pairs can
        tell, `rate`, the `cosine` that this share of them reaches at most, and the share of
        `neighbours` that reach it (None where the corpus has none).
    """
    levels = {}
    for kind, most in DRAWN.items():
        one, two = draw(corpus, kind, most, derive_seed(seed, "meaning"))
        if len(one):
            levels[kind] = Levels.of(paired_cosines(model, corpus.texts(one), corpus.texts(two)))
    random, near = levels.get(Pairs.RANDOM), levels.get(Pairs.NEIGHBOURS)
    told = []
    for rate in RATES:
        if random is None or rate * (random.n + 1) < 1:
            continue
        cosine = random.threshold(rate)
        reached = None if near is None else round(1 - float(near.share_below(cosine)), 6)
        told.append({"rate": rate, "cosine": round(cosine, 6), "neighbours": reached})
    return {"pairs": {kind.value: found.n for kind, found in levels.items()}, "levels": told}


def paired_cosines(
    model: "SentenceTransformer", ones: Sequence[str], twos: Sequence[str]
) -> Floats:
    """Cosine of each text and its partner, (n,); each distinct text is encoded once."""
    texts = [*ones, *twos]
    distinct = list(dict.fromkeys(texts))
    vectors = encode(model, distinct, "Surrogate: pairs").astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    place = {text: row for row, text in enumerate(distinct)}
    rows = np.array([place[text] for text in texts]).reshape(2, -1)
    found: Floats = np.einsum("nd,nd->n", vectors[rows[0]], vectors[rows[1]])
    return found
