"""Search: the sentences or documents of a run that answer a query, by words and by meaning.

BM25 finds names and numbers, and vectors find what is said in other words. Scores of different
kinds are added as deviations from their mean over all documents. A document has the BM25 of its
whole text, title and fields, the cosine of its best sentence, and that of its own vector
(`firth.search.index`). Cosines count less where the run's own questions find their answers better
so: an encoder that does not know the documents costs little (`Calibration.share`).

A sentence has the mean of its score and its document's: a word that the answer needs may be
in the title, or in the sentence before. Sentences below the mean length count as long as that:
headings would come first otherwise. A title that is the query, or nearly, adds to the BM25 of its
document, and of each sentence there.

A heading is context: its words count for its document, and it is no hit.

Scores are relative to the query. The *evidence* of a hit is not: it has BM25 divided by the highest
that any text could have, and the cosine. The calibration says how often the first hit of a question
without an answer reaches it. The verdict on a query is that on its first hit, and no later hit has
a better one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from firth.corpus.document import Document
from firth.run.console import note, plural, wrapped
from firth.run.errors import InputError
from firth.run.results import Record, Results
from firth.run.run import Run
from firth.search.calibration import (
    NOTHING,
    SHARES,
    UNLIKELY,
    Asked,
    Calibration,
    answering,
    scripts_of,
)
from firth.search.index import Index
from firth.text.types import Floats, Ints, Singles, starts

Mode = Literal["hybrid", "dense", "lexical"]
Unit = Literal["sentence", "document"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "lexical")
UNITS: tuple[Unit, ...] = ("sentence", "document")
DENSE_WEIGHT, PRETRAINED_WEIGHT = 0.25, 1.5
"""Weight of each cosine of the encoder that the run has built, and of a pretrained one; BM25 has
weight 1."""
EVIDENCE_WEIGHT = 1.5
"""Weight of the cosine in the evidence; BM25 has weight 1."""
TITLE_WEIGHT = 3.0
"""A title that is the query adds so many times the highest BM25, and one that is half of it none;
between them it is a line. Chosen on 150 titles of a forum."""
_ALSO, _NEAREST = 3, 3
"""Further documents that a hit names, and hits that are listed where nothing answers."""
NOT_INDEXED = "not indexed yet, and not searched"
_DEPTH, _PER_HIT = 100, 10
"""Candidates by words and by vectors, at least, and for each hit that is asked for."""
_GROWTH = 4
_FLAT = 1e-6
"""Deviation up to which all scores are taken for equal."""
_LEAST = 1e-12
"""A highest score is at least this, so that scores can be divided by it."""
_SAMPLE = 4_096
"""Sentences of the documents that give mean and deviation of cosines, where vectors are many."""


@dataclass(frozen=True, kw_only=True)
class Hit(Record):
    """A sentence that answers a query, or a document by its best sentence.

    Attributes:
        score: Hits are ranked by it: the sum of BM25 and cosines as deviations from their means; or
            `dense_score`, or `lexical_score`, by the mode.
        text: The sentence.
        title: Title of the document, or "".
        document: Id of the document.
        sentence: Place of the sentence in its document, from 1.
        number: Number of the sentence among all of the run, from 0.
        dense_score: Cosine of the sentence with the query, in [-1, 1]; of a document, the mean of
            its highest and that of its own vector.
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
        page: Page of a PDF that has the sentence, from 1; 0 where the document is none.
        also: Ids of further documents with the same text; with a filter, of those that fulfil it.
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
    page: int = 0
    also: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Title, or else the id; the page; up to three further documents."""
        more = f", and {len(self.also) - _ALSO:,} more" if len(self.also) > _ALSO else ""
        also = f"; also in {', '.join(self.also[:_ALSO])}{more}" if self.also else ""
        return (self.title or self.document) + (f", page {self.page}" if self.page else "") + also

    def marked(self) -> str:
        """Return the sentence with an asterisk on both sides of each word that the query has."""
        text = self.text
        for start, end in reversed(self.matches):
            text = f"{text[:start]}*{text[start:end]}*{text[end:]}"
        return text


@dataclass(frozen=True, repr=False, kw_only=True)
class Hits(Results[Hit]):
    """The hits of a query, the best first, and what is said of all.

    Attributes:
        answer: Whether the first hit answers: "probably answers", "may be related" or "probably
            nothing here answers this"; "" without a calibration.
        unknown: Words of the query that no document has; all of it in a foreign writing system.
        unindexed: Documents that are not indexed yet and not searched, as "2 documents", or "".
    """

    named: ClassVar = "hits"
    derived: ClassVar = ("remark",)
    columns: ClassVar = ("score", "document", "title", "text")
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

    def summary(self) -> str:
        """Return the number of hits and what is said of them."""
        verdict = f"{self.answer.capitalize()}." if self.answer else ""
        return f"{plural(len(self), 'hit')}. {self.remark or verdict}".rstrip()

    def lines(self, top: int) -> Iterator[str]:
        """Yield what is said of all, and two lines for each hit; of a few, if nothing answers."""
        if self.remark:
            yield self.remark
        most = min(top, _NEAREST) if self.answer == NOTHING else top
        for number, hit in enumerate(self[:most], start=1):
            yield f"{number:>2}  {wrapped(f'    {hit.marked()}').lstrip()}"
            yield f"    {hit.place}{f'; {hit.answer}' if hit.answer else ''}"


@dataclass(frozen=True, kw_only=True)
class _Candidates:
    """Candidates, one for each hit: a sentence each, and its scores or those of its document."""

    numbers: Ints
    scores: Floats
    dense: Floats
    lexical: Floats
    evidence: Floats

    def __getitem__(self, chosen: npt.NDArray[Any]) -> "_Candidates":
        return _Candidates(**{name: column[chosen] for name, column in vars(self).items()})

    def first(self, most: int, mode: Mode) -> "_Candidates":
        """Return the best that are hits by a mode, the best first."""
        counts = mode != "lexical", mode != "dense"
        hits = self[(counts[0] & (self.dense > 0)) | (counts[1] & (self.lexical > 0))]
        return hits[np.lexsort((hits.numbers, -hits.scores))[:most]]


@dataclass(frozen=True)
class _Scale:
    """Mean and deviation of the scores of texts for a query."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: Singles) -> "_Scale":
        deviation = float(scores.std()) if len(scores) else 0.0
        mean = float(scores.sum()) / max(len(scores), 1)
        return cls(mean, deviation if deviation > _FLAT else np.inf)

    def standard(self, scores: Singles) -> Floats:
        """Return scores as deviations from the mean; 0 where all are equal."""
        standard: Floats = (scores.astype(np.float64) - self.mean) / self.deviation
        return standard


