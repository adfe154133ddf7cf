"""CBOS (Yuan & Zhang) and Siamese CBOW (Kenter et al. 2016): sums of word vectors.

Sentences that are neighbors in the corpus teach them. A step asks of some anchors which of a few
candidates goes with each (Eqs. 5 to 7). Only the words of a step move.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor
from torch.nn import functional

from firth.corpus.numbered import WordSentences
from firth.reproduce.settings import Recipe
from firth.run.console import Progress
from firth.run.errors import DamagedError, InputError
from firth.run.files import read_arrays, write_arrays
from firth.run.settings import derive_seed
from firth.text.types import Ints, Singles

CBOS, SIAMESE_CBOW = "cbos", "siamese-cbow"
_SPREAD = np.float32(0.1)
"""Standard deviation of the first word vectors."""


@dataclass(frozen=True)
class Batch:
    """B questions: which of C candidates goes with the anchor?

    The anchor is the weighted sum of K sentences, `members` with their `shares`, (B, K); a share is
    0 where a sentence has fewer neighbors. `candidates`, (B, C), should get the probabilities
    `targets`; `open` is false for a neighbor that does not exist.
    """

    members: Ints
    shares: Singles
    candidates: Ints
    targets: Singles
    open: npt.NDArray[np.bool_]


def neighbors(documents: Ints, centers: Ints, k: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the k sentences on each side of each center, (B, 2k), and which of them exist.

    A neighbor exists if it is in the document of its center. The others are the center itself.
    """
    offsets = np.concatenate((np.arange(-k, 0), np.arange(1, k + 1)))
    around = centers[:, None] + offsets
    inside = np.clip(around, 0, len(documents) - 1)
    exists = (around == inside) & (documents[inside] == documents[centers][:, None])
    return np.where(exists, around, centers[:, None]), exists


def centers_of(documents: Ints) -> Ints:
    """Return the sentences that have a neighbor in their document: an epoch reads each once."""
    alike = documents[:-1] == documents[1:]
    return np.flatnonzero(np.append(alike, False) | np.insert(alike, 0, False))


