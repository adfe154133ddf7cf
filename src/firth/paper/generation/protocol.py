"""What every generator answers: the three conditional log-likelihoods of Eq. 3.

A backend may also offer a *continuation profile*, the whole next-word distribution after
[c_<, s]; it would be a further method of its own protocol, so that this one stays small.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from firth.corpus.context import Context
from firth.paper.tokens import encodable

Pairs = npt.NDArray[np.int64]
"""Shape (n, 2): rows of (index of a sentence, index of a context)."""
Tokens = tuple[int, ...]
Triple = tuple[Tokens, Tokens, Tokens]
"""The tokens of c_<, s and c_>."""


class Term(StrEnum):
    """One of the generative terms of Eq. 3."""

    SENTENCE = "sentence"
    """log p(s | c_<, c_>) / |s|."""
    LEFT = "left"
    """log p(c_< | s, c_>) / |c_<|."""
    RIGHT = "right"
    """log p(c_> | c_<, s) / |c_>|."""


ALL_TERMS: Set[Term] = frozenset(Term)


class Role(IntEnum):
    """Sentence position (§3.2.2): which part of [c_<, s, c_>]; its place in a `Triple`."""

    LEFT = 0
    SENTENCE = 1
    RIGHT = 2


ROLE_OF = {Term.SENTENCE: Role.SENTENCE, Term.LEFT: Role.LEFT, Term.RIGHT: Role.RIGHT}


@dataclass(frozen=True)
class Likelihoods:
    """Length-normalised natural log-likelihoods, in nats a token, one entry a pair.

    |x| counts the tokens that were scored; a text without any (it is empty, or that side of the
    context is) has log-likelihood 0. A term that was not asked for is 0 throughout.

    The terms of an encoder-decoder are log-probabilities of its own, all ≤ 0. Two terms of a causal
    language model come from Bayes' rule with estimates in the denominator (see
    `firth.paper.generation.causal_lm`), and may exceed 0 where these are off.

    Attributes:
        sentence: log p(s | c_<, c_>) / |s|, float32 of shape (n,).
        left: log p(c_< | s, c_>) / |c_<|, float32 of shape (n,).
        right: log p(c_> | c_<, s) / |c_>|, float32 of shape (n,).
    """

    sentence: npt.NDArray[np.float32]
    left: npt.NDArray[np.float32]
    right: npt.NDArray[np.float32]

    def __sub__(self, other: "Likelihoods") -> "Likelihoods":
        """Term by term: with a baseline, the pointwise mutual information a token."""
        return Likelihoods(
            self.sentence - other.sentence, self.left - other.left, self.right - other.right
        )


class Generator(ABC):
    """A generative context model (§3.2.2)."""

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """The three terms for each (sentence, context) in `pairs`, in the order of `pairs`.

        Every distinct sentence and context is given once in `sentences` and `contexts`, so that a
        backend can share work between pairs. The answer does not depend on which other pairs are
        asked for, nor on their order, beyond rounding. Leaving out terms saves their work.
        """
        return self._terms(sentences, contexts, _rows(pairs), terms, whole=True)

    def baseline(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """The same terms with the evidence left out.

        `sentence` is log p(s) / |s| without any context; `left` and `right` are
        log p(c_< | c_>) / |c_<| and log p(c_> | c_<) / |c_>| with the sentence left out.
        """
        return self._terms(sentences, contexts, _rows(pairs), terms, whole=False)

    @abstractmethod
    def _terms(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term],
        whole: bool,
    ) -> Likelihoods:
        """`likelihoods`, or `baseline` where not `whole`."""


def _rows(pairs: Pairs) -> Pairs:
    return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)


def cut(tokens: Sequence[int], role: Role, most: int) -> Tokens:
    """At most `most` tokens: the end of a left side, the beginning of the others."""
    return tuple(tokens[-most:] if role is Role.LEFT else tokens[:most])


class PartReader(ABC):
    """Turns sentences and the sides of contexts into tokens, the same wherever they stand.

    White space at both ends is dropped; what UTF-8 cannot hold becomes "?".

    Args:
        max_tokens: Most tokens of a sentence, and of one side of a context. A left side too long
            keeps its end, a sentence and a right side keep their beginning.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of texts, none of which is empty."""

    @abstractmethod
    def _joined(self, sides: Sequence[Sequence[str]]) -> list[list[int]]:
        """Tokens of sides of contexts, not cut."""

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, not cut; none for one that is empty or blank."""
        clean = [encodable(text.strip()) for text in texts]
        encoded = iter(self._encode([text for text in clean if text]))
        return [next(encoded) if text else [] for text in clean]

    def sentences(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each sentence."""
        return [cut(ids, Role.SENTENCE, self.max_tokens) for ids in self.tokens(texts)]

    def sides(self, contexts: Sequence[Context], role: Role) -> list[Tokens]:
        """Tokens of each c_< (`Role.LEFT`) or each c_> (`Role.RIGHT`)."""
        sides = [c.left if role is Role.LEFT else c.right for c in contexts]
        return [cut(ids, role, self.max_tokens) for ids in self._joined(sides)]

    def triples(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> list[Triple]:
        """The tokens of the pairs asked for; each sentence and context is read once."""
        used_s, s = np.unique(pairs[:, 0], return_inverse=True)
        used_c, c = np.unique(pairs[:, 1], return_inverse=True)
        chosen = [contexts[i] for i in used_c]
        middle = self.sentences([sentences[i] for i in used_s])
        lefts, rights = self.sides(chosen, Role.LEFT), self.sides(chosen, Role.RIGHT)
        return [
            (lefts[j], middle[i], rights[j]) for i, j in zip(s.tolist(), c.tolist(), strict=True)
        ]
