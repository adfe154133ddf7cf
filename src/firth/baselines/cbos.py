"""CBOS (Yuan & Zhang) and Siamese CBOW (Kenter et al. 2016): sums of word vectors, taught by the
sentences next door.

A step asks of some anchors which of a few candidates goes with each. Loss and gradient are worked
out by hand (Eqs. 5 to 7), because a step of ten sentences takes longer to record for automatic
differentiation than to compute; only rows of words that a step's sentences have are moved.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file
from scipy import sparse

from firth.baselines.settings import Likeness, NeighbourSection, Optimiser
from firth.corpus.numbered import WordSentences, read_sentences
from firth.lexical.arrays import Ints, Singles
from firth.lexical.word_vectors import WordBag, load
from firth.run.errors import InputError
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

__all__ = ["fit", "load"]

_TINY = np.float32(1e-12)


@dataclass(frozen=True)
class Batch:
    """B questions: which of C candidates goes with the anchor?

    Attributes:
        members: (B, K), sentences whose weighted sum is the anchor.
        shares: (B, K), their weights; 0 where a sentence has fewer neighbours.
        candidates: (B, C), sentences.
        targets: (B, C), the probability each candidate should get; each row sums to 1.
        open: (B, C), false where a candidate takes no part (a neighbour that does not exist).
    """

    members: Ints
    shares: Singles
    candidates: Ints
    targets: Singles
    open: npt.NDArray[np.bool_]


def neighbours(documents: Ints, centres: Ints, k: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The k sentences on each side of each centre, (B, 2k), and which of them exist.

    One exists if it lies in the centre's document; the others are the centre itself.
    """
    offsets = np.concatenate((np.arange(-k, 0), np.arange(1, k + 1)))
    around = centres[:, None] + offsets
    inside = np.clip(around, 0, len(documents) - 1)
    there = (around == inside) & (documents[inside] == documents[centres][:, None])
    return np.where(there, around, centres[:, None]), there


def centres_of(documents: Ints) -> Ints:
    """The sentences that have a neighbour in their document: what an epoch meets, each once."""
    alike = documents[:-1] == documents[1:]
    return np.flatnonzero(np.append(alike, False) | np.insert(alike, 0, False))


def batches(
    documents: Ints, config: NeighbourSection, seed: int, epoch: int
) -> Iterator[tuple[Ints, Ints]]:
    """(centres, negatives) of each step of an epoch, a function of seed and epoch alone.

    Centres in random order, the last step with what is left of them; for each, m sentences drawn
    uniformly from all.
    """
    rng = np.random.default_rng(derive_seed(seed, epoch))
    centres = rng.permutation(centres_of(documents))
    for first in range(0, len(centres), config.batch):
        some = centres[first : first + config.batch]
        yield some, rng.integers(len(documents), size=(len(some), config.negatives))


def context_predicts_centre(documents: Ints, centres: Ints, negatives: Ints, k: int) -> Batch:
    """CBOS (Eqs. 5, 6): the anchor is the context, 1/2k of the sum of the neighbours there are;
    the candidates are the centre and m random sentences."""
    members, there = neighbours(documents, centres, k)
    candidates = np.column_stack((centres, negatives))
    targets = np.zeros(candidates.shape, np.float32)
    targets[:, 0] = 1
    shares = there.astype(np.float32) / np.float32(2 * k)
    return Batch(members, shares, candidates, targets, np.ones(candidates.shape, bool))


def centre_predicts_neighbours(documents: Ints, centres: Ints, negatives: Ints, k: int) -> Batch:
    """Siamese CBOW (Kenter et al. 2016, Eqs. 2-4): the anchor is the centre, the candidates are
    its neighbours, equally probable, and m random sentences, not probable at all."""
    near, there = neighbours(documents, centres, k)
    candidates = np.column_stack((near, negatives))
    taking_part = np.column_stack((there, np.ones(negatives.shape, bool)))
    targets = np.zeros(candidates.shape, np.float32)
    targets[:, : 2 * k] = there / there.sum(axis=1, keepdims=True)
    shares = np.ones((len(centres), 1), np.float32)
    return Batch(centres[:, None], shares, candidates, targets, taking_part)


