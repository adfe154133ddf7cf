"""Figures as printed by Sun et al. (2022), §5: Spearman × 100 on STSb test, unsupervised."""

from collections.abc import Mapping

TABLE5: Mapping[int, float] = {
    10_000_000: 49.41,
    100_000_000: 66.92,
    1_000_000_000: 76.17,
    10_000_000_000: 77.81,
    100_000_000_000: 78.47,
}
"""Table 5: tokens of the corpus → Origin. (The second column of the printed head says 100B, which
from its place and from §5.1 is 100M.)"""

TABLE6: Mapping[int, float] = {20: 66.25, 100: 73.93, 500: 78.47, 1000: 78.56}
"""Table 6: |C_s| → Origin."""

TABLE7: Mapping[int, float] = {
    100_000: 74.02,
    1_000_000: 76.11,
    10_000_000: 76.92,
    100_000_000: 77.32,
}
"""Table 7: pairs → Surrogate."""

FULL = 78.47
TABLE8: Mapping[str, float] = {
    "Full": FULL,
    "w/o discriminative": 77.97,
    "w/o left-context": 77.36,
    "w/o right-context": 77.01,
    "w/o both contexts": 76.50,
}
"""Table 8: terms of Eq. 3 → Origin."""

CONSTRUCTION: Mapping[str, float] = {
    "two-step": FULL,
    "random": 34.45,
    "without diversity": 76.32,
}
"""§5.4: how C is built → Origin, |C| = 500."""

STRUCTURES: Mapping[str, float] = {"Siamese": 77.32, "cross-encoder": 77.43}
"""§5.6: structure → Surrogate."""
