"""What a metric needs of one model on one set: two columns, and which rows belong together."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.evaluate.evaluation import Scored
from firth.evaluate.metrics import Floats, Metric
from firth.evaluate.task import ALL

_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """The columns of one model on one set, its rows in an order that follows from the data alone.

    Two samples of one `data` fingerprint are about the same observations, row by row.

    Attributes:
        task: Name of the task.
        split: Which split.
        metrics: What is reported of it.
        data: Fingerprint of the rows.
        x: Gold scores, or similarities of (anchor, positive); shape (n,).
        y: Similarities, or similarities of (anchor, negative); shape (n,).
        subtask: Subtask of each row, or "".
        rows: Number of each row in its source, shape (n,).
        units: As in `firth.evaluate.rows.EvaluationSet`.
    """

    task: str
    split: str
    metrics: tuple[Metric, ...]
    data: str
    x: Floats
    y: Floats
    subtask: tuple[str, ...]
    rows: _Rows
    units: _Rows | None = None

    @property
    def name(self) -> str:
        """`sts-b test`."""
        return f"{self.task} {self.split}"

    def groups(self, subtasks: bool) -> dict[str, _Rows]:
        """`all`, and with `subtasks` each subtask where there are several → its rows."""
        groups: dict[str, _Rows] = {ALL: np.arange(len(self.x))}
        names = np.array(self.subtask)
        found = sorted(set(self.subtask))
        if subtasks and len(found) > 1:
            groups.update({name or "(none)": np.flatnonzero(names == name) for name in found})
        return groups


def sample_of(scored: Scored) -> Sample:
    """The sample of a set that a model has scored."""
    data = scored.data
    x, y = data.columns(scored.similarities)
    order = data.order
    return Sample(
        task=data.task.name,
        split=data.split,
        metrics=tuple(data.task.metrics),
        data=data.fingerprint,
        x=x[order],
        y=y[order],
        subtask=tuple(data.rows[row].subtask for row in order.tolist()),
        rows=order,
        units=None if data.units is None else data.units[order],
    )
