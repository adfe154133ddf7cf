"""Search: the sentences or documents of a run that answer a query, by words and by meaning.

The score is a weighted mean of BM25, divided by its highest value for the query, and the cosine of
vectors. A document has the BM25 of its whole text and title, and the cosine of its best sentence: a
word that the answer needs may be in another sentence. BM25 finds names and numbers, and the cosine
finds what is said in other words.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from firth.run.console import note, plural
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.calibration import Calibration
from firth.search.index import Index
from firth.text.arrays import Floats, Ints, Singles, ranges
from firth.text.pairs import PairScorer

Mode = Literal["hybrid", "dense", "lexical"]
Unit = Literal["sentence", "document"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "lexical")
UNITS: tuple[Unit, ...] = ("sentence", "document")
DENSE_WEIGHT, NAMED_WEIGHT = 0.5, 2.0
"""Weight of the cosine of the run's encoder, and of an encoder that `search.encoder` names; BM25
has weight 1. Chosen on SciFact and CACM."""
_DEPTH, _PER_HIT = 100, 10
"""Candidates by words and by vectors, at least, and for each hit that is asked for."""
_RERANKED = 50
"""Hits that a reranker scores, at least."""
_LARGEST_SHARE = 4


@dataclass(frozen=True)
class Hit:
    """A sentence that answers a query, or a document by its best sentence.

    Attributes:
        score: Hits are ranked by it: the weighted mean of `dense_score` and `lexical_score`, one of
            them, or the score of the reranker.
        text: The sentence.
        title: Title of the document, or "".
        document: Id of the document.
        sentence: Place of the sentence in its document, from 1.
        number: Number of the sentence among all of the run.
        dense_score: Cosine of the sentence with the query, in [-1, 1]; of a document, the highest.
        lexical_score: BM25 of the sentence or document, divided by the highest of the query, in
            [0, 1].
        matches: Spans of the words of `text` that the query has: first and one-past-last character.
        title_matches: The same of `title`.
        percentiles: Share of pairs of each kind with a lower cosine than `dense_score`; empty
            without a calibration.
        score_note: The same in words.
        source: File of the document.
        line: Line at which the document begins.
        date: Date of the document, or "".
        fields: Values of the further fields that the corpus keeps.
    """

    score: float
    text: str
    title: str
    document: str
    sentence: int
    number: int
    dense_score: float
    lexical_score: float
    matches: tuple[tuple[int, int], ...] = ()
    title_matches: tuple[tuple[int, int], ...] = ()
    percentiles: Mapping[str, float] = field(default_factory=dict)
    score_note: str = ""
    source: str = ""
    line: int = 0
    date: str = ""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Candidates:
    """Candidate sentences, one for each hit, and the scores of these."""

    numbers: Ints
    scores: Floats
    dense: Floats
    lexical: Floats

    def __getitem__(self, chosen: npt.NDArray[Any]) -> "_Candidates":
        return _Candidates(
            self.numbers[chosen], self.scores[chosen], self.dense[chosen], self.lexical[chosen]
        )


class Search:
    """Searches all documents of a run, those held out from learning included.

    Attributes:
        index: Vectors and BM25.
        dense_weight: Weight of the cosine in hybrid search; BM25 has weight 1.

    Example:
        >>> search = Search.open("run")  # doctest: +SKIP
        >>> for hit in search.search("a boat came into the harbour"):  # doctest: +SKIP
        ...     print(hit.score, hit.document, hit.text)
    """

    def __init__(self, run: Run, index: Index) -> None:
        self._run, self.index = run, index
        self.dense_weight = NAMED_WEIGHT if run.settings.search.encoder else DENSE_WEIGHT

    @classmethod
    def open(cls, run: str | Path | Run) -> "Search":
        """Open the search of a run; errors as of `Index.open`."""
        run = Run.open(run)
        index = Index.open(run)
        if index.unindexed:
            missing = plural(index.unindexed, "document")
            note(f"{run.path}: {missing} not indexed yet, and not searched. Run firth build")
        return cls(run, index)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The meaning of cosines; None where the run has none for this index."""
        return Calibration.current(self._run)

    def unknown_words(self, query: str) -> list[str]:
        """Return the words of a query that no document has."""
        return self.index.bm25.unknown(query)

    def search(
        self,
        query: str,
        *,
        top: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: str | None = None,
        rerank: PairScorer | None = None,
    ) -> list[Hit]:
        """Return the best sentences or documents for a query, the best first.

        What has no word of the query and no positive cosine is no hit.

        Args:
            query: A few words, a sentence, or a longer text.
            top: Number of hits, at most.
            mode: Words and vectors, vectors alone, or words alone.
            unit: Hits are sentences, or documents with their best sentence.
            where: Filter of documents (`Corpus.documents_where`). It comes first: as many hits
                are returned as without it, if there are as many.
            rerank: Scores the best hits (query, sentence) again, and orders them.

        Raises:
            InputError: The query is empty, an argument has no such value, or the filter is invalid
                or matches no document.
        """
        if not query.strip():
            raise InputError("the query is empty; expected some words")
        for name, value, known in (("mode", mode, MODES), ("unit", unit, UNITS)):
            if value not in known:
                raise InputError(f"{name}: got {value!r}; expected one of {', '.join(known)}")
        if top < 1:
            raise InputError(f"top: got {top}; expected at least 1")
        pool = max(top, _RERANKED) if rerank else top
        hits = self._candidates(query, pool, mode, unit, where)
        if rerank is not None and len(hits.numbers):
            texts = self.index.corpus.texts(hits.numbers)
            scores = np.asarray(rerank.similarities([(query, text) for text in texts]), np.float64)
            hits = _Candidates(hits.numbers, scores, hits.dense, hits.lexical)
            hits = hits[np.argsort(-scores, kind="stable")]
        return self._hits(query, hits[np.arange(min(top, len(hits.numbers)))])

    def _candidates(
        self, query: str, pool: int, mode: Mode, unit: Unit, where: str | None
    ) -> _Candidates:
        """Return the best `pool` candidates, the best first."""
        corpus = self.index.corpus
        documents = None if where is None else corpus.documents_where(where)
        if documents is not None and not len(documents):
            raise InputError(f"no document matches the filter {where!r}")
        of_sentences, of_documents = self.index.bm25.scores(query)
        within = None
        if documents is not None:
            firsts = corpus.document_bounds[documents]
            within = ranges(firsts, corpus.document_bounds[documents + 1] - firsts)
            of_sentences = _only(of_sentences, within)
            of_documents = _only(of_documents, documents)
        of_sentences /= max(float(of_sentences.max(initial=0)), 1e-12)
        of_documents /= max(float(of_documents.max(initial=0)), 1e-12)
        vector = self.index.encoder.encode([query])[0]
        depth = max(_DEPTH, _PER_HIT * pool)
        by_words = np.empty(0, np.int64)
        if mode != "dense" and unit == "sentence":
            by_words = _best(of_sentences, depth)
        elif mode != "dense":
            by_words = _best(of_documents, depth)
            firsts = corpus.document_bounds[by_words]
            by_words = ranges(firsts, corpus.document_bounds[by_words + 1] - firsts)
        by_vectors = np.empty(0, np.int64)
        while mode != "lexical":
            by_vectors = self.index.nearest(vector, depth, within=within)[0][0]
            owners = by_vectors if unit == "sentence" else np.unique(corpus.document_of(by_vectors))
            if len(owners) >= pool or len(by_vectors) < depth:
                break
            depth *= _LARGEST_SHARE  # Many of the nearest sentences are of few documents.
        numbers = np.unique(np.concatenate([by_words, by_vectors]))
        dense = self.index.cosines(vector, numbers).astype(np.float64)
        lexical = of_sentences[numbers].astype(np.float64)
        weight = {"hybrid": self.dense_weight, "dense": np.inf, "lexical": 0.0}[mode]
        best = _Candidates(numbers, _mean(dense, lexical, weight), dense, lexical)
        if unit == "document":
            best = self._by_document(best, of_documents, weight)
        best = best[(best.dense > 0) | (best.lexical > 0)]
        return best[np.lexsort((best.numbers, -best.scores))[:pool]]

    def _by_document(
        self, sentences: _Candidates, of_documents: Singles, weight: float
    ) -> _Candidates:
        """Return one candidate for each document: its best sentence, with the document's scores."""
        owners = self.index.corpus.document_of(sentences.numbers)
        order = np.lexsort((sentences.numbers, -sentences.scores, owners))
        documents, first = np.unique(owners[order], return_index=True)
        highest = np.full(len(documents), -np.inf)
        np.maximum.at(highest, np.searchsorted(documents, owners), sentences.dense)
        lexical = of_documents[documents].astype(np.float64)
        scores = _mean(highest, lexical, weight)
        return _Candidates(sentences.numbers[order[first]], scores, highest, lexical)

    def _hits(self, query: str, best: _Candidates) -> list[Hit]:
        corpus, bm25 = self.index.corpus, self.index.bm25
        texts, owners = corpus.texts(best.numbers), corpus.document_of(best.numbers)
        terms = bm25.terms(query)
        hits = []
        for row, (number, d, text) in enumerate(
            zip(best.numbers.tolist(), owners.tolist(), texts, strict=True)
        ):
            document, dense = corpus.document(d), float(best.dense[row])
            hits.append(
                Hit(
                    score=float(best.scores[row]),
                    text=text,
                    title=document.title,
                    document=document.id,
                    sentence=number - int(corpus.document_bounds[d]) + 1,
                    number=number,
                    dense_score=dense,
                    lexical_score=float(best.lexical[row]),
                    matches=bm25.matched(terms, text),
                    title_matches=bm25.matched(terms, document.title),
                    percentiles=self.calibration.percentiles(dense) if self.calibration else {},
                    score_note=self.calibration.describe(dense) if self.calibration else "",
                    source=document.source,
                    line=document.line,
                    date=document.date,
                    fields=document.fields,
                )
            )
        return hits


def _mean(dense: Floats, lexical: Floats, weight: float) -> Floats:
    """Return the mean of both scores, in which the dense one has `weight` and the other 1."""
    if np.isinf(weight):
        return dense
    mean: Floats = (lexical + weight * dense) / (1 + weight)
    return mean


def _only(scores: Singles, kept: Ints) -> Singles:
    """Return scores with 0 for all but some."""
    some = np.zeros_like(scores)
    some[kept] = scores[kept]
    return some


def _best(scores: Singles, most: int) -> Ints:
    """Return the numbers of the highest scores above 0, at most `most`, in no order."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) > most:
        positive = positive[np.argpartition(-scores[positive], most - 1)[:most]]
    return positive
