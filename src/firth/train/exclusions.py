"""Sentences that must not be learned from: those of evaluation sets, and of files of the user."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.corpus.files import read_text
from firth.run.files import fingerprint_file
from firth.text.types import Ints
from firth.text.words import normal_form, words

_EVALUATION = Path(__file__).with_name("data") / "evaluation_sentences.npy"
_FEWEST_WORDS = 3
"""Shorter texts of evaluation sets (`Yes.`) are too common to be excluded."""
_BATCH = 1 << 14
Hashes = npt.NDArray[np.uint64]


class Exclusions:
    """Sentences that no student may learn, known by hashes of their normal forms."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes: Hashes = np.unique(hashes)

    @classmethod
    def load(cls, files: Iterable[str] = ()) -> "Exclusions":
        """Return the sentences of public evaluation sets, and lines and cells of some files."""
        hashes: list[Hashes] = [np.load(_EVALUATION, allow_pickle=False)]
        for file in files:
            long = (cell for cell in _cells(Path(file)) if len(words(cell)) >= _FEWEST_WORDS)
            hashes.append(sentence_hashes(long))
        return cls(np.concatenate(hashes))

    def distinct(self, corpus: Corpus, sentences: Ints) -> Ints:
        """Return the sentences, in order, without excluded ones and repeated normal forms."""
        blocks = (sentences[at : at + _BATCH] for at in range(0, len(sentences), _BATCH))
        hashes = [sentence_hashes(corpus.texts(block)) for block in blocks]
        joined: Hashes = np.concatenate([np.empty(0, np.uint64), *hashes])
        first = np.zeros(len(joined), bool)
        first[np.unique(joined, return_index=True)[1]] = True
        return sentences[first & ~np.isin(joined, self.hashes)]


def exclusion_inputs(files: Iterable[str]) -> dict[str, str]:
    """Return fingerprints of the files that a setting `exclude` names, for stages that obey it."""
    return {f"exclude/{n}": fingerprint_file(Path(file)) for n, file in enumerate(files)}


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return 64-bit BLAKE2b of each text's normal form, (n,)."""
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def _cells(file: Path) -> Iterator[str]:
    for line in read_text(file).split("\n"):
        yield from {line, *line.split("\t")}
