"""What one corpus says about words: learned vectors, rarity and spelling; and sums of the vectors.

A sentence is the sum, over its distinct stems, of a learned vector and of a direction by spelling
(`firth.text.stems`), which is as long as the stem's inverse document frequency. A learned vector
is shrunk where its stem is rare: by sqrt(n / (n + k)) for n sentences.

Vectors are learned with NumPy and SciPy: which sentence follows this one? A sentence is the
weighted sum of the vectors of its words, as a unit vector. Each sentence must be more similar to
its next one than to all other second sentences of the batch (van den Oord et al. 2018). Where few
sentences have a next one, one half of a sentence's words must find the other half.

A batch is a function of its step, and the state of a training is its tables and the step, so a
training that was stopped ends with the same bytes. On one machine the bytes do not depend on the
number of threads: BLAS runs on one, which also takes half the processor time of two.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from firth.corpus.corpus import Corpus
from firth.corpus.numbered import WordSentences, read_sentences
from firth.run.console import Progress, note
from firth.run.errors import InputError, TooLittleTextError
from firth.run.files import read_arrays, read_json, write_arrays, write_json
from firth.run.run import Run
from firth.run.settings import WordSettings, derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.stems import Idf, fit_idf
from firth.text.types import Floats, Ints, Singles, starts, unit
from firth.text.words import characters, stemmer_of

WORDS = Stage("words", version=3)
_WORDS, _VECTORS = "words.json", "vectors.safetensors"
NOTHING = "nothing"
"""In the summary of the stage: why nothing was learned from the corpus."""
_RARE = 6.0
"""The inverse document frequency (a word of one sentence in 400) at which a direction by spelling
has length 1. It only sets the scale of `scorer.spelling_weight`."""
_PAIR_WEIGHT = 0.25
"""A pair of characters of a script without spaces weighs so much of its idf, because its characters
count by themselves: chosen on the development split of Chinese."""


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Vectors of stems that a corpus taught, and how many of its sentences have each stem.

    The learned weight of a stem is part of its vector, (V, d). A vector is halved in variance where
    k sentences, `prior_count`, have its stem. `compared` are weights of stems that replace those of
    `idf`; they are not saved (`among`).
    """

    vocabulary: Sequence[str]
    vectors: Singles
    idf: Idf
    prior_count: float
    compared: Mapping[str, float] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write it into a folder, each file atomically."""
        stored = {"prior_count": self.prior_count, "vocabulary": list(self.vocabulary)}
        write_json(folder / _WORDS, stored)
        write_arrays(folder / _VECTORS, {"vectors": self.vectors})
        self.idf.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "WordSpace":
        """Read what `save` wrote."""
        stored, (arrays, _) = read_json(folder / _WORDS), read_arrays(folder / _VECTORS)
        vocabulary, prior_count = tuple(stored["vocabulary"]), float(stored["prior_count"])
        return cls(vocabulary, arrays["vectors"], Idf.load(folder), prior_count)

    @property
    def stemmer(self) -> str:
        """Name of the stemmer (`firth.text.words.stems`)."""
        return self.idf.stemmer

    @property
    def dimensions(self) -> int:
        """Length d of a learned vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The row of each stem in `vectors`."""
        return {stem: number for number, stem in enumerate(self.vocabulary)}

    def unlearned(self) -> "WordSpace":
        """Return a space in which nothing learned counts: stems have spelling and rarity only."""
        return replace(self, prior_count=math.inf)

    def among(self, groups: Sequence[Sequence[str]]) -> "WordSpace":
        """Return a space for texts that are compared as a set: its frequencies count, too.

        A group holds texts that are compared with each other, such as a pair. A word counts once in
        it; else the words that a pair shares would seem more frequent than its others. A stem of n
        of N sentences and m of M groups weighs the mean of ln((1 + N) / (1 + n)) and
        ln((1 + M) / (1 + m)), times a factor that keeps the sum of squares over all groups. So a
        single group changes nothing.
        """
        counts: Counter[str] = Counter()
        for group in groups:
            counts.update({stem for text in group for stem in self.stems(text)})
        stems, compared = sorted(counts), Idf(counts, len(groups), self.stemmer)
        alone = np.array([self.idf.weight(stem) for stem in stems])
        both = (alone + [compared.weight(stem) for stem in stems]) / 2
        times = np.array([counts[stem] * _part(stem) ** 2 for stem in stems])
        squares = float(times @ both**2)
        factor = math.sqrt(float(times @ alone**2) / squares) if squares else 1.0
        return replace(self, compared=dict(zip(stems, (factor * both).tolist(), strict=True)))

    def stems(self, text: str) -> list[str]:
        """Return the distinct stems of a text, in order."""
        return list(dict.fromkeys(self.idf.terms(text)))

    def trusted(self, stem: str) -> float:
        """Return n / (n + k), in [0, 1), for a stem of n sentences; 0 for an unknown stem."""
        n = self.idf.frequencies.get(stem, 0)
        return n / (n + self.prior_count) if n else 0.0

    def rarity(self, stem: str) -> float:
        """Return the length of a stem's direction by spelling, at least 0; 1 for one in 400.

        A pair of characters of a script without spaces has a quarter of it.
        """
        weight = self.compared.get(stem)
        return (self.idf.weight(stem) if weight is None else weight) / _RARE * _part(stem)

    def learned(self, stems: Sequence[str]) -> Floats:
        """Return learned vectors of stems, (n, d), shrunk by sqrt(n / (n + k)); 0 for unknown ones.

        The root mean square of all lengths is 1 before they are shrunk.
        """
        rows = [self.numbers.get(stem, -1) for stem in stems]
        return self._shrunk[rows].astype(np.float64)

    def directions(self, stems: Sequence[str]) -> Floats:
        """Return the vectors of `learned` with lengths of sqrt(n / (n + k)) alone, (n, d)."""
        trusted = np.sqrt([self.trusted(stem) for stem in stems])
        return unit(self.learned(stems)) * trusted[:, None]

    @cached_property
    def _shrunk(self) -> Singles:
        """`learned` of the vocabulary, and a last row of zeros for all other stems."""
        mean_square = np.square(self.vectors, dtype=np.float64).sum(axis=1).mean()
        trusted = np.sqrt([self.trusted(stem) for stem in self.vocabulary])
        factors = (trusted / max(math.sqrt(mean_square), 1e-9)).astype(np.float32)
        return np.vstack((self.vectors * factors[:, None], np.zeros_like(self.vectors[:1])))


def _part(stem: str) -> float:
    return _PAIR_WEIGHT if len(characters(stem)) > 1 else 1.0


class BagEncoder:
    """Encodes a text as the sum of the learned vectors of its distinct stems."""

    def __init__(self, space: WordSpace) -> None:
        self.space, self.dimensions = space, space.dimensions
        self.name = f"word vectors ({space.dimensions}-d)"

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return unit vectors of n texts, (n, d); zero for a text without a known stem."""
        sums = np.zeros((len(texts), self.dimensions))
        for row, text in zip(sums, texts, strict=True):
            row += self.space.learned(self.space.stems(text)).sum(axis=0)
        return unit(sums).astype(np.float32)


