"""The index of a run: unit vectors and BM25 of all sentences and documents.

The vector of a document is the mean of those of its sentences, in which the nth counts 1/n, as a
text begins with what it is about. A pretrained encoder reads the first words as one text, too; that
vector has the share in the sum that these are of all words.

Each row of the index belongs to a document's key in the store and a place in that document. What
the store no longer has is masked by its key, so that removing documents builds nothing. Documents
that came later have rows in a second, small stage. A copy of a document (`Corpus.copies`) has a
title and no sentences here.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, pairwise, repeat
from os import cpu_count
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import PretrainedEncoder, UnitEncoder, unit_singles
from firth.encoders.kinds import FoundEncoder, open_encoder
from firth.encoders.pretrained import encoder_of
from firth.encoders.static import STATIC
from firth.run.console import Progress
from firth.run.errors import ChangedError, DamagedError, FirthError, InputError
from firth.run.executor import Executor, Local
from firth.run.files import (
    create_mapped,
    fingerprint_value,
    open_mapped,
    read_arrays,
    read_json,
    stamp_of,
    write_arrays,
    write_json,
)
from firth.run.run import Run
from firth.run.settings import EncoderSettings, derive_seed, pretrained_name
from firth.run.stage import MANIFEST, SCRATCH, Outcome, Stage
from firth.search.bm25 import Bm25, Postings, write_postings
from firth.search.vectors import Codes, Gathered, Rotation, candidates
from firth.text.types import Ints, Singles, ranges, starts
from firth.text.words import BEGINNINGS, NO_STEMMER, stemmer_of

INDEX = Stage("index", 5)
ADDED = Stage("index-added", 5)
"""Rows of the documents that came after the index was built."""
NAMING = ("encoder.model", "encoder.pooling", "encoder.max_tokens")
"""Settings that decide which encoder the index has, and how it reads."""
EXACT = 40_000
"""Rows up to which every vector is compared. Beyond, comparing codes first is faster."""
COMPARED = 1_000
"""Vectors whose codes are nearest to a query's, which are compared exactly then."""
SHARD = 16_384
"""Sentences that are encoded together; an interrupted call continues with the next shard."""
WHOLE, _WHOLE_SHARD = 180, 512
"""Words of a document that are read as one text, as most encoders read 256 tokens, and documents
that are read together."""
_INFO, _DOCUMENTS, _ROTATION = "index.json", "documents.npy", "rotation.safetensors"
_VECTORS, _WHOLES, _CODES = "vectors.npy", "wholes.npy", "codes.npy"
_SAMPLE = 50_000
_ATTEMPTS = 10
_MOST_ROWS = 1 << 32
Halves = npt.NDArray[np.float16]


# --- Building ----------------------------------------------------------------------------------


def build_index(run: Run, executor: Executor | None = None) -> Outcome:
    """Index all documents of a run, those held out from learning included.

    The executor, by default this process, encodes the sentences. An interrupted call continues with
    the shard it was at.
    """
    corpus = Corpus.open(run, "all")
    if len(corpus) + corpus.n_documents >= _MOST_ROWS:
        raise InputError(
            f"{run.path}: has {len(corpus):,} sentences; an index holds {_MOST_ROWS:,} at most. "
            "Build several runs, each of a part of the documents"
        )
    pretrained = index_encoder(run)
    stemmer = stemmer_of(corpus.language)
    stemmer = BEGINNINGS if stemmer == NO_STEMMER else stemmer

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        writer = _Writer(workspace, corpus, np.arange(len(_entries(corpus)[0])), stemmer)
        writer.write_vectors(run, pretrained, executor)
        vectors = open_mapped(workspace / _VECTORS)
        sample = np.linspace(0, len(vectors) - 1, min(_SAMPLE, len(vectors))).astype(np.int64)
        seed = derive_seed(run.settings.seed, "index", "codes")
        rotation = Rotation.fit(vectors[sample].astype(np.float32), seed)
        write_arrays(workspace / _ROTATION, {"mean": rotation.mean, "matrix": rotation.matrix})
        writer.write_rest(rotation)
        info = {"encoder": pretrained_name(run.settings.encoder.model), "stemmer": stemmer}
        write_json(workspace / _INFO, info)
        return {"documents": corpus.n_documents, "sentences": len(corpus)}

    reads = [] if pretrained else [STATIC]
    inputs = {"corpus": corpus.digest, **_fingerprint(pretrained)}
    return run.build(INDEX, fill, reads=reads, settings=["seed", *NAMING], inputs=inputs)