@dataclass(frozen=True, kw_only=True)
class _ByWords:
    """BM25 of a query with n sentences and with m documents.

    What a filter leaves out has 0.

    Attributes:
        sentences, documents: Scores, (n,) and (m,).
        titled: The same, with what titles add.
        highest: The highest of both in `titled`, (2,); above 0.
        ceilings: What no sentence, and no document, can exceed for this query, (2,); above 0.
        scales: Of sentences and of documents, of all that a filter leaves out, too.
    """

    sentences: Singles
    documents: Singles
    titled: tuple[Singles, Singles]
    highest: Floats
    ceilings: Floats
    scales: tuple[_Scale, _Scale]

    @classmethod
    def of(cls, index: Index, query: str, chosen: Ints | None) -> "_ByWords":
        """Score all, or the documents that a filter has chosen."""
        sentences, documents, ceilings = index.bm25.scores(query)
        scales = _Scale.of(sentences), _Scale.of(documents)
        shares = index.bm25.title_shares(query)
        if chosen is not None:
            sentences = _only(sentences, index.corpus.sentences_of(chosen))
            documents, shares = _only(documents, chosen), _only(shares, chosen)
        weights = np.float32(TITLE_WEIGHT) * np.maximum(2 * shares - 1, np.float32(0))
        titled = sentences, documents + documents.max(initial=0) * weights
        if weights.any():
            of_sentences = np.repeat(weights, np.diff(index.corpus.document_bounds))
            titled = sentences + sentences.max(initial=0) * of_sentences, titled[1]
        highest = np.array([scores.max(initial=0) for scores in titled], np.float64)
        return cls(
            sentences=sentences,
            documents=documents,
            titled=titled,
            highest=np.maximum(highest, _LEAST),
            ceilings=np.maximum(ceilings, _LEAST),
            scales=scales,
        )


