"""TF-IDF screening: the chunks of the corpus that share words with a sentence (§3.3)."""

from firth.run.stage import Stage

RETRIEVE = Stage(
    "retrieve", "firth corpus build INPUT... --run", libraries=("numpy", "scikit-learn")
)
