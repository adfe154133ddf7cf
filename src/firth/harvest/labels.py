"""What labels are worth, before anything learns from them.

A label that is only the sentences' length teaches a model to count words; one that is only tf-idf,
what tf-idf knows for nothing; one on which the parts of Origin do not agree, noise.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.stats import rankdata

from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.lexical.tfidf import TfIdf
from firth.lexical.words import jaccard, words

LABELS = "labels.json"
SAMPLE = 20_000
"""Training pairs that are looked at, at most, evenly spaced."""
BINS = 20
NEAR_COPY = 0.7
"""Jaccard similarity of the sets of consecutive word pairs from which two sentences are copies, as
in `firth leakage` and `firth duplicates`."""
ONLY_LENGTH = 0.8
"""Multiple rank correlation from which a label is little more than length: 64 % of the variance."""
MUCH_LENGTH = 0.5
ONLY_WORDS = 0.98
FEW_LABELS = 0.01
MANY_COPIES = 0.1
DISAGREEMENT = 0.1
_DECIMALS = 4


def label_report(
    pairs: Sequence[TextPair],
    labels: Floats,
    parts: Mapping[str, Floats],
    leakage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What some labels are worth.

    Args:
        pairs: n ≥ 1 of those that will be learned from.
        labels: Of each, (n,), raw: every correlation below is one of ranks.
        parts: What each component of the teacher says of them, (n,) each.
        leakage: What is known of sentences that stand where they should not.

    Returns:
        `pairs`: n; `histogram`: `edges` and `counts`; `distinct`: share of labels that are no
        repetition; `components`: name → rank correlation with the label; `agreement`: that of each
        two of them with each other; `near_copies`: share of pairs whose sentences share most of
        their bigrams; `tfidf`: rank correlation with tf-idf over stems, idf from these sentences;
        `length`: that with the words of the `shorter` sentence, of `both`, and with the
        `difference`, and `explained`, the multiple correlation with all three; `leakage`, as given;
        `warnings`, in words, empty where nothing is wrong. A correlation is None where it is
        undefined.
    """
    counts, edges = np.histogram(labels, BINS)
    sizes = np.array([[len(words(text)) for text in pair] for pair in pairs])
    lengths = {
        "shorter": sizes.min(axis=1),
        "both": sizes.sum(axis=1),
        "difference": np.ptp(sizes, axis=1),
    }
    report: dict[str, Any] = {
        "pairs": len(pairs),
        "histogram": {
            "edges": [float(f"{edge:.12g}") for edge in edges],
            "counts": counts.tolist(),
        },
        "distinct": _rounded(len(np.unique(labels)) / len(labels)),
        "components": {name: _correlation(labels, part) for name, part in parts.items()},
        "agreement": {
            f"{one} and {two}": _correlation(parts[one], parts[two])
            for one, two in combinations(parts, 2)
        },
        "near_copies": _rounded(float(np.mean([_is_near_copy(*pair) for pair in pairs]))),
        "tfidf": _correlation(labels, TfIdf().similarities(pairs)),
        "length": {name: _correlation(labels, found) for name, found in lengths.items()}
        | {"explained": _explained(labels, np.stack([*lengths.values()]))},
        "leakage": dict(leakage or {}),
    }
    return report | {"warnings": _warnings(report)}


def told(report: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a report that a stage's summary repeats."""
    kept = ("components", "agreement", "near_copies", "tfidf", "leakage", "warnings")
    return {name: report[name] for name in kept} | {"length": report["length"]["explained"]}


def _rounded(value: float) -> float:
    return round(value, _DECIMALS)


def _correlation(one: Floats, two: Floats) -> float | None:
    """Spearman's, None where one side is constant or there are fewer than three."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return _rounded(float(np.corrcoef(rankdata(one), rankdata(two))[0, 1]))


def _explained(labels: Floats, features: Floats) -> float | None:
    """Multiple correlation, in [0, 1], of the labels' ranks with those of features, (f, n)."""
    varied = [feature for feature in features if np.ptp(feature)]
    if len(labels) < 10 or np.ptp(labels) == 0 or not varied:
        return None
    ranks = rankdata([labels, *varied], axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    wanted, known = ranks[0], ranks[1:].T
    left = wanted - known @ np.linalg.lstsq(known, wanted, rcond=None)[0]
    return _rounded(float(max(0.0, 1 - left @ left / (wanted @ wanted)) ** 0.5))


def _is_near_copy(one: str, two: str) -> bool:
    first, second = (frozenset(pairwise(words(text))) for text in (one, two))
    return bool(first) and jaccard(first, second) >= NEAR_COPY


def _warnings(report: Mapping[str, Any]) -> list[str]:
    said = []
    if report["distinct"] < FEW_LABELS:
        said.append(f"WORTHLESS LABELS: only {report['distinct']:.2%} of them differ.")
    length, tfidf = report["length"]["explained"], report["tfidf"]
    if length is not None and length >= ONLY_LENGTH:
        said.append(
            "WORTHLESS LABELS: they are little more than the sentences' length (multiple rank "
            f"correlation {length:.2f}). A model that learns them learns to count words."
        )
    elif length is not None and length >= MUCH_LENGTH:
        said.append(
            "The labels follow the sentences' length (multiple rank correlation "
            f"{length:.2f}): part of what is learned is counting words."
        )
    if tfidf is not None and tfidf >= ONLY_WORDS:
        said.append(f"The labels are tf-idf's (rank correlation {tfidf:.2f}), which costs nothing.")
    for name, agreement in report["agreement"].items():
        if agreement is not None and agreement < DISAGREEMENT:
            said.append(
                f"The parts of Origin do not agree ({name}: rank correlation {agreement:.2f}): "
                "one of them is noise."
            )
    if report["near_copies"] > MANY_COPIES:
        said.append(
            f"{report['near_copies']:.0%} of the pairs are near copies of each other, which teach "
            "little: drop duplicates from the documents (firth duplicates)."
        )
    if blocked := report["leakage"].get("blocked"):
        said.append(
            f"LEAKAGE: {blocked:,} sentences of evaluation sets are among the pairs. Do not "
            "evaluate what learns from them."
        )
    return said
