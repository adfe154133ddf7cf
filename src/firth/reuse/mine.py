"""Which documents of a run re-tell one another: pairs, ranked by how much of them is found."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

import numpy as np

from firth.corpus.library import Library
from firth.lexical.arrays import Floats, Ints
from firth.reuse.align import run_vectors, windows_of
from firth.reuse.chance import check_bounds, scale_threshold, sentence_threshold
from firth.reuse.compare import RATE, Side, document_of, meet
from firth.reuse.kinds import Order
from firth.reuse.neighbours import Pairs, similar_pairs
from firth.reuse.vectors import sentence_vectors
from firth.run.files import write_atomically
from firth.run.progress import track
from firth.run.run import Run
from firth.search.among import Among

CANDIDATES = 10
"""Documents that each is aligned with: those with which its sentences have most in common."""
_REMEMBERED = 256
"""Documents that are kept as they are compared: pairs come in the order of the first."""
_WIDTH = 80


@dataclass(frozen=True)
class DocumentPair:
    """Two documents, and what `firth compare-documents` says of them.

    Attributes:
        a, b: Their names.
        a_title, b_title: Their titles, or "".
        coverage: Share of the words of both together that is found in the other, in [0, 1].
        coverage_a, coverage_b: Share of the words of each.
        score: Of the alignment, in [0, 1].
        numbers: Of the documents in the run's `Library`.
    """

    a: str
    b: str
    a_title: str
    b_title: str
    coverage: float
    coverage_a: float
    coverage_b: float
    score: float
    numbers: tuple[int, int]


@dataclass(frozen=True)
class Mined:
    """Pairs of documents, those with the largest coverage first.

    Attributes:
        pairs: All that were aligned and have anything in common.
        documents: How many there are.
        threshold: Least similarity of aligned sentences.
        model, order: What was asked, and whether sentences may have moved.
        remark: What else a reader must know, or "".
    """

    pairs: tuple[DocumentPair, ...]
    documents: int
    threshold: float
    model: str
    order: Order
    remark: str = ""

    def between(self) -> Pairs:
        """The pairs by numbers of documents, with their scores."""
        ends = np.array([pair.numbers for pair in self.pairs], np.int64).reshape(-1, 2)
        scores = np.array([pair.score for pair in self.pairs], np.float32)
        return Pairs(ends[:, 0], ends[:, 1], scores, 0.0)

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Plain values, for JSON; of the first `top` pairs only, where given."""
        names = ("documents", "threshold", "model", "order", "remark")
        summary = {name: getattr(self, name) for name in names}
        return {**summary, "found": len(self.pairs), "pairs": [*map(_plain, self.pairs[:top])]}

    def text(self, top: int = 20) -> str:
        """For people, at most 80 columns wide: the first `top` pairs."""
        return "\n".join(self._lines(top))

    def _lines(self, top: int) -> Iterator[str]:
        yield f"{self.documents:,} documents: {len(self.pairs):,} pairs have something in common"
        yield shorten(f"similarity at least {self.threshold:.2f} by {self.model}", _WIDTH)
        if self.remark:
            yield fill(self.remark, _WIDTH)
        if self.pairs:
            yield "\n both  A in B  B in A  score  documents"
        for pair in self.pairs[:top]:
            shares = f"{pair.coverage:5.0%}  {pair.coverage_a:6.0%}  {pair.coverage_b:6.0%}"
            left = f"{shares}  {pair.score:5.2f}  "
            yield left + shorten(pair.a, _WIDTH - len(left), placeholder=" …")
            yield " " * len(left) + shorten(pair.b, _WIDTH - len(left), placeholder=" …")

    def write(self, path: Path) -> None:
        """Write all pairs, a row each: a `.parquet` file, else JSON lines."""
        rows = [*map(_plain, self.pairs)]
        with write_atomically(path) as partial:
            if path.suffix == ".parquet":
                import pyarrow as pa
                import pyarrow.parquet as pq

                text, share = pa.string(), pa.float64()
                columns = {"a": text, "b": text, "a_title": text, "b_title": text,
                           "coverage": share, "coverage_a": share, "coverage_b": share,
                           "score": share}  # fmt: skip
                pq.write_table(pa.Table.from_pylist(rows, pa.schema(columns)), partial)
            else:
                lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                partial.write_text("".join(lines), encoding="utf-8")


