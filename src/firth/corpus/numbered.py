"""The corpus as word-based models read it: sentences of numbered words, in order."""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.corpus.settings import WordSection
from firth.lexical.arrays import Ints, ranges
from firth.lexical.words import stems, words
from firth.run.errors import InputError
from firth.run.run import Run

_WORDS, _SENTENCES = 1 << 20, 1 << 13
"""Of the corpus, that are worked on at once."""


@dataclass(frozen=True)
class WordSentences:
    """Sentences as runs of word numbers. Sentences without any known word are left out.

    Attributes:
        vocabulary: The words (stems, where stemming is on), the most frequent first.
        counts: int64, (V,): how often each occurs.
        pieces: int32, (n_words,): word numbers of all sentences, one after the other.
        bounds: int64, (n+1,): sentence i is pieces[bounds[i]:bounds[i+1]], never empty.
        documents: int64, (n,), ascending: the document each sentence belongs to.
        sources: int64, (n,): the file each sentence comes from.
    """

    vocabulary: tuple[str, ...]
    counts: Ints
    pieces: npt.NDArray[np.int32]
    bounds: Ints
    documents: Ints
    sources: Ints

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
        for start, end in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True):
            yield names[self.pieces[start:end]].tolist()


def read_sentences(run: Run, section: WordSection) -> WordSentences:
    """Read a run's corpus: lowercased words, stemmed, rare ones dropped, long sentences cut.

    Of words equally frequent, the first of the alphabet are kept.

    Memory holds four bytes a word of the corpus, and some forty a sentence.

    Raises:
        MissingStageError: The run has no corpus yet.
        InputError: No word occurs `min_count` times.
    """
    corpus = Corpus.open(run)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    pieces, lengths = array("i"), array("i")
    for batch in corpus.batches():
        for text in batch:
            found = words(text)
            pieces.extend(map(numbers.__getitem__, found))
            lengths.append(len(found))
    types = np.frombuffer(pieces, np.int32)
    vocabulary, counts, number_of = _vocabulary(
        stems(list(numbers), section.stemmer), types, section
    )
    if not vocabulary:
        raise InputError(
            f"{run.path}: no word occurs {section.min_count} times in its corpus; lower min_count "
            "or build a larger corpus"
        )
    kept, bounds, rows = _cut(types, np.frombuffer(lengths, np.int32), number_of, section.max_words)
    documents, sources = corpus.document_of(rows), corpus.source_of(rows)
    return WordSentences(vocabulary, counts, kept, bounds, documents, sources)


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
    types: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    number_of: npt.NDArray[np.int32],
    max_words: int,
) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
    """Sentences without the words that are dropped, long ones cut.

    Args:
        types: Of all words of the corpus; overwritten, for a copy would be as large.
        lengths: Words of each sentence.
        number_of: The number of each type's word, -1 where it is dropped.
        max_words: Longest sentence.

    Returns:
        `pieces` and `bounds` as in `WordSentences`, and the corpus sentence that each comes from.
    """
    starts, rows = [], []
    read = written = 0
    for first in range(0, len(lengths), _SENTENCES):
        block = lengths[first : first + _SENTENCES]
        numbers = number_of[types[read : read + int(block.sum())]]
        read += len(numbers)
        known = numbers >= 0
        owners = np.repeat(np.arange(first, first + len(block)), block)[known]
        sentence = np.flatnonzero(np.diff(owners, prepend=-1))
        inside = np.arange(len(owners)) - np.repeat(sentence, np.diff(sentence, append=len(owners)))
        begins = np.flatnonzero(inside % max_words == 0)
        starts.append(begins + written)
        rows.append(owners[begins])
        types[written : written + len(owners)] = numbers[known]
        written += len(owners)
    bounds = np.concatenate([*starts, [written]]).astype(np.int64)
    return types[:written], bounds, np.concatenate(rows)
