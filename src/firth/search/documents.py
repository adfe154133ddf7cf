"""Documents that share text: two of them in detail, or all pairs of a run.

A *match* pairs a run of sentences of one document with a run of the other. One of the two is a
single sentence (Gale & Church 1993), and no sentence can be left out without loss of similarity. A
match gains (similarity - threshold) x words on both sides. No two matches share a sentence. Equal
sentences are matched first, the others in order of their gain, so that sentences may have moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from firth.corpus.corpus import Corpus
from firth.corpus.document import Document
from firth.corpus.read import read_documents
from firth.run.console import WIDTH, plural, progress
from firth.run.errors import InputError
from firth.run.results import Record, Result, Results, plain
from firth.run.run import Run
from firth.search.calibration import UNMEASURED, Calibration, check_rate
from firth.search.evidence import Reader
from firth.search.index import Index
from firth.search.vectors import similar_pairs
from firth.text.near import Kind, Pairs
from firth.text.sentences import split_paragraphs
from firth.text.types import Floats, Ints, Singles
from firth.text.words import checked_text, normal_form

RATE = 0.01
"""Share of the sentences without a counterpart that may be taken for a match."""
CANDIDATES = 10
"""Documents that each is aligned with: those that have most similar words."""
_REMEMBERED = 4_096
"""Documents that are kept as they are compared."""
LONGEST = 3
"""Most sentences that one sentence can match."""
SHAPES = (
    (1, 1),
    *((1, n) for n in range(2, LONGEST + 1)),
    *((n, 1) for n in range(2, LONGEST + 1)),
)
RUN = 6
"""Words of the shortest copied run; any two texts of some length share shorter ones."""
Windows = dict[tuple[int, int], Floats]
"""(m, n) of `SHAPES` -> similarities of m sentences from i on with n of the other document from j
on, (len(a) - m + 1, len(b) - n + 1), at least (0, 0)."""
_EQUAL, _MARGIN = 1e9, 1e-6
Given = str | Path | Document
"""The id of a document of the run, a file, or a document."""


# --- Alignment ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """Sentences of two documents that say the same: the first and one past the last, from 0."""

    a: tuple[int, int]
    b: tuple[int, int]
    score: float


@dataclass(frozen=True)
class Alignment:
    """What two documents have in common.

    Attributes:
        matches: In the order of the first document.
        score: Mean similarity over the words of both documents; words without a match count 0.
        coverage: Share of the words of each document that are matched or copied, in [0, 1].
        copied: Share of the words of each document in copied runs, in [0, 1].
    """

    matches: list[Match]
    score: float
    coverage: tuple[float, float]
    copied: tuple[float, float]


class Side:
    """A document as it is aligned: what is computed once, however many others it is compared with.

    It is made from its sentences and their unit vectors, (n, d); a zero vector is similar to
    nothing.

    Attributes:
        words: Words of the document in normal form.
        owners: int64: the sentence of each word.
        masses: float64, (n,): words of each sentence, at least 1.
    """

    def __init__(self, sentences: Sequence[str], vectors: Singles) -> None:
        self.sentences = tuple(sentences)
        by_sentence = [normal_form(sentence).split() for sentence in sentences]
        self.words = [word for words in by_sentence for word in words]
        counts = np.array(list(map(len, by_sentence)), np.int64)
        self.owners: Ints = np.repeat(np.arange(len(counts)), counts)
        self.masses: Floats = np.maximum(counts, 1).astype(np.float64)
        self._bounds = np.concatenate([[0], np.cumsum(counts)])
        self._vectors = vectors

    @cached_property
    def runs(self) -> Ints:
        """Hashes of all runs of `RUN` words, in order; equal runs of any two documents have one."""
        runs = (self.words[first : first + RUN] for first in range(len(self.words) - RUN + 1))
        return np.array([hash(tuple(run)) for run in runs], np.int64)

    @cached_property
    def forms(self) -> tuple[Ints, ...]:
        """Hashes of the words of all runs of 1, 2, ... sentences."""
        bounds = self._bounds.tolist()
        return tuple(
            np.array(
                [
                    hash(tuple(self.words[first:end]))
                    for first, end in zip(bounds, bounds[size:], strict=False)
                ],
                np.int64,
            )
            for size in range(1, LONGEST + 1)
        )

    @cached_property
    def vectors(self) -> tuple[Singles, ...]:
        """Unit vectors of all runs of 1, 2, ... sentences.

        The vector of a run is the sum of its sentences', each times its number of words, so that
        no run has to be encoded.
        """
        heavy = self._vectors * self.masses[:, None].astype(np.float32)
        return tuple(_summed(heavy, size) for size in range(1, LONGEST + 1))


def _summed(heavy: Singles, size: int) -> Singles:
    count = max(len(heavy) - size + 1, 0)
    total = np.zeros((count, heavy.shape[1]), np.float32)
    for start in range(size):
        total += heavy[start : start + count]
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    unit: Singles = total / np.maximum(lengths, 1e-12)
    return unit


def align(a: Side, b: Side, threshold: float) -> Alignment:
    """Align two documents by the cosines of their runs of sentences; equal words have cosine 1."""
    windows: Windows = {
        (m, n): np.clip(a.vectors[m - 1] @ b.vectors[n - 1].T, 0.0, 1.0).astype(float)
        for m, n in SHAPES
    }
    common = np.intersect1d(np.concatenate(a.forms), np.concatenate(b.forms))
    if len(common):
        for (m, n), scores in windows.items():
            i = np.flatnonzero(np.isin(a.forms[m - 1], common))
            if len(i):
                scores[i] = np.where(a.forms[m - 1][i, None] == b.forms[n - 1], 1.0, scores[i])
    matches = _align(windows, a.masses, b.masses, threshold)
    copied = _covered(a, b), _covered(b, a)
    covered = copied[0].copy(), copied[1].copy()
    total = 0.0
    for match in matches:
        for side, mask, (start, stop) in zip((a, b), covered, (match.a, match.b), strict=True):
            mask |= (side.owners >= start) & (side.owners < stop)
            total += match.score * float(side.masses[start:stop].sum())
    words = float(a.masses.sum() + b.masses.sum())
    score = min(1.0, total / words) if words else 0.0
    coverage, copies = ((_share(masks[0]), _share(masks[1])) for masks in (covered, copied))
    return Alignment(matches, score, coverage, copies)


def _share(mask: npt.NDArray[np.bool_]) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def _covered(side: Side, other: Side) -> npt.NDArray[np.bool_]:
    """Return which words of a document are in a run of `RUN` words that the other has, too."""
    shared = np.isin(side.runs, other.runs)
    changes = np.zeros(len(side.words) + 1, np.int64)
    changes[: len(shared)] += shared
    changes[RUN : RUN + len(shared)] -= shared
    covered: npt.NDArray[np.bool_] = np.cumsum(changes)[:-1] > 0
    return covered


def _align(windows: Windows, a_masses: Floats, b_masses: Floats, threshold: float) -> list[Match]:
    heads = [np.concatenate([[0], np.cumsum(masses)]) for masses in (a_masses, b_masses)]
    gains: Windows = {}
    for (m, n), scores in windows.items():
        a_words, b_words = heads[0][m:] - heads[0][:-m], heads[1][n:] - heads[1][:-n]
        gain = (scores - threshold) * (a_words[:, None] + b_words[None, :])
        gain[scores == 1.0] += _EQUAL
        gains[m, n] = np.where(_needed(windows, m, n), gain, -np.inf)
    matches = [
        Match((i, i + m), (j, j + n), float(windows[m, n][i, j])) for i, j, m, n in _best(gains)
    ]
    return sorted(matches, key=lambda match: match.a)


def _needed(windows: Windows, m: int, n: int) -> npt.NDArray[np.bool_]:
    """Return where several sentences are more similar to the single one than without the first
    or the last of them."""
    scores = windows[m, n]
    if n > 1:
        fewer = windows[m, n - 1]
        return scores > np.maximum(fewer[:, :-1], fewer[:, 1:]) + _MARGIN
    if m > 1:
        fewer = windows[m - 1, n]
        return scores > np.maximum(fewer[:-1], fewer[1:]) + _MARGIN
    return np.ones(scores.shape, bool)


def _best(gains: Mapping[tuple[int, int], Floats]) -> Iterator[tuple[int, int, int, int]]:
    """Yield matches by falling gain; ties by fewer sentences, then by place."""
    columns = []
    for (m, n), gain in gains.items():
        i, j = np.nonzero(gain >= 0)
        shape = np.full((2, len(i)), [[m], [n]])
        columns.append(np.vstack([-gain[i, j], shape.sum(axis=0), i, j, shape]))
    table = np.concatenate(columns, axis=1)
    a_taken, b_taken = set[int](), set[int]()
    for i, j, m, n in table[:, np.lexsort(table[3::-1])].T[:, 2:].astype(int).tolist():
        a, b = range(i, i + m), range(j, j + n)
        if a_taken.isdisjoint(a) and b_taken.isdisjoint(b):
            a_taken.update(a)
            b_taken.update(b)
            yield i, j, m, n


# --- Documents ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SentenceMatch:
    """Sentences of two documents that say the same.

    Attributes:
        a, b: Their places in each document, from 1, ascending; one side is a single sentence.
        score: Similarity, in [threshold, 1].
        kind: How near they are, by their words.
        differ: What they differ in that matters: numbers, negation, names, opposites.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    a_text: str
    b_text: str
    score: float
    kind: Kind
    differ: tuple[str, ...]


