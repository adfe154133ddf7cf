"""Sentences and pairs to choose from, and how much the words of two of them overlap.

A source is a run, a text file with a sentence on each line, or a table. What is too short, too
long or repeated is left out and counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, diags_array

from firth.corpus.corpus import Corpus
from firth.corpus.files import listed, read_table, read_text
from firth.evaluation.files import parse_score
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.run import CONFIG
from firth.text.types import Floats, Ints
from firth.text.words import words

_PAIR = ["sentence1", "sentence2"]
_MIN_WORDS, _MAX_WORDS = 5, 25
Record = tuple[int, list[str], list[str]]
"""Place, texts and further cells."""


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Sentences that may be used. Where pairs are given, pair k is sentences 2k and 2k + 1.

    Attributes:
        texts: The sentences, white space collapsed.
        tokens: The words of each.
        places: Line of each in its file, from 1; number of the sentence in a run, from 0.
        extra: Name of a further column → its cells, of each sentence or of each pair.
        read, left_out: Numbers of records that were read, and by reason left out.
    """

    are_pairs: bool
    texts: list[str]
    tokens: list[list[str]]
    places: list[int]
    extra: Mapping[str, list[str]]
    read: int
    left_out: Counter[str]

    def groups(self, column: str) -> Ints:
        """Return the number of each sentence's group by a column, (n,); "" makes one group."""
        if not column:
            return np.zeros(len(self.texts), np.int64)
        return np.unique(np.array(self.extra[column]), return_inverse=True)[1].astype(np.int64)

    def numbers(self, column: str, source: str | Path) -> Floats:
        """Return a column of the pairs as numbers, (n,)."""
        values = []
        for cell, line in zip(self.extra[column], self.places[::2], strict=True):
            try:
                values.append(parse_score(cell))
            except ValueError as error:
                raise InputError(f"{source}, line {line}: {error}") from None
        return np.array(values, dtype=np.float64)


def fingerprint_source(source: Path) -> str:
    """Return a fingerprint of a file, or of the corpus of a run."""
    is_run = (source / CONFIG).is_file()
    return Corpus.open(source).digest if is_run else fingerprint_file(source)


def read_sentences(source: Path, extra: Sequence[str] = ()) -> Sentences:
    """Read sentences, or pairs of sentences; those with fewer than 5 or over 25 words are left out.

    A source is a run; a `.txt` file with a sentence on each line; or a CSV, TSV or JSON Lines file
    with the columns `sentence1` and `sentence2`, or `sentence` or `text`, and `extra` ones.
    """
    are_pairs, records = _records(source, extra)
    texts, tokens, places = list[str](), list[list[str]](), list[int]()
    further, left_out, n_records = list[list[str]](), Counter[str](), 0
    seen: set[tuple[tuple[str, ...], ...]] = set()
    interned: dict[str, str] = {}  # One object for a word saves memory.
    for place, record, other in records:
        n_records += 1
        record = [" ".join(text.replace("\0", " ").split()) for text in record]
        bags = [[interned.setdefault(word, word) for word in words(text)] for text in record]
        key = tuple(sorted(map(tuple, bags)))
        lengths = [len(bag) for bag in bags]
        if min(lengths) < _MIN_WORDS:
            left_out["too short"] += 1
        elif max(lengths) > _MAX_WORDS:
            left_out["too long"] += 1
        elif are_pairs and key[0] == key[1]:
            left_out["both sentences the same"] += 1
        elif key in seen:
            left_out["repeated"] += 1
        else:
            seen.add(key)
            texts += record
            tokens += bags
            places += [place] * len(record)
            further.append(other)
    columns = {name: [cells[place] for cells in further] for place, name in enumerate(extra)}
    return Sentences(
        are_pairs=are_pairs,
        texts=texts,
        tokens=tokens,
        places=places,
        extra=columns,
        read=n_records,
        left_out=left_out,
    )


def _records(source: Path, extra: Sequence[str]) -> tuple[bool, Iterable[Record]]:
    """Return whether records are pairs, and the records."""
    is_run = (source / CONFIG).is_file()
    if is_run or source.name.endswith((".txt", ".txt.gz")):
        if extra:
            raise InputError(
                f"{source}: has no column {listed(extra)}; expected CSV, TSV or JSON Lines"
            )
        if is_run:
            texts: Iterable[str] = chain.from_iterable(Corpus.open(source).batches())
        else:
            texts = read_text(source).split("\n")
        numbered = enumerate(texts, start=0 if is_run else 1)
        return False, ((number, [text], []) for number, text in numbered if text.strip())
    table = read_table(source)
    columns = [name for name in _PAIR if name in table.header]
    if are_pairs := columns == _PAIR:
        needed = [*columns, *extra]
    else:
        columns = [name for name in table.header if name in ("sentence", "text")][:1]
        needed = [*(columns or ["sentence"]), *extra]
    if missing := [name for name in needed if name not in table.header]:
        raise InputError(
            f"{source}, line 1: no column {listed(missing)}. Got: {listed(table.header)}. Expected "
            "sentence1 and sentence2, or sentence, or text"
        )
    return are_pairs, (
        (line, [cells.get(name, "") for name in columns], [cells.get(name, "") for name in extra])
        for line, cells in table.records
    )