def build_words(run: Run) -> Outcome:
    """Learn the word vectors of a run's corpus: stage `words`."""
    settings = ["seed", "words"]
    return run.build(WORDS, _fill, settings=settings, inputs={"corpus": Corpus.open(run).digest})


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    settings, scratch = run.settings.words, workspace / SCRATCH
    corpus = Corpus.open(run)
    try:
        sentences = read_sentences(run, settings, scratch)
        idf = sentences.idf
        weights = np.array([idf.weight(stem) for stem in sentences.vocabulary], np.float32)
        seed = derive_seed(run.settings.seed, "fit", "words")
        vectors, summary = learn(sentences, weights, settings, seed, scratch, "Word vectors")
    except TooLittleTextError as error:  # Words are then compared by spelling and rarity alone.
        note(f"words: nothing is learned. {error}")
        idf = fit_idf(chain.from_iterable(corpus.batches()), stemmer_of(corpus.language))
        vocabulary = sorted(idf.frequencies)
        nothing = np.zeros((len(vocabulary), 1), np.float32)
        WordSpace(vocabulary, nothing, idf, _PRIOR_COUNT).save(workspace)
        return {"sentences": len(corpus), "vocabulary": len(vocabulary), NOTHING: str(error)}
    WordSpace(sentences.vocabulary, vectors, idf, _PRIOR_COUNT).save(workspace)
    return {**sentences.summary, **summary}


