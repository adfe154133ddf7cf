"""Surrogate: an encoder that learns what Origin knows and answers in milliseconds (§3.4)."""

from firth.run.stage import Stage

TEACHER = Stage(
    "teacher",
    "firth distill --run",
    libraries=("sentence-transformers", "PyStemmer", "tokenizers", "torch", "transformers"),
)
SURROGATE = Stage(
    "surrogate",
    "firth distill --run",
    libraries=("sentence-transformers", "PyStemmer", "tokenizers", "torch", "transformers"),
)
CROSS_ENCODER = Stage(
    "cross-encoder",
    "firth distill --architecture cross-encoder --run",
    libraries=("sentence-transformers", "tokenizers", "torch", "transformers"),
)