def build_added(run: Run, executor: Executor | None = None) -> Outcome | None:
    """Index the documents of the store that the index lacks; return None where it lacks none.

    Vectors that an earlier call computed for some of them are kept.
    """
    corpus, base = Corpus.open(run, "all"), run.folder(INDEX)
    entries = _entries(corpus)[0]
    new = np.flatnonzero(_numbers(open_mapped(base / _DOCUMENTS), entries) < 0)
    if not len(new):
        return None
    pretrained = check_index(run)
    earlier, info = _earlier(run), read_json(base / _INFO)

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        writer = _Writer(workspace, corpus, new, info["stemmer"], earlier)
        writer.write_vectors(run, pretrained, executor)
        writer.write_rest(_rotation(base))
        return {"documents": len(new), "sentences": int(writer.sizes.sum())}

    inputs = {"documents": fingerprint_value(entries[new].tolist())}
    return run.build(ADDED, fill, reads=[INDEX, *([] if pretrained else [STATIC])], inputs=inputs)


def check_index(run: Run) -> FoundEncoder | None:
    """Return the encoder of an index (`index_encoder`), whose vectors it must have.

    Raises:
        DamagedError: It has vectors of another encoder than its run would use.
    """
    inputs, pretrained = run.manifest(INDEX).inputs, index_encoder(run)
    current = _fingerprint(pretrained) if pretrained else run.inputs(STATIC)
    if any(inputs.get(name) != digest for name, digest in current.items()):
        raise DamagedError(
            f"{run.path / INDEX.name}: has vectors of another encoder than the run's. Build it "
            f"again: {INDEX.command} --run {shlex.quote(str(run.path))}"
        )
    return pretrained


def index_encoder(run: Run) -> FoundEncoder | None:
    """Find the pretrained encoder of a run; None is the static one that the run has built."""
    name = pretrained_name(run.settings.encoder.model)
    return None if name is None else encoder_of(run, name)


def open_index_encoder(run: Run) -> UnitEncoder:
    """Open the encoder whose vectors the index of a run has; errors as of `check_index`."""
    return open_encoder(check_index(run) or str(run.folder(STATIC)), _reading(run))


def _reading(run: Run) -> EncoderSettings:
    """Return the settings with which the encoder of the index reads texts."""
    settings = run.settings.encoder
    return EncoderSettings(pooling=settings.pooling, max_tokens=settings.max_tokens)


def _fingerprint(pretrained: FoundEncoder | None) -> dict[str, str]:
    return {"search.encoder": pretrained.fingerprint} if pretrained else {}


def _earlier(run: Run) -> "_Rows | None":
    """Return the added segment, if it is whole and of this index."""
    if not run.has(ADDED):
        return None
    manifest, folder = run.manifest(ADDED), run.path / ADDED.name
    is_of_index = manifest.inputs.get(INDEX.name) == run.manifest(INDEX).digest
    if not is_of_index or manifest.damage(folder, bytes_too=True):
        return None
    return _Rows(folder)


def _rotation(folder: Path) -> Rotation:
    arrays, _ = read_arrays(folder / _ROTATION)
    return Rotation(arrays["mean"], arrays["matrix"])


@dataclass(frozen=True)
class _Encoding:
    """Work for an executor: texts in, vectors of two bytes a number out."""

    encoder: str | PretrainedEncoder
    settings: EncoderSettings

    def open(self) -> Callable[[Sequence[str]], Halves]:
        encoder = open_encoder(self.encoder, self.settings)
        return lambda texts: encoder.encode(texts).astype(np.float16)


