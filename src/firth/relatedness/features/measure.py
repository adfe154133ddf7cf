"""Each feature of each pair, and its rank correlation with the scores (§5, Table 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firth.baselines.dice import Dice
from firth.evaluate.figures import bootstrap_seed
from firth.evaluate.metrics import Estimate, Floats, Metric, estimate
from firth.evaluate.rows import EvaluationSet
from firth.relatedness.features.feature import FEATURES, OVERLAP, Question
from firth.relatedness.features.parse import Parsed
from firth.relatedness.features.vectors import Vector, WordTable, relatedness
from firth.run.errors import InputError
from firth.run.progress import track

if TYPE_CHECKING:
    from firth.lexical.word_vectors import WordVectors

MIN_SHARE = 0.1
"""Parts of speech in no more than this share of the pairs are not shown (footnote 10)."""


@dataclass(frozen=True)
class Measured:
    """A line of Table 4.

    Attributes:
        name: The feature.
        question: Its block.
        figure: Spearman × 100 with its 95 % interval; `n` is the number of pairs it is over.
        both: Pairs in which both sentences have such a word, whether it has a vector or not.
        shown: Whether it belongs into the table: False for a part of speech that is too rare.
    """

    name: str
    question: Question
    figure: Estimate
    both: int
    shown: bool = True


def pair_features(
    data: EvaluationSet, sentences: Mapping[str, Parsed], vectors: "WordVectors"
) -> dict[str, tuple[Floats, int]]:
    """Feature → its value in each pair, NaN where it has none, and how many pairs have its words.

    Args:
        data: Scored pairs.
        sentences: The parse of every sentence.
        vectors: Of the words.

    Returns:
        Dice first, in [0, 1]; then `FEATURES`, cosines in [-1, 1]; shape (n,) each.
    """
    table = WordTable(vectors)
    found = {OVERLAP: (Dice().similarities(data.pairs), len(data.rows))}
    for feature in track(FEATURES, "Relatedness of words"):
        means: dict[str, Vector | None] = {}
        has: dict[str, bool] = {}
        for text, sentence in sentences.items():
            chosen = feature.words(sentence)
            means[text], has[text] = table.mean(chosen), bool(chosen)
        values = [relatedness(means[one], means[two]) for one, two in data.pairs]
        both = sum(has[one] and has[two] for one, two in data.pairs)
        found[feature.name] = (np.array(values, dtype=np.float64), both)
    return found


def correlate(
    data: EvaluationSet,
    features: Mapping[str, tuple[Floats, int]],
    *,
    seed: int = 13,
    resamples: int = 1_000,
    min_share: float = MIN_SHARE,
) -> list[Measured]:
    """Spearman of each feature with the scores, over the pairs that have it.

    Parts of speech stand in falling order, as in the paper.

    Args:
        data: Scored pairs.
        features: From `pair_features`.
        seed: Of the resampling; pairs are resampled.
        resamples: Bootstrap resamples of each interval.
        min_share: Parts of speech measured in no more than this share of the pairs are not shown.
    """
    scores = np.array([row.score for row in data.rows], dtype=np.float64)
    questions = {OVERLAP: Question.OVERLAP} | {one.name: one.question for one in FEATURES}
    lines = []
    for name, (values, both) in features.items():
        there = np.isfinite(values)
        figure = estimate(
            Metric.SPEARMAN,
            scores[there],
            values[there],
            seed=bootstrap_seed(seed, "relatedness", name),
            resamples=resamples,
        )
        question = questions[name]
        shown = question is not Question.POS or figure.n > min_share * len(scores)
        lines.append(Measured(name, question, figure, both, shown))
    return sorted(lines, key=_order)


def _order(line: Measured) -> tuple[int, bool, float]:
    place = list(Question).index(line.question)
    falling = -(line.figure.value or 0.0) if line.question is Question.POS else 0.0
    return place, not line.shown, falling


def check_scores(data: EvaluationSet) -> None:
    """Raise `InputError` where nothing can correlate: too few pairs, or all scores alike."""
    scores = {row.score for row in data.rows}
    if len(data.rows) < 2 or len(scores) < 2:
        raise InputError(
            f"{data.source}: {len(data.rows)} pairs with {len(scores)} different scores. Expected "
            "at least two pairs that differ in their score"
        )


def texts_of(data: EvaluationSet) -> Sequence[str]:
    """All sentences, each once, in their order."""
    return list(dict.fromkeys(text for pair in data.pairs for text in pair))
