"""What every encoder does: texts in, unit vectors out, and for some a vector of each word too."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from firth.run.console import Progress
from firth.run.errors import FirthError, InputError, first_line
from firth.run.files import fingerprint_value
from firth.text.types import Floats, Singles, unit
from firth.text.words import spans, stems_of, words

Tokens = tuple[Floats, npt.NDArray[np.integer]]
"""The states of a text's tokens, (tokens, d), and the characters at which each token begins and
ends, (tokens, 2). A special token begins where it ends."""
ReadTokens = Callable[[Sequence[str]], tuple[Singles, list[Tokens]]]
"""A function that reads n texts once, and gives their vectors, (n, d), and tokens."""

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
"""Sentences whose vectors tell one encoder from another; and unrelated words (`WordDirections`)."""
_SAME, _BATCHED = 0.02, 0.2
"""Distance of unit vectors of one text up to which two encoders are one, as other libraries and
devices round differently; and up to which a vector may differ by the batch, as in int8."""
_HIGHEST_FLOOR = 0.95
"""An encoder for which all words are alike has no cosines above its floor."""
_CHUNK = 1_024
"""Texts between two steps of the progress bar."""
_MEMORY = 64 << 20
"""Bytes of vectors that a process keeps of an encoder; then it begins again."""


class Encoder(Protocol):
    """Anything that turns texts into vectors. No vector depends on the other texts.

    A `SentenceTransformer` is one, a `StaticModel` of model2vec, and any object with this method.
    An encoder may have a `name` for tables, and a `fingerprint`, a text that changes when its
    vectors do.
    """

    def encode(self, texts: Sequence[str], /) -> Any:
        """Return the vectors of n texts, (n, d), of any length: an array, tensor or lists."""


class UnitEncoder(Protocol):
    """An encoder as firth uses it."""

    name: str
    """For tables."""
    dimensions: int
    """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions); zero for an unknown text."""


class PretrainedEncoder(ABC):
    """An encoder that gives vectors of any length too.

    A text that it has read is not read again, unless it is `fast` or keeps vectors itself.
    `read_tokens` is None where it has no states of tokens.
    """

    name: str
    dimensions: int
    fast: bool = False
    read_tokens: ReadTokens | None = None

    @abstractmethod
    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, dimensions), of any length."""

    def vectors(self, texts: Sequence[str]) -> Singles:
        """Return `raw(texts)`, in which no text is encoded twice by this process."""
        if self.fast or not texts:
            return self.raw(texts)
        stored = _VECTORS.get(self, {})
        vectors = {text: stored[text] for text in texts if text in stored}
        if new := [text for text in dict.fromkeys(texts) if text not in vectors]:
            rows = self.raw(new)
            self.keep(new, rows)
            vectors |= zip(new, rows, strict=True)
        return np.array([vectors[text] for text in texts], np.float32)

    def keep(self, texts: Sequence[str], vectors: Singles) -> None:
        """Keep vectors that another reading of texts gave, (n, d)."""
        if self.fast:
            return
        most = _MEMORY // (4 * self.dimensions)
        stored = _VECTORS.setdefault(self, {})
        if len(stored) + len(texts) > most:
            stored.clear()
        stored.update(islice(zip(texts, vectors, strict=True), most))

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, dimensions); raise `InputError` for NaN."""
        vectors = unit_singles(self.vectors(texts))
        if not np.isfinite(vectors).all():
            raise InputError(
                f"{self.name}: its vectors have NaN or infinity; expected finite numbers. Its "
                "weights are damaged: take another model"
            )
        return vectors


_VECTORS: "WeakKeyDictionary[PretrainedEncoder, dict[str, Singles]]" = WeakKeyDictionary()


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
        titles = [getattr(encoder, field, None) for field in ("name", "model_name")]
        names = [text for text in (name, *titles) if isinstance(text, str) and text]
        self.name, self._encode = (*names, type(encoder).__name__)[0], encode
        if isinstance(encoder, PretrainedEncoder):
            self._encode, self.read_tokens, self.fast = encoder.raw, encoder.read_tokens, True
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
    if hasattr(vectors, "__array__"):
        return vectors
    return [_plain(row) if hasattr(row, "detach") else row for row in vectors]


def unit_singles(rows: Singles) -> Singles:
    """Divide each row of a float32 (n, d) array by its length; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
    return rows / np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]


