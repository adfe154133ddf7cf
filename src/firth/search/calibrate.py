"""The draw of a calibration: pairs, queries without an answer, sentences without a counterpart.

The words of a query are each of another sentence, so that each is known and no text has reason to
have all. A query of one word is a word with its letters in another order. A sentence without a
counterpart has the first half of one sentence and the second half of another.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.static import ENCODER
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import write_arrays, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import Outcome
from firth.search.calibration import (
    CALIBRATION,
    LENGTHS,
    RANDOM,
    SAME_DOCUMENT,
    SCORES,
    SCRIPTS,
    UNMATCHED,
    scripts_of,
)
from firth.search.index import INDEX, NAMING, Index, index_encoder
from firth.search.search import UNITS, Search
from firth.text.types import Floats, Ints, starts

QUERIES = 60
"""Drawn queries of each length."""
SENTENCES = 500
"""Drawn sentences without a counterpart."""
_OTHERS = 4
"""Pairs of a document are one for so many random pairs."""
_ROWS = 8_192
_SAME = 0.999
_NEAR, _SEEN = 0.8, 20
"""Of the 20 nearest sentences of two halves, those this similar to one of the two do not count."""
_SCRIPT_TEXTS, _SCRIPT_SHARE = 2_000, 0.001


def build_calibration(run: Run) -> Outcome:
    """Draw what cannot match, and keep how high it scores."""
    inputs = {"corpus": Corpus.open(run, "all").digest}
    reads = [INDEX, *([] if index_encoder(run) else [ENCODER])]
    settings = ["seed", "calibration", *NAMING]
    return run.build(CALIBRATION, _fill, reads=reads, settings=settings, inputs=inputs)


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    index, seed = Index.open(run), derive_seed(run.settings.seed, "scale")
    corpus, pairs = index.corpus, run.settings.calibration.pairs
    if len(corpus) < 2:
        raise InputError(f"{run.path}: has one sentence; expected two to compare")
    scores = {}
    for kind, most in ((RANDOM, pairs), (SAME_DOCUMENT, pairs // _OTHERS)):
        cosines = _cosines(index, *draw_pairs(corpus.document_bounds, kind, most, seed))
        if kind == SAME_DOCUMENT:  # Quotations repeat a sentence.
            cosines = cosines[cosines < _SAME]
        if len(cosines):
            scores[kind] = np.sort(cosines)
    rng = np.random.default_rng(derive_seed(seed, "no answer"))
    scores |= _without_answer(Search(run, index), rng)
    scores[UNMATCHED] = np.sort(_without_counterpart(index, rng))
    write_arrays(workspace / SCORES, scores)
    chosen = np.sort(rng.choice(len(corpus), min(_SCRIPT_TEXTS, len(corpus)), replace=False))
    write_json(workspace / SCRIPTS, sorted(scripts_of(corpus.texts(chosen), _SCRIPT_SHARE)))
    return {kind: int(some.size) for kind, some in scores.items()}


def _cosines(index: Index, one: Ints, two: Ints) -> Floats:
    cosines = np.empty(len(one))
    for at in range(0, len(one), _ROWS):
        sides = (index.vectors(side[at : at + _ROWS]) for side in (one, two))
        cosines[at : at + _ROWS] = np.clip(np.einsum("nd,nd->n", *sides), -1.0, 1.0)
    return cosines


def _without_answer(search: Search, rng: np.random.Generator) -> dict[str, Floats]:
    """Return the evidence of the best hits of drawn queries, (lengths, queries), for each unit."""
    corpus, bm25 = search.index.corpus, search.index.bm25
    wanted = QUERIES * sum(LENGTHS)
    words: list[str] = []
    for _ in range(4):  # Sentences of stop words give none.
        for text in corpus.texts(rng.integers(0, len(corpus), wanted)):
            if kept := bm25.searched_words(text):
                words.append(kept[int(rng.integers(len(kept)))])
        if len(words) >= wanted:
            break
    words = words or ["x"]
    best = {unit: np.zeros((len(LENGTHS), QUERIES)) for unit in UNITS}
    rows = ((i, length, n) for i, length in enumerate(LENGTHS) for n in range(QUERIES))
    taken = 0
    for i, length, n in progress(rows, "Calibration", QUERIES * len(LENGTHS)):
        some = [words[(taken + k) % len(words)] for k in range(length)]
        taken += length
        if length == 1:
            some = ["".join(rng.permutation([*some[0]]))]
        for unit in UNITS:
            best[unit][i, n] = search.best_evidence(" ".join(some), unit)
    return {unit: np.sort(values, axis=1) for unit, values in best.items()}


def _without_counterpart(index: Index, rng: np.random.Generator) -> Floats:
    """Return the highest cosine of each drawn sentence with those that are near to no half."""
    usual = index.corpus.usual_sentences()
    usual = usual if len(usual) > 1 else np.arange(len(index.corpus))
    ends = rng.choice(usual, (SENTENCES, 2))
    halves = [[text.split() for text in index.corpus.texts(side)] for side in ends.T]
    texts = [
        " ".join(a[: (len(a) + 1) // 2] + b[len(b) // 2 :]) for a, b in zip(*halves, strict=True)
    ]
    vectors = index.encoder.encode(texts)
    numbers, cosines = index.nearest(vectors, _SEEN)
    best = np.zeros(SENTENCES)
    for row, (near, scores) in enumerate(zip(numbers, cosines, strict=True)):
        likeness = index.vectors(near) @ index.vectors(ends[row]).T
        other = likeness.max(axis=1) < _NEAR
        best[row] = scores[other].max(initial=0.0)
    return best


def draw_pairs(bounds: Ints, kind: str, most: int, seed: int) -> tuple[Ints, Ints]:
    """Draw at most so many pairs of a kind; return the first and the second sentence of each.

    No sentence is paired with itself, and every one is equally likely. `bounds` are those of
    documents (`Corpus.document_bounds`).
    """
    rng = np.random.default_rng(derive_seed(seed, kind))
    lengths, n = np.diff(bounds), int(bounds[-1])
    if kind == RANDOM:
        one = rng.integers(0, n, min(most, n * (n - 1) // 2))
        two = rng.integers(0, n - 1, len(one))
        return one, two + (two >= one)
    several = np.where(lengths > 1, lengths, 0)
    there = int((lengths * (lengths - 1) // 2).sum())
    drawn = rng.choice(int(several.sum()), min(most, there)) if there else np.empty(0, np.int64)
    before = starts(several)
    documents = np.searchsorted(before, drawn, side="right") - 1
    one = bounds[documents] + drawn - before[documents]
    two = bounds[documents] + (rng.random(len(one)) * (lengths[documents] - 1)).astype(np.int64)
    return one, two + (two >= one)
