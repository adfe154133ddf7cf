"""What a report shows of the text: sentences that are drawn, and what is found for them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.report.page import Searched
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.search.search import By, Hit, Search

_HITS = 3
_PROPOSED = 100
"""Hits of either way of searching that are looked through, and that do not count as found by the
other way alone."""
_DRAWN = 4
"""Sentences of the corpus, or pairs of them."""
_LENGTHS = (6, 20)
"""Words of such a sentence."""


def drawn_sentences(run: Run, seed: int) -> list[str]:
    """Sentences of the corpus, none short or long, drawn at random."""
    corpus = Corpus.open(run)
    return [corpus.text(number) for number in _chosen(corpus, seed, _good(corpus))]


def drawn_pairs(run: Run, seed: int) -> list[tuple[str, str]]:
    """Sentences that follow one another in a document, drawn at random."""
    corpus = Corpus.open(run)
    good = _good(corpus)
    document = corpus.document_of(np.arange(len(good)))
    first = good[:-1] & good[1:] & (document[:-1] == document[1:])
    numbers = _chosen(corpus, seed, np.append(first, False))
    return [(corpus.text(number), corpus.text(number + 1)) for number in numbers]


def _good(corpus: Corpus) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    low, high = _LENGTHS
    return (low <= corpus.word_counts) & (corpus.word_counts <= high)


def _chosen(corpus: Corpus, seed: int, good: "np.ndarray[Any, np.dtype[np.bool_]]") -> list[int]:
    """Numbers of sentences with different texts, in the order of the corpus."""
    able = good.nonzero()[0]
    chance = np.random.default_rng(derive_seed(seed, "report"))
    numbers = chance.choice(able, min(len(able), 2 * _DRAWN), replace=False).tolist()
    distinct = {corpus.text(number): number for number in numbers}
    return sorted([*distinct.values()][:_DRAWN])


def searched(run: Run, queries: Sequence[str]) -> list[Searched]:
    """For each query the best hits by meaning that are not among the best by words, and the other
    way round."""
    search, found = Search.open(run), []
    for query in queries:
        by_words = search.search(query, top=_PROPOSED, by=By.WORDS)
        by_words = [hit for hit in by_words if hit.words > 0]
        by_meaning = search.search(query, top=_PROPOSED, by=By.VECTORS)
        # The query itself, where it is of the corpus, is no find of either.
        new = _only(by_meaning, [hit.text for hit in by_words] + [query])
        old = _only(by_words, [hit.text for hit in by_meaning] + [query])
        found.append(Searched(query, new, old, _PROPOSED))
    return found


def _only(hits: Sequence[Hit], others: Iterable[str]) -> tuple[Hit, ...]:
    """The best that the others have not; a sentence that stands more than once is one of them."""
    known = {*others}
    distinct = list({hit.text: hit for hit in reversed(hits)}.values())[::-1]
    return tuple([hit for hit in distinct if hit.text not in known][:_HITS])


def nearest(searches: Sequence[Searched]) -> list[tuple[str, str]]:
    """Each query and the best of what only meaning finds."""
    return [(each.query, each.hits[0].text) for each in searches if each.hits]