class WordDirections:
    """Reads texts for the scorer: their vectors, and unit directions of the words in them.

    Words of two sentences are aligned by them. A word in its sentence is the mean of the states of
    its tokens (BERTScore, Zhang et al. 2020), less the mean of a corpus, (d,). Where an encoder has
    no such states, each word is encoded by itself. `floor` is the cosine of unrelated words then.
    """

    def __init__(
        self, encoder: PretrainedEncoder, stemmer: str, mean: Floats, floor: float = 0.0
    ) -> None:
        self.encoder, self._stemmer, self.mean, self.floor = encoder, stemmer, mean, floor

    @classmethod
    def fit(
        cls, encoder: PretrainedEncoder, stemmer: str, texts: Sequence[str]
    ) -> "WordDirections":
        """Center by the words of some sentences; the mean is zero where these have no word."""
        if encoder.read_tokens is None:
            usual = list(dict.fromkeys(word for text in SAMPLES for word in words(text)))
            vectors = encoder.encode(usual)
            cosines = (vectors @ vectors.T)[np.triu_indices(len(usual), 1)]
            floor = min(max(float(np.median(cosines)), 0.0), _HIGHEST_FLOOR)
            return cls(encoder, stemmer, np.zeros(1), floor)
        vectors, tokens = encoder.read_tokens(texts)
        encoder.keep(texts, vectors)
        rows = [_by_stem(*row, stemmer) for row in zip(texts, tokens, strict=True)]
        filled = [row for row in rows if len(row)]
        states = np.concatenate(filled) if filled else np.zeros((0, 1))
        states = states[states.any(axis=1)]
        return cls(encoder, stemmer, states.mean(axis=0) if len(states) else np.zeros(1))

    def __call__(self, texts: Sequence[str]) -> tuple[Singles, list[Floats]]:
        """Return unit vectors, (n, d), and unit directions of each text's distinct stems."""
        encoder = self.encoder
        if encoder.read_tokens is None:
            return unit_singles(encoder.vectors(texts)), self._alone(texts)
        vectors, tokens = encoder.read_tokens(texts)
        rows = zip(texts, tokens, strict=True)
        states = [_by_stem(text, of_text, self._stemmer) for text, of_text in rows]
        return unit_singles(vectors), [_centered(rows, self.mean) for rows in states]

    def _alone(self, texts: Sequence[str]) -> list[Floats]:
        """Return unit directions of the first word of each distinct stem, by itself."""
        forms: list[list[str]] = []
        for text in texts:
            first: dict[str, str] = {}
            for stem, word in zip(stems_of(text, self._stemmer), words(text), strict=True):
                first.setdefault(stem, word)
            forms.append(list(first.values()))
        distinct = {form: n for n, form in enumerate(dict.fromkeys(chain.from_iterable(forms)))}
        vectors = self.encoder.encode(list(distinct)).astype(np.float64)
        return [vectors[[distinct[form] for form in of_text]] for of_text in forms]


def _centered(states: Floats, mean: Floats) -> Floats:
    """Return unit rows of states less a mean, (n, d); rows of zeros stay."""
    return unit(np.where(states.any(axis=1, keepdims=True), states - mean, 0.0))


def _by_stem(text: str, tokens: Tokens, stemmer: str) -> Floats:
    """Return the mean state of each stem, (stems, d); zero for words that were cut off."""
    by_stem: dict[str, list[Floats]] = {}
    states, (begins, ends) = tokens[0], tokens[1].T
    for stem, (start, end) in zip(stems_of(text, stemmer), spans(text), strict=True):
        of_stem = by_stem.setdefault(stem, [])
        inside = (ends > start) & (begins < end) & (ends > begins)
        if inside.any():
            of_stem.append(states[inside].mean(axis=0, dtype=np.float64))
    nothing = np.zeros(states.shape[1])
    rows = [np.mean(means, axis=0) if means else nothing for means in by_stem.values()]
    return np.array(rows).reshape(-1, states.shape[1])
