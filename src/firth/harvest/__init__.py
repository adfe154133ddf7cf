"""Harvest: pairs of corpus sentences with their Origin similarity, for the Surrogate (§3.4)."""

from firth.artifacts import Stage

HARVEST = Stage(
    name="harvest",
    code=(
        "corpus",
        "retrieve",
        "coherence",
        "generation",
        "baselines/idf",
        "baselines/prompt_eol",
        "baselines/stem",
        "baselines/tfidf",
        "baselines/word_bag",
        "fit",
        "origin",
        "harvest",
        "contexts",
        "words",
    ),
    command="firth harvest --run",
    libraries=("pyarrow", "scikit-learn", "torch", "transformers"),
)
