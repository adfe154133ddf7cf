"""What every generator answers: the three conditional log-likelihoods of Eq. 3.

A backend may also offer a *continuation profile*, the whole next-word distribution after
[c_<, s]; it would be a further method of its own protocol, so that this one stays small.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from firth.corpus.context import Context

Pairs = npt.NDArray[np.int64]
"""Shape (n, 2): rows of (index of a sentence, index of a context)."""


class Term(StrEnum):
    """One of the generative terms of Eq. 3."""

    SENTENCE = "sentence"
    """log p(s | c_<, c_>) / |s|."""
    LEFT = "left"
    """log p(c_< | s, c_>) / |c_<|."""
    RIGHT = "right"
    """log p(c_> | c_<, s) / |c_>|."""


ALL_TERMS: Set[Term] = frozenset(Term)


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


class Generator(Protocol):
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