@dataclass(frozen=True, repr=False, kw_only=True)
class Comparison(Result):
    """What two documents have in common.

    Attributes:
        score: Mean similarity over all words of both documents, where words without a match count
            0; in [0, 1], the same whichever document comes first.
        coverage_a, coverage_b: Share of the words of each document that are matched or copied.
        copied_a, copied_b: Share of the words of each document in runs of at least 6 words that the
            other has, too.
        matches: Matching sentences, in the order of `a`.
        threshold: Least similarity of a match.
    """

    columns: ClassVar = ("score", "kind", "a_text", "b_text")
    a: str
    b: str
    score: float
    coverage_a: float
    coverage_b: float
    copied_a: float
    copied_b: float
    sentences_a: int
    sentences_b: int
    matches: tuple[SentenceMatch, ...]
    threshold: float
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the documents, their score and the number of matches."""
        matches = plural(len(self.matches), "matching pair")
        return f"{self.a} / {self.b}: score {self.score:.2f}, {matches}"

    def records(self) -> list[dict[str, Any]]:
        """Return the matching sentences."""
        records: list[dict[str, Any]] = plain(self.matches)
        return records

    def lines(self, top: int) -> Iterator[str]:
        """Yield the shares of both, and all matches."""
        for side, name, size in (("A", self.a, self.sentences_a), ("B", self.b, self.sentences_b)):
            yield (
                shorten(f"{side}: {name}", WIDTH - 18, placeholder=" …") + f" ({size:,} sentences)"
            )
        yield f"Of A, {self.coverage_a:.0%} is in B ({self.copied_a:.0%} word for word)"
        yield f"Of B, {self.coverage_b:.0%} is in A ({self.copied_b:.0%} word for word)"
        least = f"similarity of at least {self.threshold:.2f}"
        yield f"Score {self.score:.2f}, {len(self.matches)} matches with a {least}"
        yield from self.notes
        if self.matches:
            yield "\n    A     B  score"
        for match in self.matches:
            differ = f", differ in {' and '.join(match.differ)}" if match.differ else ""
            places = f"{_places(match.a):>5} {_places(match.b):>5}"
            yield f"{places}  {match.score:5.2f}  {match.kind}{differ}"
            for side, text in (("A", match.a_text), ("B", match.b_text)):
                yield f"      {side} " + shorten(text, WIDTH - 8, placeholder=" …")
        for side, size in (("a", self.sentences_a), ("b", self.sentences_b)):
            met = {number for match in self.matches for number in getattr(match, side)}
            if alone := [str(number) for number in range(1, size + 1) if number not in met]:
                line = f"Without a match in {side.upper()}: {', '.join(alone)}"
                yield shorten(line, WIDTH, placeholder=" …")


@dataclass(frozen=True, kw_only=True)
class DocumentPair(Record):
    """Two documents of a run that share text, by their ids and numbers.

    Attributes:
        coverage: Share of the words of both together that are matched or copied, in [0, 1].
        coverage_a, coverage_b: The same share of each.
        score: Mean similarity over all words of both, in [0, 1].
    """

    a: str
    b: str
    a_title: str
    b_title: str
    coverage: float
    coverage_a: float
    coverage_b: float
    score: float
    numbers: tuple[int, int]


@dataclass(frozen=True, repr=False, kw_only=True)
class Reuse(Results[DocumentPair]):
    """All pairs of documents that share text, those with the largest coverage first.

    `documents` is the number of those that were looked at, and `threshold` the least similarity of
    matching sentences.
    """

    named: ClassVar = "pairs"
    columns: ClassVar = ("a", "b", "coverage", "score")
    documents: int
    threshold: float
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the numbers of documents and pairs."""
        return f"{plural(len(self), 'pair')} of {self.documents:,} documents share text"

    def lines(self, top: int) -> Iterator[str]:
        """Yield the counts and the first `top` pairs."""
        yield self.summary()
        yield f"matching sentences: similarity of at least {self.threshold:.2f}"
        yield from self.notes
        if self.items:
            yield "\n both  A in B  B in A  score  documents"
        for pair in self[:top]:
            shares = f"{pair.coverage:5.0%}  {pair.coverage_a:6.0%}  {pair.coverage_b:6.0%}"
            figures = f"{shares}  {pair.score:5.2f}  "
            yield figures + shorten(pair.a, WIDTH - len(figures), placeholder=" …")
            yield " " * len(figures) + shorten(pair.b, WIDTH - len(figures), placeholder=" …")


