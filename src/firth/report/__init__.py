"""A run as one page of HTML: what was read, how good it is, and examples."""
