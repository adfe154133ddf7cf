"""The index of a run: unit vectors of all its sentences, and which lie nearest to others."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import cpu_count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus import ADDED, CORPUS
from firth.corpus.library import Library
from firth.index import ADDED_INDEX, INDEX
from firth.index.codes import Codes, Turn, candidates
from firth.index.encoder import TextEncoder, Vectors, to_unit
from firth.index.vectors import Numbers, Stacked, open_array
from firth.index.words import Lists, WordIndex
from firth.lexical.arrays import Ints
from firth.run.errors import DamagedError
from firth.run.files import read_json
from firth.run.model_files import PretrainedFiles
from firth.run.run import Run
from firth.run.stage import Stage
from firth.surrogate import SURROGATE

VECTORS, CODES, ENCODER = "vectors.npy", "codes.npy", "encoder.json"
BASE_LENGTHS = "base_lengths.npy"
"""Beside the vectors of added documents: lengths of the others, by the idf of all."""
APPROXIMATE_FROM = 40_000
"""Vectors from which on codes are counted before any vector is looked at: to compare so many takes
longer than that (docs/search.md)."""
LOOKED_AT = 1_000
"""Vectors that are compared exactly then, for a query."""
_ROWS, _QUERIES = 16_384, 1_024


@dataclass(frozen=True)
class Nearest:
    """The nearest stored vectors of q queries, best first.

    Attributes:
        numbers: int64, (q, k): sentences.
        scores: float32, (q, k): cosines, in [-1, 1].
    """

    numbers: Ints
    scores: Vectors


class Index:
    """Unit vectors of all sentences of a run, memory-mapped.

    Use `Index.open`. Sentences are numbered as in `library`: first those of the run's corpus, with
    its numbers, then those of the documents held out from learning, and of those added later.

    Attributes:
        library: The sentences.
        vectors: float16, (n, d): `vectors[a:b]` and `vectors[numbers]` give arrays. A sentence of
            which the model knows nothing has the zero vector.
        words: Which sentences have which stems.
        model: Folder or hub name of the encoder.
        turn: What is done to vectors before their codes are taken.
    """

    def __init__(
        self,
        library: Library,
        vectors: Stacked,
        codes: Sequence[Codes],
        turn: Turn,
        words: WordIndex,
        model: str,
    ) -> None:
        self.library, self.vectors, self.words, self.model = library, vectors, words, model
        self._codes, self.turn = tuple(codes), turn
        self._threads = ThreadPoolExecutor(cpu_count())

    @classmethod
    def open(cls, run: str | Path | Run) -> "Index":
        """Open the index of a run; nothing of it is read yet.

        Raises:
            MissingStageError: It is not built, or not of documents that were added; the message
                names the command.
            DamagedError: The corpus, the Surrogate or the model is no longer that of the index.
        """
        run = Run.open(run)
        check_index(run)
        folders, lists = [run.folder(INDEX)], [Lists.open(run.folder(INDEX))]
        library = Library.open(run)
        if run.has(ADDED):
            _check(run, ADDED_INDEX, (INDEX, ADDED))
            folders.append(run.folder(ADDED_INDEX))
            lengths = open_array(folders[1] / BASE_LENGTHS)
            lists = [replace(lists[0], lengths=lengths), Lists.open(folders[1])]
        return cls(
            library,
            Stacked([open_array(folder / VECTORS) for folder in folders]),
            [open_array(folder / CODES) for folder in folders],
            Turn.load(folders[0]),
            WordIndex(lists),
            model_of(run),
        )

    def __repr__(self) -> str:
        """How many vectors of what."""
        return f"Index({len(self):,} vectors of {self.vectors.shape[1]} dimensions)"

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.vectors)

    @cached_property
    def encoder(self) -> TextEncoder:
        """What gives texts their vectors; opened when it is first asked."""
        return TextEncoder.open(self.model)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of some texts, float32, (n, d)."""
        return self.encoder.encode(texts)

    def nearest(
        self,
        vectors: npt.ArrayLike,
        k: int,
        *,
        exact: bool | None = None,
        within: Ints | None = None,
    ) -> Nearest:
        """The k stored vectors nearest to each of some others; all, if there are fewer than k.

        Args:
            vectors: (q, d); they need not be of length 1.
            k: At least 1.
            exact: Compare all; by default up to `APPROXIMATE_FROM` vectors. Otherwise the most
                similar by codes are compared (docs/search.md says how many of the nearest are
                found).
            within: Numbers, ascending, of the only sentences that may be found.
        """
        wanted = to_unit(np.array(vectors, np.float32, ndmin=2))
        size = len(self) if within is None else len(within)
        if exact is None:
            exact = size <= APPROXIMATE_FROM
        if not exact:
            k = min(k, size)
            pieces = [self._near(vector, k, within) for vector in wanted]
            numbers = np.array([one for one, _ in pieces], np.int64).reshape(len(wanted), k)
            scores = np.array([two for _, two in pieces], np.float32).reshape(len(wanted), k)
            return Nearest(numbers, scores)
        pieces = [
            self._nearest(wanted[start : start + _QUERIES], k, within)
            for start in range(0, max(1, len(wanted)), _QUERIES)
        ]
        return Nearest(
            np.concatenate([one for one, _ in pieces]), np.concatenate([two for _, two in pieces])
        )

    def cosines(self, vector: npt.ArrayLike, numbers: npt.ArrayLike) -> Vectors:
        """Cosines of one unit vector with stored ones, float32, in [-1, 1]."""
        stored = self.vectors[np.asarray(numbers, np.int64)].astype(np.float32)
        # Not a product of matrices, which leaves waiting threads behind (`Turn.code`).
        found: Vectors = np.einsum("nd,d->n", stored, np.asarray(vector, np.float32))
        return np.clip(found, -1.0, 1.0)

    def _nearest(self, wanted: Vectors, k: int, within: Ints | None) -> tuple[Ints, Vectors]:
        """Compare block by block; of equal scores the lower number is first."""
        numbers = np.empty((len(wanted), 0), np.int64)
        scores = np.empty((len(wanted), 0), np.float32)
        for rows, block in self._blocks(within):
            found = np.clip(wanted @ block.astype(np.float32, copy=False).T, -1.0, 1.0)
            here = np.broadcast_to(rows, found.shape)
            numbers, scores = _best(np.hstack([numbers, here]), np.hstack([scores, found]), k)
        order = np.lexsort((numbers, -scores))
        return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)

    @cached_property
    def _compared(self) -> Stacked:
        """The vectors; where they are few, in memory as float32: converting takes longer than
        comparing."""
        if len(self) > APPROXIMATE_FROM:
            return self.vectors
        return Stacked([part.astype(np.float32) for part in self.vectors.parts])

    def _blocks(self, within: Ints | None) -> Iterator[tuple[Ints, Numbers]]:
        if within is None:
            for start, block in self._compared.blocks(_ROWS):
                yield np.arange(start, start + len(block)), block
            return
        for start in range(0, len(within), _ROWS):
            rows = within[start : start + _ROWS]
            yield rows, self._compared[rows]

    def _near(self, vector: Vectors, k: int, within: Ints | None) -> tuple[Ints, Vectors]:
        code = self.turn.code(vector)
        most = max(LOOKED_AT, 10 * k)
        pieces = []
        for codes, (start, end) in zip(
            self._codes, pairwise(self.vectors.starts.tolist()), strict=True
        ):
            if within is None:
                pieces.append(start + candidates(codes, code, most, self._threads))
            else:
                low, high = within.searchsorted([start, end])
                chosen = within[low:high]
                few = candidates(codes[:, chosen - start], code, most, self._threads)
                pieces.append(chosen[few])
        numbers = np.concatenate(pieces)
        scores = self.cosines(vector, numbers)
        order = np.lexsort((numbers, -scores))[:k]
        return numbers[order], scores[order]


