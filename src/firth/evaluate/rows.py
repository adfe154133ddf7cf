"""Loaded evaluation sets: rows in memory, with everything that must be said about them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from firth.evaluate.metrics import Columns, Floats, Metric, Rows
from firth.evaluate.task import ALL, Kind, Task
from firth.lexical.scorer import TextPair
from firth.lexical.words import normal_form
from firth.run.errors import InputError
from firth.run.seeds import derive_seed


@dataclass(frozen=True)
class Row:
    """A pair of texts and its human score; or anchor, positive and negative, whose score is 0."""

    texts: tuple[str, ...]
    score: float
    subtask: str = ""


@dataclass(frozen=True)
class Excluded:
    """How many `rows` of a set were left out since a row of another one holds their texts; `task`,
    `split` and `fingerprint` are the other one's."""

    task: str
    split: str
    fingerprint: str
    rows: int


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """The good rows of one split of one task, in the order of the source.

    Attributes:
        source: Where they were read, in words.
        notes: What a reader of the figures must know: missing parts, skipped rows, substitutes.
        skipped: Number of broken rows left out.
        units: As in `firth.evaluate.metrics`, where rows share their texts by design.
        excluded: What `without` left out, set by set.
    """

    task: Task
    split: str
    rows: tuple[Row, ...]
    source: str
    notes: tuple[str, ...] = ()
    skipped: int = 0
    units: Rows | None = None
    excluded: tuple[Excluded, ...] = ()

    @property
    def pairs(self) -> list[TextPair]:
        """What a scorer is asked: the pairs; or (anchor, positive) and then (anchor, negative)."""
        first = [(row.texts[0], row.texts[1]) for row in self.rows]
        if self.task.kind is Kind.PAIRS:
            return first
        return first + [(row.texts[0], row.texts[2]) for row in self.rows]

    def columns(self, similarities: Floats) -> Columns:
        """What a metric compares: gold and similarity; or similarities to positive and negative."""
        if self.task.kind is Kind.PAIRS:
            return np.array([row.score for row in self.rows], dtype=np.float64), similarities
        return similarities[: len(self.rows)], similarities[len(self.rows) :]

    @cached_property
    def subtasks(self) -> dict[str, Rows]:
        """Subtask → its row numbers: `all` first, then each one when there are several."""
        return rows_by_subtask([row.subtask for row in self.rows])

    def sampled(self, size: int | None, seed: int) -> "EvaluationSet":
        """At most `size` rows in random order, with a note if some are left out; None is the set.

        A sample is the beginning of one shuffled order, which follows from the seed and the rows: a
        smaller sample is part of a larger one, and the same whatever file the set came from.
        """
        if size is None:
            return self
        rng = np.random.default_rng(derive_seed(seed, "reproduce", "pairs"))
        chosen = self.order[rng.permutation(len(self.order))[:size]]
        whole = len(self.rows)
        said = (f"{size} random rows of {whole}, seed {seed}",) if size < whole else ()
        return replace(self.only(chosen), notes=(*self.notes, *said))

    def without(self, other: "EvaluationSet") -> "EvaluationSet":
        """The rows whose texts do not stand together in a row of `other`, and a note that counts
        the rest.

        Texts are the same if their normal forms are. Their order, scores and subtasks do not count.

        Raises:
            InputError: No row is left.
        """
        theirs, whole = set(other._texts), len(self.rows)
        kept = np.array([i for i, texts in enumerate(self._texts) if texts not in theirs], np.int64)
        name = f"{other.task.name}:{other.split}"
        if not len(kept):
            raise InputError(
                f"{self.task.name} {self.split}: no row is left without those of {name}, which has "
                f"the texts of all {whole:,}. Leave out another set, or do not evaluate this one"
            )
        gone = whole - len(kept)
        said = (
            f"left out {gone:,} of {whole:,} rows, whose texts stand in a row of {name} "
            f"({len(other.rows):,} rows)"
        )
        one = Excluded(other.task.name, other.split, other.fingerprint, gone)
        return replace(self.only(kept), notes=(*self.notes, said), excluded=(*self.excluded, one))

    def sharing(self, other: "EvaluationSet") -> npt.NDArray[np.bool_]:
        """Whether one text, at least, of each row stands in a row of `other`; shape (n,)."""
        theirs = {text for texts in other._texts for text in texts}
        return np.array([any(t in theirs for t in texts) for texts in self._texts], dtype=np.bool_)

    def only(self, chosen: Rows) -> "EvaluationSet":
        """The rows of some numbers, in their order."""
        return replace(
            self,
            rows=tuple(self.rows[i] for i in chosen.tolist()),
            units=None if self.units is None else self.units[chosen],
        )

    @cached_property
    def fingerprint(self) -> str:
        """BLAKE2b-160 of the rows (texts, score, subtask), whatever their order."""
        return _together(sorted(self._digests))

    @cached_property
    def order(self) -> Rows:
        """Row numbers in an order that follows from the rows alone, not from their source."""
        digests = self._digests
        return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)

    @cached_property
    def question(self) -> str:
        """BLAKE2b-160 of what a scorer is asked: the texts of the rows, in their order."""
        return _together([_digest(row.texts) for row in self.rows])

    @cached_property
    def _texts(self) -> list[tuple[str, ...]]:
        """The normal forms of each row's texts, sorted."""
        return [tuple(sorted(map(normal_form, row.texts))) for row in self.rows]

    @cached_property
    def _digests(self) -> list[bytes]:
        return [_row_digest(row) for row in self.rows]


