"""Sentences that must not be learned from: those of public evaluation sets."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.text.types import Ints
from firth.text.words import normal_form

_EVALUATION = Path(__file__).with_name("data") / "evaluation_sentences.npy"
_BATCH = 1 << 14
Hashes = npt.NDArray[np.uint64]


class Exclusions:
    """Sentences that no student may learn, known by hashes of their normal forms."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes: Hashes = np.unique(hashes)

    @classmethod
    def load(cls) -> "Exclusions":
        """Return the sentences of public evaluation sets."""
        return cls(np.load(_EVALUATION, allow_pickle=False))

    def distinct(self, corpus: Corpus, sentences: Ints) -> Ints:
        """Return the sentences, in order, without excluded ones and repeated normal forms."""
        blocks = (sentences[at : at + _BATCH] for at in range(0, len(sentences), _BATCH))
        hashes = [sentence_hashes(corpus.texts(block)) for block in blocks]
        joined: Hashes = np.concatenate([np.empty(0, np.uint64), *hashes])
        first = np.zeros(len(joined), bool)
        first[np.unique(joined, return_index=True)[1]] = True
        return sentences[first & ~np.isin(joined, self.hashes)]


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return 64-bit BLAKE2b of each text's normal form, (n,)."""
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
