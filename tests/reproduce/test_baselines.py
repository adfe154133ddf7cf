"""Baselines by name, and CBOS: gradients, neighbors, and trainings that resume."""

import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from firth.corpus.numbered import read_sentences
from firth.model import open_scorer
from firth.reproduce import neighbors
from firth.reproduce.averaged import WordBag, averaged, read_vectors
from firth.reproduce.baselines import build_baseline, open_baseline, stage_of
from firth.reproduce.neighbors import (
    CBOS,
    SIAMESE_CBOW,
    batches,
    centers_of,
    compose,
    cross_entropy,
    learn,
)
from firth.reproduce.settings import RECIPES, ReproduceSettings
from firth.run.errors import InputError
from firth.run.files import write_arrays
from firth.run.run import Run
from firth.run.settings import WordSettings

PAIRS = [
    ("The ship saw the boat.", "A boat left the harbor."),
    ("The ship saw the boat.", "The farmer saw wheat."),
    ("The ship saw the boat.", "The ship saw the boat."),
    ("", "Zzz."),
]
TEXTS = ["a ship, a boat.", "the storm!", "cow cow field", "", "nothing known"]
CORPUS = ("skip-gram", "cbow", "siamese-cbow", "cbos")


def test_averages_of_word_vectors() -> None:
    """Mean and maximum are over known words; a text without one has the zero vector."""
    names, rng = ("a", "ship", "boat", "storm"), np.random.default_rng(1)
    vectors = {name: rng.standard_normal(5).astype(np.float32) for name in names}
    mean, largest = (averaged(vectors.get, 5, pool)(TEXTS) for pool in ("mean", "max"))
    stack = np.array([vectors[name] for name in ("a", "ship", "a", "boat")], np.float64)
    np.testing.assert_allclose(mean[0], stack.mean(axis=0))
    np.testing.assert_allclose(largest[0], stack.max(axis=0))
    np.testing.assert_allclose(mean[1], vectors["storm"], rtol=1e-6)
    assert not mean[2:].any()


VECTORS = {"ship": "1 0 0", "boat": "0.6 0.8 0", "The": "0 0 1", "saw": "0 1 0", "cow": "0 0 2"}


@pytest.mark.parametrize("head", ["", "5 3\n"])
@pytest.mark.parametrize("compress", [str.encode, lambda text: gzip.compress(text.encode())])
def test_files_of_word_vectors(head: str, compress: Any, tmp_path: Path) -> None:
    """With a line of counts or without, compressed or not."""
    path = tmp_path / ("v.txt.gz" if compress is not str.encode else "v.txt")
    path.write_bytes(compress(head + "".join(f"{w} {v}\n" for w, v in VECTORS.items())))
    look_up, size = read_vectors(path)
    assert size == 3
    assert look_up("zebra") is None
    np.testing.assert_allclose(look_up("SHIP"), [1, 0, 0])  # type: ignore[arg-type]
    mean = open_scorer(f"baseline:vectors={path}").similarities([("ship boat", "ship")])
    np.testing.assert_allclose(mean, 1.6 / math.hypot(1.6, 0.8), rtol=1e-6)


def test_a_saved_bag_gives_the_same_scores(tmp_path: Path) -> None:
    """A repeated word counts again, and a saved bag is the same."""
    bag = WordBag("title", ["ship", "sail", "cow"], np.eye(3, dtype=np.float32), "porter")
    np.testing.assert_array_equal(bag.encode(["Ships sailing, ships"])[0], [2, 1, 0])
    bag.save(tmp_path)
    loaded = WordBag.load(tmp_path)
    np.testing.assert_array_equal(loaded.encode(TEXTS), bag.encode(TEXTS))
    assert (loaded.title, loaded.stemmer) == ("title", "porter")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("glove+best", "no option [+]best"),
        ("vectors", "vectors=FILE"),
        ("vectors=FILE", "expected word vectors as text"),
        ("vectors=FILE+cls", "no option [+]cls"),
        ("cbos", "@RUN"),
        ("cbos=FILE", "without a source"),
        ("cbow+max", "takes no option"),
    ],
)
def test_what_is_not_taken_is_refused(name: str, problem: str) -> None:
    """The message says what the name takes."""
    with pytest.raises(InputError, match=problem):
        open_baseline(name, None)


@pytest.mark.parametrize("name", CORPUS)
def test_a_baseline_is_trained_once_and_opened_by_name(run: Run, name: str) -> None:
    """A text is equal to itself, a text without known words has 0, and a second call reuses."""
    outcome = build_baseline(run, name)
    assert outcome.manifest.stage == stage_of(name).name
    assert build_baseline(run, name).reused
    before = (run.path / "settings.toml").read_bytes()
    scorer = open_scorer(f"baseline:{name}@{run.path}")
    scores = scorer.similarities(PAIRS)
    assert scores[2] == pytest.approx(1, abs=1e-6)
    assert scores[3] == 0
    assert np.ptp(scores[:3]) > 0
    assert (run.path / "settings.toml").read_bytes() == before