class _Writer:
    """Writes the rows of some `_entries`, which are ascending: vectors, codes, postings.

    Vectors that are among the rows of an `earlier` stage are not computed again.
    """

    def __init__(
        self,
        folder: Path,
        corpus: Corpus,
        numbers: Ints,
        stemmer: str,
        earlier: "_Rows | None" = None,
    ) -> None:
        self._folder, self._corpus, self._stemmer = folder, corpus, stemmer
        self._scratch = folder / SCRATCH
        self._scratch.mkdir(exist_ok=True)
        entries, owners = _entries(corpus)
        self._numbers, self._entries, self._owners = numbers, entries[numbers], owners[numbers]
        self.sizes: Ints = self._entries[:, 1]
        self._first = starts(self.sizes)
        self._sentences = corpus.sentences_of(numbers[numbers < corpus.n_documents])
        self._earlier = earlier
        self._earlier_entries = np.full(len(numbers), -1)
        if earlier is not None:
            self._earlier_entries = _numbers(earlier.entries, self._entries)

    def write_vectors(
        self, run: Run, pretrained: FoundEncoder | None, executor: Executor | None
    ) -> None:
        """Write the vectors of sentences and of entries, which the encoder of the index gives."""
        if executor is None or (pretrained and pretrained.passed):
            executor = Local()  # An object of this process cannot always be sent to another.
        name = pretrained.passed or pretrained.name if pretrained else str(run.path / STATIC.name)
        work = _Encoding(name, _reading(run))
        self._write_sentences(work, executor)
        self._write_wholes(work if pretrained else None, executor)

    def _write_sentences(self, work: _Encoding, executor: Executor) -> None:
        count = len(self._sentences)
        if not count:
            width = open_encoder(work.encoder, work.settings).dimensions
            np.save(self._folder / _VECTORS, np.empty((0, width), np.float16))
            return

        def encode(shards: Sequence[Ints]) -> Iterator[Halves]:
            return executor.map(work, (self._corpus.texts(self._sentences[r]) for r in shards))

        source = np.full(count, -1)
        if self._earlier is not None:
            first = starts(self._earlier.entries[:, 1])[self._earlier_entries]
            is_new = np.repeat(self._earlier_entries < 0, self.sizes)
            source = np.where(is_new, -1, ranges(first, self.sizes))
        stored = None if self._earlier is None else self._earlier.vectors
        with Progress(count, "Index: vectors") as bar:
            self._write(_VECTORS, SHARD, encode, source, stored, bar)

    def _write_wholes(self, work: _Encoding | None, executor: Executor) -> None:
        """Write the vector of each entry, which is 0 for one without sentences.

        `work` reads the first words of an entry; without one its vector is the mean.
        """
        words = np.zeros(len(self.sizes))
        filled = np.flatnonzero(self.sizes)
        counts = self._corpus.word_counts[self._sentences]
        words[filled] = np.add.reduceat(counts, self._first[filled]) if len(filled) else 0

        def encode(shards: Sequence[Ints]) -> Iterator[Halves]:
            several = [rows[self.sizes[rows] > 1] for rows in shards]
            encoded = executor.map(work, map(self._beginnings, several)) if work else repeat(None)
            for rows, longer, wholes in zip(shards, several, encoded, strict=False):
                vectors = self._means(rows)
                if wholes is not None and len(longer):
                    at = np.searchsorted(rows, longer)
                    share = np.minimum(WHOLE / np.maximum(words[longer], 1), 1)[:, None]
                    mixed = share * wholes + (1 - share) * vectors[at]
                    vectors[at] = unit_singles(mixed.astype(np.float32))
                yield vectors.astype(np.float16)

        stored = None if self._earlier is None else self._earlier.wholes
        with Progress(len(self.sizes), "Index: documents") as bar:
            self._write(_WHOLES, _WHOLE_SHARD, encode, self._earlier_entries, stored, bar)

    def _write(
        self,
        name: str,
        shard: int,
        encode: Callable[[Sequence[Ints]], Iterator[Halves]],
        source: Ints,
        stored: Halves | None,
        bar: Progress,
    ) -> None:
        """Write n rows, shard by shard; continue what an interrupted call has begun.

        `source`, (n,), is the row of each among those that are stored, or -1; the others are
        encoded.
        """
        path, done = self._folder / name, self._scratch / f"{name}.json"
        written = np.load(path, mmap_mode="r+") if done.is_file() and path.is_file() else None
        first = 0 if written is None else int(read_json(done))
        shards = [
            np.arange(n, min(n + shard, len(source))) for n in range(first, len(source), shard)
        ]
        bar.advance(first)
        encoded = encode([rows[source[rows] < 0] for rows in shards])
        for rows, vectors in zip(shards, encoded, strict=True):
            if written is None:
                done.unlink(missing_ok=True)
                written = create_mapped(path, np.float16, (len(source), vectors.shape[1]))
            is_new = source[rows] < 0
            written[rows[is_new]] = vectors
            if stored is not None:
                written[rows[~is_new]] = stored[source[rows[~is_new]]]
            cast(np.memmap, written).flush()
            write_json(done, int(rows[-1]) + 1)
            bar.advance(len(rows))

    def _means(self, rows: Ints) -> Singles:
        """Return the mean vector of the sentences of each of m entries, (m, d)."""
        vectors, sizes = open_mapped(self._folder / _VECTORS), self.sizes[rows]
        means = np.zeros((len(rows), vectors.shape[1]), np.float32)
        if sizes.any():
            at = ranges(self._first[rows], sizes)
            places = at - np.repeat(self._first[rows], sizes)
            weights = (1 / (1 + places)).astype(np.float32)
            sums = vectors[at] * weights[:, None]
            means[sizes > 0] = np.add.reduceat(sums, starts(sizes[sizes > 0]))
        return unit_singles(means)

    def _beginnings(self, rows: Ints) -> list[str]:
        """Return the first `WHOLE` words of entries, and as few sentences as have them."""
        counts = self._corpus.word_counts
        parts = []
        for first, size in zip(self._first[rows].tolist(), self.sizes[rows].tolist(), strict=True):
            part = self._sentences[first : first + size]
            parts.append(part[: int(np.searchsorted(counts[part].cumsum(), WHOLE)) + 1])
        texts = iter(self._corpus.texts(np.concatenate([np.empty(0, np.int64), *parts])))
        joined = (" ".join(islice(texts, len(part))) for part in parts)
        return [" ".join(text.split()[:WHOLE]) for text in joined]

    def write_rest(self, rotation: Rotation) -> None:
        """Write the codes of the vectors, the postings, and what the rows belong to."""
        vectors = open_mapped(self._folder / _VECTORS)
        words = -(-vectors.shape[1] // 64)
        codes = create_mapped(self._folder / _CODES, np.uint64, (words, len(vectors)))
        for at in range(0, len(vectors), SHARD):
            codes[:, at : at + SHARD] = rotation.codes(vectors[at : at + SHARD]).T
        if isinstance(codes, np.memmap):
            codes.flush()
        with Progress(len(vectors), "Index: words") as bar:
            texts = chain(self._texts(bar), self._titles())
            write_postings(self._folder, self._scratch, texts, self._stemmer)
        np.save(self._folder / _DOCUMENTS, self._entries)

    def _texts(self, bar: Progress) -> Iterator[str]:
        for at in range(0, len(self._sentences), SHARD):
            yield from self._corpus.texts(self._sentences[at : at + SHARD])
            bar.advance(min(SHARD, len(self._sentences) - at))

    def _titles(self) -> Iterator[str]:
        """Yield title and values of the fields of each entry; "" for a copy without others."""
        corpus, titles = self._corpus, self._corpus.document_titles()

        def title(number: int) -> str:
            if number < len(titles) and not corpus.fields:
                return titles[number]
            document = corpus.document(number)
            return " ".join([document.title, *chain.from_iterable(document.fields.values())])

        for number, owner in zip(self._numbers.tolist(), self._owners.tolist(), strict=True):
            yield title(number) if number == owner or title(number) != title(owner) else ""


# --- Reading -----------------------------------------------------------------------------------


class _Rows:
    """The rows of one stage.

    Attributes:
        vectors: float16, (n, d): of sentences.
        wholes: float16, (m, d): of entries.
        codes: uint64, by column.
        postings: Of n sentences, then of the titles of their documents.
        entries: int64, (m, 2): key of each document, and the number of its sentences.
    """

    def __init__(self, folder: Path) -> None:
        self.vectors: Halves = open_mapped(folder / _VECTORS)
        self.wholes: Halves = open_mapped(folder / _WHOLES)
        self.codes: Codes = open_mapped(folder / _CODES)
        self.postings = Postings.open(folder)
        self.entries: Ints = open_mapped(folder / _DOCUMENTS)


class _Part:
    """The rows of one stage, and what they belong to among the documents of a corpus.

    Attributes:
        rows: The rows.
        sentences: int64: sentence of each row of the postings; -1 for titles and what is removed.
        documents: int64: document of each row of the postings; -1 for what is removed.
        owners: int64, (m,): document of each entry; -1 for what is removed, or has no sentence.
        count: Number of documents and copies that are not removed.
    """

    def __init__(self, rows: _Rows, corpus: Corpus) -> None:
        self.rows = rows
        entries, numbers = _entries(corpus)
        places, sizes = _numbers(entries, rows.entries), rows.entries[:, 1]
        documents = np.where(places < 0, -1, numbers[places])
        owners = np.repeat(documents, sizes)
        sentences = ranges(corpus.document_bounds[documents], sizes)
        titles = np.full(len(documents), -1)
        self.sentences: Ints = np.append(np.where(owners < 0, -1, sentences), titles)
        self.documents: Ints = np.append(owners, documents)
        self.owners: Ints = np.where(sizes > 0, documents, -1)
        self.count = int((documents >= 0).sum())


@dataclass(frozen=True, kw_only=True)
class _Base:
    """What an index has whichever documents come and go; `digest` is that of its stage."""

    is_pretrained: bool

    rows: _Rows
    rotation: Rotation
    stemmer: str
    digest: str
    open_encoder: Callable[[], UnitEncoder]


class Index:
    """Unit vectors and BM25 of all sentences of a run, by their numbers in `corpus`.

    Use `Index.open`. Arrays are memory-mapped. `corpus` has all documents of the run,
    `unindexed` is the number of those that the index lacks, and `is_pretrained` says whether the
    run has not learned the encoder.
    """

    def __init__(self, run: Run, base: "_Base") -> None:
        self.run, self._base, self.is_pretrained = run, base, base.is_pretrained
        self.corpus, added, self._stamp = _documents_now(run, base.digest)
        self._rotation, corpus = base.rotation, self.corpus
        self._parts = parts = [_Part(rows, corpus) for rows in (base.rows, *added)]
        self._vectors = [part.rows.vectors for part in parts]
        self._wholes = [part.rows.wholes for part in parts]
        self.dimensions = int(self._vectors[0].shape[1])
        self.unindexed = len(_entries(corpus)[0]) - sum(part.count for part in parts)
        self._starts = np.cumsum([0, *map(len, self._vectors)]).tolist()
        self._sentence_of = np.concatenate(
            [part.sentences[: len(part.rows.vectors)] for part in parts]
        )
        self._alive = np.flatnonzero(self._sentence_of >= 0)
        self._row_of = np.full(len(corpus), -1)
        self._row_of[self._sentence_of[self._alive]] = self._alive
        owners = np.concatenate([part.owners for part in parts])
        entries = np.flatnonzero(owners >= 0)
        self._entry_of = np.full(corpus.n_documents, -1)
        self._entry_of[owners[entries]] = entries
        self.bm25 = Bm25(
            [part.rows.postings for part in parts],
            [part.sentences for part in parts],
            [part.documents for part in parts],
            (len(corpus), corpus.n_documents),
            base.stemmer,
        )

    @classmethod
    def open(cls, run: str | Path | Run) -> "Index":
        """Open the index of a run; errors as of `check_index`."""
        run = Run.open(run)
        pretrained = check_index(run)
        folder = run.folder(INDEX)
        folder_of_own = None if pretrained else run.folder(STATIC)
        base = _Base(
            is_pretrained=pretrained is not None,
            rows=_Rows(folder),
            rotation=_rotation(folder),
            stemmer=read_json(folder / _INFO)["stemmer"],
            digest=run.manifest(INDEX).digest,
            open_encoder=lru_cache(1)(
                partial(open_encoder, pretrained or str(folder_of_own), _reading(run))
            ),
        )
        return cls(run, base)

    def is_current(self) -> bool:
        """Return whether the run has the same documents, and the same added rows."""
        return self._stamp == _stamp(self.run) and self.corpus.is_current()

    def renewed(self) -> "Index":
        """Return an index of the documents that the run has now; the encoder stays open."""
        return Index(self.run, self._base)

    def __len__(self) -> int:
        return len(self.corpus)

    @cached_property
    def encoder(self) -> UnitEncoder:
        """The encoder of the vectors; opened when it is first used."""
        return self._base.open_encoder()

    def selected(self, where: str | None) -> Ints:
        """Return the documents that a filter selects, ascending; without one, all."""
        if where is None:
            return np.arange(self.corpus.n_documents)
        documents = self.corpus.documents_where(where)
        if not len(documents):
            raise InputError(f"no document matches the filter {where!r}")
        return documents

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(cpu_count())

    @property
    def is_small(self) -> bool:
        """Whether all vectors are compared with every query."""
        return bool(self._starts[-1] <= EXACT)

    def vectors(self, sentences: npt.ArrayLike) -> Singles:
        """Return unit vectors of sentences, float32, (n, d); zero for one that is not indexed."""
        return _gathered(self._vectors, self._row_of[np.asarray(sentences, np.int64)])

    def gather(self, documents: Ints) -> Gathered:
        """Return the vectors of documents, each of which has sentences, and of all of these."""
        sizes = np.diff(self.corpus.document_bounds)[documents]
        sentences = self.corpus.sentences_of(documents)
        return Gathered(self.vectors(sentences), sizes, self.wholes(documents))

    def wholes(self, documents: Ints) -> Singles:
        """Return unit vectors of documents, float32, (m, d); zero for one that is not indexed."""
        return _gathered(self._wholes, self._entry_of[documents])

    def nearest(self, vector: Singles, k: int, *, within: Ints | None = None) -> Ints:
        """Return the k sentences nearest to a query, or fewer where there are fewer, nearest first.

        Of more than `EXACT` vectors, those are compared whose codes are nearest.

        Args:
            vector: Unit vector, (d,).
            k: At least 1.
            within: Ascending numbers of the only sentences to compare.
        """
        rows = self._alive
        if within is not None:
            rows = self._row_of[within]
            rows = np.sort(rows[rows >= 0])
        if len(rows) > EXACT:
            rows = self._with_near_codes(vector, rows, max(COMPARED, 10 * k))
        sentences = self._sentence_of[rows]
        cosines = np.einsum("nd,d->n", _gathered(self._vectors, rows), vector)
        return sentences[np.lexsort((sentences, -cosines))[:k]]

    def _with_near_codes(self, vector: Singles, rows: Ints, most: int) -> Ints:
        """Return the rows whose codes are nearest to that of a query, about `most` of each part."""
        code = self._rotation.code(vector)
        selected = []
        for part, (start, end) in zip(self._parts, pairwise(self._starts), strict=True):
            searched = rows[slice(*np.searchsorted(rows, [start, end]).tolist())]
            masked = end - start - len(searched)
            if masked <= most:  # Looking at a few too many is faster than copying all others.
                near = candidates(part.rows.codes, code, most + masked, self._threads) + start
                selected.append(near[np.isin(near, searched)] if masked else near)
            else:
                near = candidates(part.rows.codes[:, searched - start], code, most, self._threads)
                selected.append(searched[near])
        return np.concatenate(selected)


def _gathered(parts: Sequence[Halves], rows: Ints) -> Singles:
    """Return rows of arrays that follow one another, float32, (n, d); zero for -1."""
    vectors = np.zeros((len(rows), parts[0].shape[1]), np.float32)
    start = 0
    for part in parts:
        at = np.flatnonzero((rows >= start) & (rows < start + len(part)))
        vectors[at] = part[rows[at] - start]
        start += len(part)
    return vectors


def _documents_now(run: Run, digest: str) -> tuple[Corpus, list[_Rows], tuple[int, ...]]:
    """Return the documents, the rows that were added to an index, and the stamp of these.

    Another process may change them meanwhile; then they are opened again.
    """
    for _ in range(_ATTEMPTS):
        stamp, corpus, added = _stamp(run), Corpus.open(run, "all"), list[_Rows]()
        try:
            if run.has(ADDED) and run.manifest(ADDED).inputs[INDEX.name] == digest:
                added.append(_Rows(run.folder(ADDED)))
        except (FirthError, OSError, ValueError):
            if stamp == _stamp(run):
                raise
        else:
            if stamp == _stamp(run) and corpus.is_current():
                return corpus, added, stamp
    raise ChangedError(f"{run.path}: documents are added or removed all the time. Try again")


def _stamp(run: Run) -> tuple[int, ...]:
    return stamp_of(run.path / ADDED.name / MANIFEST)


def _entries(corpus: Corpus) -> tuple[Ints, Ints]:
    """Return key and number of sentences of what an index has, (n, 2), and the documents, (n,).

    These are the documents of a corpus and their copies, which have no sentences here.
    """
    copies = corpus.copies[:, 0]
    sizes = np.append(np.diff(corpus.document_bounds), np.zeros_like(copies))
    return np.stack([np.append(corpus.keys, copies), sizes], axis=1), corpus.owners


def _numbers(entries: Ints, searched: Ints) -> Ints:
    """Return the place of each searched entry among `entries`, or -1."""
    keys, searched = (rows[:, 0] << 32 | rows[:, 1] for rows in (entries, searched))
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys, searched, sorter=order), max(len(keys) - 1, 0))
    if not len(keys):
        return np.full(len(searched), -1)
    return np.where(keys[order[at]] == searched, order[at], -1)
