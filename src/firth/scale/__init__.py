"""Scale: what a score means in a run's own corpus, beside those of random pairs and neighbours."""

from firth.run.stage import Stage

SCALE = Stage("scale", "firth scale --run")