def model_of(run: Run) -> str:
    """Folder or hub name of the encoder of a run's index."""
    named = read_json(run.folder(INDEX) / ENCODER)["model"]
    return str(named) if named is not None else str(run.folder(SURROGATE))


def check_index(run: Run) -> None:
    """Raise an error where the index of a run is not that of its corpus and model; see
    `Index.open`."""
    known = run.manifest(INDEX).inputs
    _check(run, INDEX, [stage for stage in (CORPUS, SURROGATE) if stage.name in known])
    named = read_json(run.folder(INDEX) / ENCODER)
    if named["model"] is not None:
        PretrainedFiles(named["model"], None, named["files"]).check()


def _check(run: Run, index: Stage, stages: Sequence[Stage]) -> None:
    folder, known = run.folder(index), run.manifest(index).inputs
    for stage in stages:
        if run.manifest(stage).digest != known[stage.name]:
            raise DamagedError(
                f"{folder}: the vectors are of another {stage.name} than the run's. Build them "
                f"again: {index.command} {run.path}"
            )


def _best(numbers: Ints, scores: Vectors, k: int) -> tuple[Ints, Vectors]:
    """The k columns of the highest scores in each row, in no order."""
    if scores.shape[1] <= k:
        return numbers, scores
    columns = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return np.take_along_axis(numbers, columns, 1), np.take_along_axis(scores, columns, 1)
