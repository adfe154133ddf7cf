"""Origin: the similarity of two sentences by the contexts they fit into."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.stage import Stage


@dataclass(frozen=True)
class Shown:
    """A piece of evidence as a reader sees it.

    Attributes:
        amount: What it adds to the score, or how far it moved it.
        note: How the two sentences fit there, and what it is.
        text: A context, or a word.
    """

    amount: float
    note: str
    text: str


class Explanation(Protocol):
    """A score and what it comes from."""

    @property
    def sentence1(self) -> str:
        """s1."""

    @property
    def sentence2(self) -> str:
        """s2."""

    @property
    def similarity(self) -> float:
        """The score."""

    @property
    def summary(self) -> str:
        """The score and what it is made of, in a line."""

    def shown(self, top: int) -> list[Shown]:
        """The `top` weightiest pieces of evidence (of each component, where there are any)."""

    def as_dict(self) -> Mapping[str, Any]:
        """Everything as plain values, for JSON."""


class Origin(ABC):
    """Compares sentences by the contexts they fit into.

    `Origin.open` gives the kind that the run is configured for (`origin.method`): `EnsembleOrigin`,
    the default, or `PaperOrigin`.

    Example:
        >>> origin = Origin.open("run")
        >>> score = origin.similarity("The ship left the harbour.", "A boat sailed away.")
        >>> -1 <= score <= 1
        True
    """

    @classmethod
    def open(cls, run: str | Path | Run, seed: int | None = None, **changes: object) -> "Origin":
        """Open a run whose stages are built.

        Args:
            run: Folder of the run.
            seed: Seed of random contexts (method `paper`); None takes the run's.
            **changes: Settings that differ from the run's, for this object only: `method`, and
                those of the method's section (`paper`, or `origin` for the ensemble).

        Raises:
            MissingStageError: A stage is not built; the message names the command.
            ConfigError: A changed setting is unknown or out of range.
        """
        run = Run.open(run)
        method = {"method": changes.pop("method", None)}
        # Either loads libraries that the other does without.
        if run.config.changed({"origin": method}, "Origin.open").origin.method is Method.PAPER:
            from firth.paper.origin import PaperOrigin

            return PaperOrigin.open(run, seed, **changes)
        from firth.origin.ensemble import EnsembleOrigin

        return EnsembleOrigin.open(run, seed, **changes)

    @staticmethod
    def reads(run: Run) -> tuple[Stage, ...]:
        """The stages that the run's kind of Origin reads."""
        if run.config.origin.method is Method.PAPER:
            return (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
        return (CORPUS, CONTEXT)

    @staticmethod
    def settings(run: Run) -> tuple[str, ...]:
        """Dotted paths of the settings that the run's kind of Origin follows."""
        if run.config.origin.method is Method.PAPER:
            generator = ("generator.batch_tokens", "generator.precision")
            return ("origin.method", "paper", "retrieve.chunks", "seed", *generator)
        return ("context.precision", "origin.method", "origin.weights")

    @staticmethod
    def identity(run: Run) -> str:
        """Fingerprint of everything that decides what the run's Origin answers."""
        return run.identity(__name__, Origin.reads(run), Origin.settings(run))

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, for people: shown beside figures, where it is evaluated."""

    def similarity(self, a: str, b: str) -> float:
        """sim(s1, s2), in [-1, 1]; symmetric. Raise `InputError` for what is no text."""
        return float(self.similarities([(a, b)])[0])

    @abstractmethod
    def similarities(
        self, pairs: Sequence[tuple[str, str]], title: str = "Origin"
    ) -> npt.NDArray[np.float64]:
        """sim(s1, s2) of each pair, shape (n,), in [-1, 1].

        Args:
            pairs: The two sentences of each pair; their order does not matter.
            title: Shown beside the progress bar.

        Raises:
            InputError: An item of `pairs` is not two texts.
        """

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text` that the corpus never had, in order.

        Scores say nothing of them. None are named by a kind that keeps no list of words.
        """
        return []

    @abstractmethod
    def explain(self, a: str, b: str) -> Explanation:
        """The score of a pair and what it comes from."""


def checked(pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """`pairs` as they are; raise `InputError` naming the first that is not two texts."""
    for number, pair in enumerate(pairs):
        # A text is a sequence of texts too: of its letters.
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(s, str) for s in pair):
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
    return pairs
