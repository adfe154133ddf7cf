"""The corpus as word-based models read it: sentences of numbered words, in order, in files."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.corpus.settings import WordSection
from firth.lexical.arrays import Ints, ranges
from firth.lexical.words import stems, words
from firth.run.errors import InputError
from firth.run.mapped import mapped, write
from firth.run.run import Run

_WORDS, _SENTENCES = 1 << 20, 1 << 13
"""Of the corpus, that are worked on at once."""


@dataclass(frozen=True)
class WordSentences:
    """Sentences as runs of word numbers. Sentences without any known word are left out.

    What has a number for each word or sentence may be memory-mapped.

    Attributes:
        vocabulary: The words (stems, where stemming is on), the most frequent first.
        counts: int64, (V,): how often each occurs.
        pieces: int32, (n_words,): word numbers of all sentences, one after the other.
        bounds: int64, (n+1,): sentence i is pieces[bounds[i]:bounds[i+1]], never empty.
        documents: int64, (n,), ascending: the document each sentence belongs to.
        sources: int32, (n_documents,): the file each document of the corpus comes from.
    """

    vocabulary: tuple[str, ...]
    counts: Ints
    pieces: npt.NDArray[np.int32]
    bounds: Ints
    documents: Ints
    sources: npt.NDArray[np.int32]

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.bounds) - 1

    def gather(self, chosen: Ints) -> tuple[Ints, Ints]:
        """Word numbers of `chosen` sentences in that order, and where each starts."""
        starts = self.bounds[chosen]
        lengths = self.bounds[chosen + 1] - starts
        found = self.pieces[ranges(starts, lengths)].astype(np.int64)
        return found, np.cumsum(lengths) - lengths

    @property
    def summary(self) -> dict[str, int]:
        """Counts of sentences, of their words, and of distinct words."""
        return {
            "sentences": len(self),
            "words": len(self.pieces),
            "vocabulary": len(self.vocabulary),
        }

    def texts(self) -> Iterable[list[str]]:
        """Each sentence as a list of its words."""
        names = np.array(self.vocabulary, dtype=object)
        for first in range(0, len(self), _SENTENCES):
            for start, end in pairwise(self.bounds[first : first + _SENTENCES + 1].tolist()):
                yield names[self.pieces[start:end]].tolist()


def read_sentences(run: Run, section: WordSection, scratch: Path) -> WordSentences:
    """Read a run's corpus: lowercased words, stemmed, rare ones dropped, long sentences cut.

    Of words equally frequent, the first of the alphabet are kept.

    Memory holds the different words and the documents' files; what there is of each word (four
    bytes) and sentence (sixteen, and four at first) lies in files.

    Args:
        run: Whose corpus to read.
        section: Which words are kept, and how they are stemmed.
        scratch: Folder of the files; what it has of an earlier call is written anew.

    Raises:
        MissingStageError: The run has no corpus yet.
        InputError: No word occurs `min_count` times.
    """
    corpus = Corpus.open(run)
    scratch.mkdir(parents=True, exist_ok=True)
    pieces, lengths, bounds, documents = (
        scratch / name for name in ("pieces.i32", "lengths.i32", "bounds.i64", "documents.i64")
    )
    stemmed = stems(_number(corpus, pieces, lengths), section.stemmer)
    vocabulary, counts, number_of = _vocabulary(stemmed, mapped(pieces, np.int32), section)
    if not vocabulary:
        raise InputError(
            f"{run.path}: no word occurs {section.min_count} times in its corpus; lower min_count "
            "or build a larger corpus"
        )
    with bounds.open("wb") as starting, documents.open("wb") as owning:
        cut = _cut(pieces, mapped(lengths, np.int32), number_of, section.max_words)
        for starts, rows in cut:
            write(starting, [starts])
            write(owning, [corpus.document_of(rows)])
        kept = mapped(pieces, np.int32)
        write(starting, [np.array([len(kept)], np.int64)])
    return WordSentences(
        vocabulary,
        counts,
        kept,
        mapped(bounds, np.int64),
        mapped(documents, np.int64),
        corpus.source_numbers(),
    )


def _number(corpus: Corpus, pieces: Path, lengths: Path) -> list[str]:
    """Write the type of each word, and how many words each sentence has, as int32; the types."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    with pieces.open("wb") as types, lengths.open("wb") as sizes:
        for batch in corpus.batches():
            found, counts = array("i"), array("i")
            for text in batch:
                said = words(text)
                found.extend(map(numbers.__getitem__, said))
                counts.append(len(said))
            found.tofile(types)
            counts.tofile(sizes)
    return list(numbers)


def _vocabulary(
    stemmed: list[str], types: npt.NDArray[np.int32], section: WordSection
) -> tuple[tuple[str, ...], Ints, npt.NDArray[np.int32]]:
    """Words kept, their counts, and the number of each type's word, -1 where it is dropped.

    Args:
        stemmed: The stem of each type.
        types: Of all words of the corpus.
        section: Fewest occurrences of a word that is kept, and most words.
    """
    names = sorted(set(stemmed))
    if not names:
        return (), np.empty(0, np.int64), np.empty(0, np.int32)
    place = {name: number for number, name in enumerate(names)}
    name_of = np.array([place[stem] for stem in stemmed], np.int64)
    seen = np.zeros(len(stemmed), np.int64)
    for start in range(0, len(types), _WORDS):
        seen += np.bincount(types[start : start + _WORDS], minlength=len(stemmed))
    counts = np.zeros(len(names), np.int64)
    np.add.at(counts, name_of, seen)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= section.min_count][: section.vocabulary]
    number = np.full(len(names), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return tuple(names[n] for n in order.tolist()), counts[order], number[name_of]


def _cut(
    pieces: Path,
    lengths: npt.NDArray[np.int32],
    number_of: npt.NDArray[np.int32],
    max_words: int,
) -> Iterator[tuple[Ints, Ints]]:
    """Sentences without the words that are dropped, long ones cut.

    Args:
        pieces: File of the types of all words of the corpus, in whose place the numbers of those
            kept are written: there are never more.
        lengths: Words of each sentence.
        number_of: The number of each type's word, -1 where it is dropped.
        max_words: Longest sentence.

    Yields:
        Of some sentences at a time where each begins, and the corpus sentence it comes from.
    """
    written = 0
    with pieces.open("rb") as types, pieces.open("r+b") as kept:
        for first in range(0, len(lengths), _SENTENCES):
            block = lengths[first : first + _SENTENCES]
            numbers = number_of[np.fromfile(types, np.int32, int(block.sum()))]
            known = numbers >= 0
            owners = np.repeat(np.arange(first, first + len(block)), block)[known]
            sentence = np.flatnonzero(np.diff(owners, prepend=-1))
            sizes = np.diff(sentence, append=len(owners))
            inside = np.arange(len(owners)) - np.repeat(sentence, sizes)
            begins = np.flatnonzero(inside % max_words == 0)
            yield begins + written, owners[begins]
            written += write(kept, [numbers[known]])
        kept.truncate()
