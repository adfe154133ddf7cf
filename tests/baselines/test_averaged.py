"""Averaged word vectors: equal to the formulas written out, word by word."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines.averaged import Averager, average, first_component, idf_weighted, sif_weighted
from firth.baselines.registry import open_baseline
from firth.baselines.spec import Spec
from firth.lexical.tfidf import fit_idf
from firth.lexical.word_vectors import WordVectors
from firth.lexical.words import Stemmer, words
from firth.run.errors import InputError

WORDS = ["a", "the", "ship", "sea", "storm", "sailed", "left", "harbour"]
VECTORS = np.random.default_rng(8).normal(size=(len(WORDS), 6)).astype(np.float32)
TINY = WordVectors.of("tiny", WORDS, VECTORS)
TEXTS = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=8).map(" ".join)


def rows(text: str) -> npt.NDArray[np.float64]:
    return np.array([VECTORS[WORDS.index(w)] for w in words(text) if w in WORDS], dtype=np.float64)


@given(TEXTS)
def test_mean_and_max_are_the_mean_and_the_max(text: str) -> None:
    """Over the known words; zero without one."""
    found = rows(text)
    mean = found.mean(axis=0) if len(found) else np.zeros(6)
    largest = found.max(axis=0) if len(found) else np.zeros(6)
    np.testing.assert_allclose(Averager(TINY).encode([text])[0], mean, atol=1e-12)
    np.testing.assert_allclose(Averager(TINY, largest=True).encode([text])[0], largest, atol=1e-12)


def test_words_are_looked_up_as_written_first() -> None:
    """A cased file keeps its capitals; another one is asked in lower case."""
    cased = WordVectors.of("cased", ["US", "us"], np.eye(2, dtype=np.float32))
    encode = Averager(cased).encode
    assert encode(["US", "us", "Us"]).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_stop_words_are_left_out_on_request() -> None:
    """`the` and `a` have no say, however they are written; the name says so."""
    scorer = average(TINY, Spec.parse("baseline:vectors+content@tiny"))
    assert scorer.similarities([("The ship", "a ship"), ("The", "the")]).tolist() == [
        pytest.approx(1),
        0.0,
    ]
    assert "stop words left out" in scorer.name


def test_idf_weights_are_those_of_the_sentences() -> None:
    """The own set's idf equals one learned from its distinct texts."""
    pairs = [("the ship sailed", "the storm"), ("a ship", "the ship sailed")]
    idf = fit_idf({text for pair in pairs for text in pair}, "texts", Stemmer.NONE)
    expected = []
    for pair in pairs:
        one, two = (
            sum(idf.smooth_weight(w) * VECTORS[WORDS.index(w)].astype(float) for w in words(text))
            for text in pair
        )
        expected.append(one @ two / np.linalg.norm(one) / np.linalg.norm(two))
    np.testing.assert_allclose(idf_weighted(TINY).similarities(pairs), expected)


def test_sif_is_the_algorithm_of_the_paper() -> None:
    """Weights a / (a + p(w)), then the first singular vector taken out of all."""
    pairs = [("the ship sailed", "the storm"), ("a ship", "the sea"), ("left a harbour", "a ship")]
    texts = sorted({text for pair in pairs for text in pair})
    tokens = [w for text in texts for w in words(text)]
    matrix = np.array(
        [
            np.mean(
                [
                    1e-3 / (1e-3 + tokens.count(w) / len(tokens)) * VECTORS[WORDS.index(w)]
                    for w in words(text)
                ],
                axis=0,
            )
            for text in texts
        ],
        dtype=np.float64,
    )
    u = np.linalg.svd(matrix)[2][0]
    matrix -= np.outer(matrix @ u, u)
    vectors = dict(zip(texts, matrix / np.linalg.norm(matrix, axis=1, keepdims=True), strict=True))
    expected = [vectors[a] @ vectors[b] for a, b in pairs]
    np.testing.assert_allclose(sif_weighted(TINY).similarities(pairs), expected, atol=1e-6)


def test_what_lies_along_the_component_has_no_direction() -> None:
    """A set of one text: nothing but rounding is left of it, and rounding is not compared."""
    scorer = sif_weighted(TINY)
    assert scorer.similarities([("the ship", "the ship")]).tolist() == [0.0]
    assert scorer.similarities([("", "")]).tolist() == [0.0]


def test_the_component_of_nothing_is_zero() -> None:
    """No text with a known word: nothing to take away."""
    assert not first_component(np.zeros((3, 4))).any()


@pytest.mark.parametrize(
    "option", ["idf", "sif", "sif={run}+set-component", "idf={run}", "sif={run}"]
)
def test_names_say_where_weights_come_from(option: str, tiny_run: Path) -> None:
    """The run's corpus or the evaluated set, for each thing learned."""
    spec = Spec.parse(f"baseline:vectors+{option.format(run=tiny_run)}@tiny")
    name = average(TINY, spec).name
    assert ("evaluated set" in name) == ("run" not in option or "set-component" in option)
    assert (str(tiny_run) in name) == ("run" in option)


def test_rare_words_count_more_when_weighted(tiny_run: Path) -> None:
    """Sharing `ship` beats sharing `the` under the weights of a corpus full of `the`."""
    vectors = WordVectors.of("unit", ["the", "ship", "harbour"], np.eye(3, dtype=np.float32))
    pairs = [("the ship", "harbour ship"), ("the ship", "the harbour")]
    for scorer in (idf_weighted(vectors, str(tiny_run)), sif_weighted(vectors, str(tiny_run))):
        rare, common = scorer.similarities(pairs)
        assert rare > common


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    """Before any file is read."""
    missing = tmp_path / "none.txt"
    for options, message in {
        "+max+idf": "exclude each other",
        "+sif+set-component": "only goes with",
        "+mean=3": "takes no value",
        "+median": r"no option \+median",
    }.items():
        with pytest.raises(InputError, match=message):
            open_baseline(f"baseline:vectors{options}@{missing}")
    with pytest.raises(InputError, match="nothing after @"):
        open_baseline("baseline:vectors")
