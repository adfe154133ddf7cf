"""Corpora of documents whose sentences say where they stand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from firth.corpus.corpus import Corpus

Document = Sequence[int]
"""Sentences of each paragraph."""
Build = Callable[..., Corpus]


def sentence(name: str, number: int) -> str:
    """A sentence of eight words that no other document has."""
    return f"The {name} came to place number {number} in time."


def text(name: str, paragraphs: Document) -> str:
    """A document: its sentences are numbered through."""
    numbers = iter(range(sum(paragraphs)))
    return "\n\n".join(
        " ".join(sentence(name, next(numbers)) for _ in range(size)) for size in paragraphs
    )


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds a corpus of files, each a mapping of document names to their paragraphs."""

    def call(*files: dict[str, Document]) -> Corpus:
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        folder.mkdir()
        for number, documents in enumerate(files):
            lines = [
                json.dumps({"id": name, "text": text(name, paragraphs)})
                for name, paragraphs in documents.items()
            ]
            (folder / f"{number}.jsonl").write_text("\n".join(lines))
        return Corpus.build([folder], folder / "run", held_out=0)

    return call
