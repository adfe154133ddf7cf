"""Rates: claimed against measured, where no text that is asked has a counterpart.

usage: python benchmarks/rates.py --data-dir DIR --work DIR [--encoder NAME ...] [--corpus NAME ...]

`--data-dir` has the folders corpora and languages. Documents of a corpus are drawn, and halved. Each
half is asked in the other, so that every document is taken out once. A share of the texts of the
half that is searched, or of the half that is asked, comes once more as a copy without a fifth of
its words; in OneStop as articles at the elementary level. A text that is asked and is not copied
has no counterpart. Texts that share most pairs of words with another document are left out.

Vectors and results stay in `--work`, and are used again.
"""

import argparse
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.plain import encoded
from firth.run.console import set_quiet
from firth.run.executor import Local
from firth.search.calibrate import fit_matches
from firth.search.calibration import Calibration
from firth.search.match import Texts, fit_lists
from firth.text.near import WordTable
from firth.text.sentences import split_paragraphs
from firth.text.types import Floats, Ints, Singles, unit

CHOOSE = {"wiki_en_2021": "en", "news_onestop": "en", "captions_coco_val2017": "en", "deu_10kgnad_test": "de"}
CONFIRM = {
    "mixed_gum": "en",
    "science_plos": "en",
    "textbook_openstax_anthropology": "en",
    "speeches_whitehouse_2009_2015": "en",
    "forum_stackexchange": "en",
    "fra_masakhanews": "fr",
    "hin_ltrc_literature": "hi",
}
"""Corpora on which the null was chosen, and those that took no part in that, with their languages."""
Booleans = npt.NDArray[np.bool_]
ENCODERS = ("text alone", "use-multilingual", "all-MiniLM-L6-v2-int8", "multilingual-e5-small")
RATES, COPIED = (0.2, 0.1, 0.05, 0.02, 0.01), (0.0, 0.05, 0.2)
TEXTS, PER_DOCUMENT, MIN_WORDS, MAX_WORDS, SEED = 2_000, 20, 6, 60, 13


@dataclass(frozen=True)
class Sample:
    """Texts of a corpus: the document of each, and whether it is one of the copies of that."""

    texts: Sequence[str]
    owners: Ints
    copied: Booleans
    language: str


def sample(data: Path, corpus: str) -> Sample:
    """Draw texts of a corpus, and copy those of a fifth of the documents of each half."""
    folder = data / ("languages/corpora" if corpus[3] == "_" else "corpora")
    language, rng = {**CHOOSE, **CONFIRM}[corpus], np.random.default_rng(SEED)
    with gzip.open(folder / f"{corpus}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    levels = {row["id"]: row["text"] for row in rows} if corpus == "news_onestop" else {}
    rows = [row for row in rows if not levels or row["id"].endswith("-adv")]
    drawn: list[tuple[str, int]] = []
    chosen: list[dict[str, Any]] = []
    for at in rng.permutation(len(rows)).tolist():
        drawn += [(text, len(chosen)) for text in usual(rows[at]["text"], language, rng)]
        chosen.append(rows[at])
        if len(drawn) >= 1.1 * TEXTS:
            break
    # Texts that another document repeats have a counterpart that nobody made.
    table, owners = WordTable([[text for text, _ in drawn]], MIN_WORDS), np.array(drawn)[:, 1]
    near = table.near()
    apart = owners[near.left] != owners[near.right]
    lost = {*near.left[apart].tolist(), *near.right[apart].tolist()}
    lost |= {other for first, others in table.repeats().items() for other in (first, *others)}
    kept = [row for at, row in enumerate(drawn) if at not in lost][:TEXTS]
    copies: list[tuple[str, int]] = []
    for number in range(0, len(chosen), 5):  # Of five documents in a row, two or three are of a half.
        level = levels.get(chosen[number]["id"].removesuffix("-adv") + "-ele")
        found = usual(level, language, rng) if level else []
        found = found or [worse(text, rng) for text, owner in kept if owner == number]
        copies += [(text, number) for text in found]
    return Sample(
        [text for text, _ in kept + copies],
        np.array([owner for _, owner in kept + copies]),
        np.arange(len(kept) + len(copies)) >= len(kept),
        language,
    )


def usual(text: str, language: str, rng: np.random.Generator) -> list[str]:
    """Return sentences of usual length, a few of each document in order."""
    every = [each for part in split_paragraphs(text, language) for each in part]
    found = [each for each in every if MIN_WORDS <= len(each.split()) <= MAX_WORDS]
    chosen = rng.permutation(len(found))[:PER_DOCUMENT]
    return [found[at] for at in sorted(chosen.tolist())]


def worse(text: str, rng: np.random.Generator) -> str:
    """Return a text without a fifth of its words."""
    words = text.split()
    gone = {*rng.permutation(len(words))[: max(1, len(words) // 5)].tolist()}
    return " ".join(word for at, word in enumerate(words) if at not in gone)


def vectors_of(texts: Sample, encoder: str, stored: Path) -> Singles:
    """Return unit vectors of the texts, (n, d), kept in a file."""
    if not stored.is_file():
        name = None if encoder == ENCODERS[0] else encoder
        (found,) = encoded([list(texts.texts)], name, texts.language, SEED, Local())
        np.save(stored.with_suffix(".part.npy"), unit(found).astype(np.float32))
        stored.with_suffix(".part.npy").rename(stored)
    vectors: Singles = np.load(stored)
    return vectors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", nargs="*", default=ENCODERS)
    parser.add_argument("--corpus", nargs="*", default=[*CHOOSE, *CONFIRM])
    given = parser.parse_args()
    set_quiet(True)
    given.work.mkdir(parents=True, exist_ok=True)
    for corpus in given.corpus:
        for encoder in given.encoder:
            texts = sample(given.data_dir, corpus)
            v=vectors_of(texts, encoder, given.work/f"{corpus}-{encoder}.npy")
            print(corpus,encoder,v.shape,texts.copied.sum(),texts.owners.max(),flush=True)
