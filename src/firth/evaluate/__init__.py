"""Evaluation: tasks, metrics with confidence intervals, and results that can be believed."""

from firth.run.stage import Stage

EVALUATION = Stage(
    "evaluation",
    "firth run CONFIG --run",
    libraries=("scikit-learn", "scipy", "sentence-transformers"),
)
