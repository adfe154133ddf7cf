"""What a corpus knows of words: trust, rarity, and the vectors they scale."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from firth.lexical.tfidf import Idf
from firth.lexical.word_space import SPACE, WordSpace
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import Stemmer
from firth.run.errors import InputError

COUNTS = {"ship": 50, "sail": 10, "storm": 1, "the": 399}
VECTORS = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], np.float32)


def space(trust: float = 50.0) -> WordSpace:
    bag = WordBag("a bag", ["ship", "sail", "storm"], VECTORS, Stemmer.PORTER)
    return WordSpace(bag, Idf(COUNTS, 399, "the corpus", Stemmer.PORTER), trust)


def test_trust_grows_with_what_was_seen() -> None:
    """n / (n + k): half at k sentences, all where k is 0; nothing of what was never seen."""
    assert space().trusted("ship") == 0.5
    assert space().trusted("sail") == pytest.approx(1 / 6)
    assert space().trusted("cow") == space(0.0).trusted("cow") == 0.0
    assert space(0.0).trusted("storm") == 1.0


def test_rarity_is_the_idf_over_six() -> None:
    """About 1 for what one sentence in 400 has, 0 for what all have, most for the unknown."""
    assert space().rarity("storm") == pytest.approx(math.log(400 / 2) / 6)
    assert space().rarity("the") == 0.0
    assert space().rarity("cow") > space().rarity("storm")


def test_learned_vectors_are_scaled_by_trust() -> None:
    """√trust · vector, in a unit in which all lengths' root mean square is 1; 0 if unknown."""
    unit = math.sqrt((9 + 16 + 0) / 3)
    found = space().learned(["sail", "cow", "ship", "storm"])
    one, two = 4 / unit * math.sqrt(1 / 6), 3 / unit * math.sqrt(0.5)
    expected = np.array([[0.0, one], [0.0, 0.0], [two, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert space().learned([]).shape == (0, 2)
    assert found.dtype == np.float64


def test_directions_forget_lengths() -> None:
    """The same directions, each as long as √trust alone; a vector of length 0 stays."""
    found = space().directions(["sail", "cow", "ship", "storm"])
    expected = np.array([[0.0, math.sqrt(1 / 6)], [0.0, 0.0], [math.sqrt(0.5), 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert space().directions([]).shape == (0, 2)


def test_stems_are_distinct_and_in_order() -> None:
    """Forms of one stem count once."""
    assert space().stems("Ships sailed, the SHIP sails!") == ["ship", "sail", "the"]
    assert space().stems("…") == []


def test_saved_and_loaded_it_knows_the_same(tmp_path: Path) -> None:
    """Trust, counts and vectors come back."""
    space(20.0).save(tmp_path)
    loaded = WordSpace.load(tmp_path)
    assert loaded.trust == 20.0
    stems = ["sail", "cow", "ship"]
    assert (loaded.learned(stems) == space(20.0).learned(stems)).all()
    assert loaded.idf == space().idf


@pytest.mark.parametrize("stored", [{}, [], {"trust": "much"}])
def test_another_file_is_refused(tmp_path: Path, stored: object) -> None:
    """The message names the file and the command."""
    space().save(tmp_path)
    (tmp_path / SPACE).write_text(json.dumps(stored))
    with pytest.raises(InputError, match=r"space\.json.*firth train context"):
        WordSpace.load(tmp_path)
