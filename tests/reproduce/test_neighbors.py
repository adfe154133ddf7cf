"""CBOS and Siamese CBOW: gradients, neighbors, and trainings that resume."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.reproduce import neighbors
from firth.reproduce.neighbors import (
    CBOS,
    SIAMESE_CBOW,
    batches,
    center_predicts_neighbors,
    centers_of,
    context_predicts_center,
    learn,
    loss_and_gradient,
    sentences_of,
)
from firth.reproduce.settings import NeighborSettings
from firth.run.files import write_arrays
from firth.run.run import Run

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
@pytest.mark.parametrize("compose", [context_predicts_center, center_predicts_neighbors])
def test_gradient_is_that_of_the_loss(compose: neighbors.Compose, cosine: bool) -> None:
    """Small steps along each direction change the loss as the gradient says."""
    rng = np.random.default_rng(3)
    vectors: Any = rng.standard_normal((len(DOCUMENTS), 4))  # doubles, for exact differences
    centers = centers_of(DOCUMENTS)
    batch = compose(DOCUMENTS, centers, rng.integers(8, size=(len(centers), 2)), 2)
    np.testing.assert_allclose(batch.targets.sum(axis=1), 1, rtol=1e-6)
    _, gradient = loss_and_gradient(vectors, batch, cosine=cosine)
    for _ in range(5):
        direction = rng.standard_normal(vectors.shape)
        ahead, behind = (
            loss_and_gradient(vectors + sign * 1e-4 * direction, batch, cosine=cosine)[0]
            for sign in (1, -1)
        )
        assert (ahead - behind) / 2e-4 == pytest.approx((gradient * direction).sum(), rel=1e-3)


def test_an_epoch_reads_each_center_once() -> None:
    """Steps are a function of seed and epoch."""
    settings = NeighborSettings(batch=3)
    first, again, other = (
        [centers.tolist() for centers, _ in batches(DOCUMENTS, settings, 5, epoch)]
        for epoch in (0, 0, 1)
    )
    assert first == again != other
    assert sorted(n for step in first for n in step) == centers_of(DOCUMENTS).tolist()


@pytest.mark.parametrize("name", [CBOS, SIAMESE_CBOW])
def test_a_training_that_resumes_has_the_same_vectors(
    run: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one epoch and a stop, two more give what three give; the loss falls."""
    settings = NeighborSettings(min_count=2, dimensions=8, epochs=3, batch=50)
    sentences = sentences_of(run, settings, tmp_path / "words")
    whole, losses = learn(sentences, name, settings, 7, tmp_path / "whole")
    assert losses[-1] < losses[0]
    scratch = tmp_path / "stopped"

    def stopped(path: Path, arrays: Any) -> None:
        write_arrays(path, arrays)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(neighbors, "write_arrays", stopped)
        with pytest.raises(KeyboardInterrupt):
            learn(sentences, name, settings, 7, scratch)
    vectors, resumed = learn(sentences, name, settings, 7, scratch)
    np.testing.assert_array_equal(vectors, whole)
    assert resumed == losses