# --- Learning ------------------------------------------------------------------------------------

Runs = tuple[Ints, Ints]
"""Several sentences: the numbers of their words, one after the other, and where each begins."""

_STEPS, _MOST_EPOCHS = 200, 10
"""Without a setting, a small corpus is read until there are so many steps, but not more often."""
_WARMUP = 0.1
"""Share of the steps in which the rate rises."""
_TEMPERATURE = 0.07
_FEW_NEIGHBORS = 0.25
"""With a smaller share of sentences that have a next one, halves of sentences teach, too."""
_PRIOR_COUNT = 50.0
"""A vector learned from n sentences is scaled by sqrt(n / (n + 50))."""
_CHECKPOINT_STEPS = 200
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-12
_ROWS = 1 << 13
"""Rows of the table that are settled at once."""


def learn(
    sentences: WordSentences,
    weights: Singles,
    settings: WordSettings,
    seed: int,
    scratch: Path,
    title: str,
) -> tuple[Singles, dict[str, Any]]:
    """Learn the vectors of words, and continue from `scratch` where a training stopped.

    The seed decides the first vectors and the order of the pairs. The vectors, (V, d), are returned
    times their learned weights, with a summary.
    """
    pairs = Pairs(sentences, settings.batch, derive_seed(seed, "order"))
    if len(pairs) < 2:
        raise TooLittleTextError(
            f"{title}: got {len(pairs)} pairs of neighboring sentences; learning needs at least 2. "
            "Add documents with several sentences, or lower words.min_count"
        )
    epochs = settings.epochs or min(-(-_STEPS // pairs.steps), _MOST_EPOCHS)
    steps = epochs * pairs.steps
    step_of, warmup = np.arange(steps), int(_WARMUP * steps)
    rise, fall = (step_of + 1) / max(1, warmup), (steps - step_of) / max(1, steps - warmup)
    rates = settings.learning_rate * np.minimum(1.0, np.minimum(rise, fall))
    noise = np.random.default_rng(derive_seed(seed, "vectors"))
    vectors = noise.standard_normal((len(weights), settings.dimensions), np.float32)
    # The last column of the table is the weight.
    table = np.column_stack((vectors / np.float32(math.sqrt(settings.dimensions)), weights))
    adam = RowAdam(table, rates)
    checkpoint = scratch / "checkpoint.safetensors"
    losses: list[float] = []
    if checkpoint.is_file():
        state, _ = read_arrays(checkpoint)
        losses = state["losses"].tolist()
        adam.resume(len(losses), state["tables"])
    quiet = np.errstate(over="ignore", invalid="ignore")  # The loss is checked.
    with threadpool_limits(1, "blas"), quiet, Progress(steps, title) as bar:
        bar.advance(adam.step)
        for step in range(adam.step, steps):
            firsts, seconds = pairs(step)
            rows, runs = _renumbered(firsts, seconds, len(weights))
            loss, gradient = contrast(adam.take(rows), runs, _TEMPERATURE)
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
                write_arrays(checkpoint, {"tables": adam.tables, "losses": np.array(losses)})
        values = adam.settle()
    tenth = -(-steps // 10)
    means = [round(float(np.mean(losses[i : i + tenth])), 6) for i in range(0, steps, tenth)]
    learned_from = {"neighbors": pairs.neighbors, "halves": pairs.halves}
    summary = {**learned_from, "epochs": epochs, "steps": steps, "losses": means}
    return values[:, :-1] * values[:, -1:], summary


# --- The loss ----------------------------------------------------------------------------------


def _renumbered(firsts: Runs, seconds: Runs, words: int) -> tuple[Ints, Runs]:
    """Return the distinct words of both sides, and all sentences by their places among them."""
    pieces = np.concatenate((firsts[0], seconds[0]))
    begins = np.concatenate((firsts[1], seconds[1] + len(firsts[0]), [len(pieces)]))
    used = np.zeros(words, bool)
    used[pieces] = True
    return np.flatnonzero(used), ((np.cumsum(used) - 1)[pieces], begins)


def contrast(rows: Singles, runs: Runs, temperature: float) -> tuple[float, Singles]:
    """Return the mean cross-entropy of finding the second sentences, and its gradient by the rows.

    Rows are vectors of m words; the last column is the weight, (m, d + 1). Runs are the n first
    sentences, then the n second ones, and a last bound, (2n + 1,).
    """
    from scipy import sparse

    (pieces, begins), vectors, weights = runs, np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    shape = len(begins) - 1, len(rows)
    counts = sparse.csr_matrix((np.ones(len(pieces), np.float32), pieces, begins), shape)
    sums = counts @ (vectors * weights[:, None])
    lengths = np.sqrt(np.einsum("nd,nd->n", sums, sums))[:, None] + np.float32(_EPSILON)
    units = sums / lengths
    n = len(units) // 2
    left, right = units[:n], units[n:]
    odds, diagonal = left @ right.T, np.arange(n)
    odds /= np.float32(temperature)
    odds -= odds.max(axis=1, keepdims=True)
    next_odds = odds[diagonal, diagonal].astype(np.float64)
    np.exp(odds, out=odds)
    total = odds.sum(axis=1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0], dtype=np.float64) - next_odds))
    odds /= total
    odds[diagonal, diagonal] -= 1
    odds /= np.float32(n * temperature)
    by_units = np.concatenate((odds @ right, odds.T @ left))
    by_units -= units * np.einsum("nd,nd->n", by_units, units)[:, None]
    by_sums = counts.T @ (by_units / lengths)
    gradient = np.empty_like(rows)
    np.multiply(by_sums, weights[:, None], out=gradient[:, :-1])
    np.einsum("md,md->m", by_sums, vectors, out=gradient[:, -1])
    return loss, gradient


