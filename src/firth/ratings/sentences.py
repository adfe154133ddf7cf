"""Sentences and pairs to choose from, and the synonyms that count as the same word.

A source is a run, a text file with a sentence on each line, or a table. What is too short, too
long or repeated is left out and counted.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.evaluation.files import Problems, listed, read_table, read_text
from firth.run.console import progress
from firth.run.errors import InputError, require
from firth.run.files import fingerprint_file
from firth.run.run import CONFIG
from firth.text.arrays import Ints
from firth.text.words import words

_SENTENCE, _PAIR = ("sentence", "text"), ("sentence1", "sentence2")
_BLOCK = 16_384
_WORDNET = "wordnet"


@dataclass(frozen=True)
class Sentences:
    """Sentences that may be used. Where pairs are given, pair k is sentences 2k and 2k + 1.

    Attributes:
        texts: The sentences, white space collapsed.
        tokens: The words of each.
        places: Line of each in its file, from 1; number of the sentence in a run, from 0.
        extra: The further column of each sentence, or of each pair; empty where none is wanted.
        read: Number of records that were read.
        left_out: Reason → number of records that were left out.
    """

    texts: list[str]
    tokens: list[list[str]]
    places: list[int]
    extra: list[str]
    read: int
    left_out: Counter[str]

    @property
    def groups(self) -> Ints:
        """Number of the group of each sentence, by the further column, (n,)."""
        if not self.extra:
            return np.zeros(len(self.texts), np.int64)
        return np.unique(np.array(self.extra), return_inverse=True)[1].astype(np.int64)


def fingerprint_source(source: Path) -> str:
    """Return a fingerprint of a file, or of the corpus of a run."""
    return Corpus.open(source).digest if _is_run(source) else fingerprint_file(source)


def read_sentences(
    source: Path,
    min_words: int,
    max_words: int,
    *,
    pairs: bool = False,
    columns: Sequence[str] = (),
    extra: str = "",
) -> Sentences:
    """Read sentences, or pairs of sentences.

    Args:
        source: A run; a `.txt` file with a sentence on each line; or a CSV, TSV or JSON Lines file.
        min_words: A sentence with fewer words is left out.
        max_words: A sentence with more words is left out.
        pairs: Read pairs, which only a table holds.
        columns: Columns of the texts. By default `sentence` or `text`, or the only column; of
            pairs, `sentence1` and `sentence2`.
        extra: A further column to read.

    Raises:
        InputError: The source cannot be read, or lacks a column.
    """
    texts: list[str] = []
    tokens: list[list[str]] = []
    places: list[int] = []
    others: list[str] = []
    left_out, read = Counter[str](), 0
    seen: set[tuple[tuple[str, ...], ...]] = set()
    known: dict[str, str] = {}  # One object for a word saves memory.
    for place, record, other in _records(source, pairs, tuple(columns), extra):
        read += 1
        bags = [[known.setdefault(word, word) for word in words(text)] for text in record]
        key = tuple(sorted(map(tuple, bags)))
        lengths = [len(bag) for bag in bags]
        if min(lengths) < min_words:
            left_out["too short"] += 1
        elif max(lengths) > max_words:
            left_out["too long"] += 1
        elif pairs and key[0] == key[1]:
            left_out["both sentences the same"] += 1
        elif key in seen:
            left_out["repeated"] += 1
        else:
            seen.add(key)
            texts += record
            tokens += bags
            places += [place] * len(record)
            others += [other] if extra else []
    return Sentences(texts, tokens, places, others, read, left_out)


def _is_run(source: Path) -> bool:
    return (source / CONFIG).is_file()


def _records(
    source: Path, pairs: bool, columns: tuple[str, ...], extra: str
) -> Iterator[tuple[int, list[str], str]]:
    """Yield place, texts and further cell of each record."""
    is_text = source.suffix == ".txt" or source.name.endswith(".txt.gz")
    if (is_text or _is_run(source)) and (pairs or columns or extra):
        raise InputError(f"{source}: has no columns; expected a CSV, TSV or JSON Lines file")
    if _is_run(source):
        corpus = Corpus.open(source)
        for start in progress(range(0, len(corpus), _BLOCK), f"Reading {source}"):
            numbers = range(start, min(start + _BLOCK, len(corpus)))
            for number, text in zip(numbers, corpus.texts(np.array(numbers)), strict=True):
                yield number, [_clean(text)], ""
        return
    if is_text:
        for line_number, line in enumerate(read_text(source).split("\n"), start=1):
            if line.strip():
                yield line_number, [_clean(line)], ""
        return
    table = read_table(source)
    if not columns and pairs:
        columns = _PAIR
    elif not columns:
        usual = [name for name in _SENTENCE if name in table.header]
        columns = tuple(usual[:1] or (table.header if len(table.header) == 1 else _SENTENCE[:1]))
    if len(columns) != 1 + pairs:
        raise InputError(f"got the columns {listed(columns)}; expected {1 + pairs} of them")
    wanted = [*columns, extra] if extra else columns
    if missing := [name for name in wanted if name not in table.header]:
        raise InputError(
            f"{source}, line 1: no column {listed(missing)}. Got: {listed(table.header)}. Name the "
            "columns of the texts with --column"
        )
    for line_number, cells in table.records:
        texts = [_clean(cells.get(name, "")) for name in columns]
        yield line_number, texts, cells.get(extra, "") if extra else ""


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


# --- Synonyms ------------------------------------------------------------------------------------

Synonyms = Callable[[str], Iterable[str]]
"""Returns single lower-case words with the meaning of a lower-case word."""


def open_synonyms(name: str) -> Synonyms:
    """Open a table of synonyms.

    Args:
        name: `wordnet`, the copy that nltk finds; `wordnet:FOLDER`, a folder with WordNet's files;
            or a file, each line of which holds a word and its synonyms, between tabs or commas.

    Raises:
        InputError: There is no WordNet, or the file cannot be read or has other lines.
        MissingExtraError: nltk is not installed.
    """
    kind, _, folder = name.partition(":")
    return _wordnet(folder) if kind == _WORDNET else _synonym_file(Path(name))


def replacements(synonyms: Synonyms, frequencies: Mapping[str, int]) -> dict[str, str]:
    """Return word → its most frequent synonym, for the words that have a more frequent one.

    The word is among the candidates, else `big` and `large` would change places. Of equally
    frequent words the first in the alphabet is taken (Abdalla et al., Appendix A.1.1).

    Example:
        >>> sizes = {"big": ["large"], "large": ["big"]}
        >>> replacements(lambda word: sizes.get(word, ()), {"big": 7, "large": 2, "dog": 1})
        {'large': 'big'}
    """
    replaced = {}
    for word in frequencies:
        candidates = {word, *synonyms(word)}
        best = min(candidates, key=lambda one: (-frequencies.get(one, 0), one))
        if best != word:
            replaced[word] = best
    return replaced


def _synonym_file(path: Path) -> Synonyms:
    table: dict[str, dict[str, None]] = {}
    problems = Problems(path)
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [words(cell) for cell in re.split(r"[\t,]", line) if cell.strip()]
        if len(cells) < 2 or len(cells[0]) != 1:
            problems.add(number, f"got {line[:80]!r}; expected a word and its synonyms")
            continue
        single = [cell[0] for cell in cells[1:] if len(cell) == 1]
        table.setdefault(cells[0][0], {}).update(dict.fromkeys(single))
    problems.check()
    return lambda word: table.get(word, ())


def _wordnet(folder: str) -> Synonyms:
    """Return the single words in the first sense of a word, for each part of speech.

    WordNet orders the senses of a word by frequency. Rarer ones would join words that are no
    synonyms in most sentences, such as `dog` and `chase`.
    """
    require("nltk", "ratings", "WordNet")
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import find
    from nltk.data import path as trusted

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        """Reads WordNet without the map to other releases, which nltk would read from its data."""

        def map_wn(self, version: str = _WORDNET) -> dict[str, str]:
            return {}

    try:
        root: Any = str(Path(folder).resolve()) if folder else find("corpora/wordnet")
        if folder and root not in trusted:
            trusted.append(root)  # nltk reads from no other folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about translations, which are not used
            reader: Any = Reader(root, None)
    except (LookupError, OSError) as error:
        raise InputError(
            f"no WordNet in {folder or 'the data of nltk'}. Name a folder with its files "
            "(index.noun, data.noun, ...) as wordnet:FOLDER, or run python -m nltk.downloader "
            "wordnet"
        ) from error

    def synonyms(word: str) -> Iterable[str]:
        lemmas: dict[str, None] = {}
        for part in ("n", "v", "a", "r"):
            for synset in reader.synsets(word, part)[:1]:
                if synset is None:
                    raise InputError(f"WordNet: the files disagree about {word!r}; get them again")
                single = (lemma.lower() for lemma in synset.lemma_names() if "_" not in lemma)
                lemmas.update(dict.fromkeys(one for one in single if words(one) == [one]))
        return lemmas

    return synonyms
