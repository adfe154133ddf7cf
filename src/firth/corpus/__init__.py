"""Documents in; sentences, chunks and a tokenizer out, memory-mapped (§3.3, §4.1)."""

import importlib
from typing import TYPE_CHECKING, Any

from firth.artifacts import Stage

if TYPE_CHECKING:
    from firth.corpus.build import build_corpus as build_corpus
    from firth.corpus.corpus import Corpus as Corpus
    from firth.corpus.stats import CorpusStats as CorpusStats
    from firth.corpus.stats import corpus_stats as corpus_stats
    from firth.corpus.tokenizer import build_tokenizer as build_tokenizer
    from firth.corpus.tokenizer import open_tokenizer as open_tokenizer

CORPUS = Stage(
    name="corpus",
    code=("corpus", "words"),
    command="firth corpus build INPUT... --run",
    libraries=("pyarrow", "nupunkt"),
)
TOKENIZER = Stage(
    name="tokenizer",
    code=("corpus/tokenizer",),
    command="firth corpus build INPUT... --run",
    libraries=("tokenizers",),
)

_HOME = {
    "Corpus": "corpus",
    "CorpusStats": "stats",
    "build_corpus": "build",
    "build_tokenizer": "tokenizer",
    "corpus_stats": "stats",
    "open_tokenizer": "tokenizer",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"firth.corpus.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
