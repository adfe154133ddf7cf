"""Word vectors by name, and the relatedness of sets of words."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines.registry import open_baseline
from firth.lexical.word_vectors import WordVectors
from firth.lexical.words import words
from firth.relatedness.features.vectors import WordTable, open_word_vectors, relatedness
from firth.run.errors import InputError, MissingStageError

TABLE = WordTable(
    WordVectors.of("toy", ["sea", "Sea", "ship", "anti"], np.array(
        [[1, 0], [0, 1], [1, 1], [-1, 0]], np.float32))
)  # fmt: skip
LISTS = st.lists(st.sampled_from(["sea", "ship", "SHIP", "unknown"]), max_size=5)


def test_look_up_as_written_then_in_lower_case() -> None:
    """`Sea` has a vector of its own, `SHIP` that of `ship`; unknown words do not count."""
    expected = {("Sea",): [0, 1], ("SHIP", "xyz"): [1, 1], ("sea", "ship"): [1, 0.5]}
    for found, vector in expected.items():
        mean = TABLE.mean(found)
        assert mean is not None
        assert mean.tolist() == vector
    assert TABLE.mean(["xyz"]) is None
    assert TABLE.mean([]) is None
    assert TABLE.mean(["sea", "anti"]) is None, "a zero vector has no direction"


@given(LISTS, LISTS)
def test_relatedness_is_a_cosine_of_bags(one: list[str], two: list[str]) -> None:
    """Symmetric, blind to order, 1 with itself, NaN exactly where one side has no known word."""
    a, b = TABLE.mean(one), TABLE.mean(two)
    found = relatedness(a, b)
    assert np.isnan(found) == (a is None or b is None)
    assert found == pytest.approx(relatedness(b, TABLE.mean(one[::-1])), nan_ok=True)
    assert relatedness(a, a) == pytest.approx(1.0 if a is not None else np.nan, nan_ok=True)


@pytest.mark.parametrize("name", ["skip-gram", "bag"])
def test_trained_vectors_are_those_of_the_baseline(trained_run: Path, name: str) -> None:
    """Over all words of a text, relatedness is the baseline's own similarity: same words, same
    stems, same vectors."""
    spec = f"baseline:{name}@{trained_run}"
    pairs = [
        ("The ship reached the harbour", "A sailor watched the waves"),
        ("the judge praised the jury", "The judge feared the trial and the verdict"),
    ]
    table = WordTable(open_word_vectors(spec))
    found = [relatedness(*(table.mean(words(text)) for text in pair)) for pair in pairs]
    assert found == pytest.approx(open_baseline(spec).similarities(pairs).tolist(), abs=1e-6)


def test_glove_and_content() -> None:
    """The prefix may be left out; +content drops stop words."""
    plain, content = open_word_vectors("glove"), open_word_vectors("baseline:glove+content")
    assert plain.dimensions == 50
    assert plain.look_up("the") is not None
    assert content.look_up("the") is None
    assert content.look_up("ship") is not None


def test_files(tmp_path: Path) -> None:
    """Any file that the baselines read."""
    path = tmp_path / "vectors.txt"
    path.write_text("sea 1 0 2\nship 0 1 0.5\n")
    found = open_word_vectors(f"vectors@{path}").look_up("ship")
    assert found is not None
    assert found.tolist() == [0, 1, 0.5]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("glove+max", r"\+max goes with a sentence vector"),
        ("dice", "no word vectors. Expected baseline:glove"),
        ("vectors", "no word vectors"),
        ("skip-gram", "no word vectors"),
    ],
)
def test_what_has_no_word_vectors(spec: str, message: str) -> None:
    """Refused, with what is possible."""
    with pytest.raises(InputError, match=message):
        open_word_vectors(spec)


def test_models_without_vectors_of_words(trained_run: Path, tiny_run: Path) -> None:
    """skip-thought encodes sentences only; a run may lack what is asked of it."""
    with pytest.raises(InputError, match="no vector for a single word"):
        open_word_vectors(f"skip-thought@{trained_run}")
    with pytest.raises(MissingStageError, match="firth train baseline cbow"):
        open_word_vectors(f"cbow@{tiny_run}")
