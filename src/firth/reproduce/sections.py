"""Triplets of sentences from the sections of articles, as Ein Dor et al. (2018) make them."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from firth.corpus.corpus import Corpus
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import derive_seed

_HEADING = re.compile(r"((?:= ?){1,6})[^=]+(?:= ?){1,6}|(#{1,6}) .+")
"""`== Title ==` or `= = Title = =` of a wiki, or `## Title` of Markdown, as a sentence."""
_SPLITS = (*["train"] * 8, "dev", "test")


def section_triplets(run: Run) -> list[dict[str, str]]:
    """Return triplets, with a split, of the articles in a run; each document is one article.

    Every sentence of usual length is an anchor once. A random other sentence of its section is the
    positive, and a random sentence of another section of the article the negative. All triplets
    of an article have one split: train (80 %), dev or test (10 % each).

    Raises:
        InputError: No document has two sections of two sentences.
    """
    corpus, triplets = Corpus.open(run, "all"), list[dict[str, str]]()
    is_usual = np.zeros(len(corpus), bool)
    is_usual[corpus.usual_sentences()] = True
    for document, id in enumerate(corpus.document_ids()):
        own = np.arange(*corpus.document_bounds[document : document + 2])
        sections = sections_of(corpus.texts(own), is_usual[own].tolist())
        rng = np.random.default_rng(derive_seed(run.settings.seed, "sections", id))
        split = _SPLITS[rng.integers(len(_SPLITS))]
        for place, section in enumerate(sections if len(sections) > 1 else ()):
            for n, anchor in enumerate(section):
                positive = section[(n + rng.integers(1, len(section))) % len(section)]
                other = sections[(place + rng.integers(1, len(sections))) % len(sections)]
                texts = anchor, positive, other[rng.integers(len(other))]
                names = "anchor", "positive", "negative"
                triplets.append(dict(zip(names, texts, strict=True), split=split))
    if not triplets:
        raise InputError(
            f"{run.path}: no document has two sections of two sentences. Expected articles with "
            "headings on their own lines, as == Title == or ## Title, read from .txt or records"
        )
    return triplets


def sections_of(sentences: Sequence[str], is_usual: Sequence[bool]) -> list[list[str]]:
    """Return the usual sentences of each section of an article that has at least two of them.

    Sections are those of the highest rank that two headings have; deeper headings divide nothing.
    What precedes the first section, and repeated sentences, are left out.
    """
    headings = map(_HEADING.fullmatch, sentences)
    ranks = [len((m[1] or m[2]).replace(" ", "")) if m else 0 for m in headings]
    highest = min((rank for rank, n in Counter(ranks).items() if rank and n > 1), default=0)
    sections, section, seen = list[list[str]](), list[str](), set[str]()
    for text, rank, usual in zip(sentences, ranks, is_usual, strict=True):
        if 0 < rank <= highest:
            section = []
            sections += [section] * (rank == highest)
        elif not rank and usual and text not in seen:
            section.append(text)
            seen.add(text)
    return [section for section in sections if len(section) > 1]
