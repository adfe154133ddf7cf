"""Contrastive word vectors, learned with NumPy and SciPy: which sentence follows this one?

A sentence is the weighted sum of the vectors of its words, as a unit vector. Each sentence must be
more similar to its next one than to all other second sentences of the batch (van den Oord et al.
2018). Where few sentences have a next one, one half of a sentence's words must find the other half.

A batch is a function of its step, and the state of a training is its tables and the step, so a
training that was stopped ends with the same bytes. On one machine the bytes do not depend on the
number of threads: BLAS runs on one, which also takes half the processor time of two.
"""

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import few_neighbors
from firth.corpus.numbered import WordSentences
from firth.run.console import Progress, progress
from firth.run.errors import DamagedError, InputError
from firth.run.files import create_mapped, read_arrays, write_arrays
from firth.run.seeds import derive_seed
from firth.run.settings import WordSettings
from firth.text.arrays import Ints, Singles, places, starts

Runs = tuple[Ints, Ints]
"""Several sentences: the numbers of their words, one after the other, and where each begins."""

_STEPS, _MOST_EPOCHS = 200, 10
"""Without a setting, a small corpus is read until there are so many steps, but not more often."""
_WARMUP = 0.1
"""Share of the steps in which the rate rises."""
_CHECKPOINT_STEPS = 200
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-12
_SENTENCES, _PAIRS = 1 << 13, 1 << 17
"""Sentences, and pairs, that are looked at in one piece."""


