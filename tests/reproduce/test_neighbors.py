"""CBOS and Siamese CBOW: gradients, neighbors, and trainings that resume."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from firth.corpus.numbered import read_sentences
from firth.reproduce import neighbors
from firth.reproduce.neighbors import (
    CBOS,
    SIAMESE_CBOW,
    batches,
    centers_of,
    compose,
    cross_entropy,
    learn,
)
from firth.reproduce.settings import NeighborSettings
from firth.run.files import write_arrays
from firth.run.run import Run
from firth.run.settings import WordSettings

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
    settings = NeighborSettings(dimensions=8, epochs=3, batch=50)
    sentences = read_sentences(run, WordSettings(min_count=2), tmp_path / "words")
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
