"""Harvest: pairs of corpus sentences with their Origin similarity, for the Surrogate (§3.4)."""

from firth.run.stage import Stage

HARVEST = Stage(
    "harvest",
    "firth harvest --run",
    libraries=("pyarrow", "scikit-learn", "PyStemmer", "torch", "transformers"),
)