class RowAdam:
    """Adam (Kingma & Ba 2015) for a table of which a step touches few rows.

    In Adam a row without a gradient still moves in each step, by its fading momentum: by multiples
    of m / √v, which shrinks by the constant β1 / √β2. Here a row moves when it is touched again.
    `tables` holds values, first moments and second moments, (3, V, d).
    """

    def __init__(self, table: Singles, rates: npt.NDArray[np.float64]) -> None:
        self.tables, self.step = np.stack((table, 0 * table, 0 * table)).astype(np.float32), 0
        number = np.arange(1, len(rates) + 1)
        self._rates = rates * np.sqrt(1 - _BETA2**number) / (1 - _BETA1**number)
        self._seen = np.zeros(len(table), np.int64)
        # By the step at which a row was last touched: the multiple that it has still to move.
        self._owed = np.zeros(len(rates) + 1)
        self._taken: tuple[Ints, Singles] = (self._seen[:0], self.tables[:, :0])

    def resume(self, step: int, tables: Singles) -> None:
        """Continue from the settled tables of a training after so many steps."""
        self.step, self._seen[:], self.tables[:] = step, step, tables

    def take(self, rows: Ints) -> Singles:
        """Return the values of rows before this step, (len(rows), d)."""
        taken, age = self.tables[:, rows], self.step - self._seen[rows]
        owed = self._owed[self._seen[rows]].astype(np.float32)
        taken[0] -= owed[:, None] * _direction(taken)
        taken[1] *= (_BETA1**age).astype(np.float32)[:, None]
        taken[2] *= (_BETA2**age).astype(np.float32)[:, None]
        self._taken = rows, taken
        values: Singles = taken[0]
        return values

    def update(self, gradient: Singles) -> None:
        """Take a step by the gradient of the rows that were taken."""
        rows, taken = self._taken
        taken[1:] *= np.array([_BETA1, _BETA2], np.float32)[:, None, None]
        taken[1] += np.float32(1 - _BETA1) * gradient
        taken[2] += np.float32(1 - _BETA2) * gradient * gradient
        rate = self._rates[self.step]
        taken[0] -= np.float32(rate) * _direction(taken)
        self.step += 1
        self.tables[:, rows], self._seen[rows] = taken, self.step
        ages = self.step - np.arange(self.step)
        self._owed[: self.step] += rate * (_BETA1 / math.sqrt(_BETA2)) ** ages

    def settle(self) -> Singles:
        """Bring all rows up to date, and return their values."""
        for start in range(0, len(self._seen), _ROWS):
            rows = np.arange(start, min(start + _ROWS, len(self._seen)))
            self.take(rows)
            self.tables[:, rows] = self._taken[1]
        self._seen[:] = self.step
        values: Singles = self.tables[0]
        return values


