"""Words replaced by their most frequent synonym, so that synonyms count as the same word.

Abdalla et al. (2021, Appendix A.1.1) replace every word by its most frequent synonym before they
measure overlap. Here the word itself is among the candidates (else `big` and `large`, each other's
synonyms, would change places and still not match), frequency is that in the sentences at hand, and
of equally frequent words the first in the alphabet is taken.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from firth.lexical.words import words
from firth.run.errors import InputError

WORDNET = "wordnet"


class Table(Protocol):
    """Where synonyms come from."""

    @property
    def source(self) -> str:
        """In words, for reports."""

    def synonyms(self, word: str) -> Iterable[str]:
        """Single words that mean the same as a lowercase word, which may be among them."""


class FileTable:
    """A table from a file: on each line a word and its synonyms, separated by tabs or commas.

    Lines that begin with `#` and blank ones are skipped; a word may have several lines. Synonyms of
    several words are left out, since only single words are compared. The relation is used as it
    stands: it is not made symmetric.

    Raises:
        InputError: The file cannot be read, or has lines with a single word (all named).
    """

    def __init__(self, path: Path) -> None:
        self.source = path.name
        self._table: dict[str, dict[str, None]] = {}
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read ({error})") from error
        problems = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [words(cell) for cell in re.split(r"[\t,]", line) if cell.strip()]
            if len(cells) < 2 or len(cells[0]) != 1:
                problems.append(f"line {number}: expected a word and its synonyms, got {line!r}")
                continue
            single = [cell[0] for cell in cells[1:] if len(cell) == 1]
            self._table.setdefault(cells[0][0], {}).update(dict.fromkeys(single))
        if problems or not self._table:
            listed = "".join(f"\n  - {problem}" for problem in problems[:20]) or " no synonyms"
            raise InputError(f"{path}:{listed}")

    def synonyms(self, word: str) -> Iterable[str]:
        """Those the file names for `word`."""
        return self._table.get(word, ())


def open_table(name: str) -> Table:
    """A synonym table: a file, `wordnet` (nltk's own copy), or `wordnet:FOLDER`.

    Raises:
        InputError: It cannot be read.
        MissingExtraError: WordNet is asked for and nltk is not installed.
    """
    kind, _, folder = name.partition(":")
    if kind == WORDNET:
        from firth.relatedness.pairs.wordnet import WordNetTable

        return WordNetTable(Path(folder) if folder else None)
    return FileTable(Path(name))


def replacements(table: Table, frequencies: Mapping[str, int]) -> dict[str, str]:
    """Word → its most frequent synonym, for the words of `frequencies` for which that is another.

    Args:
        table: Of synonyms.
        frequencies: Word → how often it occurs.

    Example:
        >>> class Sizes:
        ...     source = "two words"
        ...
        ...     def synonyms(self, word):
        ...         return {"big": ["large"], "large": ["big"]}.get(word, [])
        >>> replacements(Sizes(), {"big": 7, "large": 2, "dog": 1})
        {'large': 'big'}
    """
    replaced = {}
    for word in frequencies:
        candidates = {word, *table.synonyms(word)}
        best = min(candidates, key=lambda one: (-frequencies.get(one, 0), one))
        if best != word:
            replaced[word] = best
    return replaced
