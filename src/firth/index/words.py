"""Which sentences have a word: lists by stem, and the tf-idf cosine of `firth.lexical.tfidf`.

Stems are kept as hashes of 64 bits, sorted, so that a search reads no list of words into memory.
"""

import hashlib
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt

from firth.index.vectors import open_array
from firth.lexical.arrays import Floats, Ints
from firth.lexical.words import Stemmer, stems, words
from firth.run.mapped import create

TERMS, BOUNDS, SENTENCES, LENGTHS = (
    "terms.npy",
    "term_bounds.npy",
    "term_sentences.npy",
    "lengths.npy",
)
SCANNED = 1 << 16
"""Entries of the lists of rare stems that are added up for all sentences; of the frequent rest,
which weigh little, only those of the best sentences are looked at."""
MOST_SENTENCES = 1 << 32
"""That lists can number."""
_AT_ONCE = 1 << 20
"""Stems of sentences that are sorted, or added up, at once."""
_TIMES = 5
_ASKED = 64
"""Texts whose lists are remembered: a text is asked about more than once."""


@dataclass(frozen=True)
class Lists:
    """Which of n sentences have each stem.

    Attributes:
        terms: uint64, (t,): hashes of the stems, ascending.
        bounds: int64, (t+1,): sentences[bounds[i]:bounds[i+1]] have stem i.
        sentences: uint32: their numbers, ascending for each stem.
        lengths: float32, (n,): of each sentence's idf vector.
    """

    terms: npt.NDArray[np.uint64]
    bounds: Ints
    sentences: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.float32]

    @classmethod
    def open(cls, folder: Path) -> "Lists":
        """What `write_lists` wrote, memory-mapped."""
        return cls(*(open_array(folder / name) for name in (TERMS, BOUNDS, SENTENCES, LENGTHS)))

    def of(self, term: int) -> npt.NDArray[np.uint32]:
        """The sentences that have a stem, by its hash."""
        place = int(np.searchsorted(self.terms, np.uint64(term)))
        if place == len(self.terms) or int(self.terms[place]) != term:
            return np.empty(0, np.uint32)
        return self.sentences[int(self.bounds[place]) : int(self.bounds[place + 1])]


def write_lists(folder: Path, texts: Iterable[str]) -> None:
    """Write the lists of some texts, and the lengths they have by their own idf.

    The stems of all texts pass through a file, and from there into the lists, some at a time; in
    memory are the different stems.

    Args:
        folder: Where the four files go.
        texts: Sentences, read once.
    """
    known: dict[int, int] = {}
    with TemporaryFile(dir=folder) as file:
        passed = _Passed(file)
        for text in texts:
            found = set(hashes(text))
            passed.add([known.setdefault(term, len(known)) for term in found])
        terms = np.fromiter(known, np.uint64, len(known))
        known.clear()
        order = np.argsort(terms)
        place = np.empty(len(terms), np.int32)
        place[order] = np.arange(len(terms), dtype=np.int32)
        frequencies: Ints = np.zeros(len(terms), np.int64)
        for _, numbers in passed.blocks():
            frequencies += np.bincount(place[numbers], minlength=len(terms))
        bounds: Ints = np.concatenate(([0], np.cumsum(frequencies))).astype(np.int64)
        np.save(folder / TERMS, terms[order])
        np.save(folder / BOUNDS, bounds)
        sentences = create(folder / SENTENCES, np.uint32, (int(bounds[-1]),))
        lengths = create(folder / LENGTHS, np.float32, (passed.texts,))
        blocks = ((counts, place[numbers]) for counts, numbers in passed.blocks())
        _fill(sentences, lengths, bounds, blocks)