def compare_documents(
    index: Index, a: Given, b: Given, *, threshold: float | None = None
) -> Comparison:
    """Align the sentences of two documents, and say how much of each is in the other.

    Arguments are those of `firth.model.Model.compare_documents`. The default threshold is one that
    a hundredth of the sentences without a counterpart reach (`Calibration.threshold`).
    """
    threshold, notes = _threshold(index.run, threshold)
    (a_name, a_side), (b_name, b_side) = (_side(document, index) for document in (a, b))
    aligned = align(a_side, b_side, threshold)
    reader = Reader.of(index)
    matches = []
    for match in aligned.matches:
        a_text = " ".join(a_side.sentences[slice(*match.a)])
        b_text = " ".join(b_side.sentences[slice(*match.b)])
        matches.append(
            SentenceMatch(
                a=tuple(range(match.a[0] + 1, match.a[1] + 1)),
                b=tuple(range(match.b[0] + 1, match.b[1] + 1)),
                a_text=a_text,
                b_text=b_text,
                score=match.score,
                kind=reader.kind(a_text, b_text),
                differ=reader.differing(a_text, b_text),
            )
        )
    return Comparison(
        a=a_name,
        b=b_name,
        score=aligned.score,
        coverage_a=aligned.coverage[0],
        coverage_b=aligned.coverage[1],
        copied_a=aligned.copied[0],
        copied_b=aligned.copied[1],
        sentences_a=len(a_side.sentences),
        sentences_b=len(b_side.sentences),
        matches=tuple(matches),
        threshold=threshold,
        notes=notes,
    )


