"""Distilling matrices: a batch's sentences, and how alike the teacher finds each two of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from torch import Tensor, nn

from firth.context.encoder import unit
from firth.lexical.arrays import Floats, Ints, Singles
from firth.run.parts import in_parts
from firth.run.precision import device, number_format
from firth.run.progress import bar
from firth.run.seeds import derive_seed
from firth.run.training import History, Schedule, train
from firth.surrogate.losses import apart, listwise
from firth.surrogate.near import near_groups
from firth.surrogate.report import rank_correlation
from firth.surrogate.settings import BaseKind, SurrogateConfig, Way
from firth.surrogate.teacher import Teacher
from firth.surrogate.training import Best, looks_of

FITTED = 4_000
"""Sentences by which a linear map into the teacher's space is fitted."""
NEAREST = 10
"""Of a held-out sentence, by the teacher: the pairs of kind `near`."""
NEAR, RANDOM = "near", "random"
_BATCH = 128
_BLOCK = 1_024
"""Texts after which the bar moves."""
_RIDGE = 1e-3
_COUNTED = 1_024
"""Texts whose tokens are counted at once."""
_SORTED = 64
"""Batches of sentences that are sorted by length together."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sentences kept from training, and pairs of them.

    Attributes:
        texts: n of them.
        rows: Numbers of both sentences of each pair, (2, m); first all `near` ones.
        near: How many those are.
        scores: What the teacher says of each pair, (m,).
        usual: Mean and deviation of the teacher's similarities of any two.
    """

    texts: list[str]
    rows: Ints
    near: int
    scores: Floats
    usual: tuple[float, float]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The two texts of each pair, m of them."""
        return [(self.texts[one], self.texts[two]) for one, two in self.rows.T.tolist()]

    @classmethod
    def of(cls, teacher: Teacher, numbers: Ints, seed: int) -> "HeldOut":
        """Each sentence with the `NEAREST`, and as many pairs of any two."""
        texts = [teacher.texts[n] for n in numbers.tolist()]
        found = teacher.similarities(texts)
        n = len(texts)
        others = found - 9.0 * np.eye(n)  # below all similarities
        nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(NEAREST, n - 1)]
        pairs = np.stack((np.repeat(np.arange(n), nearest.shape[1]), nearest.ravel()))
        near = np.unique(np.sort(pairs, axis=0), axis=1)
        upper = np.stack(np.triu_indices(n, 1))
        size = min(near.shape[1], upper.shape[1])
        some = np.random.default_rng(seed).choice(upper.shape[1], size, replace=False)
        rows = np.concatenate((near, upper[:, np.sort(some)]), axis=1)
        every = found[upper[0], upper[1]]
        usual = float(every.mean()), max(float(every.std()), 1e-9)
        return cls(texts, rows, near.shape[1], found[rows[0], rows[1]], usual)

    def figures(self, vectors: Singles) -> dict[str, dict[str, Any]]:
        """Kind of pair → `n` and `spearman`, the rank correlation with the teacher, of a student.

        Args:
            vectors: The student's of the sentences, (n, d), of any length.
        """
        units = np.asarray(vectors, np.float64)
        units = units / np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-12)
        cosines = np.einsum("nd,nd->n", units[self.rows[0]], units[self.rows[1]])
        kinds = {"all": slice(None), NEAR: slice(self.near), RANDOM: slice(self.near, None)}
        return {
            kind: {
                "n": len(self.scores[some]),
                "spearman": _rounded(cosines[some], self.scores[some]),
            }
            for kind, some in kinds.items()
        }


def _rounded(one: Floats, two: Floats) -> float | None:
    found = rank_correlation(one, two)
    return None if found is None else round(found, 6)


def encode(model: SentenceTransformer, texts: list[str], title: str = "Surrogate") -> Singles:
    """Vectors of a student, (n, d), behind a bar."""
    found = [np.empty((0, model.get_embedding_dimension() or 0), np.float32)]
    with bar(f"{title}: encoding", len(texts)) as shown:
        for first in range(0, len(texts), _BLOCK):
            block = texts[first : first + _BLOCK]
            vectors = model.encode(block, batch_size=_BATCH, show_progress_bar=False)
            found.append(np.asarray(vectors, np.float32))
            shown.advance(len(block))
    return np.concatenate(found)


def token_counts(model: SentenceTransformer, texts: list[str]) -> Ints:
    """Tokens that a Transformer reads of each text, (n,)."""
    blocks = [texts[start : start + _COUNTED] for start in range(0, len(texts), _COUNTED)]
    masks = (model.preprocess(block)["attention_mask"] for block in blocks)
    counts: Ints = np.concatenate([mask.sum(dim=1).numpy() for mask in masks])
    return counts


class Batches:
    """Numbers of the sentences of a step, a function of the step alone.

    Args:
        groups: Numbers of sentences that come in one batch, (g, s); what an epoch leaves over is
            dropped.
        lengths: Of the longest sentence of each group: those of a batch are similar, so that
            little of it is padding.
        size: Of a batch; a group at least.
        seed: Decides the order, a new one for each epoch.
    """

    def __init__(self, groups: Ints, lengths: Ints, size: int, seed: int) -> None:
        self._groups, self._lengths, self._seed = groups, lengths, seed
        self._size = min(max(size // groups.shape[1], 1), len(groups))
        self.steps = len(groups) // self._size
        """Steps of an epoch."""
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def __call__(self, step: int) -> Ints:
        """Those of a step."""
        epoch, place = divmod(step, self.steps)
        chosen: Ints = self._groups[self._order(epoch)[place]].ravel()
        return chosen

    def _shuffled(self, epoch: int) -> Ints:
        """The groups of the batches of an epoch, (steps, groups)."""
        rng = np.random.default_rng(derive_seed(self._seed, epoch))
        places = rng.permutation(len(self._groups))[: self.steps * self._size]
        block = _SORTED * self._size
        for start in range(0, len(places), block):
            some = places[start : start + block]
            places[start : start + block] = some[np.argsort(self._lengths[some], kind="stable")]
        return rng.permutation(places.reshape(self.steps, self._size))


def grouped(
    model: SentenceTransformer, teacher: Teacher, numbers: Ints, lengths: Ints, size: int, seed: int
) -> Ints:
    """Sentences that the teacher (where it has no vectors, the student) finds alike.

    Returns:
        Their places in `numbers`, (g, `size`), or one group of all where there are fewer.
    """
    size = min(size, len(numbers))
    if size == 1:
        return np.arange(len(numbers))[:, None]
    if teacher.vectors is not None:
        vectors = teacher.vectors[numbers]
    else:
        found = encode(model, [teacher.texts[n] for n in numbers.tolist()])
        vectors = unit(found.astype(np.float64)).astype(np.float32)
    return near_groups(vectors, lengths, size, seed)


def linear_fit(states: Singles, wanted: Singles) -> nn.Linear:
    """The linear map of the least squared error, a little shrunk: (n, d) to (n, e)."""
    mean, centre = states.mean(axis=0), wanted.mean(axis=0)
    one, two = (states - mean).astype(np.float64), (wanted - centre).astype(np.float64)
    squares = one.T @ one
    ridge = _RIDGE * max(float(np.trace(squares)) / len(squares), 1e-12) * np.eye(len(squares))
    weight = np.linalg.solve(squares + ridge, one.T @ two)
    fitted = nn.Linear(states.shape[1], wanted.shape[1])
    with torch.no_grad():
        fitted.weight.copy_(torch.from_numpy(weight.T))
        fitted.bias.copy_(torch.from_numpy(centre - mean @ weight))
    return fitted


def fitted_map(model: SentenceTransformer, teacher: Teacher, numbers: Ints) -> nn.Linear | None:
    """A linear map of the student's space into the teacher's; None where the teacher has none."""
    if teacher.vectors is None:
        return None
    some = numbers[:FITTED]
    states = encode(model, [teacher.texts[n] for n in some.tolist()])
    return linear_fit(states, teacher.vectors[some])


def with_dense(model: SentenceTransformer, fitted: nn.Linear) -> SentenceTransformer:
    """The model, followed by a linear map."""
    dense = Dense(fitted.in_features, fitted.out_features, activation_function=None)
    dense.linear.load_state_dict(fitted.state_dict())
    return SentenceTransformer(modules=[*model, dense], device="cpu", local_files_only=True)


class _Learning(nn.Module):
    """What is trained: the student, and the map by which its vectors are compared."""

    def __init__(self, model: SentenceTransformer, head: nn.Module) -> None:
        super().__init__()
        self.model, self.head = model, head

    def vectors(self, texts: list[str]) -> Tensor:
        where = self.model.device
        features = self.model.preprocess(texts)
        moved = {k: v.to(where) if isinstance(v, Tensor) else v for k, v in features.items()}
        found: Tensor = self.model(moved)["sentence_embedding"]
        return found


@contextmanager
def _explicit_attention(model: SentenceTransformer, where: torch.device) -> Iterator[None]:
    """Attention product by product, on a processor: the way back through torch's fused kernel takes
    as long there as that through all other products together."""
    network: Any = model.transformers_model
    if network is None or where.type != "cpu":
        yield
        return
    usual = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        yield
    finally:
        network.set_attn_implementation(usual)


def train_student(
    model: SentenceTransformer,
    teacher: Teacher,
    numbers: Ints,
    dev: HeldOut,
    config: SurrogateConfig,
    seed: int,
    scratch: Path,
) -> tuple[History, Mapping[str, Any]]:
    """Train `model` in place, and leave it with the weights that agree best with the teacher.

    Args:
        model: The student.
        teacher: Of whom it learns.
        numbers: Of the sentences to learn from.
        dev: By which the best weights are known; the start's are among them.
        config: How long, how fast, by which losses.
        seed: Decides order and dropout.
        scratch: Holds checkpoints; an interrupted call continues from what it left there.

    Returns:
        The losses; and `step`, whose weights were kept, 0 being the start, of how many `steps`, and
        the rank correlation `seen` at each look.
    """
    best = Best(model, lambda: dev.figures(encode(model, dev.texts))["all"]["spearman"], scratch)
    lengths = np.zeros(len(numbers), np.int64)  # a static student has no padding
    if config.kind is not BaseKind.STATIC:
        lengths = token_counts(model, [teacher.texts[n] for n in numbers.tolist()])
    passes = config.passes(Way.MATRICES)
    size = config.near if passes else 1
    groups = grouped(model, teacher, numbers, lengths, size, derive_seed(seed, "near"))
    longest = lengths[groups].max(axis=1)
    order = derive_seed(seed, "order")
    batches = Batches(numbers[groups], longest, config.chosen_batch, order)
    steps = passes * batches.steps
    mapped: nn.Module | None = None
    if teacher.vectors is not None and config.vector_weight:
        wide = teacher.vectors[numbers[:1]].shape[1]
        same = model.get_embedding_dimension() == wide
        mapped = nn.Identity() if same else fitted_map(model, teacher, numbers)
    where = device() if config.kind is not BaseKind.STATIC else torch.device("cpu")
    learning = _Learning(model, mapped or nn.Identity()).to(where)
    mean, deviation = dev.usual
    parts = config.chosen_parts

    def loss(chosen: Ints) -> Tensor:
        texts = [teacher.texts[n] for n in chosen.tolist()]
        vectors = in_parts(lambda some: learning.vectors(texts[some]), len(texts), parts)
        alike = config.spread * (teacher.similarities(texts) - mean) / deviation
        wanted = torch.from_numpy(alike.astype(np.float32)).to(where)
        found = listwise(vectors, wanted, config.temperature)
        if mapped is not None and teacher.vectors is not None:
            known = torch.from_numpy(teacher.vectors[chosen]).to(where)
            found = found + config.vector_weight * apart(learning.head(vectors), known)
        return found

    def look(step: int) -> dict[str, float]:
        figure = best.look(step)
        return {} if figure is None else {"spearman": figure}

    if not steps:
        return [], {"step": 0, "steps": 0, "seen": looks_of(best, [])}
    half = number_format(config.precision, where) is torch.bfloat16
    schedule = Schedule(
        steps=steps,
        learning_rate=config.chosen_rate,
        warmup=int(config.warmup * steps),
        checkpoint_steps=config.checkpoint_steps,
        seed=seed,
        report_steps=-(-steps // config.looks),
        bfloat16=half and config.kind is not BaseKind.STATIC,
        parts=parts,
        shared_by=None if config.kind is BaseKind.STATIC else "surrogate.parts",
    )
    with _explicit_attention(model, where):
        history = train(learning, batches, loss, schedule, scratch, "Surrogate: distilling", look)
    best.restore()
    model.cpu().eval()
    return history, {"step": best.step, "steps": steps, "seen": looks_of(best, history)}
