"""The discriminative context model p(y=1 | c_<, s, c_>) (§3.2.1)."""

from firth.run.stage import Stage

COHERENCE = Stage(
    "coherence", "firth train coherence --run", libraries=("numpy", "tokenizers", "torch")
)
