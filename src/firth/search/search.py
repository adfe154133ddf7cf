"""Search by what a text means and by the words it has, both together.

The score is a weighted mean of the cosine of vectors and the tf-idf cosine of stems: what is said
in other words is found by the first, names and numbers by the second (docs/search.md has the
measurement that chose the weight, beside reciprocal ranks).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.index.encoder import Vectors
from firth.index.index import Index
from firth.lexical.arrays import Floats, Ints
from firth.lexical.scorer import Explainer, Explanation
from firth.lexical.scorer import Scorer as PairScorer
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scale.scale import Scale, Scorer
from firth.search.among import Among

WEIGHT = 0.3
"""Of the vectors' cosine; the words' has the rest."""
_DEPTH = 100
"""Sentences that either way proposes at least."""
_PER_HIT = 10
_RERANKED = 50
"""Hits that Origin scores anew at least."""


class By(StrEnum):
    """What is compared."""

    BOTH = "both"
    """Vectors and words."""
    VECTORS = "vectors"
    """Vectors alone."""
    WORDS = "words"
    """Words alone."""


@dataclass(frozen=True)
class Hit:
    """A sentence that was found, or a document by its best sentence.

    Attributes:
        score: What it was ranked by: the weighted mean of `cosine` and `words`, one of them, or
            `origin`, or `reranked`.
        cosine: Of the vectors, in [-1, 1].
        words: tf-idf cosine of stems, in [0, 1].
        origin: Origin's similarity, where it was asked.
        shares: Kind of pairs → share that scores lower than `cosine` (or `origin`, where hits are
            ranked by it); empty without a scale.
        meaning: The same in words.
        reranked: The score by another model than Origin, where one was asked.
        sentence: Number of the sentence.
        text: The sentence.
        document: Name of its document.
        title: Of the document, or "".
        source: File of the document.
        line: On which the document begins there.
        date: Of the document, or "".
        fields: Name → values of the fields that are kept of the document.
    """

    score: float
    cosine: float
    words: float
    origin: float | None
    sentence: int
    text: str
    document: str
    title: str
    source: str
    line: int
    date: str = ""
    meaning: str = ""
    shares: dict[str, float] = field(default_factory=dict)
    fields: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reranked: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return asdict(self)


class Search:
    """Search over all documents of a run, those held out from learning included.

    Example:
        >>> search = Search.open("run")
        >>> hits = search.search("a boat came into the harbour", top=3)
        >>> [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        True
    """

    def __init__(self, run: Run, index: Index) -> None:
        self.index = index
        self._run = run

    @classmethod
    def open(cls, run: str | Path | Run) -> "Search":
        """Search in a run whose index is built; errors as `Index.open`."""
        run = Run.open(run)
        return cls(run, Index.open(run))

    @cached_property
    def origin(self) -> Explainer:
        """The run's Origin; raise `MissingStageError` if it is not built."""
        from firth.origin.origin import Origin

        return Origin.open(self._run)

    def search(
        self,
        query: str,
        *,
        top: int = 10,
        by: By = By.BOTH,
        documents: bool = False,
        among: Among | None = None,
        rerank: bool | PairScorer = False,
    ) -> list[Hit]:
        """The best sentences for a query, best first.

        Args:
            query: Some words, a sentence, or more.
            top: How many at most.
            by: What is compared.
            documents: One hit a document, for its best sentence; else every sentence is a hit.
            among: Which documents; as many hits come of them as of all.
            rerank: Rank the best of them anew, by Origin; or by what is given here, such as a
                `firth.surrogate.cross_scorer.CrossScorer`.

        Raises:
            InputError: The query is empty, a condition is none, or no document is `among` those
                asked for.
        """
        if not query.strip():
            raise InputError("got an empty query; expected some words")
        within = among.sentences(self.index.library) if among else None
        vector = self.index.encode([query])[0]
        pool = max(top, _RERANKED) if rerank else top
        depth = max(_DEPTH, _PER_HIT * pool)
        numbers = self._proposed(query, vector, by, depth, within)
        while documents and len(np.unique(self.index.library.document_of(numbers))) < pool:
            depth *= 4
            before, numbers = numbers, self._proposed(query, vector, by, depth, within)
            if len(numbers) == len(before):  # there are no more
                break
        cosines = self.index.cosines(vector, numbers).astype(np.float64)
        words = self.index.words.scores(query, numbers)
        weight = {By.BOTH: WEIGHT, By.VECTORS: 1.0, By.WORDS: 0.0}[by]
        scores = weight * cosines + (1 - weight) * words
        order = np.lexsort((numbers, -scores))
        if documents:
            found = self.index.library.document_of(numbers[order])
            order = order[np.sort(np.unique(found, return_index=True)[1])]
        order = order[:pool]
        if not rerank:
            return self._hits(numbers, scores, cosines, words, order[:top], None)
        scorer = self.origin if rerank is True else rerank
        texts = self.index.library.texts(numbers[order])
        asked: Floats = scorer.similarities([(query, text) for text in texts])
        again = np.lexsort((np.arange(len(order)), -asked))[:top]
        order, asked = order[again], asked[again]
        if rerank is True:
            return self._hits(numbers, scores, cosines, words, order, asked)
        hits = self._hits(numbers, scores, cosines, words, order, None)
        return [
            replace(hit, score=float(one), reranked=float(one))
            for hit, one in zip(hits, asked, strict=True)
        ]

    def _proposed(
        self, query: str, vector: Vectors, by: By, most: int, within: Ints | None
    ) -> Ints:
        """Numbers, ascending, of the sentences that each way finds best."""
        proposed = []
        if by is not By.WORDS:
            proposed.append(self.index.nearest(vector, most, within=within).numbers[0])
        if by is not By.VECTORS:
            proposed.append(self.index.words.best(query, most, within))
        return np.unique(np.concatenate(proposed))

    def why(self, query: str, hit: Hit) -> Explanation:
        """What Origin's similarity of a query and a hit comes from.

        Raises:
            MissingStageError: The run has no Origin.
        """
        return self.origin.explain(query, hit.text)

    def as_dict(self, query: str, hits: Sequence[Hit], why: bool = False) -> dict[str, Any]:
        """A query and its hits as plain values, for JSON; with what each score comes from."""
        rows = [hit.as_dict() for hit in hits]
        if why:
            for row, hit in zip(rows, hits, strict=True):
                row["why"] = dict(self.why(query, hit).as_dict())
        return {"query": query, "hits": rows}

    def _hits(
        self,
        numbers: Ints,
        scores: Floats,
        cosines: Floats,
        words: Floats,
        order: Ints,
        origins: Floats | None,
    ) -> list[Hit]:
        library, scale = self.index.library, self._scales[origins is not None]
        chosen = numbers[order]
        hits = []
        for place, (row, text, document) in enumerate(
            zip(order, library.texts(chosen), library.document_of(chosen).tolist(), strict=True)
        ):
            origin = None if origins is None else float(origins[place])
            asked = float(cosines[row]) if origin is None else origin
            source, line = library.document_source(document)
            hits.append(
                Hit(
                    score=float(scores[row]) if origin is None else origin,
                    cosine=float(cosines[row]),
                    words=float(words[row]),
                    origin=origin,
                    sentence=int(numbers[row]),
                    text=text,
                    document=library.document_id(document),
                    title=library.document_title(document),
                    source=source,
                    line=line,
                    date=library.document_date(document),
                    meaning=scale.describe(asked) if scale else "",
                    shares=scale.shares(asked) if scale else {},
                    fields=library.document_fields(document),
                )
            )
        return hits

    @cached_property
    def _scales(self) -> dict[bool, Scale | None]:
        """Whether hits are ranked by Origin → the scale of its scores, or of the vectors'."""
        return {
            False: Scale.current(self._run, Scorer.VECTORS),
            True: Scale.current(self._run, Scorer.ORIGIN),
        }
