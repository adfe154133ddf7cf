"""The report of a run: one static page of what it read, learned, answers, and is worth."""
