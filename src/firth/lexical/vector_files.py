"""Word vectors from a file: word2vec, GloVe and fastText formats, told apart by their bytes."""

import struct
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from firth.lexical.arrays import Singles
from firth.lexical.word_vectors import WordVectors
from firth.run.errors import InputError, MissingExtraError, first_line

_FASTTEXT = struct.pack("<i", 793_712_314)
"""First bytes of a fastText model file."""
_SAMPLE = 1 << 20
_DIGITS = 18
"""Of a number in the first line, at most."""
_PACKED = 2_000
"""Times as many bytes as in a packed file may come out of it: of real ones, fewer than ten."""


class Format(StrEnum):
    """How a file of word vectors is written."""

    TEXT = "word2vec text"
    """A line `words dimensions`, then a word and its numbers a line; fastText's .vec too."""
    BINARY = "word2vec binary"
    """The same first line, then a word, a blank and its float32 numbers."""
    GLOVE = "GloVe text"
    """As TEXT without the first line."""
    FASTTEXT = "fastText model"
    """A .bin file with subwords, so that it has a vector for words it never saw."""


def read_vectors(path: Path) -> WordVectors:
    """Read a file of word vectors; .gz and .bz2 are read too (not for fastText models).

    Words are UTF-8; broken bytes in a word are replaced. Pickled files (gensim's own `.save`) are
    refused.

    Raises:
        InputError: The file is missing, of none of the known formats, or broken.
        MissingExtraError: gensim is not installed.
    """
    try:
        from gensim.models import KeyedVectors
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError:
        raise MissingExtraError(f"Reading word vectors ({path})", "baselines") from None
    found = detect_format(path)
    if found in (Format.TEXT, Format.BINARY):
        _check_size(path, found)
    try:
        if found is Format.FASTTEXT:
            vectors: Any = load_facebook_vectors(str(path))
        else:
            vectors = KeyedVectors.load_word2vec_format(
                str(path),
                binary=found is Format.BINARY,
                no_header=found is Format.GLOVE,
                unicode_errors="replace",
            )
    except (ValueError, EOFError, OSError, IndexError, struct.error, AssertionError) as error:
        raise InputError(
            f"{path}: begins like {found}, but cannot be read: {first_line(error)}. "
            "Expected as many words and numbers as the file says it has; download or export it "
            "again"
        ) from error
    if not len(vectors) or not np.isfinite(vectors.vectors).all():
        raise InputError(f"{path}: {found} without words, or with numbers that are not finite")

    def look_up(word: str) -> Singles | None:
        if word not in vectors:  # of a fastText model: no subword either
            return None
        found: Singles = vectors[word]
        return found

    return WordVectors(f"{path.name} ({found})", vectors.vector_size, look_up)


def detect_format(path: Path) -> Format:
    """Tell the format from the first bytes.

    Raises:
        InputError: It cannot be read, or is none of `Format`.
    """
    from smart_open import open as open_any

    try:
        with open_any(str(path), "rb") as file:
            sample: bytes = file.read(_SAMPLE)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason})") from error
    if sample.startswith(_FASTTEXT):
        return Format.FASTTEXT
    if sample.startswith(b"\x80"):
        raise InputError(
            f"{path}: a pickled file, which could run anything. Export the vectors with gensim's "
            "save_word2vec_format and name that file"
        )
    first, _, rest = sample.partition(b"\n")
    header = first.split()
    if len(header) == 2 and all(field.isdigit() and len(field) <= _DIGITS for field in header):
        line = rest.partition(b"\n")[0]
        return Format.TEXT if _numbers(line) == int(header[1]) else Format.BINARY
    if _numbers(first) >= 2:
        return Format.GLOVE
    raise InputError(
        f"{path}: no word vectors: the first line is {first[:60].decode('utf-8', 'replace')!r}. "
        f"Expected one of: {', '.join(Format)}"
    )


def _check_size(path: Path, found: Format) -> None:
    """Raise `InputError` where the first line says more than a file of its size can hold: room for
    all of it would be taken before the first word is read."""
    from smart_open import open as open_any

    with open_any(str(path), "rb") as file:
        words, dimensions = map(int, file.readline(_SAMPLE).split())
    each = 2 + (4 if found is Format.BINARY else 2) * dimensions
    there = path.stat().st_size * (_PACKED if path.suffix in (".gz", ".bz2") else 1)
    if words * each > there + 1:  # the last line may end without a line feed
        raise InputError(
            f"{path}: cannot be read: its first line says {words:,} words of {dimensions:,} "
            f"dimensions, which do not fit into {path.stat().st_size:,} bytes. Download or export "
            "it again"
        )


def _numbers(line: bytes) -> int:
    """How many numbers follow the word of a text line; -1 if anything else does."""
    try:
        return len([float(value) for value in line.split()[1:]])
    except ValueError:
        return -1