# --- Overlap --------------------------------------------------------------------------------------


class Measure(StrEnum):
    """Overlap of the sets A and B of words of two sentences, in [0, 1]."""

    DICE = "dice"
    """2 |A ∩ B| / (|A| + |B|)."""
    IDF = "idf"
    """The same, each word weighted by its inverse document frequency among the sentences."""
    FIRST = "first"
    """|A ∩ B| / |A|, the share of the first sentence (Appendix A.1.1)."""


class Bags:
    """The distinct words of n sentences, as rows of a sparse matrix.

    A word may be replaced by another one that counts in its place, such as a synonym.
    """

    def __init__(
        self,
        tokens: Sequence[Sequence[str]],
        measure: Measure,
        replace: Mapping[str, str] | None = None,
    ) -> None:
        numbers: dict[str, int] = {}
        of = (replace or {}).get
        bags = [
            sorted({numbers.setdefault(of(w, w), len(numbers)) for w in sentence})
            for sentence in tokens
        ]
        self.lengths = np.array([len(sentence) for sentence in tokens], np.int64)
        """Number of words, repeated ones included, (n,)."""
        self._measure = measure
        flat = np.array([number for bag in bags for number in bag], np.int64)
        bounds = np.cumsum([0, *map(len, bags)])
        rows = csr_array((np.ones(len(flat)), flat, bounds), shape=(len(bags), len(numbers)))
        self._sentences_of_word = rows.T.tocsr()
        weights = np.ones(len(numbers))
        if measure is Measure.IDF:
            weights = np.log((1 + len(bags)) / (1 + rows.sum(axis=0))) + 1
        self._rows, self._weighted = rows, (rows @ diags_array(weights)).tocsr()
        # Sums of ones are exact. Others are rounded, so that equal sets have equal weights.
        self._weight: Floats = np.round(self._weighted.sum(axis=1), 9)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.lengths)

    def overlaps(self, left: Ints, right: Ints) -> Floats:
        """Return the overlap of sentences `left[k]` and `right[k]`, both (k,), in [0, 1]."""
        shared = self._weighted[left].multiply(self._rows[right]).sum(axis=1)
        return self._ratio(shared, self._weight[left], self._weight[right])

    def overlaps_with_all(self, sentence: int) -> Floats:
        """Return the overlap of a sentence with each sentence, (n,), in [0, 1]."""
        shared = (self._weighted[[sentence]] @ self._sentences_of_word).toarray()[0]
        return self._ratio(shared, np.full(len(self), self._weight[sentence]), self._weight)

    def _ratio(self, shared: Floats, left: Floats, right: Floats) -> Floats:
        if self._measure is not Measure.FIRST:
            shared, left = 2 * shared, left + right
        ratio = np.divide(shared, left, out=np.ones_like(left), where=left > 0)
        return np.clip(np.round(ratio, 9), 0.0, 1.0)


def read_synonyms(path: Path) -> list[set[str]]:
    """Read sets of words with the same meaning, one a line, such as those of a thesaurus.

    Words are lower-cased. Only single words count.
    """
    lines = (line.replace(",", " ") for line in read_text(path).split("\n"))
    return [group for line in lines if len(group := set(words(line))) > 1]


def replacements(groups: Iterable[set[str]], frequencies: Mapping[str, int]) -> dict[str, str]:
    """Return word → its most frequent synonym, for the words that have a more frequent one.

    The word is among the candidates, else `big` and `large` would change places. Of equally
    frequent words the first in the alphabet is taken (Abdalla et al., Appendix A.1.1).

    Example:
        >>> replacements([{"big", "large"}], {"big": 7, "large": 2, "dog": 1})
        {'large': 'big'}
    """
    synonyms: dict[str, set[str]] = {}
    for group in groups:
        for word in group & frequencies.keys():
            synonyms.setdefault(word, set()).update(group)
    best = {
        word: min(several, key=lambda candidate: (-frequencies.get(candidate, 0), candidate))
        for word, several in synonyms.items()
    }
    return {word: other for word, other in best.items() if other != word}