Compose = Callable[[Ints, Ints, Ints, int], Batch]
"""Documents, centres, negatives and k → a batch."""


def loss_and_gradient(
    vectors: Singles, batch: Batch, likeness: Likeness, temperature: float = 1.0
) -> tuple[float, Singles]:
    """-Σ p(s_j) log p(s_j | anchor) over the batch (Eq. 7), and its gradient.

    Args:
        vectors: Sentence vectors, (n, d); the batch's numbers are rows of it.
        batch: Anchors and candidates.
        likeness: How anchor and candidate are compared.
        temperature: Divides the likenesses before the softmax; 1 as printed.

    Returns:
        The summed loss, and its derivative with respect to `vectors`, (n, d).
    """
    members, candidates = vectors[batch.members], vectors[batch.candidates]
    anchors = np.einsum("bk,bkd->bd", batch.shares, members)
    if likeness is Likeness.COSINE:
        anchors, anchor_lengths = _unit(anchors)
        candidates, lengths = _unit(candidates)
    logits = np.matmul(candidates, anchors[:, :, None])[:, :, 0] / np.float32(temperature)
    logits[~batch.open] = -np.inf
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    totals = odds.sum(axis=1, keepdims=True)
    wanted = batch.targets > 0
    loss = float((batch.targets * (np.log(totals) - np.where(wanted, logits, 0))).sum())

    slope = (odds / totals - batch.targets) / np.float32(temperature)
    to_candidates = slope[:, :, None] * anchors[:, None, :]
    to_anchors = np.matmul(slope[:, None, :], candidates)[:, 0, :]
    if likeness is Likeness.COSINE:
        to_candidates = _through_unit(to_candidates, candidates, lengths)
        to_anchors = _through_unit(to_anchors, anchors, anchor_lengths)
    to_members = batch.shares[:, :, None] * to_anchors[:, None, :]
    gradient = np.zeros_like(vectors)
    np.add.at(gradient, batch.candidates, to_candidates)
    np.add.at(gradient, batch.members, to_members)
    return loss, gradient


def _unit(vectors: Singles) -> tuple[Singles, Singles]:
    lengths: Singles = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)) + _TINY
    return vectors / lengths, lengths


def _through_unit(gradient: Singles, unit: Singles, lengths: Singles) -> Singles:
    along = (gradient * unit).sum(axis=-1, keepdims=True)
    found: Singles = (gradient - along * unit) / lengths
    return found


@dataclass
class State:
    """What a step reads and changes.

    Attributes:
        vectors: float32, (V, d), word vectors.
        squares: float32, (V,), Adagrad's sum of mean squared gradients of each word.
    """

    vectors: Singles
    squares: Singles


def first_state(vocabulary: int, config: NeighbourSection, seed: int) -> State:
    """Word vectors of normal noise with standard deviation `config.spread`."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((vocabulary, config.dimensions), np.float32)
    return State(noise * np.float32(config.spread), np.zeros(vocabulary, np.float32))


def step(
    state: State,
    sentences: WordSentences,
    batch: Batch,
    config: NeighbourSection,
    likeness: Likeness,
    rate: float,
) -> float:
    """Move the vectors of the batch's words down the summed gradient; return the summed loss."""
    asked = np.concatenate((batch.members.ravel(), batch.candidates.ravel()))
    chosen, places = np.unique(asked, return_inverse=True)
    split = batch.members.size
    local = replace(
        batch,
        members=places[:split].reshape(batch.members.shape),
        candidates=places[split:].reshape(batch.candidates.shape),
    )
    pieces, offsets = sentences.gather(chosen)
    rows, of_piece = np.unique(pieces, return_inverse=True)
    bounds = np.append(offsets, len(pieces))
    # Sentence × word counts: a product with the word vectors gives Eq. 4 for all sentences.
    counts = sparse.csr_matrix(
        (np.ones(len(pieces), np.float32), of_piece, bounds), shape=(len(chosen), len(rows))
    )
    loss, gradient = loss_and_gradient(
        counts @ state.vectors[rows], local, likeness, config.temperature
    )
    slopes = counts.T @ gradient
    if config.optimiser is Optimiser.ADAGRAD:
        state.squares[rows] += (slopes * slopes).mean(axis=1)
        slopes /= np.sqrt(state.squares[rows])[:, None] + np.float32(1e-10)
    state.vectors[rows] -= np.float32(rate) * slopes
    return loss


