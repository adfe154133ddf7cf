"""Words replaced by their most frequent synonym, so that synonyms count as the same word.

Abdalla et al. (2021, Appendix A.1.1) replace every word by its most frequent synonym before they
measure overlap. Here the word itself is among the candidates (else `big` and `large`, each other's
synonyms, would change places and still not match), frequency is that in the sentences at hand, and
of equally frequent words the first in the alphabet is taken.
"""

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from firth.lexical.words import words
from firth.run.errors import InputError, MissingExtraError
from firth.run.rows import Problems, read_text

WORDNET = "wordnet"


class Synonyms(Protocol):
    """Where synonyms come from."""

    @property
    def source(self) -> str:
        """In words, for reports."""

    def synonyms(self, word: str) -> Iterable[str]:
        """Single words that mean the same as a lowercase word, which may be among them."""


class SynonymFile:
    """A table from a file: on each line a word and its synonyms, separated by tabs or commas; `#`
    begins a comment line, and a word may have several lines. Synonyms of several words are left
    out, since only single words are compared. The relation is not made symmetric.

    Raises:
        InputError: The file cannot be read, has no synonyms, or lines of one word (all named).
    """

    def __init__(self, path: Path) -> None:
        self.source = path.name
        self._table: dict[str, dict[str, None]] = {}
        problems = Problems(path)
        for number, line in enumerate(read_text(path).split("\n"), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            cells = [words(cell) for cell in re.split(r"[\t,]", line) if cell.strip()]
            if len(cells) < 2 or len(cells[0]) != 1:
                problems.add(number, f"expected a word and its synonyms, got {line[:80]!r}")
                continue
            single = [cell[0] for cell in cells[1:] if len(cell) == 1]
            self._table.setdefault(cells[0][0], {}).update(dict.fromkeys(single))
        problems.check()
        if not self._table:
            raise InputError(f"{path}: no synonyms")

    def synonyms(self, word: str) -> Iterable[str]:
        """Those the file names for `word`."""
        return self._table.get(word, ())


class WordNet:
    """Synonyms of a word: the single words in its first sense of each part of speech, by nltk; of
    WordNet's own files in `folder` (`index.noun`, `data.noun`, …), or of the copy that nltk finds.

    WordNet orders the senses of a word by how often they were met; rarer ones (`dog` as `chase`)
    would tie together words that are no synonyms in most sentences. Inflected words are looked up
    as nltk reduces them.

    Raises:
        InputError: There is no WordNet.
        MissingExtraError: nltk is not installed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        try:
            from nltk.corpus.reader.wordnet import WordNetCorpusReader
            from nltk.data import find
            from nltk.data import path as trusted
        except ImportError as error:
            raise MissingExtraError("WordNet", "wordnet") from error

        class _Reader(WordNetCorpusReader):  # type: ignore[misc]
            """Without the map to other releases, for which nltk would need its own WordNet."""

            def map_wn(self, version: str = WORDNET) -> dict[str, str]:
                return {}

        try:
            if folder is not None and str(folder.resolve()) not in trusted:
                trusted.append(str(folder.resolve()))  # nltk reads from folders it was told of
            root: Any = find("corpora/wordnet") if folder is None else str(folder.resolve())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about translations, which are not used
                self._reader: Any = _Reader(root, None)
        except (LookupError, OSError) as error:
            where = f"in {folder} ({error})" if folder else "among nltk's data"
            raise InputError(
                f"no WordNet {where}. Give its folder as wordnet:FOLDER (its files index.noun, "
                "data.noun, …), or fetch it with python -m nltk.downloader wordnet"
            ) from error
        self.source = f"WordNet {self._reader.get_version()}"

    def synonyms(self, word: str) -> Iterable[str]:
        """Single words of the first senses of `word`, lowercased; raise `InputError` where
        WordNet's files contradict each other.
        """
        found: dict[str, None] = {}
        for part in ("n", "v", "a", "r"):
            for synset in self._reader.synsets(word, part)[:1]:
                if synset is None:
                    raise InputError(
                        f"{self.source}: {word!r} leads to no entry; the files are broken, or of "
                        "different releases"
                    )
                for lemma in synset.lemma_names():
                    if words(lemma) == [lemma.lower()] and "_" not in lemma:
                        found[lemma.lower()] = None
        return found


def open_synonyms(name: str) -> Synonyms:
    """A synonym table: a file, `wordnet` (nltk's own copy), or `wordnet:FOLDER`; see both for
    errors.
    """
    kind, _, folder = name.partition(":")
    if kind == WORDNET:
        return WordNet(Path(folder) if folder else None)
    return SynonymFile(Path(name))


def replacements(table: Synonyms, frequencies: Mapping[str, int]) -> dict[str, str]:
    """Word → its most frequent synonym, for the words of `frequencies` for which that is another.

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
