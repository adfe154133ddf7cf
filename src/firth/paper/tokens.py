"""Sentences as tokens, the three parts of a sentence in its context, and what generates them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Context
from firth.run.files import mapped, open_mapped
from firth.text.types import Ints, Singles

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

    @classmethod
    def stored(
        cls,
        batches: Iterable[Sequence[str]],
        encode: Callable[[Sequence[str]], Sequence[Sequence[int]]],
        scratch: Path,
    ) -> "TokenTable":
        """Tokenize a corpus into files of a folder; files of an interrupted call are used again."""
        scratch.mkdir(parents=True, exist_ok=True)
        flat, ends = scratch / "tokens.i32", scratch / "bounds.npy"
        if not ends.is_file():  # Written last.
            counts = [np.zeros(1, np.int64)]
            with flat.open("wb") as file:
                for texts in batches:
                    rows = encode(texts)
                    counts.append(np.array([len(row) for row in rows], np.int64))
                    np.fromiter(chain.from_iterable(rows), np.int32).tofile(file)
            mapped(ends, lambda: np.cumsum(np.concatenate(counts)))
        empty = flat.stat().st_size == 0
        tokens = np.zeros(0, np.int32) if empty else np.memmap(flat, np.int32, mode="r")
        return cls(tokens, open_mapped(ends))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def padded(self, sentences: Ints) -> tuple[Ints, Ints]:
        """Return tokens (n, longest), padded on the right with 0, and lengths (n,)."""
        starts = self.bounds[sentences]
        lengths = self.bounds[sentences + 1] - starts
        places = np.arange(_rounded_up(int(lengths.max())))
        real = places < lengths[:, None]
        tokens = np.zeros(real.shape, np.int64)
        tokens[real] = self.tokens[(starts[:, None] + places)[real]]
        return tokens, lengths

    def batches(self, sentences: Ints, budget: int) -> Iterator[Ints]:
        """Yield places in `sentences`, longest first, in batches of `budget` padded tokens."""
        lengths = self.bounds[sentences + 1] - self.bounds[sentences]
        order, start = np.argsort(-lengths, kind="stable"), 0
        while start < len(order):
            longest = _rounded_up(max(1, int(lengths[order[start]])))
            end = start + max(1, budget // longest)
            yield order[start:end]
            start = end


def _rounded_up(length: int) -> int:
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


class PartReader(ABC):
    """Turns sentences into at most `max_tokens` tokens each, which depend on no other text."""

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts that are not empty."""

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return all tokens of each text; a blank text has none."""
        clean = [encodable(text.strip()) for text in texts]
        encoded = iter(self._encode([text for text in clean if text]))
        return [next(encoded) if text else [] for text in clean]

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


class Generator(ABC):
    """A generative context model: the three conditional log-likelihoods of Eq. 3 (§3.2.2)."""

    @abstractmethod
    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        roles: Set[Role] = ALL_ROLES,
        evidence: bool = True,
    ) -> Singles:
        """Return log p(part | the two others) of each (sentence, context), (3, n), rows by `Role`.

        They are in nats a token. Each distinct sentence and context is given once, and `pairs`
        (n, 2) holds indices of both. A result does not depend on the other pairs, beyond rounding.
        A part without tokens is 0, and so are `roles` that are not named. Without evidence it is a
        baseline: log p(s), and each side given the other side alone.
        """