class _Passed:
    """Stems of texts in a file, as they are met, in blocks of whole texts.

    Attributes:
        texts: How many there are so far.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.texts = file, 0
        self._sizes: list[tuple[int, int]] = []
        self._counts, self._stems = array("i"), array("i")

    def add(self, stems_of: Sequence[int]) -> None:
        """The different stems of one more text."""
        self.texts += 1
        self._counts.append(len(stems_of))
        self._stems.extend(stems_of)
        if len(self._stems) >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._sizes.append((len(self._counts), len(self._stems)))
        for part in (self._counts, self._stems):
            self._file.write(part)
        self._counts, self._stems = array("i"), array("i")

    def blocks(self) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
        """How many stems each text of a block has, and these; from the first block on."""
        if self._counts:
            self._flush()
        self._file.seek(0)
        for sizes in self._sizes:
            counts, numbers = (np.frombuffer(self._file.read(4 * n), np.int32) for n in sizes)
            yield counts, numbers


def _fill(
    sentences: npt.NDArray[np.uint32],
    lengths: npt.NDArray[np.float32],
    bounds: Ints,
    blocks: Iterable[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]],
) -> None:
    """Write sentences behind one another into the lists of their stems, and their lengths.

    Args:
        sentences, lengths: What is written.
        bounds: Where the list of each stem begins.
        blocks: How many stems each sentence of some has, and the stems of all, one after the other.
    """
    squares = _squares(np.diff(bounds), len(lengths))
    free, done = bounds[:-1].copy(), 0
    for counts, numbers in blocks:
        order = np.argsort(numbers, kind="stable")
        owners = np.repeat(np.arange(len(counts)), counts)[order]
        stems_of, first, many = np.unique(numbers[order], return_index=True, return_counts=True)
        nth = np.arange(len(numbers)) - np.repeat(first, many)
        sentences[np.repeat(free[stems_of], many) + nth] = done + owners
        free[stems_of] += many
        # In the order of the stems, so that sums are those of `joint_lengths`, to the last bit.
        sums = np.bincount(owners, np.repeat(squares[stems_of], many), len(counts))
        lengths[done : done + len(counts)] = np.sqrt(sums)
        done += len(counts)
    for written in (sentences, lengths):
        if isinstance(written, np.memmap):
            written.flush()


def _squares(frequencies: Ints, texts: int) -> Floats:
    """idf² of stems that so many of `texts` texts have."""
    found: Floats = np.log((1 + texts) / (1 + frequencies)) ** 2
    return found


def joint_lengths(parts: Sequence[Lists]) -> list[npt.NDArray[np.float32]]:
    """Lengths of the sentences of each part by the idf of all together: those that one list of all
    their sentences would have."""
    terms = np.unique(np.concatenate([part.terms for part in parts]))
    places = [terms.searchsorted(part.terms) for part in parts]
    frequencies = np.zeros(len(terms), np.int64)
    for part, at in zip(parts, places, strict=True):
        frequencies[at] += np.diff(part.bounds)
    n = sum(len(part.lengths) for part in parts)
    squares = _squares(frequencies, n)
    found = []
    for part, at in zip(parts, places, strict=True):
        sums = np.zeros(len(part.lengths))
        for start in range(0, len(part.sentences), _AT_ONCE):
            block = part.sentences[start : start + _AT_ONCE].astype(np.int64)
            end = start + len(block)
            first = int(part.bounds.searchsorted(start, side="right")) - 1
            last = int(part.bounds.searchsorted(end))
            many = np.diff(part.bounds[first : last + 1].clip(start, end))
            np.add.at(sums, block, np.repeat(squares[at[first:last]], many))
        found.append(np.sqrt(sums).astype(np.float32))
    return found


def hashes(text: str) -> list[int]:
    """Hash of each stem of a text, in order."""
    return [_hash(stem) for stem in stems(words(text), Stemmer.PORTER)]


@lru_cache(1 << 20)
def _hash(stem: str) -> int:
    digest = hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class WordIndex:
    """tf-idf cosines of a text with stored sentences: those of `firth.lexical.tfidf.TfIdf`.

    Args:
        parts: Lists of one part of the sentences each, with `joint_lengths`; the idf is that of
            all together.
    """

    def __init__(self, parts: Sequence[Lists]) -> None:
        self._parts = tuple(parts)
        self._starts = np.cumsum([0, *(len(part.lengths) for part in parts)], dtype=np.int64)
        self._found = lru_cache(_ASKED)(self._find)

    def weight(self, term: int) -> float:
        """idf of a stem by its hash: ln((1 + N) / (1 + n))."""
        having = sum(len(part.of(term)) for part in self._parts)
        return math.log((1 + int(self._starts[-1])) / (1 + having))

    def best(self, text: str, most: int, within: Ints | None = None) -> Ints:
        """Numbers of at most `most` sentences with the highest cosines above 0, best first.

        Exact where the lists of the text's stems are short enough to be scanned (`SCANNED`);
        otherwise the sentences are chosen by its rarer stems, among several times as many. `within`
        are the numbers, ascending, of the only ones that may be found.
        """
        found = []
        for place, (start, end) in enumerate(pairwise(self._starts.tolist())):
            among = None
            if within is not None:
                among = np.zeros(end - start, bool)
                low, high = within.searchsorted([start, end])
                among[within[low:high] - start] = True
            found.append(start + self._candidates(text, place, _TIMES * most, among))
        numbers = np.concatenate(found)
        scores = self.scores(text, numbers)
        order = np.lexsort((numbers, -scores))[:most]
        return numbers[order[scores[order] > 0]]

    def scores(self, text: str, numbers: npt.ArrayLike) -> Floats:
        """Cosines of a text with the sentences `numbers`, in [0, 1]."""
        wanted = np.asarray(numbers, np.int64)
        found = self._found(text)
        length = math.sqrt(sum(weight for weight, _ in found))
        scores = np.zeros(len(wanted))
        part_of = np.searchsorted(self._starts, wanted, side="right") - 1
        for number, part in enumerate(self._parts):
            places = np.flatnonzero(part_of == number)
            inner = (wanted[places] - self._starts[number]).astype(np.uint32)
            added = np.zeros(len(places))
            for weight, lists in found:
                if len(sentences := lists[number]):
                    at = np.minimum(sentences.searchsorted(inner), len(sentences) - 1)
                    added += weight * (sentences[at] == inner)
            lengths = part.lengths[inner] * length
            scores[places] = added / np.where(lengths > 0, lengths, 1.0)
        return np.minimum(scores, 1.0)

    def _find(self, text: str) -> list[tuple[float, list[npt.NDArray[np.uint32]]]]:
        """Of each stem of a text its squared weight, and the sentences of each part."""
        terms = dict.fromkeys(hashes(text))
        return [(self.weight(term) ** 2, [part.of(term) for part in self._parts]) for term in terms]

    def _candidates(
        self, text: str, place: int, most: int, among: npt.NDArray[np.bool_] | None
    ) -> Ints:
        """Sentences of a part, or of some of it, that may be among the best, in no order."""
        lists = [(weight, found[place]) for weight, found in self._found(text) if weight]
        if among is not None:
            lists = [(weight, sentences[among[sentences]]) for weight, sentences in lists]
        lengths = self._parts[place].lengths
        scores = np.zeros(len(lengths), np.float32)
        scanned, first_met = 0, [np.empty(0, np.uint32)]
        for weight, sentences in sorted(lists, key=lambda item: len(item[1])):
            if scanned and scanned + len(sentences) > SCANNED:
                break
            before = scores[sentences]
            first_met.append(sentences[before == 0])
            scores[sentences] = before + np.float32(weight)
            scanned += len(sentences)
        touched = np.concatenate(first_met).astype(np.int64)
        if len(touched) > most:
            ratio = scores[touched] / lengths[touched]
            touched = touched[np.argpartition(-ratio, most)[:most]]
        return touched
