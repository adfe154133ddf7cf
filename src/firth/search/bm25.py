"""BM25 of sentences and of whole documents, from one inverted index of stems.

The index counts how often each sentence, and each title, has each stem. Counts and lengths of a
document are the sums over its sentences and its title, so that one index serves both. Mean lengths
are computed when it is opened, and inverse document frequencies when a query is scored. Documents
can therefore be added in a second part, or removed, and scores stay those of a single build.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.run.files import create_mapped, open_mapped
from firth.text.stems import Idf, stop_words
from firth.text.types import Floats, Ints, Singles, places
from firth.text.words import (
    BEGINNINGS,
    best_known,
    characters,
    is_letter,
    joined,
    numbers_of,
    spans,
    stemmer_for,
    stemmer_of,
    stemmers_of,
    stems,
    with_anusvara,
    words,
)

K1, B = 1.5, 0.75
"""Saturation of counts and weight of lengths (Robertson & Zaragoza 2009; bm25s has the same)."""
FILES = ("terms.npy", "term_bounds.npy", "term_rows.npy", "term_counts.npy", "word_counts.npy")
_FUNCTION_WORDS = """a an and are as at be but by for if in into is it no not of on or such that the
their then there these they this to was will with"""
"""What Lucene and bm25s leave out of English queries."""
_LIGHT = 0.5
"""Weight of further stop words. Titles of forums lose 2.3 points of nDCG@10 without them, and long
questions (CACM, SciFact) 0.8 where they have weight 1."""
_FREQUENT = 0.3
"""A stem in a larger share of the sentences is a stop word of a query, in any language."""
_FEW = 200
"""In fewer sentences, shares of sentences say nothing of how frequent a stem is."""
_BLOCK = 1 << 15
"""Texts whose stems are sorted at once."""
_WORDS = 1 << 18
"""Distinct words that are kept with the numbers of their stems."""
_MOST = 255
"""A count is stored in a byte."""


@dataclass(frozen=True)
class Postings:
    """How often each of n rows (sentences or titles) has each of t stems.

    Attributes:
        terms: uint64, (t,): hashes of the stems, ascending.
        bounds: int64, (t+1,): `rows[bounds[i]:bounds[i+1]]` have stem i.
        rows: uint32: ascending for each stem.
        counts: uint8: how often each of these rows has the stem, at most 255.
        lengths: uint32, (n,): words of each row.
    """

    terms: npt.NDArray[np.uint64]
    bounds: Ints
    rows: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.uint32]

    @classmethod
    def open(cls, folder: Path) -> "Postings":
        """Open what `write_postings` wrote; arrays are memory-mapped."""
        return cls(*(open_mapped(folder / name) for name in FILES))

    def of(self, term: int) -> tuple[Ints, npt.NDArray[np.uint8]]:
        """Return the rows that have a stem, given by its hash, and their counts."""
        places = self._places(term)
        return self.rows[places].astype(np.int64), self.counts[places]

    def count(self, term: int) -> int:
        """Return how many rows have a stem, without reading them."""
        places = self._places(term)
        return int(places.stop - places.start)

    def _places(self, term: int) -> slice:
        place = int(np.searchsorted(self.terms, np.uint64(term)))
        if place == len(self.terms) or int(self.terms[place]) != term:
            return slice(0, 0)
        return slice(int(self.bounds[place]), int(self.bounds[place + 1]))


def write_postings(folder: Path, scratch: Path, texts: Iterable[str], stemmer: str) -> None:
    """Write the postings of some texts, one for each row.

    Memory holds the distinct stems and one block; the blocks pass through files in `scratch`.
    """
    numbers: dict[str, int] = {}

    @cache
    def read_by(name: str) -> Callable[[str], Sequence[int]]:
        @cache
        def read(written: str) -> Sequence[int]:
            if read.cache_info().currsize >= _WORDS:
                read.cache_clear()
            # The garbage collector passes tuples of numbers by.
            return (*(numbers.setdefault(x, len(numbers)) for x in _stems(written, name)),)

        return read

    lengths, blocks, texts = array("I"), list[Path](), iter(texts)
    while batch := [*islice(texts, _BLOCK)]:
        first, numbered = len(lengths), array("q")
        for text in batch:
            of_text = numbers_of(text, read_by(stemmer_for(text, stemmer, BEGINNINGS)))
            numbered.extend(of_text)
            lengths.append(len(of_text))
        rows = np.repeat(np.arange(first, len(lengths)), lengths[first:])
        stems_of = np.array(numbered)
        keys, counts = np.unique((stems_of << np.int64(32)) | rows, return_counts=True)
        block = scratch / f"postings-{len(blocks)}.npy"
        np.save(block, np.stack([keys >> 32, keys & 0xFFFFFFFF, np.minimum(counts, _MOST)]))
        blocks.append(block)
    hashes = np.fromiter(map(hash_of, numbers), np.uint64, len(numbers))
    numbers.clear()
    order = np.argsort(hashes)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    frequencies = np.zeros(len(order), np.int64)
    for block in blocks:
        frequencies += np.bincount(place[np.load(block)[0]], minlength=len(order))
    bounds = np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64)
    written = (
        hashes[order],
        bounds,
        create_mapped(folder / FILES[2], np.uint32, (int(bounds[-1]),)),
        create_mapped(folder / FILES[3], np.uint8, (int(bounds[-1]),)),
        np.frombuffer(lengths, np.uint32) if lengths else np.empty(0, np.uint32),
    )
    free = bounds[:-1].copy()
    for block in blocks:
        stems_of, rows, counts = np.load(block)
        stems_of = place[stems_of]
        to = free[stems_of] + places(stems_of)
        written[2][to], written[3][to] = rows, counts
        free += np.bincount(stems_of, minlength=len(free))
        block.unlink()
    for number in (0, 1, 4):
        np.save(folder / FILES[number], written[number])
    for mapped in written[2:4]:
        if isinstance(mapped, np.memmap):
            mapped.flush()


def _stems(text: str, stemmer: str) -> list[str]:
    """Return the stem of each word of a text, with one spelling of Indic nasals."""
    return list(map(with_anusvara, stems(words(text), stemmer_for(text, stemmer, BEGINNINGS))))


@lru_cache(1 << 16)
def hash_of(stem: str) -> int:
    """Return the 64-bit hash by which a stem, or a word, is known on disk."""
    digest = hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Bm25:
    """BM25 of a query with all sentences and all documents of an index.

    Each part has, for each of its rows, the sentence and the document: -1 for what is removed, and
    for the sentence of a title. `counts` are the numbers of sentences and of documents.
    """

    def __init__(
        self,
        parts: Sequence[Postings],
        sentences: Sequence[Ints],
        documents: Sequence[Ints],
        counts: tuple[int, int],
        stemmer: str,
    ) -> None:
        self.stemmer = stemmer
        self._parts, self._sentences, self._documents = parts, sentences, documents
        # A short sentence is no better for that: headings would come before what they announce.
        self._sentence_lengths = np.maximum(_lengths(parts, sentences, counts[0]), np.float32(1))
        self._document_lengths = _lengths(parts, documents, counts[1])
        self._stop_words = stop_words(Idf({}, 0, stemmer))
        self._dropped = self._stop_words & {*stems(_FUNCTION_WORDS.split(), stemmer_of("en"))}

    def terms(self, query: str) -> dict[str, float]:
        """Return the stems of a query that are searched for, and how much each counts.

        Function words are left out, unless the query has nothing else; stop words count half. They
        are left out, too, where sentences are so few that rarity says nothing.
        """
        counts = Counter(self._stems_of_query(words(query)))
        weights = {
            stem: times * (_LIGHT if stem in self._stop_words else 1.0)
            for stem, times in counts.items()
            if stem not in self._dropped and not is_letter(stem)
        }
        if len(self._sentence_lengths) < _FEW:
            weights = {
                stem: n for stem, n in weights.items() if stem not in self._stop_words
            } or weights
        frequent = max(_FREQUENT * len(self._sentence_lengths), _FEW)
        rare_weights = {stem: n for stem, n in weights.items() if self.frequency(stem) <= frequent}
        return rare_weights or weights or {stem: float(times) for stem, times in counts.items()}

    def content(self, query: str) -> set[str]:
        """Return the stems of `terms` that a reader looks for.

        Stop words are none of them, nor single characters of a script without spaces, whose pairs
        are there. If there is nothing else, they are all.
        """
        terms = self.terms(query)
        content = terms.keys() - self._stop_words or {*terms}
        return {stem for stem in content if characters(stem) != [stem]} or content

    def _stems_of_query(self, lower: Sequence[str]) -> list[str]:
        """Return the stem of each lower-case word, by the best known of several languages."""
        stemmers = stemmers_of(self.stemmer, BEGINNINGS)
        stemmed = best_known(lower, stemmers, lambda stem: self.frequency(with_anusvara(stem)))
        return list(map(with_anusvara, stemmed))

    def frequency(self, stem: str) -> int:
        """Return how many rows of the index have a stem; what is removed counts, too."""
        return sum(part.count(hash_of(stem)) for part in self._parts)

    def scores(self, query: str) -> tuple[Singles, Singles, tuple[float, float]]:
        """Return the BM25 of a query with n sentences, (n,), and with m documents, (m,).

        All are at least 0, and 0 where no stem of the query occurs. The third value has the scores
        that no sentence and no document can exceed; stems that nothing has count for them, too.
        """
        ceilings = [0.0, 0.0]
        of_sentences = np.zeros(len(self._sentence_lengths), np.float32)
        of_documents = np.zeros(len(self._document_lengths), np.float32)
        for stem, times in self.terms(query).items():
            having = [part.of(hash_of(stem)) for part in self._parts]
            for unit, (scores, owners, lengths) in enumerate(
                (
                    (of_sentences, self._sentences, self._sentence_lengths),
                    (of_documents, self._documents, self._document_lengths),
                )
            ):
                owners_of = [owner[rows] for owner, (rows, _) in zip(owners, having, strict=True)]
                all_of = np.concatenate(owners_of)
                counts = np.concatenate([counts for _, counts in having])
                present = all_of >= 0
                ceilings[unit] += _add(scores, all_of[present], counts[present], lengths, times)
        return of_sentences, of_documents, (ceilings[0], ceilings[1])

    def score_of(self, query: str, text: str, document: int) -> tuple[float, float]:
        """Return the BM25 of a query with a text in the place of a document, and the highest."""
        counts, n = Counter(_stems(text, self.stemmer)), len(self._document_lengths)
        score = ceiling = 0.0
        for stem, times in self.terms(query).items():
            rows = [part.of(hash_of(stem))[0] for part in self._parts]
            who = np.concatenate([of[r] for of, r in zip(self._documents, rows, strict=True)])
            weight = times * float(rarity(n, len(np.unique(who[who >= 0]))))
            ceiling += weight
            score += weight * float(
                saturated(float(counts[stem]), self._document_lengths[document])
            )
        return score, ceiling

    def title_shares(self, query: str) -> Singles:
        """Return how far a title of each of m documents is the query, (m,), in [0, 1].

        It is the share of the query's stems that the title has, by rarity, times the shorter of
        both lengths in words, divided by the longer. Values of fields are words of the title.
        """
        shares = np.zeros(len(self._document_lengths), np.float32)
        length = max(len(words(query)), 1)
        rarities = {
            stem: times * float(np.log1p(len(shares) / (0.5 + self.frequency(stem))))
            for stem, times in self.terms(query).items()
        }
        for part, sentences, documents in zip(
            self._parts, self._sentences, self._documents, strict=True
        ):
            of_rows = np.zeros(len(documents), np.float32)
            for stem, rarity in rarities.items():
                rows = part.of(hash_of(stem))[0]
                rows = rows[(sentences[rows] < 0) & (documents[rows] >= 0)]
                lengths = part.lengths[rows].astype(np.float32)
                ratio = np.minimum(lengths, length) / np.maximum(lengths, length)
                of_rows[rows] += np.float32(rarity) * ratio
            titles = np.flatnonzero(of_rows)
            np.maximum.at(shares, documents[titles], of_rows[titles])
        return shares / np.float32(max(sum(rarities.values()), 1e-12))

    def unknown(self, query: str) -> list[str]:
        """Return the distinct words of a query whose stems no sentence and no title has.

        Stop words are none of them, nor is a pair of known characters in a script without spaces.
        """
        distinct = list(dict.fromkeys(words(query)))
        roots = dict(zip(distinct, self._stems_of_query(distinct), strict=True))
        content = (word for word, stem in roots.items() if stem not in self._stop_words)
        unknown = {word: characters(word) for word in content if not self.frequency(roots[word])}
        return joined(word for word, parts in unknown.items() if {*parts} <= unknown.keys())

    def matched(self, terms: Container[str], text: str) -> tuple[tuple[int, int], ...]:
        """Return the spans of the words of a text whose stems are among `terms`.

        A span is the first and the one-past-last character of a word. Pairs of characters that
        overlap become one.
        """
        matched: list[tuple[int, int]] = []
        for (start, end), stem in zip(spans(text), _stems(text, self.stemmer), strict=True):
            if stem in terms and matched and start < matched[-1][1]:
                matched[-1] = matched[-1][0], end
            elif stem in terms:
                matched.append((start, end))
        return tuple(matched)


def _lengths(parts: Sequence[Postings], owners: Sequence[Ints], n: int) -> Singles:
    """Add up the words of the rows of each of n sentences, or documents; their mean becomes 1."""
    total = np.zeros(n)
    for part, owner in zip(parts, owners, strict=True):
        present = owner >= 0
        total += np.bincount(owner[present], part.lengths[present], n)
    relative: Singles = (total / max(total.sum() / max(n, 1), 1e-9)).astype(np.float32)
    return relative


def _add(
    scores: Singles, who: Ints, counts: npt.NDArray[np.uint8], lengths: Singles, times: float
) -> float:
    """Add the part of one stem to the scores of those who have it; return the most it can be."""
    n = len(scores)
    if not len(who):
        return times * float(rarity(n, 0))
    if np.all(who[1:] > who[:-1]):  # as sentences of one part
        having, total = who, counts.astype(np.float32)
    else:
        sums = np.bincount(who, counts, len(scores))
        having = np.flatnonzero(sums)
        total = sums[having].astype(np.float32)
    idf = np.float32(times * rarity(n, len(having)))
    scores[having] += idf * saturated(total, lengths[having])
    return float(idf)


def rarity(n: int, having: Ints | int) -> Floats:
    """Return how rare stems are of which so many of n texts have each: their weight in BM25."""
    weights: Floats = np.log1p((n - having + 0.5) / (having + 0.5))
    return weights


def saturated(counts: Floats | Singles | float, lengths: Floats | Singles | float) -> Any:
    """Return the parts, in [0, 1), of counts in texts whose lengths are 1 on average."""
    return counts / (counts + K1 * (1 - B + B * lengths))