def find_reuse(index: Index, *, threshold: float | None = None, where: str | None = None) -> Reuse:
    """Return the pairs of documents of a run that share text, or retell one another.

    Similar sentences bring documents together. These are aligned as `compare_documents` does, and
    ordered by the share of both that is in the other. Arguments are those of
    `firth.model.Model.duplicates`.
    """
    threshold, notes = _threshold(index.run, threshold)
    corpus, documents = index.corpus, index.selected(where)
    sentences, seed = corpus.sentences_of(documents), index.run.settings.seed
    similar = similar_pairs(
        lambda rows: index.vectors(sentences[rows]), len(sentences), threshold, seed
    )
    candidates = _candidates(corpus, similar.renumbered(sentences))
    sides = lru_cache(_REMEMBERED)(lambda number: _side_of(index, number))
    ids, titles = corpus.document_ids(), corpus.document_titles()
    pairs = []
    # Threads of a product of small matrices wait for each other.
    with threadpool_limits(1, "blas"):
        for i, j in progress(candidates.tolist(), "Aligning documents"):
            a, b = sides(i), sides(j)
            aligned = align(a, b, threshold)
            coverage = np.average(aligned.coverage, weights=[a.masses.sum(), b.masses.sum()])
            pairs.append(
                DocumentPair(
                    a=ids[i],
                    b=ids[j],
                    a_title=titles[i],
                    b_title=titles[j],
                    coverage=float(coverage),
                    coverage_a=aligned.coverage[0],
                    coverage_b=aligned.coverage[1],
                    score=aligned.score,
                    numbers=(i, j),
                )
            )
    pairs.sort(key=lambda pair: (-pair.coverage, -pair.score, pair.numbers))
    return Reuse(items=tuple(pairs), documents=len(documents), threshold=threshold, notes=notes)


