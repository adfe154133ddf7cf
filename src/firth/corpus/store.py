"""The corpus on disk, written as a stream: Arrow files for texts, .npy files for borders.

sentences.arrow      text
documents.arrow      id, title, source, line, date, digest (of its text)
fields.arrow         lists of strings: the values of each field kept (only where some are)
word_counts.npy      int32, (n_sentences,)
paragraph_bounds.npy int64, (n_paragraphs+1,): paragraph p = sentences[bounds[p]:bounds[p+1]]
chunk_bounds.npy     int64, (n_chunks+1,)
document_bounds.npy  int64, (n_documents+1,)
settings.json        what else a reader must know: window, min_words, max_words
held_out/            the same files, of the documents that nothing learns from
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firth.corpus.records import Record
from firth.corpus.seen import DIGEST_BYTES, Row

SENTENCES = "sentences.arrow"
DOCUMENTS = "documents.arrow"
FIELDS = "fields.arrow"
WORD_COUNTS = "word_counts.npy"
PARAGRAPH_BOUNDS = "paragraph_bounds.npy"
CHUNK_BOUNDS = "chunk_bounds.npy"
DOCUMENT_BOUNDS = "document_bounds.npy"
SETTINGS = "settings.json"
HELD_OUT = "held_out"
DATE, DIGEST = "date", "digest"

BATCH_ROWS = 8_192
_TEXT = {"text": pa.string()}
_DOCUMENT = {
    "id": pa.string(),
    "title": pa.string(),
    "source": pa.string(),
    "line": pa.int64(),
    DATE: pa.string(),
    DIGEST: pa.binary(DIGEST_BYTES),
}
_VALUES = pa.list_(pa.field("item", pa.string(), nullable=False))


@dataclass(frozen=True, slots=True)
class Document:
    """What is stored of a document.

    Attributes:
        record: As it was read; its text is not looked at.
        row: What is remembered of it, to know it again (`firth.corpus.seen`).
        paragraphs: The sentences of each paragraph, none empty.
        counts: Words of each sentence, in order.
    """

    record: Record
    row: Row
    paragraphs: list[list[str]]
    counts: list[int]


class ArrowWriter:
    """Rows into an Arrow file, a batch of `BATCH_ROWS` at a time; no value may be null."""

    def __init__(self, path: Path, columns: dict[str, pa.DataType]) -> None:
        self._schema = pa.schema([pa.field(*column, nullable=False) for column in columns.items()])
        self._file = pa.ipc.new_file(str(path), self._schema)
        self._rows: list[tuple[Any, ...]] = []

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row: one value a column."""
        self._rows.append(row)
        if len(self._rows) == BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        self._file.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        """Write what is left, and the index of batches that makes the file readable."""
        if self._rows:
            self._flush()
        self._file.close()


class ArrayWriter:
    """Integers into a .npy file whose length is not known beforehand."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._file: BinaryIO = path.open("wb")
        self._dtype = np.dtype(dtype)
        self._held: list[int] = []
        self._length = 0
        self._header()

    def _header(self) -> None:
        """NumPy pads the header so that a longer length fits in the same number of bytes."""
        described = np.lib.format.dtype_to_descr(self._dtype)
        header = {"descr": described, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def extend(self, values: Iterable[int]) -> None:
        """Add `values`."""
        self._held.extend(values)
        if len(self._held) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._file.write(np.asarray(self._held, self._dtype).tobytes())
        self._length += len(self._held)
        self._held.clear()

    def close(self) -> None:
        """Write what is left, and the length."""
        self._flush()
        self._file.seek(0)
        self._header()
        self._file.close()


class CorpusWriter(ExitStack):
    """Documents in, files of the store out; see the top of this module. Use it in a `with` block.

    Args:
        folder: Where the files are written.
        chunk_sentences: Longest chunk.
        position_words: Fewest and most words of a position.
        fields: Names of the fields that are kept.

    Attributes:
        documents, paragraphs, sentences, words, chunks, positions: What has been written so far.
        dated: Documents with a date.
        having: Field → documents that have it.
    """

    def __init__(
        self,
        folder: Path,
        chunk_sentences: int,
        position_words: tuple[int, int],
        fields: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._longest, self._position_words = chunk_sentences, position_words
        self._sentences = self.enter_context(closing(ArrowWriter(folder / SENTENCES, _TEXT)))
        self._documents = self.enter_context(closing(ArrowWriter(folder / DOCUMENTS, _DOCUMENT)))
        self.having = dict.fromkeys(fields, 0)
        self._fields: ArrowWriter | None = None
        if fields:
            columns = dict.fromkeys(fields, _VALUES)
            self._fields = self.enter_context(closing(ArrowWriter(folder / FIELDS, columns)))
        self._word_counts, self._paragraph_bounds, self._chunk_bounds, self._document_bounds = (
            self.enter_context(closing(ArrayWriter(folder / name, dtype)))
            for name, dtype in (
                (WORD_COUNTS, np.int32),
                (PARAGRAPH_BOUNDS, np.int64),
                (CHUNK_BOUNDS, np.int64),
                (DOCUMENT_BOUNDS, np.int64),
            )
        )
        for bounds in (self._paragraph_bounds, self._chunk_bounds, self._document_bounds):
            bounds.extend([0])
        self.documents = self.paragraphs = self.sentences = 0
        self.words = self.chunks = self.positions = self.dated = 0

    def append(self, document: Document) -> None:
        """Add a document."""
        start, record, counts = self.sentences, document.record, document.counts
        for sentences in document.paragraphs:
            for sentence in sentences:
                self._sentences.append((sentence,))
        lengths = [len(sentences) for sentences in document.paragraphs]
        chunk_ends = chunk(lengths, self._longest)
        self._word_counts.extend(counts)
        self._paragraph_bounds.extend((start + np.cumsum(lengths)).tolist())
        self._chunk_bounds.extend(start + end for end in chunk_ends)
        named = (record.id, record.title, record.source, record.line, record.date)
        self._documents.append((*named, document.row[0]))
        if self._fields is not None:
            values = record.fields or ((),) * len(self.having)
            self._fields.append(values)
            for name, those in zip(self.having, values, strict=True):
                self.having[name] += bool(those)
        self.sentences += len(counts)
        self._document_bounds.extend([self.sentences])
        self.documents += 1
        self.dated += bool(record.date)
        self.paragraphs += len(lengths)
        self.words += sum(counts)
        self.chunks += len(chunk_ends)
        low, high = self._position_words
        self.positions += sum(low <= count <= high for count in counts[1:-1])


def chunk(paragraph_lengths: Sequence[int], limit: int) -> list[int]:
    """Ends of the chunks of one document, in sentences from its start; the last is its length.

    A chunk has at most `limit` sentences. A paragraph border ends one that is at least half full,
    so that retrieval tends to see whole paragraphs.

    Example:
        >>> chunk([5, 1, 1, 10], limit=8)
        [5, 13, 17]
    """
    ends: list[int] = []
    position = start = 0
    for length in paragraph_lengths:
        border = position + length
        while border - start > limit:
            start += limit
            ends.append(start)
        if 2 * (border - start) >= limit:
            start = border
            ends.append(start)
        position = border
    if position > start:
        ends.append(position)
    return ends
