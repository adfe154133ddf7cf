"""The training loop: word vectors moved row by row, only where a step's sentences have words."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy import sparse

from firth.baselines.cbos.examples import Batch, Order
from firth.baselines.cbos.softmax import Floats, loss_and_gradient
from firth.baselines.settings import Likeness, NeighbourSection, Optimiser
from firth.corpus.numbered import Ints, WordSentences
from firth.run.files import write_atomically
from firth.run.progress import bar
from firth.run.seeds import derive_seed

Compose = Callable[[Ints, Ints, Ints, int], Batch]


@dataclass
class State:
    """What a step reads and changes.

    Attributes:
        vectors: float32, (V, d), word vectors.
        squares: float32, (V,), Adagrad's sum of mean squared gradients of each word.
    """

    vectors: Floats
    squares: Floats


def first_state(vocabulary: int, dimensions: int, spread: float, seed: int) -> State:
    """Word vectors of normal noise with standard deviation `spread`."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((vocabulary, dimensions), np.float32) * np.float32(spread)
    return State(noise, np.zeros(vocabulary, np.float32))


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
    local = Batch(
        places[:split].reshape(batch.members.shape),
        batch.shares,
        places[split:].reshape(batch.candidates.shape),
        batch.targets,
        batch.open,
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
) -> tuple[Floats, list[float]]:
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
    order = Order(sentences.documents, config.window, config.negatives, derive_seed(seed, "order"))
    scratch.mkdir(parents=True, exist_ok=True)
    checkpoint = scratch / "checkpoint.safetensors"
    if checkpoint.is_file():
        state, losses = _resume(checkpoint)
    else:
        width = config.dimensions
        state = first_state(
            len(sentences.vocabulary), width, config.spread, derive_seed(seed, "vectors")
        )
        losses = []
    total = config.epochs * len(order.centres)
    seen = len(losses) * len(order.centres)
    with bar(title, total) as shown:
        shown.advance(seen)
        for epoch in range(len(losses), config.epochs):
            loss = 0.0
            for centres, negatives in order.batches(epoch, config.batch):
                batch = compose(sentences.documents, centres, negatives, config.window)
                rate = config.learning_rate * max(1e-4, 1 - seen / total)
                loss += step(state, sentences, batch, config, likeness, rate)
                seen += len(centres)
                shown.advance(len(centres))
            losses.append(loss / max(1, len(order.centres)))
            shown.advance(0, f"loss {losses[-1]:.3f}")
            _save(checkpoint, state, losses)
    return state.vectors, losses


def _save(path: Path, state: State, losses: list[float]) -> None:
    tensors: dict[str, npt.NDArray[Any]] = {
        "vectors": state.vectors,
        "squares": state.squares,
        "losses": np.array(losses, np.float64),
    }
    with write_atomically(path) as partial:
        save_file(tensors, partial)


def _resume(path: Path) -> tuple[State, list[float]]:
    with safe_open(path, framework="numpy") as stored:
        found: dict[str, npt.NDArray[np.floating]] = {
            name: stored.get_tensor(name) for name in ("vectors", "squares", "losses")
        }
    return (
        State(found["vectors"].astype(np.float32), found["squares"].astype(np.float32)),
        found["losses"].tolist(),
    )
