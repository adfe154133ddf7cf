"""What an evaluation found: figures with intervals, and everything needed to believe them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.evaluate.metrics import Floats
from firth.evaluate.rows import EvaluationSet
from firth.run.errors import InputError
from firth.run.files import write_json

if TYPE_CHECKING:
    from firth.evaluate.leakage import Leakage


@dataclass(frozen=True)
class Result:
    """One figure. `value`, `low` and `high` (95 % interval) are × 100; None where undefined."""

    model: str
    task: str
    subtask: str
    split: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, eq=False)
class Scored:
    """A set and the similarities a model gave to its pairs, in the order of `data.pairs`."""

    data: EvaluationSet
    similarities: Floats


@dataclass(frozen=True)
class Evaluation:
    """What one model scored on some tasks.

    Attributes:
        model: What was evaluated, as named by the caller.
        name: What that is, in words.
        fingerprint: Identity of the model's files or code; None where there is none.
        results: The figures, in the order of the tasks; `all` before its subtasks.
        notes: What a reader of the figures must know.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        command: The command line, if there was one.
        scored: The data and similarities behind the figures; not part of the JSON.
        leakage: What the model's training text shares with the sets, one entry a run it learned
            from; None where its training text is unknown or was not looked at.
    """

    model: str
    name: str
    fingerprint: str | None
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    seed: int
    resamples: int
    command: str | None = None
    scored: tuple[Scored, ...] = field(default=(), repr=False, compare=False)
    leakage: "tuple[Leakage, ...] | None" = field(default=None, repr=False)

    def find(
        self,
        task: str,
        metric: str | None = None,
        *,
        subtask: str = "all",
        split: str | None = None,
    ) -> Result:
        """The first figure that matches; raise `InputError` if there is none.

        `metric` None takes the task's usual one.
        """
        for result in self.results:
            found = (result.task, result.subtask) == (task, subtask)
            if found and metric in (None, result.metric) and split in (None, result.split):
                return result
        raise InputError(f"{self.model} has no result for {task} {subtask} {split} {metric}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values (see `firth.evaluate.document`)."""
        from firth.evaluate.document import document

        return document([self], command=self.command)

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, atomically.

        Raises:
            InputError: The file cannot be written.
        """
        try:
            write_json(Path(path), self.to_dict())
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error

    def table(self, *, subtasks: bool = False) -> str:
        """The figures as text for a screen, with the notes below; `subtasks` shows those too."""
        from firth.evaluate.table import tabulate

        return tabulate([self], subtasks=subtasks)
