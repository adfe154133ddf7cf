"""Surrogate: a Siamese encoder that learns Origin's scores and answers in milliseconds (§3.4)."""

from firth.run.stage import Stage

SURROGATE = Stage(
    "surrogate",
    "firth distill --run",
    libraries=("sentence-transformers", "snowballstemmer", "tokenizers", "torch", "transformers"),
)
