"""Search: the index of a run, hits for a query, what a score means, duplicates, re-used text."""