def _direction(tables: Singles) -> Singles:
    """Return m / √v."""
    direction: Singles = tables[1] / (np.sqrt(tables[2]) + np.float32(_EPSILON))
    return direction


# --- The pairs ---------------------------------------------------------------------------------


class Pairs:
    """Batches of sentences and their next ones; a batch is a function of its step.

    A batch comes from one file of the corpus, where the file has enough pairs, so that its subject
    does not give the pairs away. The pairs that are left over at the end of an epoch are dropped.

    Where few sentences have a next one, each sentence of two or more words that is alone in its
    document gives a pair too: two random halves of its words, which differ from epoch to epoch.
    """

    def __init__(self, sentences: WordSentences, size: int, seed: int) -> None:
        documents, count = sentences.documents, len(sentences)
        is_new = np.diff(documents, prepend=-1, append=-1) != 0
        pairs = np.flatnonzero(~is_new[1:-1])
        self.neighbors, self.halves = len(pairs), 0
        if self.neighbors < _FEW_NEIGHBORS * count:
            alone = is_new[:-1] & is_new[1:] & (np.diff(sentences.bounds) > 1)
            # Numbers beyond those of the sentences denote the halves of one.
            pairs = np.concatenate((pairs, count + np.flatnonzero(alone)))
            self.halves = len(pairs) - self.neighbors
        self._pairs, self._sources = pairs, sentences.sources[documents[pairs % max(1, count)]]
        self._sentences, self._seed = sentences, seed
        self._size = min(size, len(pairs))
        self.steps = len(pairs) // max(1, self._size)
        self._batches = lru_cache(maxsize=1)(self._batches_of)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._pairs)

    def __call__(self, step: int) -> tuple[Runs, Runs]:
        """Return the first and the second sentences of a step."""
        epoch, place = divmod(step, self.steps)
        chosen, count = self._batches(epoch)[place], len(self._sentences)
        near, alone = chosen[chosen < count], chosen[chosen >= count] - count
        firsts, seconds = (self._sentences.gather(at) for at in (near, near + 1))
        if len(alone):
            rng = np.random.default_rng(derive_seed(self._seed, "halves", step))
            halves = halved(*self._sentences.gather(alone), rng)
            firsts, seconds = _joined(firsts, halves[0]), _joined(seconds, halves[1])
        return firsts, seconds

    def _batches_of(self, epoch: int) -> Ints:
        rng = np.random.default_rng(derive_seed(self._seed, epoch))
        return batched(self._pairs, self._sources, self._size, rng)


def batched(
    pairs: Ints, sources: npt.NDArray[np.integer], size: int, rng: np.random.Generator
) -> Ints:
    """Put pairs into random batches of one source each, (len(pairs) // size, size).

    Only the remainders of the sources share batches; what they leave over is dropped.
    """
    order = rng.permutation(len(pairs))
    order = order[np.argsort(sources[order], kind="stable")]
    counts = np.bincount(sources)
    nth = np.arange(len(pairs)) - np.repeat(starts(counts), counts)
    is_whole = nth < np.repeat(counts // size * size, counts)
    order = np.concatenate((order[is_whole], rng.permutation(order[~is_whole])))
    batches = pairs[order[: len(order) // size * size]].reshape(-1, size)
    return batches[rng.permutation(len(batches))]


def halved(pieces: Ints, begins: Ints, rng: np.random.Generator) -> tuple[Runs, Runs]:
    """Split the words of each sentence into two random halves; the second may have one more."""
    lengths = np.diff(begins, append=len(pieces))
    sizes = lengths // 2
    shuffled = pieces[np.lexsort((rng.random(len(pieces)), np.repeat(begins, lengths)))]
    nth = np.arange(len(pieces)) - np.repeat(begins, lengths)
    is_first = nth < np.repeat(sizes, lengths)
    return (shuffled[is_first], starts(sizes)), (shuffled[~is_first], starts(lengths - sizes))


def _joined(a: Runs, b: Runs) -> Runs:
    return np.concatenate((a[0], b[0])), np.concatenate((a[1], b[1] + len(a[0])))
