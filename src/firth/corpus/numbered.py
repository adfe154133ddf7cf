"""The corpus as word models read it: sentences of numbered words, in memory-mapped files."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.run.errors import TooLittleTextError
from firth.run.run import Run
from firth.run.settings import WordSettings
from firth.text.stems import Idf
from firth.text.types import Ints, ranges
from firth.text.words import stemmer_of, stems_of

MAX_WORDS = 120
"""A longer sentence is cut into pieces of this many words, which follow one another."""
_WORDS, _SENTENCES = 1 << 20, 1 << 13
"""Words and sentences that are worked on at once."""


@dataclass(frozen=True, kw_only=True)
class WordSentences:
    """Sentences as runs of word numbers. Sentences without any known word are left out.

    Arrays with a number for each word or sentence are memory-mapped.

    Attributes:
        vocabulary: The stems, the most frequent first.
        counts: int64, (V,): occurrences of each.
        pieces: int32, (n_words,): stem numbers of all sentences, one after the other.
        bounds: int64, (n+1,): sentence i is pieces[bounds[i]:bounds[i+1]], never empty.
        documents: int64, (n,), ascending: document of each sentence.
        sources: int32, (n_documents,): file of each document of the corpus.
        idf: How many sentences have each stem, rare ones included.
    """

    vocabulary: tuple[str, ...]
    counts: Ints
    pieces: npt.NDArray[np.int32]
    bounds: Ints
    documents: Ints
    sources: npt.NDArray[np.int32]
    idf: Idf

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.bounds) - 1

    def gather(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Return the stem numbers of `chosen` sentences in that order, and where each begins."""
        first = self.bounds[chosen]
        lengths = self.bounds[chosen + 1] - first
        numbers = self.pieces[ranges(first, lengths)].astype(np.int64)
        return numbers, np.cumsum(lengths) - lengths

    @property
    def summary(self) -> dict[str, int]:
        """Numbers of sentences, of their words, and of distinct stems."""
        return {
            "sentences": len(self),
            "words": len(self.pieces),
            "vocabulary": len(self.vocabulary),
        }


def read_sentences(
    run: Run, settings: WordSettings, scratch: Path, stemmer: str | None = None
) -> WordSentences:
    """Read a run's corpus as stems, without rare ones; of equally frequent ones by the alphabet.

    Memory holds the distinct words and the documents' files. Files in `scratch` hold four bytes for
    each word, and twenty for each sentence.

    The language of the corpus chooses the stemmer where none is named, such as `none`.
    """
    corpus, stemmer = Corpus.open(run), stemmer or stemmer_of(Corpus.open(run).language)
    scratch.mkdir(parents=True, exist_ok=True)
    names = ("pieces.i32", "lengths.i32", "bounds.i64", "documents.i64")
    pieces, lengths, bounds, documents = (scratch / name for name in names)
    idf = _number(corpus, stemmer, pieces, lengths)
    stems = list(idf.frequencies)
    vocabulary, counts, number_of = _vocabulary(stems, _mapped(pieces, np.int32), settings)
    if not vocabulary:
        raise TooLittleTextError(
            f"{run.path}: no word occurs {settings.min_count} times in its corpus; lower min_count "
            "or build a larger corpus"
        )
    with bounds.open("wb") as beginning, documents.open("wb") as owning:
        for begins, rows in _cut(pieces, _mapped(lengths, np.int32), number_of):
            begins.tofile(beginning)
            corpus.document_of(rows).tofile(owning)
        numbers = _mapped(pieces, np.int32)
        np.array([len(numbers)], np.int64).tofile(beginning)
    return WordSentences(
        vocabulary=vocabulary,
        counts=counts,
        pieces=numbers,
        bounds=_mapped(bounds, np.int64),
        documents=_mapped(documents, np.int64),
        sources=corpus.source_numbers(),
        idf=idf,
    )


def _mapped(path: Path, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Map a file of numbers; an empty file cannot be mapped."""
    if not path.stat().st_size:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, "r"))


def _number(corpus: Corpus, stemmer: str, pieces: Path, lengths: Path) -> Idf:
    """Write the number of each word's stem, and each sentence's words, as int32.

    Return the sentences of each stem, by its number.
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    having: Counter[int] = Counter()
    with pieces.open("wb") as written, lengths.open("wb") as sizes:
        for batch in corpus.batches():
            words, counts = array("i"), array("i")
            for text in batch:
                in_text = stems_of(text, stemmer)
                numbered = [*map(numbers.__getitem__, in_text)]
                having.update({*numbered})
                words.extend(numbered)
                counts.append(len(numbered))
            words.tofile(written)
            counts.tofile(sizes)
    frequencies = {stem: having[number] for stem, number in numbers.items()}
    return Idf(frequencies, len(corpus), stemmer)


def _vocabulary(
    stems: list[str], numbers: npt.NDArray[np.int32], settings: WordSettings
) -> tuple[tuple[str, ...], Ints, npt.NDArray[np.int32]]:
    """Return the stems that are kept, their counts, and the new number of each that was found.

    It is -1 where a stem is dropped. `numbers` has the old numbers of all words of the corpus.
    """
    totals = np.zeros(len(stems), np.int64)
    for start in range(0, len(numbers), _WORDS):
        totals += np.bincount(numbers[start : start + _WORDS], minlength=len(stems))
    counts = totals.tolist()
    order = np.array(sorted(range(len(stems)), key=lambda n: (-counts[n], stems[n])), np.int64)
    order = order[totals[order] >= settings.min_count][: settings.vocabulary]
    number = np.full(len(stems), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return tuple(stems[n] for n in order.tolist()), totals[order], number


def _cut(
    pieces: Path, lengths: npt.NDArray[np.int32], number_of: npt.NDArray[np.int32]
) -> Iterator[tuple[Ints, Ints]]:
    """Replace old numbers in the file by new ones, which are never more; cut long sentences.

    Where each sentence begins, and its sentence in the corpus, are yielded for some at a time.
    """
    written = 0
    with pieces.open("rb") as old, pieces.open("r+b") as new:
        for first in range(0, len(lengths), _SENTENCES):
            block = lengths[first : first + _SENTENCES]
            numbers = number_of[np.fromfile(old, np.int32, int(block.sum()))]
            is_known = numbers >= 0
            owners = np.repeat(np.arange(first, first + len(block)), block)[is_known]
            sentence = np.flatnonzero(np.diff(owners, prepend=-1))
            sizes = np.diff(sentence, append=len(owners))
            inside = np.arange(len(owners)) - np.repeat(sentence, sizes)
            begins = np.flatnonzero(inside % MAX_WORDS == 0)
            yield begins + written, owners[begins]
            numbers[is_known].tofile(new)
            new.flush()
            written += int(is_known.sum())
        new.truncate(4 * written)