def test_settings_decide_whether_a_baseline_is_trained_again(run: Run) -> None:
    """Another recipe trains again; tables play no part."""
    build_baseline(run, "cbos")
    other = run.changed({"reproduce": {"tables": {"contexts": 3}}})
    assert build_baseline(other, "cbos").reused
    recipe = run.wing("reproduce", ReproduceSettings).baselines.recipe("cbos")
    assert (recipe.epochs, recipe.window, recipe.negatives) == (2, 1, 2)
    assert not build_baseline(run, "cbos", replace(recipe, epochs=1)).reused


def test_pools_of_a_transformer(tiny_bert: Path) -> None:
    """Each pool opens, and only the usual one is the mean."""
    usual, *others = (
        open_scorer(f"baseline:bert={tiny_bert}{pool}").similarities(PAIRS[:2])
        for pool in ("", "+mean", "+max", "+cls")
    )
    assert [np.allclose(usual, other) for other in others] == [True, False, False]


DOCUMENTS = np.array([0, 0, 0, 1, 2, 2, 2, 2])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_neighbors_are_in_the_document(k: int) -> None:
    """A neighbor that exists is another sentence of the same document, at most k away."""
    centers = centers_of(DOCUMENTS)
    assert centers.tolist() == [0, 1, 2, 4, 5, 6, 7]
    numbers, there = neighbors.neighbors(DOCUMENTS, centers, k)
    for center, row, exists in zip(centers, numbers, there, strict=True):
        expected = {i for i in range(center - k, center + k + 1) if i != center
                    and 0 <= i < len(DOCUMENTS) and DOCUMENTS[i] == DOCUMENTS[center]}  # fmt: skip
        assert set(row[exists].tolist()) == expected
        assert (row[~exists] == center).all()


@pytest.mark.parametrize("cosine", [False, True])
def test_cbos_is_a_softmax_over_the_sentence_and_random_ones(cosine: bool) -> None:
    """Its targets have one 1 in each row, so the loss is that of Eq. 7."""
    vectors = torch.from_numpy(np.random.default_rng(3).standard_normal((8, 4), np.float32))
    centers, negatives = np.array([1, 5]), np.array([[0, 4], [2, 3]])
    batch = compose(DOCUMENTS, centers, negatives, 1, siamese=False)
    anchors = torch.stack([(vectors[0] + vectors[2]) / 2, (vectors[4] + vectors[6]) / 2])
    known = vectors[torch.tensor([[1, 0, 4], [5, 2, 3]])]
    if cosine:
        anchors, known = (functional.normalize(one, dim=-1) for one in (anchors, known))
    logits = torch.einsum("bd,bcd->bc", anchors, known)
    expected = functional.cross_entropy(logits, torch.zeros(2, dtype=torch.long), reduction="sum")
    torch.testing.assert_close(cross_entropy(vectors, batch, cosine=cosine), expected)
    all_centers, many = centers_of(DOCUMENTS), negatives.repeat(4, 0)[:7]
    others = compose(DOCUMENTS, all_centers, many, 2, siamese=True)
    np.testing.assert_allclose(others.targets.sum(axis=1), 1, rtol=1e-6)
    assert torch.isfinite(cross_entropy(vectors, others, cosine=cosine))


def test_an_epoch_reads_each_center_once() -> None:
    """Steps are a function of seed and epoch."""
    recipe = replace(RECIPES["cbos"], batch=3)
    first, again, other = (
        [centers.tolist() for centers, _ in batches(DOCUMENTS, recipe, 5, epoch)]
        for epoch in (0, 0, 1)
    )
    assert first == again != other
    assert sorted(n for step in first for n in step) == centers_of(DOCUMENTS).tolist()


@pytest.mark.parametrize("name", [CBOS, SIAMESE_CBOW])
def test_a_training_that_resumes_has_the_same_vectors(
    run: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one epoch and a stop, two more give what three give; the loss falls."""
    recipe = replace(RECIPES[name], dimensions=8, epochs=3, batch=50)
    sentences = read_sentences(run, WordSettings(min_count=2), tmp_path / "words")
    whole, losses = learn(sentences, name, recipe, 7, tmp_path / "whole")
    assert losses[-1] < losses[0]
    scratch = tmp_path / "stopped"

    def stopped(path: Path, arrays: Any) -> None:
        write_arrays(path, arrays)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(neighbors, "write_arrays", stopped)
        with pytest.raises(KeyboardInterrupt):
            learn(sentences, name, recipe, 7, scratch)
    vectors, resumed = learn(sentences, name, recipe, 7, scratch)
    np.testing.assert_array_equal(vectors, whole)
    assert resumed == losses
