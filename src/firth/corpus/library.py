"""All documents of a run: what its models learned from, what was held out from them, and what came
later."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus import ADDED, CORPUS
from firth.corpus.corpus import Bounds, Corpus
from firth.lexical.arrays import Ints
from firth.run.errors import DamagedError
from firth.run.run import Run


class Library:
    """Sentences and documents of several corpora, numbered on from one to the next.

    What is searched and compared is every document that a user gave. The numbers of a run's corpus
    are its own; those of the held-out documents follow, and then of those that were added later.

    Args:
        parts: The corpora, at least one.
        added: How many documents, at the end, came after the models were built.

    Attributes:
        parts, added: As given.
        starts: int64, (n_parts+1,): part p holds the sentences starts[p] to starts[p+1].
        document_bounds: int64, (n_documents+1,): document d is the sentences from bounds[d] to
            bounds[d+1].
    """

    def __init__(self, parts: Sequence[Corpus], added: int = 0) -> None:
        self.parts, self.added = tuple(parts), added
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
        """The documents of a run: its corpus', those held out, then those added later.

        Raises:
            InputError: There is no run, or its corpus is of an earlier firth.
            MissingStageError: It has no corpus.
            DamagedError: Documents were added to another corpus than the run's.
        """
        run = Run.open(run)
        parts = [Corpus.open(run), Corpus.held_out(run)]
        if not run.has(ADDED):
            return cls(parts)
        folder, known = run.folder(ADDED), run.manifest(ADDED).inputs[CORPUS.name]
        if known != run.manifest(CORPUS).digest:
            raise DamagedError(
                f"{folder}: documents that were added before the corpus was built again. Compare "
                f"them with it: firth corpus add --run {run.path}"
            )
        later = Corpus(folder)
        return cls([*parts, later], later.n_documents)

    def __repr__(self) -> str:
        """How much of what."""
        return f"Library({len(self):,} sentences in {self.n_documents:,} documents)"

    def remark(self) -> str:
        """How many documents the models do not know, and what to do; "" where they know all."""
        if not self.added:
            return ""
        share = self.added / self.n_documents
        return (
            f"{share:.1%} of the documents ({self.added:,} of {self.n_documents:,}) came after the "
            "models were built; firth build, over the files of all, learns from them"
        )

    def __len__(self) -> int:
        """Number of sentences."""
        return int(self.starts[-1])

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.document_bounds) - 1

    def text(self, i: int) -> str:
        """Sentence `i`; raise `IndexError` if there is none."""
        if not 0 <= i < len(self):
            raise IndexError(f"got {i}, expected 0 to {len(self) - 1}")
        part = int(np.searchsorted(self.starts, i, side="right")) - 1
        return self.parts[part].text(i - int(self.starts[part]))

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

    @cached_property
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

    def document_titles(self) -> list[str]:
        """Titles of all documents, in order; "" of those that have none."""
        return [title for part in self.parts for title in part.document_titles()]

    def document_ids(self) -> list[str]:
        """Names of all documents, in order."""
        return [name for part in self.parts for name in part.document_ids()]

    def document_sources(self) -> list[str]:
        """Files of all documents, in order."""
        return [name for part in self.parts for name in part.document_sources()]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that are kept of documents."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.fields))

    def document_field(self, name: str) -> list[tuple[str, ...]]:
        """Values of a field in all documents, in order; () of those that have none."""
        return [values for part in self.parts for values in part.document_field(name)]

    def document_fields(self, d: int) -> dict[str, tuple[str, ...]]:
        """Field → values of document `d`, where it has any."""
        part, inner = self._document(d)
        found = {name: part.document_field(name, [inner])[0] for name in part.fields}
        return {name: values for name, values in found.items() if values}

    def _document(self, d: int) -> tuple[Corpus, int]:
        if not 0 <= d < self.n_documents:
            raise IndexError(f"got document {d}, expected 0 to {self.n_documents - 1}")
        number = int(np.searchsorted(self._first_documents, d, side="right")) - 1
        return self.parts[number], int(d - self._first_documents[number])
