"""The stored corpus: sentences, chunks and documents, read from memory-mapped files."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firth.corpus import CORPUS, store
from firth.corpus.context import Context
from firth.run.config import Config
from firth.run.engine import HERE, Engine
from firth.run.errors import DamagedError, InputError
from firth.run.files import read_json
from firth.run.run import CONFIG, Run

Bounds = npt.NDArray[np.int64]


class _Rows:
    """Rows of an Arrow file by number, without reading the others."""

    def __init__(self, path: Path) -> None:
        # The map is kept alive by the batches that point into it.
        mapped = pa.memory_map(str(path))
        whole = mapped.read_buffer()
        file = pa.ipc.open_file(mapped)
        self.columns: tuple[str, ...] = tuple(file.schema.names)
        self._batches = [file.get_batch(number) for number in range(file.num_record_batches)]
        for batch in self._batches:
            if not all(_is_sound(column, whole) for column in batch.columns):
                raise DamagedError(
                    f"{path}: damaged. Its run is looked through by: firth check-run"
                )
        self._starts = np.cumsum([0] + [batch.num_rows for batch in self._batches])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def one(self, row: int, column: str) -> Any:
        if not 0 <= row < len(self):
            raise IndexError(f"got {row}, expected 0 to {len(self) - 1}")
        batch = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._batches[batch].column(column)[row - int(self._starts[batch])].as_py()

    def many(self, rows: npt.NDArray[np.int64], column: str) -> list[Any]:
        """Values in the order of `rows`, gathered batch by batch."""
        if not len(rows):
            return []
        if rows.min() < 0 or rows.max() >= len(self):
            raise IndexError(f"got {rows.min()} to {rows.max()}, expected 0 to {len(self) - 1}")
        order = np.argsort(rows, kind="stable")
        inner = rows[order]
        borders = np.searchsorted(inner, self._starts)
        gathered: list[Any] = [None] * len(rows)
        for number in np.flatnonzero(np.diff(borders)).tolist():
            low, high = borders[number], borders[number + 1]
            places = pa.array(inner[low:high] - self._starts[number])
            taken = self._batches[number].column(column).take(places)
            for place, value in zip(order[low:high].tolist(), taken.to_pylist(), strict=True):
                gathered[place] = value
        return gathered

    def numbers(self, column: str) -> npt.NDArray[np.int32]:
        """The number of each row's text among the distinct ones in ascending order; four bytes a
        row, and each distinct text once."""
        known: dict[str, int] = {}
        parts = [np.empty(0, np.int32)]
        for batch in self._batches:
            coded = batch.column(column).dictionary_encode()
            seen = [known.setdefault(text, len(known)) for text in coded.dictionary.to_pylist()]
            parts.append(np.array(seen, np.int32)[coded.indices.to_numpy()])
        ranks = np.empty(len(known), np.int32)
        ranks[[known[text] for text in sorted(known)]] = np.arange(len(known))
        return ranks[np.concatenate(parts)]

    def has(self, column: str) -> bool:
        return column in self.columns

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for batch in self._batches:
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)

    def batches(self, column: str, stride: int) -> Iterator[list[Any]]:
        for batch in self._batches[::stride]:
            yield batch.column(column).to_pylist()


def _is_sound(column: pa.Array, whole: pa.Buffer) -> bool:
    """Whether all that a column points to lies in its file: reading anything else, as Arrow would,
    may end the process. Texts themselves are not looked at."""
    buffers = [buffer for buffer in column.buffers() if buffer]
    end = whole.address + whole.size
    if any(each.address < whole.address or each.address + each.size > end for each in buffers):
        return False
    try:
        column.validate(full=not pa.types.is_string(column.type))
    except pa.ArrowInvalid:
        return False
    if not (pa.types.is_string(column.type) and len(column)):
        return True
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1)
    return bool(offsets[0] >= 0 and (np.diff(offsets) >= 0).all())


class Corpus:
    """Sentences of many documents, numbered from 0 in reading order.

    Everything is memory-mapped: opening is instant, and memory holds only what is looked at.

    Args:
        folder: Folder of a finished corpus stage. Use `Corpus.open` or `Corpus.build`.

    Attributes:
        folder: As given.
        document_bounds: int64, (n_documents+1,): document d is sentences[bounds[d]:bounds[d+1]].
        paragraph_bounds: int64, (n_paragraphs+1,), likewise.
        chunk_bounds: int64, (n_chunks+1,), likewise; chunks tile the sentences and never cross a
            document.
        word_counts: int32, (n_sentences,): words (`firth.lexical.words.words`) of each sentence.
        window: Default number of sentences on each side of a position that make its context.
        min_words, max_words: Shorter and longer sentences are no positions.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "day.txt").write_text("It rained all day. We stayed in. We read books.")
        >>> corpus = Corpus.build([folder / "day.txt"], folder / "run")
        >>> len(corpus), corpus.text(1)
        (3, 'We stayed in.')
        >>> corpus.context(1)
        Context(left=('It rained all day.',), right=('We read books.',))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sentences = _Rows(folder / store.SENTENCES)
        self._documents = _Rows(folder / store.DOCUMENTS)
        fields = folder / store.FIELDS
        self._fields = _Rows(fields) if fields.is_file() else None
        self.document_bounds: Bounds = np.load(folder / store.DOCUMENT_BOUNDS, mmap_mode="r")
        self.paragraph_bounds: Bounds = np.load(folder / store.PARAGRAPH_BOUNDS, mmap_mode="r")
        self.chunk_bounds: Bounds = np.load(folder / store.CHUNK_BOUNDS, mmap_mode="r")
        self.word_counts: npt.NDArray[np.int32] = np.load(folder / store.WORD_COUNTS, mmap_mode="r")
        settings = read_json(folder / store.SETTINGS)
        self.window: int = settings["window"]
        self.min_words: int = settings["min_words"]
        self.max_words: int = settings["max_words"]

    @classmethod
    def open(cls, run: str | Path | Run) -> "Corpus":
        """The corpus of a run; raise `InputError` or `MissingStageError` if there is none."""
        return cls(Run.open(run).folder(CORPUS))

    @classmethod
    def held_out(cls, run: str | Path | Run) -> "Corpus":
        """The documents of a run that nothing learns from, for checks: maybe none.

        Raises:
            InputError: There is no run, or its corpus is of an earlier firth, which held none out.
            MissingStageError: It has no corpus.
        """
        run = Run.open(run)
        folder = run.folder(CORPUS) / store.HELD_OUT
        if not folder.is_dir():
            raise InputError(
                f"{run.path}: its corpus was built by an earlier firth, which held no documents "
                f"out. Build it again: {CORPUS.command} {run.path}"
            )
        return cls(folder)

    @classmethod
    def build(
        cls,
        inputs: str | Path | Sequence[str | Path],
        run: str | Path,
        *,
        engine: Engine = HERE,
        **settings: object,
    ) -> "Corpus":
        """Build the corpus of a run, or reuse it if nothing has changed, and open it.

        Args:
            inputs: A file, folder, glob or `hub:NAME`, or several of them.
            run: Folder of the run, made if need be.
            engine: Who splits documents into sentences, as `firth.run.processes.Processes(4)`.
            settings: Fields of `firth.run.config.CorpusConfig`, such as `text_field`.

        Raises:
            ConfigError: If a setting does not exist or has a wrong value.
            InputError: If inputs cannot be used, one lies inside the run, or no document is left.
        """
        from firth.corpus.inputs import resolve_inputs

        # By name: how a corpus is built is no part of what its readers run (firth.run.code), so a
        # change of it makes them stale only if it changes the corpus.
        builder = import_module("firth.corpus.build")

        inputs, path = [inputs] if isinstance(inputs, str | Path) else inputs, Path(run)
        resolve_inputs(inputs, path)
        config = Run.open(path).config if (path / CONFIG).is_file() else Config()
        change = {"inputs": [str(given) for given in inputs], **settings}
        opened = Run.create(path, config.changed({"corpus": change}, "Corpus.build"))
        builder.build_corpus(opened, engine)
        return cls.open(opened)

    def __repr__(self) -> str:
        """How much of what."""
        return f"Corpus({len(self):,} sentences in {self.n_documents:,} documents)"

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self._sentences)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.document_bounds) - 1

    @property
    def n_paragraphs(self) -> int:
        """Number of paragraphs."""
        return len(self.paragraph_bounds) - 1

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.chunk_bounds) - 1

    def text(self, i: int) -> str:
        """Sentence `i`; raise `IndexError` if there is none."""
        text: str = self._sentences.one(int(i), "text")
        return text

    def texts(self, indices: npt.ArrayLike) -> list[str]:
        """Sentences `indices`, in that order, in one pass over the batches they lie in."""
        return self._sentences.many(np.asarray(indices, np.int64).ravel(), "text")

    def batches(self, stride: int = 1) -> Iterator[list[str]]:
        """All sentences in order, some thousands at a time; or every `stride`-th batch of them."""
        return self._sentences.batches("text", stride)

    def document_of(self, sentences: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Document of each sentence, same shape."""
        return np.searchsorted(self.document_bounds, np.asarray(sentences), side="right") - 1

    def chunk_of(self, sentences: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Chunk of each sentence, same shape."""
        return np.searchsorted(self.chunk_bounds, np.asarray(sentences), side="right") - 1

    def paragraph_of(self, sentences: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Paragraph of each sentence, same shape."""
        return np.searchsorted(self.paragraph_bounds, np.asarray(sentences), side="right") - 1

    def document_id(self, d: int) -> str:
        """Name of document `d`: its own, else file and line."""
        name: str = self._documents.one(int(d), "id")
        return name

    def document_title(self, d: int) -> str:
        """Title of document `d`, or ""."""
        title: str = self._documents.one(int(d), "title")
        return title

    def document_source(self, d: int) -> tuple[str, int]:
        """File of document `d`, and the line in it on which it starts."""
        d = int(d)
        return self._documents.one(d, "source"), self._documents.one(d, "line")

    def document_date(self, d: int) -> str:
        """Date of document `d` (ISO 8601, with a time of day where it had one), or ""."""
        return self.document_dates([d])[0]

    def document_dates(self, documents: npt.ArrayLike | None = None) -> list[str]:
        """Dates of some documents, or of all, in order; "" of those that have none."""
        rows = np.arange(self.n_documents) if documents is None else np.asarray(documents, np.int64)
        if not self._documents.has(store.DATE):  # built by an earlier firth
            return [""] * len(rows)
        return self._documents.many(rows, store.DATE)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that are kept of each document."""
        return self._fields.columns if self._fields is not None else ()

    def document_field(
        self, name: str, documents: npt.ArrayLike | None = None
    ) -> list[tuple[str, ...]]:
        """Values of a field, as text, in some documents, or in all, in order; () where it is not
        kept."""
        rows = np.arange(self.n_documents) if documents is None else np.asarray(documents, np.int64)
        if self._fields is None or name not in self.fields:
            return [()] * len(rows)
        return [tuple(values) for values in self._fields.many(rows, name)]

    def document_rows(self) -> Iterator[tuple[bytes, str, str, int]]:
        """Of each document, in order, the digest of its text (`firth.corpus.seen`), its name, its
        file, and the line there on which it starts.

        Raises:
            InputError: The corpus is of an earlier firth, which kept no digests.
        """
        if not self._documents.has(store.DIGEST):
            raise InputError(
                f"{self.folder}: built by an earlier firth, which kept nothing to know a document "
                f"again by. Build it again: {CORPUS.command} RUN"
            )
        return self._documents.rows((store.DIGEST, "id", "source", "line"))

    def document_titles(self) -> list[str]:
        """Titles of all documents, in order; "" of those that have none."""
        return self._documents.many(np.arange(self.n_documents), "title")

    def document_ids(self) -> list[str]:
        """Names of all documents, in order."""
        return self._documents.many(np.arange(self.n_documents), "id")

    def document_sources(self) -> list[str]:
        """Files of all documents, in order."""
        return self._documents.many(np.arange(self.n_documents), "source")

    def source_of(self, sentences: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Number of the file each sentence comes from, in order of the files' names; same shape."""
        return self.source_numbers()[self.document_of(sentences)].astype(np.int64)

    def source_numbers(self) -> npt.NDArray[np.int32]:
        """Number of the file of each document, in order of the files' names."""
        return self._documents.numbers("source")

    def chunk_text(self, k: int) -> str:
        """The sentences of chunk `k`, joined by blanks; raise `IndexError` if there is none."""
        if not 0 <= k < self.n_chunks:
            raise IndexError(f"got chunk {k}, expected 0 to {self.n_chunks - 1}")
        return " ".join(self.texts(np.arange(*self.chunk_bounds[k : k + 2])))

    def context(self, position: int, window: int | None = None) -> Context:
        """Up to `window` sentences on each side of sentence `position`, from the same document.

        Args:
            position: A sentence.
            window: Sentences on each side; by default the window the corpus was built with.

        Raises:
            IndexError: `position` is no sentence.
        """
        return self.contexts([position], window)[0]

    def contexts(self, positions: npt.ArrayLike, window: int | None = None) -> list[Context]:
        """`context` of each, gathered at once; raise `IndexError` if one is no sentence."""
        window = self.window if window is None else window
        centres = np.asarray(positions, np.int64).ravel()
        if len(centres) and (centres.min() < 0 or centres.max() >= len(self)):
            raise IndexError(f"got positions outside 0 to {len(self) - 1}")
        documents = self.document_of(centres)
        lows = np.maximum(self.document_bounds[documents], centres - window)
        highs = np.minimum(self.document_bounds[documents + 1], centres + window + 1)
        spans = [np.arange(low, high) for low, high in zip(lows, highs, strict=True)]
        texts = self.texts(np.concatenate(spans)) if spans else []
        contexts, start = [], 0
        for low, centre, high in zip(lows.tolist(), centres.tolist(), highs.tolist(), strict=True):
            middle, end = start + centre - low, start + high - low
            contexts.append(Context(tuple(texts[start:middle]), tuple(texts[middle + 1 : end])))
            start = end
        return contexts

    def positions(self, window: int | None = None) -> npt.NDArray[np.int64]:
        """Sentences that can be positions, ascending.

        They have a neighbour on each side in their document, and between `min_words` and
        `max_words` words.

        Args:
            window: Ask for this many neighbours on each side; by default one is enough.
        """
        fits = (self.word_counts >= self.min_words) & (self.word_counts <= self.max_words)
        reach = 1 if window is None else window
        for offset in range(reach):
            fits[np.minimum(self.document_bounds[:-1] + offset, len(self) - 1)] = False
            fits[np.maximum(self.document_bounds[1:] - 1 - offset, 0)] = False
        return np.flatnonzero(fits).astype(np.int64)
