"""Files in every format, and corpora built from them."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import zstandard

from firth.corpus.corpus import Corpus
from firth.corpus.inputs import Problem, resolve_inputs
from firth.corpus.read import read_source
from firth.corpus.records import Item, Record
from firth.corpus.settings import CorpusConfig


def packed(data: bytes, ending: str) -> bytes:
    """`data` as a file with this ending has it."""
    if ending == ".gz":
        return gzip.compress(data, mtime=0)
    return zstandard.ZstdCompressor().compress(data) if ending == ".zst" else data


def json_lines(texts: Iterable[str]) -> bytes:
    """One object a line."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def table(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows as CSV."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def read(path: Path, **settings: object) -> tuple[list[Record], list[Problem]]:
    """Everything in one file."""
    config = CorpusConfig.model_validate(settings)
    (source,) = resolve_inputs([path])
    items: list[Item] = list(read_source(source, config, lambda _: None))
    records = [item for item in items if isinstance(item, Record)]
    return records, [item for item in items if isinstance(item, Problem)]


@pytest.fixture(scope="session")
def corpus_run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the corpus of `tiny_folder`."""
    run = tmp_path_factory.mktemp("corpus") / "run"
    Corpus.build([tiny_folder], run)
    return run


@pytest.fixture(scope="session")
def corpus(corpus_run: Path) -> Corpus:
    """The corpus of `tiny_folder`, opened."""
    return Corpus.open(corpus_run)
