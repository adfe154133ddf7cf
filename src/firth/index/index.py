"""The index of a run: unit vectors of all its sentences, and which lie nearest to others."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus import CORPUS
from firth.corpus.library import Library
from firth.index import INDEX
from firth.index.codes import Codes, Turn, candidates
from firth.index.encoder import TextEncoder, Vectors, to_unit
from firth.index.vectors import Numbers, Stacked, open_array
from firth.index.words import Lists, WordIndex
from firth.lexical.arrays import Ints
from firth.run.errors import DamagedError
from firth.run.files import read_json
from firth.run.pretrained import PretrainedFiles
from firth.run.run import Run
from firth.surrogate import SURROGATE

VECTORS, CODES, ENCODER = "vectors.npy", "codes.npy", "encoder.json"
APPROXIMATE_FROM = 100_000
"""Vectors from which on codes are counted before any vector is looked at."""
LOOKED_AT = 2_000
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
    its numbers, then those of the documents held out from learning.

    Attributes:
        library: The sentences.
        vectors: float16, (n, d): `vectors[a:b]` and `vectors[numbers]` give arrays. A sentence of
            which the model knows nothing has the zero vector.
        words: Which sentences have which stems.
        model: Folder or hub name of the encoder.
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
        self._codes, self._turn = tuple(codes), turn
        self._threads = ThreadPoolExecutor(cpu_count())

    @classmethod
    def open(cls, run: str | Path | Run) -> "Index":
        """Open the index of a run; nothing of it is read yet.

        Raises:
            MissingStageError: It is not built; the message names the command.
            DamagedError: The corpus, the Surrogate or the model is no longer that of the index.
        """
        run = Run.open(run)
        folder, known = run.folder(INDEX), run.manifest(INDEX).inputs
        for stage in (CORPUS, SURROGATE):
            if stage.name in known and run.manifest(stage).digest != known[stage.name]:
                raise DamagedError(
                    f"{folder}: the vectors are of another {stage.name} than the run's. Build them "
                    f"again: {INDEX.command} {run.path}"
                )
        named = read_json(folder / ENCODER)
        if named["model"] is not None:
            PretrainedFiles(named["model"], None, named["files"]).check()
        return cls(
            Library.open(run),
            Stacked([open_array(folder / VECTORS)]),
            [open_array(folder / CODES)],
            Turn.load(folder),
            WordIndex([Lists.open(folder)]),
            named["model"] or str(run.folder(SURROGATE)),
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
            within: Numbers, ascending, of the only sentences that may be found; compared exactly.
        """
        wanted = to_unit(np.array(vectors, np.float32, ndmin=2))
        if exact is None:
            exact = len(self) <= APPROXIMATE_FROM
        if within is None and not exact:
            k = min(k, len(self))
            pieces = [self._near(vector, k) for vector in wanted]
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
        return np.clip(stored @ np.asarray(vector, np.float32), -1.0, 1.0)

    def _nearest(self, wanted: Vectors, k: int, within: Ints | None) -> tuple[Ints, Vectors]:
        """Compare block by block; of equal scores the lower number is first."""
        numbers = np.empty((len(wanted), 0), np.int64)
        scores = np.empty((len(wanted), 0), np.float32)
        for rows, block in self._blocks(within):
            found = np.clip(wanted @ block.astype(np.float32).T, -1.0, 1.0)
            here = np.broadcast_to(rows, found.shape)
            numbers, scores = _best(np.hstack([numbers, here]), np.hstack([scores, found]), k)
        order = np.lexsort((numbers, -scores))
        return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)

    def _blocks(self, within: Ints | None) -> Iterator[tuple[Ints, Numbers]]:
        if within is None:
            for start, block in self.vectors.blocks(_ROWS):
                yield np.arange(start, start + len(block)), block
            return
        for start in range(0, len(within), _ROWS):
            rows = within[start : start + _ROWS]
            yield rows, self.vectors[rows]

    def _near(self, vector: Vectors, k: int) -> tuple[Ints, Vectors]:
        code = self._turn.codes(vector[None])[0]
        most = max(LOOKED_AT, 10 * k)
        numbers = np.concatenate(
            [
                start + candidates(codes, code, most, self._threads)
                for codes, start in zip(self._codes, self.vectors.starts.tolist(), strict=False)
            ]
        )
        scores = self.cosines(vector, numbers)
        order = np.lexsort((numbers, -scores))[:k]
        return numbers[order], scores[order]


def _best(numbers: Ints, scores: Vectors, k: int) -> tuple[Ints, Vectors]:
    """The k columns of the highest scores in each row, in no order."""
    if scores.shape[1] <= k:
        return numbers, scores
    columns = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return np.take_along_axis(numbers, columns, 1), np.take_along_axis(scores, columns, 1)
