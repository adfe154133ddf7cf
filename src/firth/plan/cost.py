"""Costs as straight lines: a fixed part, and so much for each of what is worked through."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firth.plan.units import Unit

Amounts = Mapping[Unit, float]


@dataclass(frozen=True)
class Line:
    """A cost: `fixed`, and for each unit so much.

    Attributes:
        fixed: Whatever the size, at least 0.
        each: Unit → what one of it adds, above 0.
    """

    fixed: float
    each: Amounts

    @classmethod
    def fit(cls, amounts: Sequence[Amounts], costs: Sequence[float]) -> "Line":
        """The line of least relative errors through n costs, no part of it negative.

        (Non-negative least squares: Lawson & Hanson 1974. The relative error counts, for a small
        probe tells of the fixed part what a large one hides.)

        Args:
            amounts: Of each, how much of the same units; n ≥ 1.
            costs: Of each, at least 0.
        """
        from scipy.optimize import nnls

        units = list(amounts[0])
        rows = np.array([[1.0, *(one[unit] for unit in units)] for one in amounts])
        scales = np.maximum(rows.max(axis=0), 1e-12)
        weights = 1 / np.maximum(np.array(costs, dtype=float), 1e-9)
        found, _ = nnls(rows / scales * weights[:, None], np.array(costs) * weights)
        fixed, *each = (found / scales).tolist()
        return cls(fixed, {u: value for u, value in zip(units, each, strict=True) if value > 0})

    def parts(self, amounts: Amounts) -> dict[Unit, float]:
        """What each unit adds at a size."""
        return {unit: value * amounts[unit] for unit, value in self.each.items()}

    def at(self, amounts: Amounts) -> float:
        """The cost at a size."""
        return self.fixed + sum(self.parts(amounts).values())


@dataclass(frozen=True)
class Growth:
    """How many different ones there are among n: k · n^β (Heaps 1978).

    Attributes:
        factor: k.
        exponent: β, in [0, 1].
    """

    factor: float
    exponent: float

    @classmethod
    def fit(cls, sizes: Sequence[float], counts: Sequence[float]) -> "Growth":
        """Through the two largest sizes: β falls as text grows, so that it is rather too many."""
        (n, last), (m, before) = sorted(zip(sizes, counts, strict=True), reverse=True)[:2]
        slope = 0.0
        if last > before > 0 and n > m:
            slope = min(1.0, math.log(last / before) / math.log(n / m))
        return cls(last / n**slope, slope)

    def at(self, size: float) -> float:
        """How many at a size."""
        return float(self.factor * size**self.exponent)
