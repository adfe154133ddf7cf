"""The two sides of a slot as rows of a table of sentence vectors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sides:
    """Rows of the sentences on each side of n contexts.

    Attributes:
        left: c_<, int64 of shape (n, window); -1 where the document ends.
        right: c_>, likewise.
    """

    left: Rows
    right: Rows

    def vectors(self, table: Tensor) -> Tensor:
        """[h_<; h_>]: each side is the mean of its sentences' vectors, 0 if it has none.

        Args:
            table: Sentence vectors of shape (rows, size).

        Returns:
            Shape (n, 2 * size).
        """
        return torch.cat([mean_rows(table, self.left), mean_rows(table, self.right)], dim=1)


def sides_of(slots: Rows, document_bounds: Rows, window: int) -> Sides:
    """The sentences around each slot, in its document; rows are sentence numbers."""
    documents = np.searchsorted(document_bounds, slots, side="right") - 1
    reach = np.arange(1, window + 1)
    left, right = slots[:, None] - reach, slots[:, None] + reach
    left = np.where(left >= document_bounds[documents][:, None], left, -1)
    right = np.where(right < document_bounds[documents + 1][:, None], right, -1)
    return Sides(left, right)


def mean_rows(table: Tensor, rows: Rows) -> Tensor:
    """Mean of the `rows` (n, window) of `table` (m, size), -1 left out; shape (n, size)."""
    if rows.shape[1] == 1 and (rows >= 0).all():
        return table[torch.from_numpy(rows[:, 0])]
    total = torch.zeros(len(rows), table.shape[1])
    for column in torch.from_numpy(rows).unbind(1):
        total += table[column.clamp(min=0)] * (column >= 0).unsqueeze(1)
    present = torch.from_numpy((rows >= 0).sum(1, keepdims=True))
    return total / present.clamp(min=1)
