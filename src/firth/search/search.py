"""Search: the sentences or documents of a run that answer a query, by words and by meaning.

The score is a weighted mean of BM25, divided by its highest value for the query, and the cosine of
vectors. A document has the BM25 of its whole text, title and fields, and the cosine of its best
sentence. A sentence has the mean of its BM25 and its document's: a word that the answer needs may
be in the title, or in the sentence before. A title that is the query adds to the BM25 of
its document and of all sentences there. Sentences below the mean length count as long as that:
headings would come first otherwise. BM25 finds names and numbers, and the cosine finds what is said
in other words.

A heading is context: its words count for its document, and it is no hit.

Scores are relative to the query. The *evidence* of a hit is not: it has BM25 divided by the highest
that any text could have. The calibration says how often the first hit of a question without an
answer reaches it. The verdict on a query is that on its first hit, and no later hit has a better
one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from firth.run.console import note, plural
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.calibration import NOTHING, UNLIKELY, Calibration, scripts_of, verdict
from firth.search.index import Index, index_encoder
from firth.text.types import Floats, Ints, Singles

Mode = Literal["hybrid", "dense", "lexical"]
Unit = Literal["sentence", "document"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "lexical")
UNITS: tuple[Unit, ...] = ("sentence", "document")
DENSE_WEIGHT, NAMED_WEIGHT = 0.75, 2.0
"""Weight of the cosine of the encoder that the run has built, and of a pretrained one; BM25 has
weight 1. Chosen on SciFact, CACM, and on titles and sentences that must find their document;
half or twice as much changes nDCG@10 by less than a point."""
TITLE_WEIGHT = 0.75
"""A title that is the query adds this share of the highest BM25. Chosen on titles of a forum."""
_LEAST_TITLE = 0.5
"""A title that is less of the query adds nothing."""
NOT_INDEXED = "not indexed yet, and not searched"
_DEPTH, _PER_HIT = 100, 10
"""Candidates by words and by vectors, at least, and for each hit that is asked for."""
_GROWTH = 4


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A sentence that answers a query, or a document by its best sentence.

    Attributes:
        score: Hits are ranked by it: the weighted mean of `dense_score` and `lexical_score`, or one
            of them.
        text: The sentence.
        title: Title of the document, or "".
        document: Id of the document.
        sentence: Place of the sentence in its document, from 1.
        number: Number of the sentence among all of the run.
        dense_score: Cosine of the sentence with the query, in [-1, 1]; of a document, the highest.
        lexical_score: BM25 divided by the highest of the query, in [0, 1]; of a sentence, the mean
            of its value and its document's.
        matches: Spans of the words of `text` that the query has: first and one-past-last character.
        title_matches: The same of `title`.
        chance: How often a question without an answer here has a first hit as good, in (0, 1], and
            never below that of an earlier hit; None without a calibration.
        answer: The same in words: "probably answers", "may be related", "unlikely to answer".
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
    chance: float | None = None
    answer: str = ""
    source: str = ""
    line: int = 0
    date: str = ""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    def marked(self) -> str:
        """Return the sentence with an asterisk on both sides of each word that the query has."""
        text = self.text
        for start, end in reversed(self.matches):
            text = f"{text[:start]}*{text[start:end]}*{text[end:]}"
        return text


class Hits(list[Hit]):
    """The hits of a query, the best first, and what is said of all.

    Attributes:
        answer: Whether the first hit answers: "probably answers", "may be related" or "probably
            nothing here answers this"; "" without a calibration.
        unknown: Words of the query that no document has; all of it in a foreign writing system.
        unindexed: Documents that are not indexed yet and not searched, as "2 documents", or "".
    """

    answer: str = ""
    unknown: tuple[str, ...] = ()
    unindexed: str = ""

    @property
    def remark(self) -> str:
        """What a reader must know before the hits, in one line, or ""."""
        parts = [f"{NOTHING.capitalize()}."] if self.answer == NOTHING or not self else []
        if self.unknown:
            parts.append(f"No document has: {', '.join(self.unknown)}.")
        if self.unindexed:
            parts.append(f"{self.unindexed.capitalize()} {NOT_INDEXED}.")
        return " ".join(parts)

    def __repr__(self) -> str:
        """Return the number of hits, the verdict, and the beginning of the first."""
        first = f"; {self[0].text!r:.60}" if self else ""
        return f"Hits({len(self)}: {self.answer or 'no verdict'}{first})"

    def _repr_html_(self) -> str:
        """Return the hits as a table for a notebook."""
        from firth.scorer.render import html_table

        heading = " ".join(filter(None, (f"{len(self)} hits.", self.answer, self.remark)))
        rows = [(f"{hit.score:.2f}", hit.title or hit.document, hit.text) for hit in self]
        return html_table(heading, ("score", "document", "text"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "answer": self.answer,
            "unknown": [*self.unknown],
            "unindexed": self.unindexed,
            "remark": self.remark,
            "hits": [hit.as_dict() for hit in self],
        }


@dataclass(frozen=True)
class _Candidates:
    """Candidate sentences, one for each hit, and the scores of these."""

    numbers: Ints
    scores: Floats
    dense: Floats
    lexical: Floats
    evidence: Floats

    def __getitem__(self, chosen: npt.NDArray[Any]) -> "_Candidates":
        columns = (self.numbers, self.scores, self.dense, self.lexical, self.evidence)
        return _Candidates(*(column[chosen] for column in columns))


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
        self.unindexed = plural(index.unindexed, "document") if index.unindexed else ""
        self._vector = lru_cache(16)(lambda query: index.encoder.encode([query])[0])
        self._all_cosines = lru_cache(2)(lambda query: index.all_cosines(self._vector(query)))
        self._is_named = index_encoder(run) is not None
        self.dense_weight = NAMED_WEIGHT if self._is_named else DENSE_WEIGHT

    @classmethod
    def open(cls, run: str | Path | Run) -> "Search":
        """Open the search of a run; errors as of `Index.open`."""
        run = Run.open(run)
        index = Index.open(run)
        search = cls(run, index)
        if search.unindexed:
            note(f"{run.path}: {search.unindexed} {NOT_INDEXED}. Run firth build")
        return search

    def renewed(self) -> "Search":
        """Return the search of the documents that the run has now (`Index.renewed`)."""
        search = Search(self._run, self.index.renewed())
        search.calibration = self.calibration
        return search

    @cached_property
    def calibration(self) -> Calibration | None:
        """The meaning of scores; None where the run has none for this index."""
        return Calibration.current(self._run)

    def search(
        self,
        query: str,
        *,
        top: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: str | None = None,
    ) -> Hits:
        """Return the best sentences or documents for a query, the best first.

        What has no word of the query and no positive cosine is no hit. Of sentences with the same
        text only the best is one. A query without a known
        word has none either, if the calibration says that nothing answers it. So has a query in a
        writing system that no document has, unless the index has a pretrained encoder.

        Args:
            query: A few words, a sentence, or a longer text.
            top: Number of hits, at most.
            mode: Words and vectors, vectors alone, or words alone.
            unit: Hits are sentences, or documents with their best sentence.
            where: Filter of documents (`Corpus.documents_where`). It comes first: as many hits
                are returned as without it, if there are as many.

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
        hits = Hits()
        hits.unindexed = self.unindexed
        is_foreign = self._is_foreign(query)
        if self._is_named or not is_foreign:
            best = self._distinct(query, top, mode, unit, where)
            hits.extend(self._hits(query, best, unit))
        hits.unknown = (query,) if is_foreign else tuple(self.index.bm25.unknown(query))
        if self.calibration:
            said = hits[0].answer if hits else UNLIKELY
            hits.answer = NOTHING if said == UNLIKELY else said
        has_known = any(map(self.index.bm25.frequency, self.index.bm25.content(query)))
        if hits.answer == NOTHING and not has_known:
            hits.clear()
        return hits

    def _is_foreign(self, query: str) -> bool:
        """Return whether no document has text in the writing systems of a query."""
        if self.calibration is None:
            return False
        scripts = scripts_of([query])
        return bool(scripts) and not scripts & self.calibration.scripts

    def first_evidence(self, query: str, unit: Unit, hidden: int | None = None) -> float:
        """Return the evidence of the first hit outside a document, at least 0."""
        every = np.arange(self.index.corpus.n_documents)
        left = None if hidden is None else np.delete(every, hidden)
        first = self._candidates(query, 1, "hybrid", unit, left).evidence
        return float(first[0]) if len(first) else 0.0

    def _distinct(
        self, query: str, top: int, mode: Mode, unit: Unit, where: str | None
    ) -> _Candidates:
        """Return the best `top` candidates; of sentences with the same text only the best."""
        pool = top
        documents = None if where is None else self.index.selected(where)
        while True:
            best = self._candidates(query, pool, mode, unit, documents)
            if unit == "document":
                return best
            firsts: dict[str, int] = {}
            for at, text in enumerate(self.index.corpus.texts(best.numbers)):
                firsts.setdefault(text, at)
            if len(firsts) >= top or len(best.numbers) < pool:
                return best[np.array([*firsts.values()][:top], np.int64)]
            pool *= _GROWTH

    @cached_property
    def _owners(self) -> Ints:
        """The document of each sentence."""
        return self.index.corpus.document_of(np.arange(len(self.index)))

    def _candidates(
        self, query: str, pool: int, mode: Mode, unit: Unit, documents: Ints | None
    ) -> _Candidates:
        """Return the best `pool` candidates of some documents, or of all, the best first."""
        corpus = self.index.corpus
        of_sentences, of_documents, ceilings = self.index.bm25.scores(query)
        titles = self.index.bm25.title_shares(query)
        within = None
        if documents is not None:
            within = corpus.sentences_of(documents)
            of_sentences = _only(of_sentences, within)
            of_documents, titles = _only(of_documents, documents), _only(titles, documents)
        plain = of_sentences, of_documents
        titles[titles < _LEAST_TITLE] = 0
        if titles.any():
            titles *= TITLE_WEIGHT
            of_sentences = of_sentences + of_sentences.max(initial=0) * titles[self._owners]
            of_documents = of_documents + of_documents.max(initial=0) * titles
        highest = [float(scores.max(initial=0)) for scores in (of_sentences, of_documents)]
        # Divided by these, scores are relative to the query's highest, and to any query's.
        relative, absolute = (np.maximum(each, 1e-12) for each in (highest, ceilings))
        vector, every = self._vector(query), self._all_cosines(query)
        depth = max(_DEPTH, _PER_HIT * pool)
        by_words = np.empty(0, np.int64)
        if mode != "dense" and unit == "sentence":
            both = (of_documents / (2 * relative[1]))[self._owners]
            both += of_sentences / (2 * relative[0])
            by_words = _best(both, depth)
        elif mode != "dense":
            by_words = corpus.sentences_of(_best(of_documents, depth))
        by_vectors = np.empty(0, np.int64)
        while mode != "lexical":
            if every is None:
                by_vectors = self.index.nearest(vector, depth, within=within)[0][0]
            else:
                by_vectors = _best(every, depth, within)
            owners = by_vectors if unit == "sentence" else np.unique(corpus.document_of(by_vectors))
            if len(owners) >= pool or len(by_vectors) < depth:
                break
            depth *= _GROWTH  # Many of the nearest sentences are of few documents.
        numbers = np.unique(np.concatenate([by_words, by_vectors]))
        numbers = numbers[~corpus.headings[numbers]]
        near = self.index.cosines(vector, numbers) if every is None else every[numbers]
        dense = near.astype(np.float64)
        scored = of_sentences[numbers], of_documents[self._owners[numbers]]
        weight = {"hybrid": self.dense_weight, "dense": np.inf, "lexical": 0.0}[mode]
        covered = plain[0][numbers], plain[1][self._owners[numbers]]
        lexical = scored[0] / (2 * relative[0]) + scored[1] / (2 * relative[1])
        cover = covered[0] / (2 * absolute[0]) + covered[1] / (2 * absolute[1])
        scores, evidence = _mean(dense, lexical, weight), cover + self.dense_weight * dense
        best = _Candidates(numbers, scores, dense, lexical, evidence)
        if unit == "document":
            both = of_documents / relative[1], plain[1] / absolute[1]
            best = self._by_document(best, *both, weight)
        best = best[(best.dense > 0) | (best.lexical > 0)]
        return best[np.lexsort((best.numbers, -best.scores))[:pool]]

    def _by_document(
        self, sentences: _Candidates, lexical_of: Floats, cover_of: Floats, weight: float
    ) -> _Candidates:
        """Return one candidate for each document: its best sentence, with the document's scores."""
        owners = self._owners[sentences.numbers]
        order = np.lexsort((sentences.numbers, -sentences.scores, owners))
        documents, first = np.unique(owners[order], return_index=True)
        highest = np.full(len(documents), -np.inf)
        np.maximum.at(highest, np.searchsorted(documents, owners), sentences.dense)
        lexical, cover = lexical_of[documents], cover_of[documents]
        scores, evidence = _mean(highest, lexical, weight), cover + self.dense_weight * highest
        return _Candidates(sentences.numbers[order[first]], scores, highest, lexical, evidence)

    def _hits(self, query: str, best: _Candidates, unit: Unit) -> Iterator[Hit]:
        corpus, bm25 = self.index.corpus, self.index.bm25
        texts, owners = corpus.texts(best.numbers), corpus.document_of(best.numbers)
        content, chance = bm25.content(query), None
        for row, (number, d, text) in enumerate(
            zip(best.numbers.tolist(), owners.tolist(), texts, strict=True)
        ):
            document = corpus.document(d)
            if self.calibration:
                new = self.calibration.answer_chance(float(best.evidence[row]), unit)
                chance = new if chance is None else max(chance, new)
            yield Hit(
                score=float(best.scores[row]),
                text=text,
                title=document.title,
                document=document.id,
                sentence=number - int(corpus.document_bounds[d]) + 1,
                number=number,
                dense_score=float(best.dense[row]),
                lexical_score=float(best.lexical[row]),
                matches=bm25.matched(content, text),
                title_matches=bm25.matched(content, document.title),
                chance=chance,
                answer="" if chance is None else verdict(chance),
                source=document.source,
                line=document.line,
                date=document.date,
                fields=document.fields,
            )


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


def _best(scores: Singles, most: int, within: Ints | None = None) -> Ints:
    """Return the numbers of the highest scores above 0, at most `most`, in no order."""
    positive = np.flatnonzero(scores > 0) if within is None else within[scores[within] > 0]
    if len(positive) > most:
        positive = positive[np.argpartition(-scores[positive], most - 1)[:most]]
    return positive
