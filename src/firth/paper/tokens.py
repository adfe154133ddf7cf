"""Sentences in their contexts (Sun et al. 2022, §3.2), and the tokens of the three parts."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, islice

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from firth.corpus.corpus import Corpus
from firth.text.types import Ints, by_budget, ranges

Tokens = tuple[int, ...]
Given = tuple[int, Tokens]
"""A sentence and its offset: 0 is s, -1 the sentence before it, and 1 the one after it."""
Part = tuple[Given, ...]
"""The sentences of c_<, s or c_> in reading order, without blank ones."""
Triple = tuple[Part, Part, Part]
"""c_<, s and c_>."""
Pairs = Ints
"""Shape (n, 2): rows of (index of a sentence, index of a context)."""

_STEP = 4
"""Padded lengths are multiples of this, because kernels are made once for each shape."""


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


class Role(IntEnum):
    """A part of [c_<, s, c_>], and its place in a `Triple`."""

    LEFT = 0
    SENTENCE = 1
    RIGHT = 2


ALL_ROLES: Set[Role] = frozenset(Role)


def encodable(text: str) -> str:
    """Return a text with "?" for lone halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class TokenTable:
    """Sentences as runs of one flat array: sentence i is `tokens[bounds[i]:bounds[i + 1]]`."""

    tokens: npt.NDArray[np.int32]
    bounds: Ints

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "TokenTable":
        """Put sentences into a table."""
        bounds = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(rows), np.int32), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Ints:
        """The tokens of each sentence, (n,)."""
        return np.diff(self.bounds)

    def padded(self, sentences: Ints) -> tuple[Ints, Ints]:
        """Return tokens (n, longest), padded on the right with 0, and lengths (n,)."""
        starts = self.bounds[sentences]
        lengths = self.bounds[sentences + 1] - starts
        places = np.arange(_rounded_up(lengths).max())
        real = places < lengths[:, None]
        tokens = np.zeros(real.shape, np.int64)
        tokens[real] = self.tokens[(starts[:, None] + places)[real]]
        return tokens, lengths

    def batches(self, sentences: Ints, budget: int) -> list[Ints]:
        """Return places in `sentences`, longest first, in batches of `budget` padded tokens."""
        return by_budget(_rounded_up(self.lengths[sentences]), budget)


def _rounded_up(length: Ints) -> Ints:
    return -(-length // _STEP) * _STEP


def part(role: Role, sentences: Sequence[Sequence[int]], most: int) -> Part:
    """Return a part of a context from all its sentences, with at most `most` tokens of each.

    Sentences of c_< keep their end, the others their beginning.
    """
    first = {Role.LEFT: -len(sentences), Role.SENTENCE: 0, Role.RIGHT: 1}[role]
    return tuple(
        (offset, tuple(tokens[-most:] if offset < 0 else tokens[:most]))
        for offset, tokens in enumerate(sentences, first)
        if tokens
    )


def joined(part: Part) -> Tokens:
    """Return the tokens of a part, one sentence after another."""
    return tuple(chain.from_iterable(tokens for _, tokens in part))


class PartReader:
    """Turns sentences into at most `max_tokens` tokens each, which depend on no other text.

    `start` begins a part to generate, and `missing` takes the place of that part in what is given.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer, self.max_tokens = tokenizer, max_tokens
        self.start, self.missing = (tokenizer.get_vocab()[token] for token in ("<s>", "<mask>"))

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return all tokens of each text; a blank text has none."""
        clean = [encodable(text.strip()) for text in texts]
        encoded = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def parts(self, role: Role, parts: Sequence[Sequence[str]]) -> list[Part]:
        """Return parts of one role, each of which is given as its sentences."""
        tokens = iter(self.tokens([text for texts in parts for text in texts]))
        return [part(role, list(islice(tokens, len(texts))), self.max_tokens) for texts in parts]

    def triples(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> list[Triple]:
        """Return the parts of the pairs; each sentence and context is tokenized once."""
        used_s, s = np.unique(pairs[:, 0], return_inverse=True)
        used_c, c = np.unique(pairs[:, 1], return_inverse=True)
        lefts = self.parts(Role.LEFT, [contexts[i].left for i in used_c])
        middle = self.parts(Role.SENTENCE, [(sentences[i],) for i in used_s])
        rights = self.parts(Role.RIGHT, [contexts[i].right for i in used_c])
        return [
            (lefts[j], middle[i], rights[j]) for i, j in zip(s.tolist(), c.tolist(), strict=True)
        ]
