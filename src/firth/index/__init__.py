"""Index: the unit vectors of a run's sentences, and the nearest of them."""

from firth.run.stage import Stage

INDEX = Stage("index", "firth index --run", libraries=("sentence-transformers", "tokenizers"))
ADDED_INDEX = Stage("added/index", INDEX.command, libraries=INDEX.libraries)
