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

    Length counts the tokens that were scored. A text without tokens, and a term that was not asked
    for, is 0. Two terms of a causal language model are estimates by Bayes' rule, and may exceed 0.
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

        Each distinct sentence and context is given once, and `pairs` (n, 2) holds indices of both.
        A result does not depend on the other pairs, beyond rounding. `terms` that are not named are
        0. Without evidence it is a baseline: log p(s) / |s|, and each side given the other side
        alone.
        """
