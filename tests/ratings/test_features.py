"""Table 4: word vectors, features of pairs, and their correlation with scores."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from firth.evaluation.baselines import Dice
from firth.evaluation.files import Row
from firth.evaluation.metrics import Metric
from firth.evaluation.sets import EvaluationSet, evaluation_set
from firth.ratings.features import (
    Block,
    Token,
    correlate,
    mean_vector,
    measure_features,
    open_pipeline,
)
from firth.run.errors import InputError
from firth.text.arrays import Floats

TABLE = {"sea": [1.0, 0.0], "Sea": [0.0, 1.0], "ship": [1.0, 1.0], "anti": [-1.0, 0.0]}
LISTS = st.lists(st.sampled_from(["sea", "ship", "SHIP", "unknown"]), max_size=5)
NOUNS = ["cat", "dog", "ship", "harbour", "judge", "storm", "river", "letter"]
VERBS = ["sees", "follows", "likes", "finds", "hears"]


def vectors(word: str) -> Floats | None:
    found = TABLE.get(word, TABLE.get(word.lower()))
    return None if found is None else np.array(found)


@given(LISTS)
def test_a_mean_is_a_unit_vector_blind_to_order(words: list[str]) -> None:
    mean = mean_vector(vectors, words)
    assert (mean is None) == (not set(words) - {"unknown"})
    if mean is not None:
        assert float(mean @ mean) == pytest.approx(1)
        assert mean_vector(vectors, words[::-1]) == pytest.approx(mean)


@pytest.fixture(scope="module")
def data() -> EvaluationSet:
    """60 pairs whose score is higher where they share nouns."""
    rng, rows = random.Random(1), []
    for _ in range(60):
        texts, nouns = [], []
        for _ in range(2):
            one, two = rng.choice(NOUNS), rng.choice(NOUNS)
            texts.append(f"The {one} {rng.choice(VERBS)} the {two}.")
            nouns.append({one, two})
        score = len(nouns[0] & nouns[1]) + 0.1 * rng.random()
        rows.append(Row(tuple(texts), score, subset=rng.choice("xy")))
    return evaluation_set("toy", "all", rows, (Metric.SPEARMAN,), "toy")


def one_hot(word: str) -> Floats | None:
    known = [*NOUNS, *VERBS, "the"]
    return np.eye(len(known))[known.index(word.lower())] if word.lower() in known else None


def test_lines_are_correlations_over_the_pairs_that_have_them(data: EvaluationSet) -> None:
    tokens = {
        text: [
            Token(word, "NOUN" if word in NOUNS else "VERB" if word in VERBS else "DET", "dep")
            for word in text.strip(".").split()
        ]
        for pair in data.pairs
        for text in pair
    }
    found = correlate(data, tokens, one_hot)
    dice = spearmanr(Dice().similarities(data.pairs), data.scores).statistic
    lines = {line.name: line.spearman for line in found.lines}
    assert lines["Dice"].value == pytest.approx(100 * dice)
    for name in ("All", "NOUN", "VERB", "Noun group"):
        assert lines[name].n == 60
        expected = 100 * spearmanr(found.values[name], data.scores).statistic
        assert lines[name].value == pytest.approx(expected)
    noun, verb = lines["NOUN"], lines["VERB"]
    assert noun.low is not None
    assert verb.value is not None
    assert noun.low > verb.value
    assert "PROPN" in found.rare
    assert np.isnan(found.values["PROPN"]).all()
    tags = [line.spearman.value or 0 for line in found.lines if line.block is Block.TAG]
    assert tags == sorted(tags, reverse=True)
    assert "PROPN" not in lines


def test_spacy_names_subjects_and_objects(data: EvaluationSet, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    try:
        pipeline = open_pipeline()
    except InputError:
        pytest.skip("no English pipeline is installed")
    found = measure_features(data, one_hot, pipeline)
    assert {"Dice", "All", "NOUN", "Subject", "Object"} <= {line.name for line in found.lines}
    found.write(tmp_path)
    assert len((tmp_path / "features.csv").read_text().splitlines()) == 61
    equal = evaluation_set("toy", "all", [Row(("a", "b"), 1.0)] * 3, data.metrics, "toy")
    with pytest.raises(InputError, match="two pairs with different scores"):
        measure_features(equal, one_hot, pipeline)
    with pytest.raises(InputError, match="cannot be opened"):
        open_pipeline("no_such_pipeline")
