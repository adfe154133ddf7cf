"""Table 4 from sentences parsed by hand: values, counts, correlations, order."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.baselines.dice import Dice
from firth.evaluate.rows import EvaluationSet, Row
from firth.lexical.word_vectors import WordVectors
from firth.relatedness.features.feature import FEATURES, OVERLAP, Question
from firth.relatedness.features.measure import check_scores, correlate, pair_features
from firth.relatedness.features.parse import Parsed
from firth.relatedness.features.roles import Role
from firth.relatedness.scored import file_task
from firth.run.errors import InputError

NOUNS, VERBS = ("ship", "sea", "cow", "barn", "judge"), ("sailed", "left", "saw")


def sentence(rng: np.random.Generator) -> tuple[str, Parsed]:
    """A noun or two and perhaps a verb; the first noun is the subject."""
    nouns = rng.choice(NOUNS, rng.integers(1, 3)).tolist()
    verbs = rng.choice(VERBS, rng.integers(0, 2)).tolist()
    words = (*nouns, *verbs)
    tags = ("NOUN",) * len(nouns) + ("VERB",) * len(verbs)
    return " ".join(words), Parsed(words, tags, {Role.SUBJECT: (0,)})


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    rng = np.random.default_rng(3)
    known = [*NOUNS, *VERBS[:2]]
    return WordVectors.of("toy", known, rng.normal(size=(len(known), 4)).astype(np.float32))


@pytest.fixture(scope="module")
def made() -> tuple[EvaluationSet, dict[str, Parsed]]:
    """60 pairs scored by their overlap and noise."""
    rng = np.random.default_rng(5)
    sentences: dict[str, Parsed] = {}
    rows = []
    for _ in range(60):
        pair = [sentence(rng) for _ in range(2)]
        sentences |= dict(pair)
        texts = (pair[0][0], pair[1][0])
        score = float(Dice().similarities([texts])[0] + rng.normal(0, 0.3))
        rows.append(Row(texts, score))
    return EvaluationSet(
        file_task(Path("made.tsv"), [0, 1]), "all", tuple(rows), "made.tsv"
    ), sentences


def test_correlations_are_over_the_pairs_that_have_the_words(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """Spearman as scipy has it, on exactly the pairs in which both sentences have such a word with
    a vector; `both` counts words without one too."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    lines = {line.name: line for line in correlate(data, found, resamples=20)}
    assert set(lines) == {OVERLAP, *(feature.name for feature in FEATURES)}
    scores = np.array([row.score for row in data.rows])
    values, both = found["VERB"]
    there = np.isfinite(values)
    assert 2 < there.sum() < both < len(scores), "the premise: some verb has no vector"
    for name in ("NOUN", "VERB", "Noun group", "All", OVERLAP, "Subject"):
        values = found[name][0]
        there = np.isfinite(values)
        expected = 100 * spearmanr(values[there], scores[there]).statistic
        assert lines[name].figure.value == pytest.approx(expected)
        assert lines[name].figure.n == there.sum()
    assert lines["VERB"].both == both
    assert lines["ADJ"].figure.value is None
    assert not lines["ADJ"].shown


def test_groups_of_one_part_of_speech_are_that_part(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """Where there are only nouns, the noun group is NOUN; Dice is the baseline's."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    assert np.array_equal(found["NOUN"][0], found["Noun group"][0], equal_nan=True)
    assert not np.array_equal(found["NOUN"][0], found["Subject"][0], equal_nan=True)
    assert np.array_equal(found[OVERLAP][0], Dice().similarities(data.pairs))


def test_parts_of_speech_fall_and_rare_ones_are_hidden(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """The blocks keep the paper's order; a share is a strict bound, as in its footnote 10."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    lines = correlate(data, found, resamples=5)
    assert [line.question for line in lines] == sorted(
        (line.question for line in lines), key=list(Question).index
    )
    shown = [line.figure.value for line in lines if line.question is Question.POS and line.shown]
    assert shown == sorted(shown, key=lambda value: -(value or 0))
    verbs = next(line for line in lines if line.name == "VERB").figure.n
    exactly = correlate(data, found, resamples=5, min_share=verbs / len(data.rows))
    assert not next(line for line in exactly if line.name == "VERB").shown


def test_scores_that_cannot_correlate(made: tuple[EvaluationSet, dict[str, Parsed]]) -> None:
    """Found before anything is parsed."""
    data, _ = made
    check_scores(data)
    rows = tuple(Row(row.texts, 0.5) for row in data.rows)
    with pytest.raises(InputError, match="60 pairs with 1 different scores"):
        check_scores(EvaluationSet(data.task, "all", rows, "flat.tsv"))