def batches(documents: Ints, recipe: Recipe, seed: int, epoch: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield centers and negatives of each step of an epoch, which seed and epoch decide.

    Centers have a random order. Each has m sentences drawn uniformly from all.
    """
    rng = np.random.default_rng(derive_seed(seed, epoch))
    centers = rng.permutation(centers_of(documents))
    for first in range(0, len(centers), recipe.batch):
        chosen = centers[first : first + recipe.batch]
        yield chosen, rng.integers(len(documents), size=(len(chosen), recipe.negatives))


def compose(documents: Ints, centers: Ints, negatives: Ints, k: int, *, siamese: bool) -> Batch:
    """Return a batch of CBOS (Eqs. 5, 6), or of Siamese CBOW (Kenter et al. 2016, Eqs. 2 to 4).

    CBOS: the anchor is 1/2k of the sum of the neighbors, and the center is to be found among m
    random sentences. Siamese CBOW: the anchor is the center, and its neighbors, equally probable,
    are to be found.
    """
    near, exists = neighbors(documents, centers, k)
    center, alone = centers[:, None], np.ones((len(centers), 1), bool)
    members, shares = (center, alone) if siamese else (near, exists / np.float32(2 * k))
    right, exist = (near, exists) if siamese else (center, alone)
    candidates = np.column_stack((right, negatives))
    taking_part = np.column_stack((exist, np.ones(negatives.shape, bool)))
    targets = np.zeros(candidates.shape, np.float32)
    targets[:, : right.shape[1]] = exist / exist.sum(axis=1, keepdims=True)
    return Batch(members, shares.astype(np.float32), candidates, targets, taking_part)


def cross_entropy(vectors: Tensor, batch: Batch, *, cosine: bool) -> Tensor:
    """Return the cross-entropy of a batch (Eq. 7), summed.

    The numbers of the batch are rows of the vectors, (n, d). Anchor and candidate are compared by
    their cosine or their product.
    """
    shares, targets, closed = map(torch.from_numpy, (batch.shares, batch.targets, ~batch.open))
    anchors = (shares[:, :, None] * vectors[torch.from_numpy(batch.members)]).sum(dim=1)
    candidates = vectors[torch.from_numpy(batch.candidates)]
    if cosine:
        anchors, candidates = (functional.normalize(side, dim=-1) for side in (anchors, candidates))
    logits = (candidates @ anchors[:, :, None])[:, :, 0].masked_fill(closed, -1e9)
    return -(targets * functional.log_softmax(logits, dim=1)).sum()


def step(
    vectors: Singles,
    squares: Singles,
    sentences: WordSentences,
    batch: Batch,
    rate: float,
    *,
    cosine: bool,
) -> float:
    """Move the vectors of a batch's words, (V, d), against the gradient; return the summed loss.

    `squares` are Adagrad's sums of squared gradients, (V,).
    """
    members = np.concatenate((batch.members.ravel(), batch.candidates.ravel()))
    chosen, places = np.unique(members, return_inverse=True)
    split = batch.members.size
    local = replace(
        batch,
        members=places[:split].reshape(batch.members.shape),
        candidates=places[split:].reshape(batch.candidates.shape),
    )
    pieces, offsets = sentences.gather(chosen)
    rows, of_piece = np.unique(pieces, return_inverse=True)
    bounds = np.append(offsets, len(pieces))
    ones = np.ones(len(pieces), np.float32)
    # Counts of words in sentences: their product with the word vectors is Eq. 4.
    counts = sparse.csr_matrix((ones, of_piece, bounds), shape=(len(chosen), len(rows)))
    sums = torch.from_numpy(counts @ vectors[rows]).requires_grad_()
    loss = cross_entropy(sums, local, cosine=cosine)
    (gradient,) = torch.autograd.grad(loss, sums)
    slopes = counts.T @ gradient.numpy()
    squares[rows] += (slopes * slopes).mean(axis=1)
    slopes /= np.sqrt(squares[rows])[:, None] + np.float32(1e-10)
    vectors[rows] -= np.float32(rate) * slopes
    return loss.item()


def learn(
    sentences: WordSentences, name: str, recipe: Recipe, seed: int, scratch: Path
) -> tuple[Singles, list[float]]:
    """Learn word vectors; continue after the last finished epoch in `scratch`.

    Returns:
        Word vectors, (V, d), and the mean loss of each epoch.
    """
    cosine = name == SIAMESE_CBOW
    per_epoch = len(centers_of(sentences.documents))
    if not per_epoch:
        raise InputError(f"every document of the corpus has one sentence; {name} learns from two")
    rng = np.random.default_rng(derive_seed(seed, "vectors"))
    shape = len(sentences.vocabulary), recipe.dimensions
    vectors, losses = rng.standard_normal(shape, np.float32) * _SPREAD, list[float]()
    squares = np.zeros(shape[0], np.float32)
    checkpoint = scratch / "checkpoint.safetensors"
    with suppress(InputError, DamagedError):  # Without a whole checkpoint all is learned again.
        arrays, _ = read_arrays(checkpoint)
        vectors, squares, losses = arrays["vectors"], arrays["squares"], arrays["losses"].tolist()
    total, seen = recipe.epochs * per_epoch, len(losses) * per_epoch
    bar = Progress(total, f"Baseline {name}")
    with bar:
        bar.advance(seen)
        for epoch in range(len(losses), recipe.epochs):
            loss = 0.0
            steps = batches(sentences.documents, recipe, derive_seed(seed, "order"), epoch)
            for centers, negatives in steps:
                near = recipe.window
                batch = compose(sentences.documents, centers, negatives, near, siamese=cosine)
                rate = recipe.rate * max(1e-4, 1 - seen / total)
                loss += step(vectors, squares, sentences, batch, rate, cosine=cosine)
                seen += len(centers)
                bar.advance(len(centers))
            losses.append(loss / per_epoch)
            arrays = {"vectors": vectors, "squares": squares, "losses": np.array(losses)}
            write_arrays(checkpoint, arrays)
    return vectors, losses
