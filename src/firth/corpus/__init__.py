"""Documents in; sentences, chunks and a tokenizer out, memory-mapped (§3.3, §4.1)."""

from firth.run.stage import Stage

CORPUS = Stage(
    "corpus",
    "firth corpus build INPUT... --run",
    libraries=("markdown-it-py", "nupunkt", "pyarrow"),
)
ADDED = Stage("added/corpus", "firth corpus add FILE... --run", libraries=CORPUS.libraries)
TOKENIZER = Stage("tokenizer", "firth corpus build INPUT... --run", libraries=("tokenizers",))
