"""What every encoder does: texts in, unit vectors out, and for some a vector of each word too."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from firth.text.types import Floats, Singles, unit
from firth.text.words import spans, stems, words

WordStates = Callable[[Sequence[str]], list[Floats]]
"""A function from n texts to n arrays (stems, d): unit vectors of a text's distinct stems, in order
of their first occurrence. A row is zero where nothing is known of the word."""
TokenStates = Callable[[Sequence[str]], Iterable[tuple[Floats, npt.NDArray[np.integer]]]]
"""A function from n texts to the states of each text's tokens, (tokens, d), and the characters at
which each token begins and ends, (tokens, 2). A special token begins where it ends."""


class Encoder(Protocol):
    """Turns texts into vectors. No vector depends on the other texts."""

    name: str
    """For tables."""
    dimensions: int
    """Length of a vector."""
    word_states: WordStates | None
    """The function that reads words in their sentences; None where the model has none."""

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions); zero for an unknown text."""


class PretrainedEncoder(ABC):
    """An encoder that gives vectors of any length too, which can be normalized.

    It has `word_states` only where it is `Normalized`, because `StatesOfWords` needs a stemmer.
    """

    name: str
    dimensions: int
    word_states: WordStates | None = None
    token_states: TokenStates | None = None

    @abstractmethod
    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, dimensions), of any length."""

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions)."""
        return unit_singles(self.raw(texts))


def unit_singles(rows: Singles) -> Singles:
    """Divide each row of a float32 (n, d) array by its length; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
    return rows / np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]


class Normalized(PretrainedEncoder):
    """An encoder with each dimension centered and scaled: unit rows of (v - mean) / deviation.

    Mean and deviation are those of each dimension, (d,).
    """

    def __init__(
        self,
        encoder: PretrainedEncoder,
        mean: Floats,
        deviation: Floats,
        word_states: WordStates | None = None,
        name: str = "",
    ) -> None:
        self.encoder, self.mean, self.deviation = encoder, mean, deviation
        self.word_states, self.token_states = word_states, encoder.token_states
        self.name, self.dimensions = name or encoder.name, encoder.dimensions

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts before they are normalized, (n, dimensions)."""
        return self.encoder.raw(texts)

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions)."""
        return normalize(self.encoder.raw(texts), self.mean, self.deviation)


def normalize(vectors: npt.NDArray[np.floating], mean: Floats, deviation: Floats) -> Singles:
    """Return unit rows of (v - mean) / deviation, (n, d); a row of zeros stays zero."""
    known = vectors.any(axis=1, keepdims=True)
    scaled = np.where(known, (vectors.astype(np.float64) - mean) / deviation, 0.0)
    return unit(scaled).astype(np.float32)


def by_length(sizes: Sequence[int], most: int, texts: int) -> Iterator[list[int]]:
    """Yield the numbers of texts in batches of similar length, by the tokens of each text.

    A batch has at most so many tokens, padding included, and so many texts. A text that has more
    tokens is a batch by itself.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    while order:
        size = 1
        while size < min(texts, len(order)) and (size + 1) * sizes[order[size]] <= most:
            size += 1
        some, order = order[:size], order[size:]
        yield some


class StatesOfWords:
    """Directions of words in their sentences: the mean states of their tokens, centered.

    Words of two sentences are aligned by them, as BERTScore does (Zhang et al. 2020). The mean,
    (d,), is subtracted from every state.
    """

    def __init__(self, token_states: TokenStates, stemmer: str, mean: Floats) -> None:
        self._token_states, self._stemmer, self.mean = token_states, stemmer, mean

    @classmethod
    def fit(cls, token_states: TokenStates, stemmer: str, texts: Sequence[str]) -> "StatesOfWords":
        """Center by the words of some sentences; the mean is zero where these have no word."""
        rows = [state for state in cls(token_states, stemmer, np.zeros(1))._of(texts) if len(state)]
        states = np.concatenate(rows) if rows else np.zeros((0, 1))
        known = states[states.any(axis=1)]
        return cls(token_states, stemmer, known.mean(axis=0) if len(known) else np.zeros(1))

    def __call__(self, texts: Sequence[str]) -> list[Floats]:
        """Return unit vectors of the distinct stems of each text, (stems, d)."""
        return [
            unit(np.where(states.any(axis=1, keepdims=True), states - self.mean, 0.0))
            for states in self._of(texts)
        ]

    def _of(self, texts: Sequence[str]) -> list[Floats]:
        read = self._token_states(texts)
        return [self._by_stem(text, *one) for text, one in zip(texts, read, strict=True)]

    def _by_stem(self, text: str, states: Floats, offsets: npt.NDArray[np.integer]) -> Floats:
        """Return the mean state of each stem, (stems, d); zero for words that were cut off."""
        by_stem: dict[str, list[Floats]] = {}
        begins, ends = offsets[:, 0], offsets[:, 1]
        for stem, (start, end) in zip(stems(words(text), self._stemmer), spans(text), strict=True):
            of_stem = by_stem.setdefault(stem, [])
            inside = (ends > start) & (begins < end) & (ends > begins)
            if inside.any():
                of_stem.append(states[inside].mean(axis=0, dtype=np.float64))
        nothing = np.zeros(states.shape[1])
        rows = [np.mean(each, axis=0) if each else nothing for each in by_stem.values()]
        return np.array(rows).reshape(-1, states.shape[1])
