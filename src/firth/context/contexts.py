"""Corpus sentences as contexts, and their decorrelated fits, which sum to a cosine exactly.

With contexts as rows of C (n × d), a sentence x fits into them as Cx. Where contexts repeat each
other, so do their fits. Decorrelated, they are f(x) = C G⁻¹ᐟ² x with G = CᵀC / n, and then

    f(x) · f(y) / n = xᵀ G⁻¹ᐟ² G G⁻¹ᐟ² y = x · y:

Eq. 4 over all contexts is the cosine of the sentence vectors, and each context has its part in it.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from firth.lexical.arrays import Floats, Ints, Singles
from firth.run.files import write_atomically

CONTEXTS = "contexts.safetensors"
_FLOOR = 1e-6
"""Of the largest eigenvalue of G: below it, contexts do not differ but for rounding."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """A sample of a corpus, as contexts.

    Attributes:
        positions: int64, (n,): numbers of the corpus sentences.
        vectors: float32, (n, d): their unit vectors.
    """

    positions: Ints
    vectors: Singles

    def save(self, folder: Path) -> None:
        """Write them into `folder`, atomically."""
        with write_atomically(folder / CONTEXTS) as partial:
            save_file({"positions": self.positions, "vectors": self.vectors}, partial)

    @classmethod
    def load(cls, folder: Path) -> "Contexts":
        """Read what `save` wrote."""
        stored = load_file(folder / CONTEXTS)
        return cls(stored["positions"], stored["vectors"])

    def decorrelated(self) -> Floats:
        """C G⁻¹ᐟ², (n, d): its product with a sentence vector is the sentence's fits.

        Directions in which no context differs (fewer contexts than dimensions) are left out; fits
        then sum to the cosine of what the contexts can see.
        """
        vectors = self.vectors.astype(np.float64)
        values, directions = np.linalg.eigh(vectors.T @ vectors / len(vectors))
        seen = values > _FLOOR * values.max()
        scaled: Floats = (vectors @ directions[:, seen]) / np.sqrt(values[seen])
        turned: Floats = scaled @ directions[:, seen].T
        return turned
