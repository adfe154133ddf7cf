"""What every encoder does: texts in, unit vectors out, and for some a vector of each word too."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from firth.run.console import Progress
from firth.run.errors import FirthError, InputError, first_line
from firth.run.files import fingerprint_value
from firth.text.types import Floats, Singles, unit
from firth.text.words import spans, stems_of

Normalization = Literal["none", "center", "standardize"]
NORMALIZATIONS: tuple[Normalization, ...] = ("none", "center", "standardize")

WordStates = Callable[[Sequence[str]], list[Floats]]
"""A function from n texts to n arrays (stems, d): unit vectors of a text's distinct stems, in order
of their first occurrence. A row is zero where nothing is known of the word."""
TokenStates = Callable[[Sequence[str]], Iterable[tuple[Floats, npt.NDArray[np.integer]]]]
"""A function from n texts to the states of each text's tokens, (tokens, d), and the characters at
which each token begins and ends, (tokens, 2). A special token begins where it ends."""


SAMPLES = (
    "The ship left the harbor before the storm.",
    "A judge has heard the witness.",
    "Water boils at 100 degrees.",
    "Nobody came to the meeting on 4 May 2021.",
    "How do I return an order?",
    "Der Zug nach Berlin ist verspätet.",
    "La pluie tombe sur la ville.",
    "今天天气很好。",
    "Она читает книгу.",
    "a",
)
"""Sentences whose vectors tell one encoder from another."""
_SAME, _BATCHED = 0.02, 0.2
"""Distance of unit vectors of one text up to which two encoders are one, as other libraries and
devices round differently; and up to which a vector may differ by the batch, as in int8."""
_CHUNK = 1_024
"""Texts between two steps of the progress bar."""


class Encoder(Protocol):
    """Anything that turns texts into vectors. No vector depends on the other texts.

    A `SentenceTransformer` is one, a `StaticModel` of model2vec, and any object with this method.
    An encoder may have a `name` for tables, a `fingerprint`, a text that changes when its vectors
    do, and `word_states` (`WordStates`).
    """

    def encode(self, texts: Sequence[str], /) -> Any:
        """Return the vectors of n texts, (n, d), of any length: an array, tensor or lists."""


class UnitEncoder(Protocol):
    """An encoder as firth uses it."""

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

    It has `word_states` only where it is `Normalized`, because `StatesOfWords` needs a stemmer, or
    where an object brings its own.
    """

    name: str
    dimensions: int
    word_states: WordStates | None = None
    token_states: TokenStates | None = None

    @abstractmethod
    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, dimensions), of any length."""

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions); raise `InputError` for NaN."""
        vectors = unit_singles(self.raw(texts))
        if not np.isfinite(vectors).all():
            raise InputError(
                f"{self.name}: its vectors have NaN or infinity; expected finite numbers. Its "
                "weights are damaged: take another model"
            )
        return vectors


class AdaptedEncoder(PretrainedEncoder):
    """Any object with `encode`, or with `embed` as FastEmbed has it, as firth uses it.

    Its vectors may be arrays, tensors or lists of any length. Those of ten fixed sentences,
    `samples`, (10, d), give its dimensions, and its fingerprint where it has none itself.
    """

    def __init__(self, encoder: object, name: str = "") -> None:
        encode = getattr(encoder, "encode", None) or getattr(encoder, "embed", None)
        if isinstance(encoder, type | str) or not callable(encode):
            raise InputError(
                f"an encoder is a name, or an object with encode(texts); got {encoder!r:.80}"
            )
        names = [name, *(getattr(encoder, known, None) for known in ("name", "model_name"))]
        found = [known for known in names if isinstance(known, str) and known]
        self.name, self._encode = (*found, type(encoder).__name__)[0], encode
        if isinstance(encoder, PretrainedEncoder):
            self._encode, self.token_states = encoder.raw, encoder.token_states
        self.word_states = getattr(encoder, "word_states", None)
        self.dimensions = 0
        rows = self._rows(SAMPLES)
        self.dimensions, self.samples = rows.shape[1], unit_singles(rows)
        alone = unit_singles(self._rows(SAMPLES[:1]))
        if np.linalg.norm(alone - self.samples[:1]) > _BATCHED:
            raise InputError(
                f"{self.name}: its vector of a text depends on the other texts of a call; expected "
                "an encoder that gives each text its own vector"
            )
        own, rounded = getattr(encoder, "fingerprint", None), np.round(self.samples, 2) + 0.0
        self._has_own = isinstance(own, str)
        self.fingerprint = str(own) if self._has_own else fingerprint_value(rounded.tolist())

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the object gives them, (n, dimensions)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        with Progress(len(texts), f"Encoding with {self.name}") as bar:
            for start in range(0, len(texts), _CHUNK):
                rows = self._rows(texts[start : start + _CHUNK])
                vectors[start : start + len(rows)] = rows
                bar.advance(len(rows))
        return vectors

    def is_like(self, samples: npt.NDArray[np.floating]) -> bool:
        """Return whether vectors of the fixed sentences, (10, d), are those of this encoder.

        An encoder with a fingerprint is identified by that alone.
        """
        if self._has_own or samples.shape != self.samples.shape:
            return False
        return bool((np.linalg.norm(self.samples - samples, axis=1) <= _SAME).all())

    def _rows(self, texts: Sequence[str]) -> Singles:
        """Return what the object says of some texts, (n, d); raise `InputError` for anything else.

        The number of columns is free while `dimensions` is 0.
        """
        expected = f"{len(texts):,} rows of {self.dimensions or 'as many'} finite numbers"
        try:
            answer = self._encode(list(texts))
            rows = np.asarray(_plain(answer), np.float32)
        except FirthError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.name}: cannot encode {len(texts):,} texts ({type(error).__name__}: "
                f"{first_line(error)}); expected {expected}"
            ) from error
        shape = rows.shape
        if rows.ndim != 2 or len(rows) != len(texts) or shape[1] != (self.dimensions or shape[1]):
            raise InputError(
                f"{self.name}: encode gave an array of the shape {shape} for {len(texts):,} texts; "
                f"expected {expected}"
            )
        if not shape[1] or not np.isfinite(rows).all():
            wrong = "no number" if not shape[1] else "NaN or infinity"
            raise InputError(f"{self.name}: encode gave {wrong}; expected {expected}")
        return rows


def _plain(vectors: Any) -> Any:
    """Return arrays in place of tensors, which may be on a GPU, and lists in place of iterators."""
    if hasattr(vectors, "detach"):
        return vectors.detach().cpu().float().numpy()
    return vectors if hasattr(vectors, "__array__") else [_plain_row(row) for row in vectors]


def _plain_row(row: Any) -> Any:
    return row.detach().cpu().float().numpy() if hasattr(row, "detach") else row


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
        for stem, (start, end) in zip(stems_of(text, self._stemmer), spans(text), strict=True):
            of_stem = by_stem.setdefault(stem, [])
            inside = (ends > start) & (begins < end) & (ends > begins)
            if inside.any():
                of_stem.append(states[inside].mean(axis=0, dtype=np.float64))
        nothing = np.zeros(states.shape[1])
        rows = [np.mean(each, axis=0) if each else nothing for each in by_stem.values()]
        return np.array(rows).reshape(-1, states.shape[1])
