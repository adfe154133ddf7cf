"""Origin: similarity by the contexts that sentences fit into, and where it comes from (§3.3)."""
