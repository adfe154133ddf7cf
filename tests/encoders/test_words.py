"""What a corpus says about words: shrinkage, rarity, and the vectors that they scale."""

import math
from pathlib import Path

import numpy as np
import pytest

from firth.encoders.words import WORDS, BagEncoder, WordSpace, build_words
from firth.run.run import Run
from firth.text.stems import Idf

COUNTS = {"ship": 50, "sail": 10, "storm": 1, "the": 399}
VECTORS = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], np.float32)


def space(prior_count: float = 50.0) -> WordSpace:
    return WordSpace(["ship", "sail", "storm"], VECTORS, Idf(COUNTS, 399, "porter"), prior_count)


def test_learned_vectors_are_shrunk() -> None:
    """sqrt(n / (n + k)) times vectors whose lengths have the root mean square 1."""
    scale = math.sqrt((9 + 16 + 0) / 3)
    vectors = space().learned(["sail", "cow", "ship", "storm"])
    one, two = 4 / scale * math.sqrt(1 / 6), 3 / scale * math.sqrt(0.5)
    expected = np.array([[0.0, one], [0.0, 0.0], [two, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert space().learned([]).shape == (0, 2)
    assert vectors.dtype == np.float64


def test_an_unlearned_space_knows_rarity_only() -> None:
    """About 1 for one sentence in 400, 0 for all of them, most for an unknown stem."""
    unlearned = space().unlearned()
    assert not unlearned.learned(["ship", "sail"]).any()
    assert unlearned.rarity("storm") == pytest.approx(math.log(400 / 2) / 6)
    assert unlearned.rarity("the") == 0.0
    assert unlearned.rarity("cow") > unlearned.rarity("storm")


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


def test_the_stage_learns_from_the_corpus(words_run: Run) -> None:
    """Words of one topic are similar; the request is the corpus and its settings."""
    assert build_words(words_run).reused
    run = words_run.changed({"words": {"dimensions": 12, "epochs": 8, "batch": 32}})
    outcome = build_words(run)
    assert not outcome.reused
    learned = WordSpace.load(run.folder(WORDS))
    assert learned.dimensions == 12
    assert learned.idf.frequencies["the"] == max(learned.idf.frequencies.values())
    ship, storm, cow = learned.directions(["ship", "storm", "cow"])
    assert ship @ storm > ship @ cow
    assert outcome.manifest.summary["neighbors"] > 100
