"""From documents to a model: the stages of a run in order, and what is said of the result."""
