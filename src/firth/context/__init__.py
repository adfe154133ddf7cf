"""What contexts tell of words and sentences: encoders learned from what stands side by side."""

from firth.run.stage import Stage

CONTEXT = Stage(
    "context",
    "firth train context --run",
    libraries=("PyStemmer", "torch", "transformers"),
)
ADAPT = Stage(
    "adapt",
    "firth adapt ENCODER --run",
    libraries=("sentence-transformers", "tokenizers", "torch", "transformers"),
)
THEMES = Stage("themes", "firth train context --run")
"""Contexts in groups that can be told, for explanations."""
