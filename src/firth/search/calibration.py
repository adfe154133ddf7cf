"""Calibration: how high the best of all scores is where nothing here answers, or says the same.

The best of thousands of random scores is always high. A hit is therefore compared with the best
hits of queries that have no answer here, and a match with the best matches of sentences that have
no counterpart. Both are drawn, and searched, when the run is built (`firth.search.calibrate`).
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import read_arrays, read_json
from firth.run.run import Run
from firth.run.stage import Stage
from firth.search.index import INDEX
from firth.text.types import Floats

CALIBRATION = Stage("calibration", 4)
SCORES, SCRIPTS = "scores.safetensors", "scripts.json"
RANDOM, SAME_DOCUMENT, UNMATCHED = "random", "same-document", "unmatched"
LENGTHS = (1, 2, 3, 5, 8, 13)
"""Words that are searched for in the drawn queries; a query is compared with the nearest length."""
ANSWERS, RELATED = "probably answers", "may be related"
NOTHING = "probably nothing here answers this"
UNLIKELY = "unlikely to answer"
_ANSWERS_AT, _RELATED_AT = 0.05, 0.4
_FEWEST, _COUNTED, _TOP = 1_000, 50, 0.01
_SURE = 0.95
_RATES = (0.1, 0.01, 0.001, 0.0001)


@dataclass(frozen=True)
class Calibration:
    """What the scores of a run's index mean.

    Attributes:
        scores: Ascending float64 arrays. `random` and `same-document` have the cosines of such
            pairs of sentences, (n,). `unmatched` has the highest cosine of each drawn sentence
            without a counterpart, (n,). `sentence` and `document` have the evidence of the best
            hit of each drawn query without an answer, (lengths, n).
        scripts: Writing systems of the documents, as Unicode names them, such as `LATIN`.
    """

    scores: Mapping[str, Floats]
    scripts: frozenset[str] = frozenset()

    @classmethod
    def open(cls, run: str | Path | Run) -> "Calibration":
        """Open the calibration of a run.

        Raises:
            MissingStageError: It is not built.
        """
        folder = Run.open(run).folder(CALIBRATION)
        scores, _ = read_arrays(folder / SCORES)
        return cls(scores, frozenset(read_json(folder / SCRIPTS)))

    @classmethod
    def current(cls, run: Run) -> "Calibration | None":
        """Return the calibration of the run's index; None where there is none of this index."""
        if not run.has(CALIBRATION) or not run.has(INDEX):
            return None
        manifest = run.manifest(CALIBRATION)
        known = manifest.inputs if manifest.version == CALIBRATION.version else {}
        same = all(known.get(name) == digest for name, digest in run.inputs(INDEX).items())
        return cls.open(run) if same else None

    def chance(self, evidence: float, unit: str, length: float) -> float:
        """Return how often a query without an answer here has a best hit as good, in (0, 1].

        Args:
            evidence: Evidence of a hit (`firth.search.search.Hit`).
            unit: `sentence` or `document`.
            length: Number of words of the query that are searched for; stop words count half.
        """
        nearest = np.abs(np.log(LENGTHS) - np.log(max(length, 1))).argmin()
        best = self.scores[unit][nearest]
        as_high = len(best) - np.searchsorted(best, evidence - 1e-9)
        return float((1 + as_high) / (1 + len(best)))

    def threshold(self, false_match_rate: float, kind: str = RANDOM) -> float:
        """Return the lowest cosine that at most this share of pairs, or sentences, reach.

        It is the k-th highest of the n scores with k / (n + 1) at most the rate, so that the rate
        holds on average over draws.

        Args:
            false_match_rate: In (0, 1).
            kind: `random` for a single comparison of two sentences of the corpus. `unmatched` for
                the best of all comparisons of a sentence that has no counterpart.

        Raises:
            InputError: The rate is not between 1 / (n + 1) and 1; too few scores were drawn for it.
        """
        scores = self.scores[kind]
        n = len(scores)
        allowed = floor(false_match_rate * (n + 1) + 1e-9)
        if not 0 < false_match_rate < 1 or allowed < 1:
            raise InputError(
                f"a false-match rate of {false_match_rate:g}: expected one from {1 / (n + 1):.2g} "
                f"to 1, because {n:,} were drawn"
                + (". Draw more: --set calibration.pairs=N" if kind == RANDOM else "")
            )
        if allowed >= n:
            return float(scores[0])
        # Scores that equal one that is not allowed are not allowed either.
        first = int(np.searchsorted(scores, scores[n - allowed - 1], side="right"))
        return float(scores[first] if first < n else np.nextafter(scores[-1], np.inf))

    def false_match_rate(self, threshold: float) -> float:
        """Return the share of sentences without a counterpart that have a match this similar."""
        best = self.scores[UNMATCHED]
        return 1.0 - int(np.searchsorted(best, threshold)) / len(best)

    def threshold_within(self, rate: float) -> float | None:
        """Return the score that a share `rate` of pairs of different sentences of a document reach.

        They share a subject and mostly say different things. Where fewer than 50 scores are that
        high, the tail is taken to fall exponentially from the top hundredth on, as peaks over a
        threshold do (Pickands 1975, with shape 0). The median of the tail sets its slope, because
        its highest pairs may say the same. None: the corpus has too few such pairs, or its
        documents repeat themselves so much that the threshold would be 0.95 or more.

        Args:
            rate: In (0, 1).
        """
        scores = self.scores.get(SAME_DOCUMENT, np.empty(0))
        n = len(scores)
        if n < _FEWEST:
            return None
        tail = max(10, round(_TOP * n))
        if rate * n >= min(_COUNTED, tail):
            threshold = float(scores[n - floor(rate * n)])
        else:
            start, middle = scores[n - tail], scores[n - tail // 2]
            threshold = float(start + (middle - start) / np.log(2) * np.log(tail / n / rate))
        return threshold if threshold < _SURE else None

    def as_dict(self) -> dict[str, Any]:
        """Return thresholds for rates of false matches, and counts, as plain values for JSON."""
        return {
            "drawn": {kind: int(scores.size) for kind, scores in self.scores.items()},
            "thresholds": self._thresholds(RANDOM),
            "best_of_all_thresholds": self._thresholds(UNMATCHED),
        }

    def _thresholds(self, kind: str) -> dict[str, float]:
        if kind not in self.scores:
            return {}
        known = [rate for rate in _RATES if rate * (len(self.scores[kind]) + 1) >= 1]
        return {f"{rate:g}": self.threshold(rate, kind) for rate in known}

    def text(self) -> str:
        """Return a table of thresholds for rates of false matches."""
        one, best = self._thresholds(RANDOM), self._thresholds(UNMATCHED)
        rows = [
            [
                f"{100 * float(rate):g} %",
                f"{score:.3f}",
                f"{best[rate]:.3f}" if rate in best else "",
            ]
            for rate, score in one.items()
        ]
        return table([["false matches", "one comparison", "best of all sentences"], *rows])


def verdict(chance: float, has_all: bool = False) -> str:
    """Return in words whether a hit answers, by its chance (`Calibration.chance`).

    Two words of a query meet by chance in many corpora, but where a hit has all, a reader sees a
    relation.

    Example:
        >>> verdict(0.01), verdict(0.2), verdict(0.9), verdict(0.9, has_all=True)
        ('probably answers', 'may be related', 'unlikely to answer', 'may be related')
    """
    if chance <= _ANSWERS_AT:
        return ANSWERS
    return RELATED if chance <= _RELATED_AT or has_all else UNLIKELY


def scripts_of(texts: Iterable[str], share: float = 0.0) -> frozenset[str]:
    """Return the writing systems that have more than a share of the letters of some texts.

    Example:
        >>> sorted(scripts_of(["A ship", "\\u8239"]))
        ['CJK', 'LATIN']
    """
    counts: dict[str, int] = {}
    for text in texts:
        for letter in filter(str.isalpha, text):
            name = unicodedata.name(letter, "").partition(" ")[0]
            counts[name] = counts.get(name, 0) + 1
    least = share * sum(counts.values())
    return frozenset(name for name, count in counts.items() if count > least)
