"""Harvest: pairs of corpus sentences with their Origin similarity, for the Surrogate (§3.4)."""

from firth.artifacts import Stage

HARVEST = Stage(
    name="harvest",
    code=(
        "corpus",
        "retrieve",
        "coherence",
        "generation",
        "origin",
        "harvest",
        "contexts",
        "words",
    ),
    command="firth harvest --run",
    libraries=("pyarrow", "torch", "transformers"),
)