def mine(
    run: str | Path | Run,
    *,
    model: str | Path | None = None,
    order: str | Order = Order.FREE,
    threshold: float | None = None,
    rate: float = RATE,
    candidates: int = CANDIDATES,
    among: Among | None = None,
    seed: int | None = None,
) -> Mined:
    """Find the documents of a run that re-tell one another, or parts of one another.

    Sentences that are alike bring documents together; these are then aligned as
    `compare_documents` does, and ranked by how much of both is found in the other.

    Args:
        run: All its documents are looked at, those held out included, unless `among` says which.
        model: Folder or hub name of a sentence-transformers model; by default the run's Surrogate.
        order: `free`: sentences may have moved; `kept`: they stand in the same order.
        threshold: Least similarity of sentences that say the same.
        rate: Or which share of the pairs of sentences of one document may reach it, in (0, 1).
        candidates: Documents that each is aligned with, at most; it may be chosen by others, too.
        among: Which documents.
        seed: Of samples; by default the run's (13).

    Raises:
        InputError: A model that cannot be read, `rate` or `threshold` out of range, or no document
            `among` those asked for.
        MissingStageError: The run has no corpus; or no Surrogate, where no model is given.
    """
    opened = Run.open(run)
    check_bounds(threshold, rate)
    library, order = Library.open(opened), Order(order)
    seed = opened.config.seed if seed is None else seed
    sentences = (among or Among()).sentences(library)
    bounds = np.searchsorted(sentences, library.document_bounds)
    with sentence_vectors(model, opened, library, sentences) as (vectors, name):
        if threshold is None:
            known = scale_threshold(opened, rate) if model is None else None
            documents = library.document_of(sentences)
            threshold = known or sentence_threshold(vectors, documents, rate, seed)
        alike = similar_pairs(vectors, threshold, seed).of(sentences)
        chosen = _candidates(library, alike, candidates)
        words = np.maximum(library.word_counts[sentences], 1.0)

        @lru_cache(_REMEMBERED)
        def read(number: int) -> tuple[str, Side, list[Floats]]:
            document, (start, stop) = document_of(library, number), bounds[number : number + 2]
            unit, mass = np.asarray(vectors[start:stop], np.float64), words[start:stop]
            return document.name, Side.of(document.sentences, mass), run_vectors(unit, mass)

        found = []
        for one, two in track(chosen.tolist(), "Aligning documents"):
            (a, left, a_runs), (b, right, b_runs) = read(one), read(two)
            met = meet(left, right, windows_of(a_runs, b_runs), threshold, order)
            both = np.average(met.coverage, weights=[left.masses.sum(), right.masses.sum()])
            titles = library.document_title(one), library.document_title(two)
            found.append(DocumentPair(
                a, b, *titles, float(both), *met.coverage, met.score, (one, two)
            ))  # fmt: skip
    found.sort(key=lambda pair: (-pair.coverage, -pair.score, pair.numbers))
    asked = int(np.count_nonzero(np.diff(bounds)))
    return Mined(tuple(found), asked, threshold, name, order, library.remark())


def _candidates(library: Library, alike: Pairs, most: int) -> Ints:
    """Pairs of documents, (n, 2), whose sentences have most in common."""
    ends = [library.document_of(side) for side in (alike.left, alike.right)]
    across = ends[0] != ends[1]
    one, two = (end[across] for end in ends)
    counts = library.word_counts
    mass = np.minimum(counts[alike.left], counts[alike.right]) * alike.scores
    n = library.n_documents
    keys, inverse = np.unique(np.minimum(one, two) * n + np.maximum(one, two), return_inverse=True)
    # Of copies the same but for its last bits, which differ by processor and place.
    common: Floats = np.bincount(inverse, mass[across], len(keys)).astype(np.float64).round(3)
    firsts, seconds = np.divmod(keys, n)
    kept = np.zeros(len(keys), bool)
    owners, places = np.concatenate([firsts, seconds]), np.tile(np.arange(len(keys)), 2)
    best = np.lexsort((places, -common[places], owners))
    rank = np.arange(len(best)) - np.searchsorted(owners[best], owners[best])
    kept[places[best][rank < most]] = True
    found: Ints = np.column_stack([firsts[kept], seconds[kept]])
    return found


def _plain(pair: DocumentPair) -> dict[str, Any]:
    found = asdict(pair)
    del found["numbers"]
    return found
