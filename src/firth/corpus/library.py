"""All documents of a run: what its models learned from, and what was held out from them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Bounds, Corpus
from firth.lexical.arrays import Ints
from firth.run.run import Run


class Library:
    """Sentences and documents of several corpora, numbered on from one to the next.

    What is searched and compared is every document that a user gave. The numbers of a run's corpus
    are its own; those of the held-out documents follow.

    Args:
        parts: The corpora, at least one.

    Attributes:
        parts: As given.
        starts: int64, (n_parts+1,): part p holds the sentences starts[p] to starts[p+1].
        document_bounds: int64, (n_documents+1,): document d is the sentences from bounds[d] to
            bounds[d+1].
    """

    def __init__(self, parts: Sequence[Corpus]) -> None:
        self.parts = tuple(parts)
        self.starts: Bounds = np.cumsum([0, *map(len, self.parts)], dtype=np.int64)
        self._first_documents: Bounds = np.cumsum(
            [0, *(part.n_documents for part in self.parts)], dtype=np.int64
        )
        ends = [
            part.document_bounds[1:] + start
            for part, start in zip(self.parts, self.starts, strict=False)
        ]
        self.document_bounds: Bounds = np.concatenate([np.zeros(1, np.int64), *ends])

    @classmethod
    def open(cls, run: str | Path | Run) -> "Library":
        """The documents of a run: its corpus', then those held out.

        Raises:
            InputError: There is no run, or its corpus is of an earlier firth.
            MissingStageError: It has no corpus.
        """
        run = Run.open(run)
        return cls([Corpus.open(run), Corpus.held_out(run)])

    def __repr__(self) -> str:
        """How much of what."""
        return f"Library({len(self):,} sentences in {self.n_documents:,} documents)"

    def __len__(self) -> int:
        """Number of sentences."""
        return int(self.starts[-1])

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.document_bounds) - 1

    def text(self, i: int) -> str:
        """Sentence `i`; raise `IndexError` if there is none."""
        return self.texts([i])[0]

    def texts(self, indices: npt.ArrayLike) -> list[str]:
        """Sentences `indices`, in that order; raise `IndexError` if one is none."""
        wanted = np.asarray(indices, np.int64).ravel()
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"got {wanted.min()} to {wanted.max()}, expected 0 to {len(self) - 1}")
        part_of = np.searchsorted(self.starts, wanted, side="right") - 1
        found = [""] * len(wanted)
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(part_of == number)
            for place, text in zip(
                places.tolist(), part.texts(wanted[places] - self.starts[number]), strict=True
            ):
                found[place] = text
        return found

    def batches(self) -> Iterator[list[str]]:
        """All sentences in order, some thousands at a time."""
        for part in self.parts:
            yield from part.batches()

    @property
    def word_counts(self) -> npt.NDArray[np.int32]:
        """int32, (n_sentences,): words of each sentence."""
        return np.concatenate([part.word_counts for part in self.parts])

    def document_of(self, sentences: npt.ArrayLike) -> Ints:
        """Document of each sentence, same shape."""
        return np.searchsorted(self.document_bounds, np.asarray(sentences), side="right") - 1

    def document_id(self, d: int) -> str:
        """Name of document `d`: its own, else file and line."""
        part, inner = self._document(d)
        return part.document_id(inner)

    def document_title(self, d: int) -> str:
        """Title of document `d`, or ""."""
        part, inner = self._document(d)
        return part.document_title(inner)

    def document_source(self, d: int) -> tuple[str, int]:
        """File of document `d`, and the line in it on which it starts."""
        part, inner = self._document(d)
        return part.document_source(inner)

    def document_date(self, d: int) -> str:
        """Date of document `d`, or ""."""
        part, inner = self._document(d)
        return part.document_date(inner)

    def document_dates(self) -> list[str]:
        """Dates of all documents, in order; "" of those that have none."""
        return [date for part in self.parts for date in part.document_dates()]

    def document_ids(self) -> list[str]:
        """Names of all documents, in order."""
        return [name for part in self.parts for name in part.document_ids()]

    def document_sources(self) -> list[str]:
        """Files of all documents, in order."""
        return [name for part in self.parts for name in part.document_sources()]

    def _document(self, d: int) -> tuple[Corpus, int]:
        if not 0 <= d < self.n_documents:
            raise IndexError(f"got document {d}, expected 0 to {self.n_documents - 1}")
        number = int(np.searchsorted(self._first_documents, d, side="right")) - 1
        return self.parts[number], int(d - self._first_documents[number])