@dataclass(frozen=True, eq=False)
class Sample:
    """The columns of one model on one set, its rows in an order that follows from the data alone.

    Two samples of one `data` fingerprint are about the same observations, row by row. `x`, `y` and
    `units` are those of `firth.evaluate.metrics`, `rows` the numbers of the rows among
    those evaluated.
    """

    task: str
    split: str
    metrics: tuple[Metric, ...]
    data: str
    x: Floats
    y: Floats
    subtask: tuple[str, ...]
    rows: Rows
    units: Rows | None = None

    @property
    def name(self) -> str:
        """`sts-b test`."""
        return f"{self.task} {self.split}"

    def groups(self, subtasks: bool) -> dict[str, Rows]:
        """`all`, and with `subtasks` each subtask where there are several → its rows."""
        return rows_by_subtask(self.subtask if subtasks else [""] * len(self.x))


@dataclass(frozen=True, eq=False)
class Scored:
    """A set and the similarities a model gave to its pairs, in the order of `data.pairs`."""

    data: EvaluationSet
    similarities: Floats

    @cached_property
    def sample(self) -> Sample:
        """What a metric needs of it."""
        data, order = self.data, self.data.order
        x, y = data.columns(self.similarities)
        return Sample(
            data.task.name, data.split, data.task.metrics, data.fingerprint, x[order], y[order],
            tuple(data.rows[row].subtask for row in order.tolist()), order,
            None if data.units is None else data.units[order],
        )  # fmt: skip


def rows_by_subtask(names: Sequence[str]) -> dict[str, Rows]:
    """Subtask → row numbers: `all` first, then each of `names` (one a row) if there are several."""
    groups: dict[str, Rows] = {ALL: np.arange(len(names))}
    if len(found := sorted(set(names))) > 1:
        array = np.array(names)
        groups.update({name or "(none)": np.flatnonzero(array == name) for name in found})
    return groups


def fingerprint_rows(rows: Iterable[Row]) -> str:
    """BLAKE2b-160, hexadecimal, of the sorted hashes of `rows`: equal for equal sets of rows."""
    return _together(sorted(map(_row_digest, rows)))


def _together(digests: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"".join(digests), digest_size=20).hexdigest()


def _row_digest(row: Row) -> bytes:
    return _digest((*row.texts, repr(row.score), row.subtask))


def _digest(fields: Sequence[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for text in fields:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()