def learn(
    sentences: WordSentences,
    compose: Compose,
    config: NeighbourSection,
    likeness: Likeness,
    seed: int,
    scratch: Path,
    title: str,
) -> tuple[Singles, list[float]]:
    """Train word vectors; continue after the last finished epoch in `scratch`.

    Args:
        sentences: The corpus.
        compose: Makes a batch of centres and negatives.
        config: Lengths, rates, optimiser.
        likeness: How sentences are compared.
        seed: Of first vectors, order and negatives.
        scratch: Folder of the checkpoint.
        title: Shown beside the bar.

    Returns:
        Word vectors, (V, d), and the mean loss of each epoch.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    checkpoint = scratch / "checkpoint.safetensors"
    state, losses = _resumed(checkpoint)
    if state is None:
        state = first_state(len(sentences.vocabulary), config, derive_seed(seed, "vectors"))
    each = len(centres_of(sentences.documents))
    total, seen = config.epochs * each, len(losses) * each
    with bar(title, total) as shown:
        shown.advance(seen)
        for epoch in range(len(losses), config.epochs):
            loss = 0.0
            steps = batches(sentences.documents, config, derive_seed(seed, "order"), epoch)
            for centres, negatives in steps:
                batch = compose(sentences.documents, centres, negatives, config.window)
                rate = config.learning_rate * max(1e-4, 1 - seen / total)
                loss += step(state, sentences, batch, config, likeness, rate)
                seen += len(centres)
                shown.advance(len(centres))
            losses.append(loss / max(1, each))
            shown.advance(0, f"loss {losses[-1]:.3f}")
            _keep(checkpoint, state, losses)
    return state.vectors, losses


def _keep(path: Path, state: State, losses: list[float]) -> None:
    import torch

    from firth.run.tensors import write_tensors

    tensors = {name: torch.from_numpy(array) for name, array in vars(state).items()}
    write_tensors(path, tensors, json.dumps(losses))


def _resumed(path: Path) -> tuple[State | None, list[float]]:
    """What a checkpoint holds; nothing where there is none, or one that is damaged."""
    from firth.run.tensors import read_state

    if not path.is_file():
        return None, []
    known = read_state(path)
    if known is None:
        note(f"{path}: damaged; what it held is trained again")
        return None, []
    return State(**load_file(path)), json.loads(known)


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train CBOS or Siamese CBOW on a run's corpus; see `firth.baselines.trained`.

    Raises:
        InputError: No word occurs often enough, or no sentence has a neighbour.
    """
    config: NeighbourSection
    if name == "cbos":
        config = cbos = run.config.baselines.cbos
        title = f"CBOS (k={cbos.window}, m={cbos.negatives}, {cbos.dimensions}-d)"
        compose, likeness = context_predicts_centre, cbos.likeness
    else:
        config = run.config.baselines.siamese_cbow
        title = f"Siamese CBOW ({config.negatives} negatives, {config.dimensions}-d)"
        compose, likeness = centre_predicts_neighbours, Likeness.COSINE
    sentences = read_sentences(run, config, workspace / SCRATCH)
    if not (sentences.documents[1:] == sentences.documents[:-1]).any():
        raise InputError(f"{run.path}: every document has one sentence; {name} learns from two")
    seed, scratch = derive_seed(run.config.seed, "baseline", name), workspace / SCRATCH
    vectors, losses = learn(sentences, compose, config, likeness, seed, scratch, f"Baseline {name}")
    WordBag(title, sentences.vocabulary, vectors, config.stemmer).save(workspace)
    return {**sentences.summary, "losses": [round(loss, 6) for loss in losses]}
