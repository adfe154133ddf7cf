"""What the store gives out and takes in: questions, feedback, progress."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A tuple as it is shown.

    Attributes:
        id: Of the tuple.
        number: Of the question among this annotator's, from 1.
        items: Ids in the order they are shown.
        texts: The texts of each item.
    """

    id: str
    number: int
    items: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Feedback:
    """What an annotator answered to a gold question, and what is right (ids of items)."""

    question: Question
    best: str
    worst: str
    right_best: str
    right_worst: str

    @property
    def right(self) -> bool:
        """Whether both are right."""
        return (self.best, self.worst) == (self.right_best, self.right_worst)


@dataclass(frozen=True)
class Progress:
    """How far an annotator is: questions answered (gold included), and questions still open."""

    answered: int
    left: int


@dataclass(frozen=True)
class Overview:
    """How far the questionnaire is.

    Attributes:
        tuples: Those that are not gold.
        complete: Those of them with all wanted answers.
        answers: To tuples that are not gold.
        gold_answers: To gold questions.
        annotators: Who ever began.
        stopped: Those asked no more.
    """

    tuples: int
    complete: int
    answers: int
    gold_answers: int
    annotators: int
    stopped: int

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.complete:,} of {self.tuples:,} tuples complete; {self.answers:,} answers and "
            f"{self.gold_answers:,} gold answers by {self.annotators:,} annotators"
            + (f", {self.stopped:,} of them stopped" if self.stopped else "")
        )


class NotAskedError(Exception):
    """An answer to a question that was never put to this annotator."""


class UnusableAnswerError(ValueError):
    """An answer that names no two different items of the tuple."""
