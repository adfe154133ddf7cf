"""What a corpus consists of, from the stored files."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import ADDED, CORPUS
from firth.corpus.build import SOURCES
from firth.corpus.corpus import Corpus
from firth.run.run import Run

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class SourceStats:
    """What one file gave: documents, sentences and words stored for what learns, documents held
    out from it, duplicates and records dropped."""

    source: str
    documents: int
    sentences: int
    words: int
    held_out: int
    duplicates: int
    skipped: int


@dataclass(frozen=True)
class CorpusStats:
    """Counts of a corpus.

    Attributes:
        documents, paragraphs, sentences, words, chunks: Stored, for what learns.
        positions: Sentences that can be positions (`Corpus.positions`).
        held_out: Documents that nothing learns from (`Corpus.held_out`).
        duplicates: Documents dropped because the same text had been stored already.
        dated: Documents with a date, those held out included.
        bad_dates: Dates that could not be read; their documents have none.
        skipped: Reason → number of bad records.
        sentence_words: Quantile ("0.5" is the median) → words of a sentence.
        sources: What each file gave, in reading order.
        fields: Field that is kept → documents that have it, those held out included.
        added: Documents that were added later (`firth corpus add`), and are in no other figure.
    """

    documents: int
    paragraphs: int
    sentences: int
    words: int
    chunks: int
    positions: int
    held_out: int
    duplicates: int
    skipped: Mapping[str, int]
    sentence_words: Mapping[str, int]
    sources: tuple[SourceStats, ...]
    dated: int = 0
    bad_dates: int = 0
    fields: Mapping[str, int] = field(default_factory=dict)
    added: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def corpus_stats(run: str | Path | Run) -> CorpusStats:
    """Count what the corpus of a run consists of.

    Raises:
        MissingStageError: If the run has no corpus.
    """
    run = Run.open(run)
    counts, folder = run.manifest(CORPUS).summary, run.folder(CORPUS)
    quantiles = np.quantile(Corpus(folder).word_counts, QUANTILES, method="inverted_cdf")
    with (folder / SOURCES).open(encoding="utf-8") as lines:
        sources = tuple(SourceStats(**json.loads(line)) for line in lines)
    return CorpusStats(
        **{name: value for name, value in counts.items() if name != "note"},
        sentence_words={str(q): int(v) for q, v in zip(QUANTILES, quantiles, strict=True)},
        sources=sources,
        added=run.manifest(ADDED).summary["documents"] if run.has(ADDED) else 0,
    )
