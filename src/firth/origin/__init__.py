"""Origin: similarity by the contexts that sentences fit into, and where it comes from (§3.3)."""

from firth.run.stage import Stage

ORIGIN = Stage("origin", "firth train context --run")
