"""WordNet as a synonym table, through nltk."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from firth.lexical.words import words
from firth.relatedness.pairs.synonyms import WORDNET
from firth.run.errors import InputError, MissingExtraError

try:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import find
    from nltk.data import path as trusted
except ImportError as error:
    raise MissingExtraError("WordNet", "wordnet") from error


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """Without the map to other releases, for which nltk would need its own copy of WordNet."""

    def map_wn(self, version: str = WORDNET) -> dict[str, str]:
        """No map: it serves translations only."""
        return {}


class WordNetTable:
    """Synonyms of a word: the single words in its first sense of each part of speech.

    WordNet orders the senses of a word by how often they were met; rarer ones (`dog` as `chase`)
    would tie together words that are no synonyms in most sentences. Words are looked up as they
    stand, and inflected ones as nltk reduces them.

    Args:
        folder: Of WordNet's own files (`index.noun`, `data.noun`, …); None for the copy that nltk
            finds.

    Raises:
        InputError: There is no WordNet.
    """

    def __init__(self, folder: Path | None = None) -> None:
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
        """Single words of the first senses of `word`, lowercased.

        Raises:
            InputError: WordNet's files contradict each other.
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
