"""The demo: the whole way on real text from installed packages, and a report of what came out."""