def learn(
    sentences: WordSentences,
    weights: Singles,
    settings: WordSettings,
    seed: int,
    scratch: Path,
    title: str,
) -> tuple[Singles, dict[str, Any]]:
    """Learn the vectors of words, and continue from `scratch` where a training stopped.

    Args:
        sentences: The corpus.
        weights: First weight of each word, (V,).
        settings: Sizes and rates.
        seed: Decides the first vectors and the order of the pairs.
        scratch: Folder of the checkpoint and of the pairs.
        title: Shown with the progress bar.

    Returns:
        The vectors times their learned weights, (V, d), and a summary for the manifest.

    Raises:
        InputError: There are fewer than two pairs, or the loss became infinite.
    """
    pairs = Pairs(sentences, settings.batch, derive_seed(seed, "order"), scratch)
    if len(pairs) < 2:
        raise InputError(
            f"{title}: got {len(pairs)} pairs of neighboring sentences; learning needs at least 2. "
            "Add documents with several sentences, or lower words.min_count"
        )
    epochs = settings.epochs or enough_epochs(pairs.steps)
    steps = epochs * pairs.steps
    rates = settings.learning_rate * _shape(np.arange(steps), steps, int(_WARMUP * steps))
    noise = np.random.default_rng(derive_seed(seed, "vectors"))
    vectors = noise.standard_normal((len(weights), settings.dimensions), np.float32)
    # The last column of the table is the weight.
    table = np.column_stack((vectors / np.float32(math.sqrt(settings.dimensions)), weights))
    adam = RowAdam(table.astype(np.float32), rates)
    checkpoint = scratch / "checkpoint.safetensors"
    done, losses = _resume(checkpoint, adam)
    bar: Progress[None]
    quiet = np.errstate(over="ignore", invalid="ignore")  # The loss is checked.
    with one_thread(), quiet, progress(steps, title) as bar:
        bar.advance(done)
        for step in range(done, steps):
            firsts, seconds = pairs(step)
            rows, runs = _renumbered(firsts, seconds, len(weights))
            loss, gradient = contrast(adam.take(rows), runs, settings.temperature)
            if not math.isfinite(loss):
                raise InputError(
                    f"{title}: the loss became infinite in step {step + 1}. Lower "
                    f"words.learning_rate, which is {settings.learning_rate:g}"
                )
            adam.update(gradient)
            losses.append(loss)
            bar.advance()
            if (step + 1) % _CHECKPOINT_STEPS == 0 and step + 1 < steps:
                adam.settle()
                state = {**adam.state, "losses": np.array(losses)}
                write_arrays(checkpoint, state, {"step": str(step + 1)})
    adam.settle()
    tenth = -(-steps // 10)
    means = [round(float(np.mean(losses[i : i + tenth])), 6) for i in range(0, steps, tenth)]
    learned_from = {"neighbors": pairs.neighbors, "halves": pairs.halves}
    summary = {**learned_from, "epochs": epochs, "steps": steps, "losses": means}
    return adam.table[:, :-1] * adam.table[:, -1:], summary


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's matrix products use one thread inside the block.

    It acts on the OpenBLAS that NumPy's wheels bring. With another library, products use as many
    threads as it likes.
    """
    libraries = Path(np.__file__).parents[1].glob("numpy.libs/*openblas*")
    blas = [ctypes.CDLL(str(path)) for path in libraries]
    blas = [each for each in blas if hasattr(each, "scipy_openblas_set_num_threads64_")]
    before = [each.scipy_openblas_get_num_threads64_() for each in blas]
    for each in blas:
        each.scipy_openblas_set_num_threads64_(1)
    try:
        yield
    finally:
        for each, threads in zip(blas, before, strict=True):
            each.scipy_openblas_set_num_threads64_(threads)


def enough_epochs(steps: int) -> int:
    """Return the passes over a corpus of so many steps, where no setting names them."""
    return min(-(-_STEPS // steps), _MOST_EPOCHS)


def _shape(step: Ints, steps: int, warmup: int) -> npt.NDArray[np.float64]:
    """Return the rates as shares of their peak: a linear rise, then a linear fall to 0."""
    rise, fall = (step + 1) / max(1, warmup), (steps - step) / max(1, steps - warmup)
    return np.minimum(1.0, np.minimum(rise, fall))


def _resume(checkpoint: Path, adam: "RowAdam") -> tuple[int, list[float]]:
    """Load what a stopped training left; return its steps and losses."""
    if not checkpoint.is_file():
        return 0, []
    try:
        state, metadata = read_arrays(checkpoint)
    except DamagedError:  # It is learned again.
        return 0, []
    losses: list[float] = state.pop("losses").tolist()
    adam.resume(int(metadata["step"]), state)
    return adam.step, losses


# --- The loss ----------------------------------------------------------------------------------


def _renumbered(firsts: Runs, seconds: Runs, words: int) -> tuple[Ints, Runs]:
    """Return the distinct words of both sides, and all sentences by their places among them."""
    pieces = np.concatenate((firsts[0], seconds[0]))
    begins = np.concatenate((firsts[1], seconds[1] + len(firsts[0]), [len(pieces)]))
    used = np.zeros(words, bool)
    used[pieces] = True
    return np.flatnonzero(used), ((np.cumsum(used) - 1)[pieces], begins)


def contrast(rows: Singles, runs: Runs, temperature: float) -> tuple[float, Singles]:
    """Return the loss of a batch, and its gradient by the rows.

    The loss is the mean cross-entropy of finding the second sentence of each of n pairs among all
    second sentences, by the cosines over the temperature.

    Args:
        rows: Vectors of m words; the last column is the weight, (m, d + 1).
        runs: The n first sentences, then the n second ones, and a last bound, (2n + 1,).
        temperature: Divides the cosines.
    """
    from scipy import sparse

    (pieces, begins), vectors, weights = runs, np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    shape = len(begins) - 1, len(rows)
    counts = sparse.csr_matrix((np.ones(len(pieces), np.float32), pieces, begins), shape)
    sums = counts @ (vectors * weights[:, None])
    lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))[:, None] + np.float32(_EPSILON)
    units = sums / lengths
    n = len(units) // 2
    one, two = units[:n], units[n:]
    odds, own = one @ two.T, np.arange(n)
    odds /= np.float32(temperature)
    odds -= odds.max(axis=1, keepdims=True)
    right = odds[own, own].astype(np.float64)
    np.exp(odds, out=odds)
    total = odds.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0], dtype=np.float64) - right))
    odds /= total
    odds[own, own] -= 1
    odds /= np.float32(n * temperature)
    by_units = np.concatenate((odds @ two, odds.T @ one))
    by_units -= units * np.einsum("nd,nd->n", by_units, units)[:, None]
    by_sums = counts.T @ (by_units / lengths)
    gradient = np.empty_like(rows)
    np.multiply(by_sums, weights[:, None], out=gradient[:, :-1])
    np.einsum("md,md->m", by_sums, vectors, out=gradient[:, -1])
    return loss, gradient


class RowAdam:
    """Adam (Kingma & Ba 2015) for a table of which a step touches few rows.

    In Adam a row without a gradient still moves in each step, by its fading momentum. All these
    moves are one multiple of m / √v, since m / √v shrinks by the constant β1 / √β2. So a row moves
    when it is touched again, and the table ends as by Adam itself, except for rounding.

    Args:
        table: (V, d); it is changed in place.
        rates: Learning rate of each step.
    """

    def __init__(self, table: Singles, rates: npt.NDArray[np.float64]) -> None:
        self.table, self.step = table, 0
        self._first, self._second = np.zeros_like(table), np.zeros_like(table)
        self._seen = np.zeros(len(table), np.int64)
        number = np.arange(1, len(rates) + 1)
        self._rates = rates * np.sqrt(1 - _BETA2**number) / (1 - _BETA1**number)
        self._owed = np.zeros(len(rates) + 1)
        """By the step at which a row was last touched: the multiple that it has still to move."""
        self._rows: Ints = np.zeros(0, np.int64)
        self._held: tuple[Singles, Singles, Singles] = (table[:0], table[:0], table[:0])

    @property
    def state(self) -> dict[str, Singles]:
        """The arrays that continue a settled training."""
        return {"table": self.table, "first": self._first, "second": self._second}

    def resume(self, step: int, state: dict[str, Any]) -> None:
        """Continue from the `state` of a training after so many steps."""
        self.step, self._seen[:] = step, step
        self.table[:], self._first[:], self._second[:] = (
            state[name] for name in ("table", "first", "second")
        )

    def take(self, rows: Ints) -> Singles:
        """Return the rows as they are before this step, (len(rows), d)."""
        first, second = self._first[rows], self._second[rows]
        age = (self.step - self._seen[rows])[:, None]
        owed = self._owed[self._seen[rows], None].astype(np.float32)
        values = self.table[rows] - owed * first / (np.sqrt(second) + np.float32(_EPSILON))
        first *= (_BETA1**age).astype(np.float32)
        second *= (_BETA2**age).astype(np.float32)
        self._rows, self._held = rows, (values, first, second)
        return values

    def update(self, gradient: Singles) -> None:
        """Take a step by the gradient of the rows that were taken."""
        values, first, second = self._held
        first *= np.float32(_BETA1)
        first += np.float32(1 - _BETA1) * gradient
        second *= np.float32(_BETA2)
        second += np.float32(1 - _BETA2) * gradient * gradient
        rate = self._rates[self.step]
        self.step += 1
        move = first / (np.sqrt(second) + np.float32(_EPSILON))
        move *= np.float32(rate)
        self.table[self._rows] = values - move
        self._first[self._rows], self._second[self._rows] = first, second
        self._seen[self._rows] = self.step
        ages = self.step - np.arange(self.step)
        self._owed[: self.step] += rate * (_BETA1 / math.sqrt(_BETA2)) ** ages

    def settle(self) -> None:
        """Bring all rows up to date."""
        for start in range(0, len(self.table), _SENTENCES):
            rows = np.arange(start, min(start + _SENTENCES, len(self.table)))
            self.take(rows)
            self.table[rows], self._first[rows], self._second[rows] = self._held
        self._seen[:] = self.step


# --- The pairs ---------------------------------------------------------------------------------


class Pairs:
    """Batches of sentences and their next ones; a batch is a function of its step.

    A batch comes from one file of the corpus, where the file has enough pairs, so that its subject
    does not give the pairs away. The pairs of an epoch are in two files, 16 bytes each pair.

    Where few sentences have a next one (`firth.corpus.corpus.few_neighbors`), each sentence of two or
    more words that is alone in its document gives a pair too: two random halves of its words, which
    differ from epoch to epoch.

    Args:
        sentences: The corpus.
        size: Pairs in a batch. The pairs that are left over at the end of an epoch are dropped.
        seed: Decides the order of each epoch.
        scratch: Folder of the files. Earlier files in it are replaced.

    Attributes:
        neighbors: Number of pairs of neighboring sentences.
        halves: Number of sentences that give a pair of halves.
        steps: Batches of an epoch.
    """

    def __init__(self, sentences: WordSentences, size: int, seed: int, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        count = len(sentences)
        self.neighbors = sum(map(len, _with_next(sentences)))
        alone = few_neighbors(self.neighbors, count)
        self.halves = sum(map(len, _lonely(sentences))) if alone else 0
        self._sentences, self._seed = sentences, seed
        self._pairs, self._ordered = (
            np.asarray(create_mapped(scratch / f"{name}.npy", np.int64, (len(self),)))
            for name in ("pairs", "ordered")
        )
        self._size = min(size, len(self))
        self.steps = len(self) // max(1, self._size)
        self._order = lru_cache(maxsize=1)(self._order_of)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return self.neighbors + self.halves

    def __call__(self, step: int) -> tuple[Runs, Runs]:
        """Return the first and the second sentences of a step."""
        epoch, place = divmod(step, self.steps)
        batches, order = self._order(epoch)
        chosen, count = batches[order[place]], len(self._sentences)
        near, alone = chosen[chosen < count], chosen[chosen >= count] - count
        firsts, seconds = (self._sentences.gather(at) for at in (near, near + 1))
        if len(alone):
            rng = np.random.default_rng(derive_seed(self._seed, "halves", step))
            one, two = halved(*self._sentences.gather(alone), rng)
            firsts, seconds = _joined(firsts, one), _joined(seconds, two)
        return firsts, seconds

    def _order_of(self, epoch: int) -> tuple[Ints, Ints]:
        count, rng = len(self._sentences), np.random.default_rng(derive_seed(self._seed, epoch))
        _fill(self._pairs[: self.neighbors], _with_next(self._sentences))
        # Numbers beyond those of the sentences stand for the halves of one.
        _fill(self._pairs[self.neighbors :], (count + some for some in _lonely(self._sentences)))
        return batched(self._pairs, self._source_of, self._size, rng, self._ordered)

    def _source_of(self, pairs: Ints) -> Ints:
        sentences = self._sentences
        documents = sentences.documents[pairs % len(sentences)]
        return sentences.sources[documents].astype(np.int64)


def halved(pieces: Ints, begins: Ints, rng: np.random.Generator) -> tuple[Runs, Runs]:
    """Split the words of each sentence into two random halves; the second may have one more.

    Args:
        pieces: Numbers of the words of all sentences, one after the other.
        begins: Where each sentence begins.
        rng: Decides which words go where.
    """
    lengths = np.diff(begins, append=len(pieces))
    owners = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((rng.random(len(pieces)), owners))
    sizes = lengths // 2
    in_first = np.arange(len(pieces)) - np.repeat(begins, lengths) < np.repeat(sizes, lengths)
    one, two = pieces[order[in_first]], pieces[order[~in_first]]
    return (one, starts(sizes)), (two, starts(lengths - sizes))


def _joined(one: Runs, two: Runs) -> Runs:
    return np.concatenate((one[0], two[0])), np.concatenate((one[1], two[1] + len(one[0])))


def _fill(target: Ints, blocks: Iterable[Ints]) -> None:
    """Write blocks one after the other into an array, until it is full."""
    at = 0
    for block in blocks:
        if at == len(target):
            return
        target[at : at + len(block)] = block
        at += len(block)


def _with_next(sentences: WordSentences) -> Iterator[Ints]:
    """Yield the numbers of the sentences that another one of their document follows."""
    for first in range(0, len(sentences), _SENTENCES):
        following = sentences.documents[first + 1 : first + _SENTENCES + 1]
        here = sentences.documents[first : first + len(following)]
        yield first + np.flatnonzero(here == following)


def _lonely(sentences: WordSentences) -> Iterator[Ints]:
    """Yield the numbers of the sentences of two or more words that are alone in their document."""
    for first in range(0, len(sentences), _SENTENCES):
        last = min(first + _SENTENCES, len(sentences))
        around = sentences.documents[max(0, first - 1) : last + 1]
        ends = (int(first == 0), int(last == len(sentences)))
        parted = np.diff(np.pad(around, ends, constant_values=-1)) != 0
        several = np.diff(sentences.bounds[first : last + 1]) > 1
        yield first + np.flatnonzero(parted[:-1] & parted[1:] & several)


def batched(
    pairs: Ints,
    source_of: Callable[[Ints], Ints],
    size: int,
    rng: np.random.Generator,
    ordered: Ints,
) -> tuple[Ints, Ints]:
    """Put pairs into random batches of one source each; only the remainders share batches.

    Args:
        pairs: All pairs; they are shuffled in place.
        source_of: Function from some pairs to their sources, numbered from 0.
        size: Pairs in a batch. The pairs that are left over in the end are dropped.
        rng: Decides everything.
        ordered: An array as long as `pairs`, which is overwritten.

    Returns:
        The batches, a view of `ordered`, (len(pairs) // size, size), and their random order.
    """
    blocks = [slice(first, first + _PAIRS) for first in range(0, len(pairs), _PAIRS)]
    sizes = np.zeros(1 + max(int(source_of(pairs[at]).max()) for at in blocks), np.int64)
    for at in blocks:
        sizes += np.bincount(source_of(pairs[at]), minlength=len(sizes))
    full = sizes // size * size
    whole = int(full.sum())
    begin, rest, seen = starts(full), whole + starts(sizes - full), np.zeros_like(sizes)
    rng.shuffle(pairs)
    for at in blocks:
        sources = source_of(pairs[at])
        nth = seen[sources] + places(sources)
        over = nth - full[sources]
        ordered[np.where(over < 0, begin[sources] + nth, rest[sources] + over)] = pairs[at]
        seen += np.bincount(sources, minlength=len(seen))
    rng.shuffle(ordered[whole:])
    batches = ordered[: len(ordered) // size * size].reshape(-1, size)
    return batches, rng.permutation(len(batches))