class Search:
    """Searches all documents of a run, those held out from learning included.

    Attributes:
        index: Vectors and BM25.
        calibration: The meaning of scores; None where the run has none for this index.
        dense_weight: Weight of each cosine in hybrid search; BM25 has weight 1.
    """

    def __init__(self, index: Index, calibration: Calibration | None) -> None:
        self.index, self.calibration = index, calibration
        self.unindexed = plural(index.unindexed, "document") if index.unindexed else ""
        self._vector = vector = lru_cache(16)(lambda query: index.encoder.encode([query])[0])
        sizes = np.diff(index.corpus.document_bounds)
        self._has_text, self._filled = sizes > 0, np.flatnonzero(sizes)
        step = 1 if index.is_small else max(len(index) // _SAMPLE, 1)
        self._sample = sample = self._filled[::step]
        # The documents that give mean and deviation of cosines. Nothing refers to the search, so
        # that its vectors go when it does.
        gathered = lru_cache(1)(lambda: index.gather(sample))
        self._compared = lru_cache(2)(lambda query: gathered().cosines(vector(query)))
        self._weight = PRETRAINED_WEIGHT if index.is_pretrained else DENSE_WEIGHT
        self.dense_weight = self._weight * (calibration.share if calibration else 1.0)

    @classmethod
    def open(cls, run: str | Path | Run) -> "Search":
        """Open the search of a run; errors as of `Index.open`."""
        run = Run.open(run)
        search = cls(Index.open(run), Calibration.current(run))
        if search.unindexed:
            note(f"{run.path}: {search.unindexed} {NOT_INDEXED}. Run firth build")
        return search

    def renewed(self) -> "Search":
        """Return the search of the documents that the run has now (`Index.renewed`)."""
        return Search(self.index.renewed(), self.calibration)

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
        text only the best is one. Unless the index has a pretrained encoder, a query without a
        known word has none either, if the calibration says that nothing answers it; nor has one in
        a writing system that no document has.

        Arguments and errors are those of `firth.model.Model.search`. A filter comes first: as many
        hits are returned as without it, if there are as many.
        """
        if not query.strip():
            raise InputError("the query is empty; expected some words")
        for name, value, allowed in (("mode", mode, MODES), ("unit", unit, UNITS)):
            if value not in allowed:
                raise InputError(f"{name}: got {value!r}; expected one of {', '.join(allowed)}")
        if not isinstance(top, int | np.integer) or top < 1:
            raise InputError(f"top: got {top!r}; expected a whole number from 1 on")
        hits, answer, is_foreign = tuple[Hit, ...](), "", self._is_foreign(query)
        if self.index.is_pretrained or not is_foreign:
            best = self._distinct(query, top, mode, unit, where)
            hits = tuple(self._hits(query, best, unit, where))
        if self.calibration and self.calibration.answers:
            answer = hits[0].answer if hits else UNLIKELY
            answer = NOTHING if answer == UNLIKELY else answer
        has_word = any(map(self.index.bm25.frequency, self.index.bm25.content(query)))
        if answer == NOTHING and not has_word and not self.index.is_pretrained:
            hits = ()
        unknown = (query,) if is_foreign else tuple(self.index.bm25.unknown(query))
        return Hits(items=hits, answer=answer, unknown=unknown, unindexed=self.unindexed)

    def _is_foreign(self, query: str) -> bool:
        """Return whether no document has text in the writing systems of a query."""
        if self.calibration is None:
            return False
        scripts = scripts_of([query])
        return bool(scripts) and not scripts & self.calibration.scripts

    def first_evidence(self, query: str, documents: Ints | None = None) -> dict[str, float]:
        """Return the evidence of the first hit of each unit in documents, at least 0."""
        first = self._candidates(query, 1, "hybrid", UNITS, documents)
        return {unit: float(first[unit].evidence.max(initial=0.0)) for unit in UNITS}

    def ask(self, question: str, own: int, answer: tuple[str, Singles] | None) -> Asked:
        """Ask a question of document `own`, which is hidden with all that answers as well.

        Args:
            question: Some words of the document.
            own: The document.
            answer: A text that takes the place of the document, and its unit vector.
        """
        documents = np.delete(np.arange(self.index.corpus.n_documents), own)
        by_words = _ByWords.of(self.index, question, documents)
        chosen = self._chosen(question, 1, "hybrid", by_words, documents)
        scales = [*map(_Scale.of, self._compared(question)[1:])]
        words = by_words.scales[1].standard(by_words.titled[1][chosen])
        near = zip(scales, self._near(question, chosen)[1:], strict=True)
        cosines = np.sum([scale.standard(cosine) for scale, cosine in near], axis=0)
        siblings = chosen[answering(words + self.dense_weight * cosines)]
        evidence = self.first_evidence(question, np.setdiff1d(documents, siblings))
        if answer is None:
            return Asked(evidence)
        score, ceiling = self.index.bm25.score_of(question, answer[0], own)
        cosine = np.array([self._vector(question) @ answer[1]])
        word = by_words.scales[1].standard(np.array([score], np.float32))
        both = sum(scale.standard(cosine) for scale in scales)
        weights = [share * self._weight for share in SHARES]
        ahead = [int((words + w * cosines > word + w * both).sum()) for w in weights]
        ahead.append(int((cosines > both).sum()))
        cover = score / max(ceiling, _LEAST)
        return Asked(evidence, cover + EVIDENCE_WEIGHT * float(cosine[0]), tuple(ahead))

    def _distinct(
        self, query: str, top: int, mode: Mode, unit: Unit, where: str | None
    ) -> _Candidates:
        """Return the best `top` candidates; of sentences with the same text only the best."""
        pool = top
        documents = None if where is None else self.index.selected(where)
        while True:
            best = self._candidates(query, pool, mode, (unit,), documents)[unit]
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
        self, query: str, pool: int, mode: Mode, units: Sequence[Unit], documents: Ints | None
    ) -> dict[Unit, _Candidates]:
        """Return the best `pool` candidates of units in some documents, or in all, best first."""
        by_words = _ByWords.of(self.index, query, documents)
        chosen = self._chosen(query, pool, mode, by_words, documents)
        near = self._near(query, chosen)
        cosines, nearest, of_documents = (
            _Scale.of(sample).standard(cosine)
            for sample, cosine in zip(self._compared(query), near, strict=True)
        )
        hybrid = by_words.scales[1].standard(by_words.titled[1][chosen])
        hybrid += self.dense_weight * (nearest + of_documents)
        lexical_of_documents = by_words.titled[1][chosen] / by_words.highest[1]
        cover = by_words.documents[chosen] / by_words.ceilings[1]

        corpus = self.index.corpus
        numbers, sizes = corpus.sentences_of(chosen), np.diff(corpus.document_bounds)[chosen]
        owners, titled = np.repeat(np.arange(len(chosen)), sizes), by_words.titled[0][numbers]
        own = by_words.scales[0].standard(titled) + 2 * self.dense_weight * cosines
        own_cover = by_words.sentences[numbers] / by_words.ceilings[0]
        dense = near[0].astype(np.float64)
        lexical = (titled / by_words.highest[0] + lexical_of_documents[owners]) / 2
        sentences = _Candidates(
            numbers=numbers,
            scores=_of_mode(mode, (own + hybrid[owners]) / 2, dense, lexical),
            dense=dense,
            lexical=lexical,
            evidence=(own_cover + cover[owners]) / 2 + EVIDENCE_WEIGHT * dense,
        )
        is_heading = corpus.headings[numbers]
        best = dict[Unit, _Candidates]()
        if "sentence" in units:
            best["sentence"] = sentences[~is_heading].first(pool, mode)
        if "document" in units:
            # The best sentence of each; a heading comes last.
            order = np.lexsort((numbers, -sentences.scores, is_heading, owners))
            dense = (near[1] + near[2]).astype(np.float64) / 2
            best["document"] = _Candidates(
                numbers=numbers[order[starts(sizes)]],
                scores=_of_mode(mode, hybrid, dense, lexical_of_documents),
                dense=dense,
                lexical=lexical_of_documents,
                evidence=cover + EVIDENCE_WEIGHT * near[1],
            ).first(pool, mode)
        return best

    def _named(self, d: int, query: str, where: str | None) -> tuple[Document, tuple[str, ...]]:
        """Return what a hit of document `d` is called by, and the ids of further documents.

        Of those that have the text and fulfil the filter, it is that of which the title has most
        words of the query, or else the first.
        """
        equal, bm25 = self.index.corpus.documents_with_text(d, where), self.index.bm25
        if len(equal) == 1:
            return equal[0], ()
        content = bm25.content(query)
        document = max(equal, key=lambda document: len(bm25.matched(content, document.title)))
        return document, tuple(copy.id for copy in equal if copy is not document)

    def _chosen(
        self, query: str, pool: int, mode: Mode, by_words: _ByWords, documents: Ints | None
    ) -> Ints:
        """Return the documents, ascending, of which some may be among the best `pool` candidates.

        Where all vectors are in memory, these are all that are searched.
        """
        corpus, depth = self.index.corpus, max(_DEPTH, _PER_HIT * pool)
        searched = self._filled if documents is None else documents[self._has_text[documents]]
        if self.index.is_small:
            return searched
        within = None if documents is None else corpus.sentences_of(searched)
        candidates = np.empty(0, np.int64)
        if mode != "dense":
            of_documents = by_words.titled[1] / by_words.highest[1]
            of_sentences = by_words.titled[0] / by_words.highest[0] + of_documents[self._owners]
            candidates = np.append(
                self._owners[_best(of_sentences, depth)], _best(of_documents, depth)
            )
        while mode != "lexical":
            near = self.index.nearest(self._vector(query), depth, within=within)
            owners = np.unique(self._owners[near])
            candidates = np.append(candidates, owners)
            if len(owners) >= pool or len(near) < depth:
                break
            depth *= _GROWTH  # Many of the nearest sentences are of few documents.
        candidates = np.unique(candidates)
        return candidates[self._has_text[candidates]]

    def _near(self, query: str, chosen: Ints) -> tuple[Singles, Singles, Singles]:
        """Return the cosines of a query with some documents (`Gathered.cosines`)."""
        if not self.index.is_small:
            return self.index.gather(chosen).cosines(self._vector(query))
        cosines, nearest, of_documents = self._compared(query)
        if len(chosen) == len(self._sample):
            return cosines, nearest, of_documents
        places = np.searchsorted(self._sample, chosen)
        of_all = np.zeros(len(self.index), np.float32)
        of_all[self.index.corpus.sentences_of(self._sample)] = cosines
        return of_all[self.index.corpus.sentences_of(chosen)], nearest[places], of_documents[places]

    def _hits(self, query: str, best: _Candidates, unit: Unit, where: str | None) -> Iterator[Hit]:
        corpus, bm25 = self.index.corpus, self.index.bm25
        texts, owners = corpus.texts(best.numbers), corpus.document_of(best.numbers)
        content, evidence = bm25.content(query), np.inf
        answers = self.calibration.answers.get(unit) if self.calibration else None
        for row, (number, d, text) in enumerate(
            zip(best.numbers.tolist(), owners.tolist(), texts, strict=True)
        ):
            document, also = self._named(d, query, where)
            evidence = min(evidence, float(best.evidence[row]))
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
                chance=answers.chance(evidence) if answers else None,
                answer=answers.verdict(evidence) if answers else "",
                source=document.source,
                line=document.line,
                date=document.date,
                fields=document.fields,
                page=corpus.page(number),
                also=also,
            )


def _of_mode(mode: Mode, hybrid: Floats, dense: Floats, lexical: Floats) -> Floats:
    """Return the scores by which a mode ranks."""
    return {"hybrid": hybrid, "dense": dense, "lexical": lexical}[mode]


def _only(scores: Singles, chosen: Ints) -> Singles:
    """Return scores with 0 for all but some."""
    masked = np.zeros_like(scores)
    masked[chosen] = scores[chosen]
    return masked


def _best(scores: Singles, most: int) -> Ints:
    """Return the numbers of the highest scores above 0, at most `most`, in no order."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) > most:
        positive = positive[np.argpartition(-scores[positive], most - 1)[:most]]
    return positive
