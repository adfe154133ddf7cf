"""What a corpus says about words: shrinkage, rarity, and the vectors that they scale."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from firth.encoders.words import WORDS, BagEncoder, WordSpace, build_words
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.text.rarity import Idf

COUNTS = {"ship": 50, "sail": 10, "storm": 1, "the": 399}
VECTORS = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], np.float32)


def space(prior_count: float = 50.0) -> WordSpace:
    return WordSpace(["ship", "sail", "storm"], VECTORS, Idf(COUNTS, 399, "porter"), prior_count)


def test_trust_grows_with_the_sentences_that_have_a_stem() -> None:
    """n / (n + k): half at k sentences, nothing for an unknown stem."""
    assert space().trusted("ship") == 0.5
    assert space().trusted("sail") == pytest.approx(1 / 6)
    assert space().trusted("cow") == space(0.0).trusted("cow") == 0.0
    assert space(0.0).trusted("storm") == 1.0


def test_rarity_is_the_idf_over_six() -> None:
    """About 1 for one sentence in 400, 0 for all of them, most for an unknown stem."""
    assert space().rarity("storm") == pytest.approx(math.log(400 / 2) / 6)
    assert space().rarity("the") == 0.0
    assert space().rarity("cow") > space().rarity("storm")


def test_learned_vectors_are_shrunk() -> None:
    """sqrt(n / (n + k)) times vectors whose lengths have the root mean square 1."""
    scale = math.sqrt((9 + 16 + 0) / 3)
    vectors = space().learned(["sail", "cow", "ship", "storm"])
    one, two = 4 / scale * math.sqrt(1 / 6), 3 / scale * math.sqrt(0.5)
    expected = np.array([[0.0, one], [0.0, 0.0], [two, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert space().learned([]).shape == (0, 2)
    assert vectors.dtype == np.float64


def test_directions_have_no_lengths_of_their_vectors() -> None:
    """The same directions with the shrinkage alone as lengths; a vector of length 0 stays."""
    vectors = space().directions(["sail", "cow", "ship", "storm"])
    expected = np.array([[0.0, math.sqrt(1 / 6)], [0.0, 0.0], [math.sqrt(0.5), 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert space().directions([]).shape == (0, 2)


def test_an_unlearned_space_knows_rarity_only() -> None:
    unlearned = space().unlearned()
    assert not unlearned.learned(["ship", "sail"]).any()
    assert not unlearned.directions(["ship"]).any()
    assert unlearned.rarity("storm") == space().rarity("storm")


def test_stems_are_distinct_and_in_order() -> None:
    assert space().stems("Ships sailed, the SHIP sails!") == ["ship", "sail", "the"]
    assert space().stems("\u2026") == []


def test_a_text_is_the_sum_of_its_distinct_stems() -> None:
    encoder = BagEncoder(space())
    expected = space().learned(["ship", "sail"]).sum(axis=0)
    vectors = encoder.encode(["The ships sail a ship", "cows", ""])
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), rtol=1e-6)
    assert not vectors[1:].any()
    assert encoder.dimensions == 2
    assert vectors.dtype == np.float32


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    space(20.0).save(tmp_path)
    loaded = WordSpace.load(tmp_path)
    assert (loaded.prior_count, loaded.idf) == (20.0, space().idf)
    stems = ["sail", "cow", "ship"]
    assert (loaded.learned(stems) == space(20.0).learned(stems)).all()


@pytest.mark.parametrize("stored", [{}, [], {"prior_count": "much", "vocabulary": []}])
def test_another_file_is_refused(tmp_path: Path, stored: object) -> None:
    space().save(tmp_path)
    (tmp_path / "words.json").write_text(json.dumps(stored))
    with pytest.raises(InputError, match=r"not word vectors of this version.*firth build"):
        WordSpace.load(tmp_path)


def test_the_stage_learns_from_the_corpus(words_run: Run) -> None:
    """Words of one topic are similar; the request is the corpus and its settings."""
    run = words_run
    outcome = build_words(run)
    assert outcome.reused
    learned = WordSpace.load(run.folder(WORDS))
    assert learned.dimensions == run.settings.words.dimensions
    assert learned.idf.frequencies["the"] == max(learned.idf.frequencies.values())
    ship, storm, cow = learned.directions(["ship", "storm", "cow"])
    assert ship @ storm > ship @ cow
    assert outcome.manifest.summary["neighbors"] > 100
    assert not build_words(run.changed({"words": {"dimensions": 6}})).reused


def test_without_a_corpus_the_message_says_what_to_build(empty_run: Run) -> None:
    with pytest.raises(MissingStageError):
        build_words(empty_run)
