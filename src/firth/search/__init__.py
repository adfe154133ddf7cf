"""Search: which sentences or documents of a run answer to some words."""
