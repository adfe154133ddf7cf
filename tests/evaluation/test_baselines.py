"""Baselines: plain definitions, properties of every scorer, word counts of a run."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.test_stems import ngrams

from firth.corpus.build import build_corpus
from firth.encoders.words import build_words
from firth.evaluation.baselines import BASELINES, Dice, TfIdf, idf_of_run, open_baseline
from firth.run.run import Run
from firth.text.stems import Idf, fit_idf
from firth.text.types import PairScorer, TextPair
from firth.text.words import words

SENTENCES = ["The ship sailed.", "A storm came.", "The old ship left a harbour.", "Israel is far."]
IDF = fit_idf(SENTENCES, "porter")
SCORERS: dict[str, PairScorer] = {
    "dice": Dice(),
    "tfidf": TfIdf(IDF),
    "ngrams": TfIdf(IDF, ngrams=True),
}
TEXT = st.lists(
    st.sampled_from(
        ["ship", "ships", "sailed", "storm", "Israeli", "1984", "über", "船", "!?", "a"]
    ),
    max_size=6,
).map(" ".join)


def sum_of_directions(text: str, idf: Idf) -> dict[str, float]:
    """Return each n-gram's part in the sum of a text's stems, each as long as its idf."""
    parts: dict[str, float] = {}
    for stem in set(idf.terms(text)):
        grams = ngrams(stem)
        for gram in grams:
            part = idf.weight(stem) / math.sqrt(len(grams))
            parts[gram] = parts.get(gram, 0.0) + part
    return parts


def cosine(one: dict[str, float], two: dict[str, float]) -> float:
    product = sum(value * two.get(key, 0.0) for key, value in one.items())
    return product / ((math.hypot(*one.values()) * math.hypot(*two.values())) or 1.0)


@settings(max_examples=50)
@given(pair=st.tuples(TEXT, TEXT))
def test_scores_are_the_plain_definitions(pair: TextPair) -> None:
    one, two = pair
    scores = {name: float(scorer.similarities([pair])[0]) for name, scorer in SCORERS.items()}
    if one == two:
        assert set(scores.values()) == {1.0}
        return
    first, second = (set(words(text)) for text in pair)
    assert scores["dice"] == pytest.approx(
        2 * len(first & second) / max(len(first) + len(second), 1)
    )
    idfs = ({stem: IDF.weight(stem) for stem in set(IDF.terms(text))} for text in pair)
    assert scores["tfidf"] == pytest.approx(cosine(*idfs), abs=1e-12)
    sums = (sum_of_directions(text, IDF) for text in pair)
    assert scores["ngrams"] == pytest.approx(cosine(*sums), abs=1e-12)


@pytest.mark.parametrize("name", BASELINES)
@settings(max_examples=30)
@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_scores_depend_on_the_pair_only(name: str, pairs: list[TextPair]) -> None:
    """Not on the order of its texts, nor on the other pairs; they lie in [0, 1]."""
    scorer = SCORERS[name]
    scores = scorer.similarities(pairs)
    assert scores.shape == (len(pairs),)
    assert ((scores >= 0) & (scores <= 1)).all()
    turned = scorer.similarities([(two, one) for one, two in pairs])
    assert turned == pytest.approx(scores, abs=1e-12)
    alone: Sequence[float] = [float(scorer.similarities([pair])[0]) for pair in pairs]
    assert alone == pytest.approx(scores.tolist(), abs=1e-12)


def test_without_counts_the_scored_texts_are_counted() -> None:
    pairs = [(one, two) for one in SENTENCES for two in SENTENCES]
    for name in ("tfidf", "ngrams"):
        own = open_baseline(name).similarities(pairs)
        assert np.array_equal(own, SCORERS[name].similarities(pairs))


def test_the_stemmer_follows_the_language() -> None:
    pairs = [("Die Häuser in der Stadt", "Ein Haus auf dem Land"), ("Es regnet", "Es schneit")]
    assert open_baseline("tfidf").similarities(pairs)[0] > 0


def test_a_run_gives_its_counts_and_language(empty_run: Run, tmp_path: Path) -> None:
    """The counts of its word vectors, where they are built, are those of its sentences."""
    (tmp_path / "day.txt").write_text(" ".join(SENTENCES), encoding="utf-8")
    run = empty_run.changed({"corpus": {"held_out_fraction": 0.0}, "words": {"min_count": 1}})
    build_corpus(run, [tmp_path / "day.txt"])
    pairs = [("A ship sailed.", "The ship."), ("A storm", "Israel")]

    def scores(name: str) -> list[float]:
        return list(open_baseline(name, run.path).similarities(pairs))

    assert idf_of_run(run) == IDF
    before = [scores(name) for name in ("tfidf", "ngrams")]
    assert before == [list(SCORERS[name].similarities(pairs)) for name in ("tfidf", "ngrams")]
    build_words(run)
    assert idf_of_run(run) == IDF
    assert [scores(name) for name in ("tfidf", "ngrams")] == before
