"""Sentences that must never be harvested: those of the evaluation sets, and any the user names.

A sentence is known by the hash of its normal form only, so that the built-in list can be shipped
without shipping the sets. `firth.evaluate.blocklist` makes that list.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.lexical.words import normal_form
from firth.run.errors import InputError

Hashes = npt.NDArray[np.uint64]

MIN_WORDS = 3
"""Shorter texts (`Yes.`, `The end.`) are too common to be anyone's evaluation sentence. The
built-in list was made with it, so that it is no setting."""
BUILT_IN = Path(__file__).with_name("evaluation_sentences.npy")


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """64-bit BLAKE2b of each text's normal form (`firth.lexical.words.normal_form`), shape (n,).

    Example:
        >>> one, two = sentence_hashes(["The cat sat down.", "the CAT sat  down"])
        >>> bool(one == two)
        True
    """
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def long_enough(text: str) -> bool:
    """Whether a text has the `MIN_WORDS` words that make it worth blocking."""
    return normal_form(text).count(" ") >= MIN_WORDS - 1


class Blocklist:
    """A set of sentences, known by their hashes.

    Args:
        hashes: As made by `sentence_hashes`, in any order.

    Example:
        >>> blocklist = Blocklist(sentence_hashes(["The cat sat down."]))
        >>> blocklist.contains(["The cat sat down!", "The dog sat down."]).tolist()
        [True, False]
    """

    def __init__(self, hashes: Hashes) -> None:
        self._hashes: Hashes = np.unique(hashes)

    def __len__(self) -> int:
        return len(self._hashes)

    @classmethod
    def load(cls, extra_files: Sequence[Path] = ()) -> "Blocklist":
        """The built-in list, and every line and tab-separated cell of some files.

        Lines and cells of fewer than `MIN_WORDS` words are ignored.

        Raises:
            InputError: A file is missing or cannot be read.
        """
        parts: list[Hashes] = [np.load(BUILT_IN, allow_pickle=False)]
        parts += [sentence_hashes(filter(long_enough, _cells(Path(file)))) for file in extra_files]
        return cls(np.concatenate(parts))

    def contains(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which of `texts` are blocked, shape (n,)."""
        return self.known(sentence_hashes(texts))

    def known(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Which of some hashes are those of blocked sentences, shape (n,)."""
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.bool_)
        places = np.searchsorted(self._hashes, hashes)
        nearest: Hashes = self._hashes[np.minimum(places, len(self._hashes) - 1)]
        return np.equal(nearest, hashes)


def _cells(file: Path) -> Iterator[str]:
    try:
        if file.exists() and not file.is_file():  # reading a pipe or device would never end
            raise OSError(None, "not an ordinary file")
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            for line in lines:
                yield line
                if "\t" in line:
                    yield from line.split("\t")
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({error.strerror}). It is named as a file of sentences "
            "that must not be harvested (harvest.blocklist)"
        ) from error
