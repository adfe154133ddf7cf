"""The generative context model: the three conditional log-likelihoods of Eq. 3 (§3.2.2)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

from firth.corpus.corpus import Context
from firth.paper.tokens import Pairs, Role
from firth.run.stage import Stage
from firth.text.arrays import Singles

GENERATOR = Stage("paper/generator", 1, "torch", "firth paper build")


class Term(StrEnum):
    """A generative term of Eq. 3."""

    SENTENCE = "sentence"
    """log p(s | c_<, c_>) / |s|."""
    LEFT = "left"
    """log p(c_< | s, c_>) / |c_<|."""
    RIGHT = "right"
    """log p(c_> | c_<, s) / |c_>|."""


ALL_TERMS: Set[Term] = frozenset(Term)
ROLE_OF = {Term.SENTENCE: Role.SENTENCE, Term.LEFT: Role.LEFT, Term.RIGHT: Role.RIGHT}


@dataclass(frozen=True)
class Likelihoods:
    """Natural log-likelihoods in nats a token, one entry for each pair, float32 of shape (n,).

    |x| counts the tokens that were scored. A text without tokens (it is empty, or that side of the
    context is) has log-likelihood 0. A term that was not asked for is 0 throughout.

    The terms of an encoder-decoder are log-probabilities, at most 0. Two terms of a causal language
    model come from Bayes' rule with estimates in the denominator, and may exceed 0.

    Attributes:
        sentence: log p(s | c_<, c_>) / |s|.
        left: log p(c_< | s, c_>) / |c_<|.
        right: log p(c_> | c_<, s) / |c_>|.
    """

    sentence: Singles
    left: Singles
    right: Singles

    def __sub__(self, other: "Likelihoods") -> "Likelihoods":
        """Subtract term by term; minus the baseline, this is mutual information a token."""
        return Likelihoods(
            self.sentence - other.sentence, self.left - other.left, self.right - other.right
        )


class Generator(ABC):
    """A generative context model."""

    @abstractmethod
    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
        evidence: bool = True,
    ) -> Likelihoods:
        """Return the terms of each (sentence, context) in `pairs`, in their order.

        Each distinct sentence and context is given once, so that work is shared between pairs. A
        result does not depend on the other pairs or their order, beyond rounding.

        Args:
            sentences: Texts s.
            contexts: Contexts c.
            pairs: Rows of (index of a sentence, index of a context), (n, 2).
            terms: Terms that are computed; the others are 0.
            evidence: False gives a baseline: log p(s) / |s|, and the log-likelihood of each side
                given the other side without the sentence.
        """
