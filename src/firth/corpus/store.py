"""The corpus on disk, written as a stream: Arrow files for texts, .npy files for borders.

sentences.arrow      text
documents.arrow      id, title, source, line
word_counts.npy      int32, (n_sentences,)
paragraph_bounds.npy int64, (n_paragraphs+1,): paragraph p = sentences[bounds[p]:bounds[p+1]]
chunk_bounds.npy     int64, (n_chunks+1,)
document_bounds.npy  int64, (n_documents+1,)
settings.json        what else a reader must know: window, min_words, max_words
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firth.corpus.records import Record
from firth.corpus.settings import CorpusConfig
from firth.lexical.words import words

SENTENCES = "sentences.arrow"
DOCUMENTS = "documents.arrow"
WORD_COUNTS = "word_counts.npy"
PARAGRAPH_BOUNDS = "paragraph_bounds.npy"
CHUNK_BOUNDS = "chunk_bounds.npy"
DOCUMENT_BOUNDS = "document_bounds.npy"
SETTINGS = "settings.json"

BATCH_ROWS = 8_192
_SENTENCE = pa.schema([pa.field("text", pa.string(), nullable=False)])
_DOCUMENT = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("line", pa.int64(), nullable=False),
    ]
)


class ArrowWriter:
    """Rows into an Arrow file, a batch of `BATCH_ROWS` at a time."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = pa.ipc.new_file(str(path), schema)
        self._schema = schema
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


class CorpusWriter:
    """Documents in, files of the store out; see the top of this module.

    Attributes:
        documents, paragraphs, sentences, words, chunks, slots: What has been written so far.
    """

    def __init__(self, folder: Path, config: CorpusConfig) -> None:
        self._config = config
        self._sentences = ArrowWriter(folder / SENTENCES, _SENTENCE)
        self._documents = ArrowWriter(folder / DOCUMENTS, _DOCUMENT)
        self._word_counts = ArrayWriter(folder / WORD_COUNTS, np.int32)
        self._paragraph_bounds = ArrayWriter(folder / PARAGRAPH_BOUNDS, np.int64)
        self._chunk_bounds = ArrayWriter(folder / CHUNK_BOUNDS, np.int64)
        self._document_bounds = ArrayWriter(folder / DOCUMENT_BOUNDS, np.int64)
        for bounds in (self._paragraph_bounds, self._chunk_bounds, self._document_bounds):
            bounds.extend([0])
        self.documents = self.paragraphs = self.sentences = 0
        self.words = self.chunks = self.slots = 0

    def append(self, record: Record, paragraphs: Sequence[Sequence[str]]) -> None:
        """Add a document: its record, and the sentences of its paragraphs, none empty."""
        start = self.sentences
        counts = []
        for sentences in paragraphs:
            for sentence in sentences:
                self._sentences.append((sentence,))
                counts.append(len(words(sentence)))
        lengths = [len(sentences) for sentences in paragraphs]
        chunk_ends = chunk(lengths, self._config.chunk_sentences)
        self._word_counts.extend(counts)
        self._paragraph_bounds.extend((start + np.cumsum(lengths)).tolist())
        self._chunk_bounds.extend(start + end for end in chunk_ends)
        self._documents.append((record.id, record.title, record.source, record.line))
        self.sentences += len(counts)
        self._document_bounds.extend([self.sentences])
        self.documents += 1
        self.paragraphs += len(lengths)
        self.words += sum(counts)
        self.chunks += len(chunk_ends)
        low, high = self._config.min_words, self._config.max_words
        self.slots += sum(low <= count <= high for count in counts[1:-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in (self._sentences, self._documents):
            writer.close()
        for array in (
            self._word_counts,
            self._paragraph_bounds,
            self._chunk_bounds,
            self._document_bounds,
        ):
            array.close()


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