def _threshold(run: Run, threshold: float | None) -> tuple[float, tuple[str, ...]]:
    """Return the least similarity of matching sentences, and a note where it is a default."""
    if threshold is not None:
        check_rate(threshold, "threshold")
        return threshold, ()
    known, note = Calibration.of_matches(run)
    return (known.threshold(RATE), ()) if known else (UNMEASURED, (note,))


def _side_of(index: Index, document: int) -> Side:
    numbers = np.arange(*index.corpus.document_bounds[document : document + 2].tolist())
    return Side(index.corpus.texts(numbers), index.vectors(numbers))


def _side(document: Given, index: Index) -> tuple[str, Side]:
    """Return the name of a document, and its sentences with their vectors."""
    if not isinstance(document, Document):
        checked_text(str(document) if isinstance(document, Path) else document, "document")
        number = index.corpus.number_of(document) if isinstance(document, str) else None
        if number is not None:
            return str(document), _side_of(index, number)
        if not Path(document).is_file():
            is_empty = not index.corpus.n_documents
            example = "" if is_empty else f", such as {index.corpus.document(0).id!r}"
            raise InputError(f"{document}: neither a document of the run{example}, nor a file")
        document = _read(Path(document), index.run)
    paragraphs = split_paragraphs(document.text, index.corpus.language)
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    return document.id, Side(sentences, index.encoder.encode(sentences))


def _read(path: Path, run: Run) -> Document:
    items = read_documents([str(path)], run.settings.corpus)
    documents = [item for item in items if isinstance(item, Document)]
    if len(documents) != 1:
        raise InputError(
            f"{path}: has {len(documents)} documents; expected one. Build a run of a file of many, "
            "and name two of its documents by their ids"
        )
    return documents[0]


def _candidates(corpus: Corpus, similar: Pairs) -> Ints:
    """Return pairs of documents, (n, 2), whose sentences have most in common."""
    a, b = (corpus.document_of(side) for side in (similar.left, similar.right))
    words, n = corpus.word_counts, max(corpus.n_documents, 1)
    masses = np.minimum(words[similar.left], words[similar.right]) * similar.scores
    keys, pair_of = np.unique(np.minimum(a, b) * n + np.maximum(a, b), return_inverse=True)
    # Rounded, because the last bits differ by processor.
    common: Floats = np.bincount(pair_of, masses, len(keys)).astype(np.float64).round(3)
    pairs = np.column_stack(np.divmod(keys, n))
    across = pairs[:, 0] != pairs[:, 1]
    pairs, common = pairs[across], common[across]
    owners, places = pairs.T.ravel(), np.tile(np.arange(len(pairs)), 2)
    best = np.lexsort((places, -common[places], owners))
    rank = np.arange(len(best)) - np.searchsorted(owners[best], owners[best])
    candidates: Ints = pairs[np.unique(places[best][rank < CANDIDATES])]
    return candidates


def _places(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
