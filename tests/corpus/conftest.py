"""Files in every format, and runs with a corpus."""

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from backports import zstd

from firth.corpus.build import CorpusSummary, build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.document import Document, Item, Problem
from firth.corpus.read import Inputs, read_documents
from firth.run.run import Run
from firth.run.settings import CorpusSettings, parse_settings

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0), ".zst": zstd.compress,
}  # fmt: skip
PACKINGS = [*PACK]


def packed(data: bytes, packing: str) -> bytes:
    return PACK[packing](data)


def json_lines(rows: Iterable[Any]) -> bytes:
    """Return records, or texts as records, one object a line."""
    records = [{"text": row} if isinstance(row, str) else row for row in rows]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(rows: Sequence[Sequence[str]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def apart(items: Iterable[Item]) -> tuple[list[Document], list[Problem]]:
    read = list(items)
    documents = [item for item in read if isinstance(item, Document)]
    return documents, [item for item in read if isinstance(item, Problem)]


def read(inputs: Inputs, **settings: Any) -> tuple[list[Document], list[Problem]]:
    return apart(read_documents(inputs, CorpusSettings(**settings)))


def run_of(folder: Path, seed: int = 13, **settings: Any) -> Run:
    """Return a run with some settings of the corpus; by default nothing is held out."""
    corpus = {"held_out_fraction": 0.0, **settings}
    return Run.create(folder, parse_settings({"seed": seed, "corpus": corpus}, "test"))


def built(folder: Path, inputs: Inputs, **settings: Any) -> tuple[Corpus, CorpusSummary]:
    """Build the corpus of a new run, and open all of it."""
    run = run_of(folder, **settings)
    summary = build_corpus(run, inputs)
    return Corpus.open(run, "all"), summary


def contents(run: Run) -> dict[str, list[str]]:
    """Return id → sentences of all documents; a copy has those of the first one."""
    corpus = Corpus.open(run, "all")
    bounds = corpus.document_bounds.tolist()
    return {
        known.id: corpus.texts(range(bounds[d], bounds[d + 1]))
        for d in range(corpus.n_documents)
        for known in corpus.documents_with_text(d)
    }


def keys_of(run: Run) -> dict[str, int]:
    """Return id → key of all documents, copies included."""
    corpus = Corpus.open(run, "all")
    keys = [*corpus.keys.tolist(), *corpus.copies[:, 0].tolist()]
    return {corpus.document(d).id: key for d, key in enumerate(keys)}
