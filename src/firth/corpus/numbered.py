"""The corpus as word-based models read it: sentences of numbered words, in order."""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.corpus.settings import WordSection
from firth.lexical.arrays import Ints
from firth.lexical.words import stems, words
from firth.run.errors import InputError
from firth.run.run import Run


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
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
        return self.pieces[places].astype(np.int64), offsets

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

    Raises:
        MissingStageError: The run has no corpus yet.
        InputError: No word occurs `min_count` times.
    """
    corpus = Corpus.open(run)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    pieces, lengths = array("i"), array("q")
    for batch in corpus.batches():
        for text in batch:
            found = words(text)
            pieces.extend([numbers[word] for word in found])
            lengths.append(len(found))
    types = list(numbers)
    stemmed = stems(types, section.stemmer)
    vocabulary, counts, renumbered = _vocabulary(
        stemmed, np.frombuffer(pieces, np.int32), section.min_count
    )
    if not vocabulary:
        raise InputError(
            f"{run.path}: no word occurs {section.min_count} times in its corpus; lower min_count "
            "or build a larger corpus"
        )
    documents = corpus.document_of(np.arange(len(corpus)))
    sources = corpus.source_of(np.arange(len(corpus)))
    known = renumbered >= 0
    rows = np.repeat(np.arange(len(lengths)), np.frombuffer(lengths, np.int64))[known]
    origin = np.column_stack((documents, sources))
    return _cut(vocabulary, counts, renumbered[known], rows, origin, section.max_words)


def _vocabulary(
    stemmed: list[str], pieces: npt.NDArray[np.int32], min_count: int
) -> tuple[tuple[str, ...], Ints, npt.NDArray[np.int32]]:
    """Words kept, their counts, and `pieces` in their numbers, -1 where dropped."""
    names, of_type = np.unique(np.array(stemmed, dtype=str), return_inverse=True)
    counts = np.bincount(of_type[pieces], minlength=len(names)) if len(names) else np.zeros(0, int)
    order = np.lexsort((names, -counts))
    order = order[counts[order] >= min_count]
    number = np.full(len(names), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    renumbered = number[of_type][pieces] if len(names) else pieces
    return tuple(names[order].tolist()), counts[order].astype(np.int64), renumbered


def _cut(
    vocabulary: tuple[str, ...],
    counts: Ints,
    pieces: npt.NDArray[np.int32],
    rows: Ints,
    origin: Ints,
    max_words: int,
) -> WordSentences:
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    inside = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    starts = np.flatnonzero(inside % max_words == 0)
    bounds = np.append(starts, len(rows)).astype(np.int64)
    documents, sources = origin[rows[starts]].T
    return WordSentences(vocabulary, counts, pieces, bounds, documents, sources)
