"""The blocklist that ships with firth: hashes of evaluation sentences, so that none is harvested.

It lies in `harvest/evaluation_sentences.npy` (sorted 64-bit hashes, no text) and `.json` (what it
covers), and is made again when a set is added:

    make_blocklist(Path(DATA_DIR), BUILT_IN)
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from firth.corpus.split import split_sentences
from firth.evaluate.readers import COLUMNS, gensim_files, read_lee
from firth.harvest.blocklist import MIN_WORDS, Hashes, long_enough, sentence_hashes
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, write_atomically, write_json

_TEXTS = {name for columns in COLUMNS.values() for name in columns if name != "score"}


def make_blocklist(data_dir: Path, target: Path) -> dict[str, int]:
    """Hash every evaluation text of at least three words, and every sentence within one.

    Reads every `SET/*.tsv` of `data_dir`, and Lee & Pincombe's texts; writes the .npy file `target`
    and a .json of the same name. Returns set → number of distinct hashes it contributes.

    Raises:
        InputError: There is nothing to hash, or gensim (with Lee & Pincombe's texts) is missing.
    """
    files = sorted(data_dir.glob("*/*.tsv"))
    if not files:
        raise InputError(f"{data_dir}: no SET/*.tsv in it; nothing to hash")
    bundled = gensim_files()
    if bundled is None:
        raise InputError("Lee & Pincombe's texts come with gensim, which is not installed")
    hashes = {file.parent.name: _hashes(_texts(file)) for file in files}
    hashes["Lee & Pincombe"] = _hashes(t for row in read_lee(bundled).rows for t in row.texts)
    together = np.unique(np.concatenate(list(hashes.values())))
    with write_atomically(target) as partial, partial.open("wb") as file:
        np.save(file, together, allow_pickle=False)
    counts = {name: len(found) for name, found in hashes.items()}
    about = {
        "hash": "BLAKE2b, 64 bits, of firth.lexical.words.normal_form; uint64, sorted",
        "min_words": MIN_WORDS,
        "hashes": len(together),
        "sets": counts,
        "fingerprint": fingerprint_file(target),
    }
    write_json(target.with_suffix(".json"), about)
    return counts


def _texts(file: Path) -> Iterator[str]:
    """Every cell of a text column."""
    lines = file.read_bytes().decode("utf-8-sig", "replace").split("\n")
    header = lines[0].rstrip("\r").split("\t")
    columns = [i for i, name in enumerate(header) if name in _TEXTS]
    if not columns:
        raise InputError(f"{file}, line 1: none of the columns {', '.join(sorted(_TEXTS))}")
    for line in lines[1:]:
        cells = line.rstrip("\r").split("\t")
        yield from (cells[i] for i in columns if i < len(cells))


def _hashes(texts: Iterable[str]) -> Hashes:
    distinct = {piece for text in set(texts) for piece in (text, *split_sentences(text))}
    return np.unique(sentence_hashes(filter(long_enough, distinct)))
