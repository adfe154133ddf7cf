"""The three conditional likelihoods of a sentence and its context (§3.2.2): two backends."""

from firth.run.stage import Stage

GENERATOR = Stage(
    "generator", "firth train generator --run", libraries=("tokenizers", "torch", "transformers")
)
