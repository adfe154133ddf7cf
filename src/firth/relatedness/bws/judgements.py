"""Answers as arrays, and scores by counting."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.relatedness.bws.balance import number_items
from firth.relatedness.bws.design import Ints
from firth.relatedness.bws.records import Annotation, Tuple

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judgements:
    """A answers to T tuples of n of N items.

    Attributes:
        items: Ids, N of them.
        tuples: Numbers of items, shape (T, n).
        asked: The tuple of each answer, shape (A,).
        best: Numbers of items, shape (A,).
        worst: Numbers of items, shape (A,).
    """

    items: tuple[str, ...]
    tuples: Ints
    asked: Ints
    best: Ints
    worst: Ints

    def __len__(self) -> int:
        """Number of answers A."""
        return len(self.asked)

    @classmethod
    def of(
        cls, tuples: Sequence[Tuple], answers: Iterable[Annotation], items: Sequence[str] = ()
    ) -> "Judgements":
        """Usable answers (see `sort_answers`) as arrays.

        Args:
            tuples: All of one size.
            answers: Each to one of the tuples, best and worst two items of it.
            items: Ids in the wanted order; by default those that occur, sorted.
        """
        names, rows = number_items(tuples, items)
        numbers = {name: number for number, name in enumerate(names)}
        places = {one.id: place for place, one in enumerate(tuples)}
        table = [(places[a.tuple], numbers[a.best], numbers[a.worst]) for a in answers]
        asked, best, worst = np.array(table, dtype=np.int64).reshape(-1, 3).T
        return cls(tuple(names), rows, asked, best, worst)

    def count(self) -> "Counts":
        """How often each item was shown, and chosen."""
        n = len(self.items)
        answered = np.bincount(self.asked, minlength=len(self.tuples))
        shown = np.bincount(
            self.tuples.ravel(), np.repeat(answered, self.tuples.shape[1]), minlength=n
        )
        return Counts(
            shown=shown.astype(np.int64),
            best=np.bincount(self.best, minlength=n),
            worst=np.bincount(self.worst, minlength=n),
        )


@dataclass(frozen=True)
class Counts:
    """How often each of N items was shown in an answered tuple, chosen best, chosen worst."""

    shown: Ints
    best: Ints
    worst: Ints

    @property
    def scores(self) -> Floats:
        """Scores by counting, shape (N,): see `to_scores`."""
        return to_scores(self.best - self.worst, self.shown)


def to_scores(difference: npt.NDArray[np.generic], shown: npt.NDArray[np.generic]) -> Floats:
    """Share of times best less share of times worst, mapped from −1…1 to 0…1.

    Orme (2009); Abdalla et al., §2.2 and §3.2.2. The map is linear and fixed, so that scores of
    two sets of answers can be compared.

    Args:
        difference: Times best less times worst, any shape.
        shown: Times shown, same shape; where it is 0 the score is not a number.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(difference, dtype=np.float64) / np.asarray(shown, dtype=np.float64)
    return np.asarray((share + 1) / 2)
