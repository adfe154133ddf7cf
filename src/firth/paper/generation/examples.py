"""Training examples of the encoder-decoder: triples of a corpus, and the batch of each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from firth.corpus.corpus import Corpus
from firth.paper.generation.forest import Tokens
from firth.paper.generation.packed import Packed
from firth.paper.generation.roles import ROLES, PartReader, Role, cut
from firth.run.files import write_atomically
from firth.run.progress import track
from firth.run.seeds import derive_seed

Indices = npt.NDArray[np.int64]


class TokenizedCorpus:
    """The tokens of every sentence of a corpus, memory-mapped from a scratch folder.

    Args:
        corpus: The sentences.
        reader: Turns them into tokens.
        scratch: Folder for the tokens; what an interrupted training left there is used again.
        max_tokens: Longest part.
    """

    def __init__(self, corpus: Corpus, reader: PartReader, scratch: Path, max_tokens: int) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._max_tokens = max_tokens
        self._window = corpus.window
        self._documents = corpus.document_bounds
        tokens, bounds = scratch / "tokens.bin", scratch / "bounds.npy"
        if not bounds.is_file():
            _write(corpus, reader, tokens, bounds)
        self.bounds: Indices = np.load(bounds, mmap_mode="r")
        empty = not int(self.bounds[-1])
        self._tokens: npt.NDArray[np.int32] = (
            np.zeros(0, np.int32) if empty else np.memmap(tokens, np.int32, mode="r")
        )

    def triple(self, slot: int) -> tuple[Tokens, Tokens, Tokens]:
        """c_<, s and c_> of a slot, each cut to `max_tokens`."""
        document = int(np.searchsorted(self._documents, slot, side="right")) - 1
        low = max(int(self._documents[document]), slot - self._window)
        high = min(int(self._documents[document + 1]), slot + 1 + self._window)
        spans = ((low, slot), (slot, slot + 1), (slot + 1, high))
        left, centre, right = (
            cut(self._tokens[self.bounds[a] : self.bounds[b]].tolist(), role, self._max_tokens)
            for (a, b), role in zip(spans, ROLES, strict=True)
        )
        return left, centre, right

    def counts(self, sentences: Indices, vocabulary: int) -> torch.Tensor:
        """How often each token occurs in these sentences: (vocabulary,), float32."""
        spans = [self._tokens[self.bounds[i] : self.bounds[i + 1]] for i in sentences.tolist()]
        return torch.from_numpy(
            np.bincount(np.concatenate(spans), minlength=vocabulary).astype(np.float32)
        )

    def sizes(self, slots: Indices) -> Indices:
        """Tokens of the three parts of each slot, at most `max_tokens` each: (n, 3)."""
        document = np.searchsorted(self._documents, slots, side="right") - 1
        low = np.maximum(self._documents[document], slots - self._window)
        high = np.minimum(self._documents[document + 1], slots + 1 + self._window)
        bounds = np.asarray(self.bounds)
        edges = np.stack([bounds[low], bounds[slots], bounds[slots + 1], bounds[high]], axis=1)
        sizes: Indices = np.minimum(np.diff(edges, axis=1), self._max_tokens)
        return sizes


def _write(corpus: Corpus, reader: PartReader, tokens: Path, bounds: Path) -> None:
    counts: list[int] = []
    with write_atomically(tokens) as partial, partial.open("wb") as file:
        for batch in track(corpus.batches(), "Reading the corpus"):
            rows = reader.tokens(batch)
            counts.extend(len(row) for row in rows)
            np.array([t for row in rows for t in row], np.int32).tofile(file)
    with write_atomically(bounds) as partial, partial.open("wb") as file:
        np.save(file, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))


@dataclass(frozen=True)
class Split:
    """Slots to train on, and slots of held-out documents.

    Attributes:
        train: Sentence numbers.
        held_out: Sentence numbers; none of their documents is trained on, if there are two.
    """

    train: Indices
    held_out: Indices


def split_slots(corpus: Corpus, share: float, seed: int) -> Split:
    """Hold out about `share` of the documents that have slots, at least one.

    A corpus with a single such document gives up the last `share` of its slots instead.
    """
    slots = corpus.slots()
    documents = corpus.document_of(slots)
    distinct = np.unique(documents)
    if len(distinct) < 2:
        cut_at = max(1, len(slots) - max(1, round(share * len(slots))))
        return Split(slots[:cut_at], slots[cut_at:])
    rng = np.random.default_rng(derive_seed(seed, "generator", "held-out"))
    held = rng.permutation(distinct)[: max(1, round(share * len(distinct)))]
    out = np.isin(documents, held)
    return Split(slots[~out], slots[out])


class BatchPlan:
    """Which slots each step trains on, a function of seed and step alone.

    In each epoch the slots are shuffled, sorted by the length of their longest part, and cut into
    batches; these are taken in random order. Equally long slots change places, the lengths of the
    batches do not.

    Args:
        slots: Slots to train on.
        longest: Tokens of the longest part of each.
        batch_tokens: Tokens of a batch, the padding of three parts included.
        seed: Of the run.
    """

    def __init__(self, slots: Indices, longest: Indices, batch_tokens: int, seed: int) -> None:
        self._slots, self._longest, self._seed = slots, longest, seed
        self._cuts = [0]
        ordered = np.sort(longest, kind="stable")[::-1]
        while self._cuts[-1] < len(ordered):
            begin = self._cuts[-1]
            size = max(1, batch_tokens // (3 * max(1, int(ordered[begin]))))
            self._cuts.append(min(begin + size, len(ordered)))
        self._epoch = -1
        self._order: Indices = np.zeros(0, np.int64)
        self._turn: Indices = np.zeros(0, np.int64)

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return len(self._cuts) - 1

    def slots(self, step: int) -> Indices:
        """Sentence numbers of the slots of a step, counted from 0."""
        epoch, turn = divmod(step, self.batches)
        if epoch != self._epoch:
            rng = np.random.default_rng(derive_seed(self._seed, "generator", "epoch", epoch))
            shuffled = rng.permutation(len(self._slots))
            self._order = shuffled[np.argsort(-self._longest[shuffled], kind="stable")]
            self._turn = rng.permutation(self.batches)
            self._epoch = epoch
        begin, end = self._cuts[self._turn[turn]], self._cuts[self._turn[turn] + 1]
        return self._slots[self._order[begin:end]]


@dataclass(frozen=True)
class Example:
    """n triples, and the parts of them to be generated.

    Attributes:
        roles: Parts to be generated, m of them.
        read: For each of the other parts in turn, n texts; then `<mask>` for each of `roles`.
        given: The parts that `read` holds, in order.
        dropped: (m, n, 2) which neighbours of a part to be generated are left out.
        inputs: For each of `roles`, n decoder inputs: `<s>`, and the part without its last token.
        targets: The tokens of those parts, one after another.
    """

    roles: Sequence[Role]
    read: Packed
    given: Sequence[Role]
    dropped: torch.Tensor
    inputs: Packed
    targets: torch.Tensor

    @classmethod
    def of(
        cls,
        triples: Sequence[tuple[Tokens, Tokens, Tokens]],
        roles: Sequence[Role],
        dropped: npt.NDArray[np.bool_],
        start: int,
        missing: int,
    ) -> "Example":
        """Make an example of triples without empty parts; `start` and `missing` are token ids."""
        where = torch.device("cpu")
        given = [role for role in Role if any(role is not other for other in roles)]
        texts = [triple[role] for role in given for triple in triples]
        marks: list[Tokens] = [(missing,) for _ in roles]
        of_texts = [role for role in given for _ in triples]
        targets = [triple[role] for role in roles for triple in triples]
        return cls(
            roles=roles,
            read=Packed.of([*texts, *marks], [*of_texts, *roles], where),
            given=given,
            dropped=torch.from_numpy(dropped),
            inputs=Packed.of(
                [(start, *tokens[:-1]) for tokens in targets],
                [role for role in roles for _ in triples],
                where,
            ),
            targets=torch.tensor([t for tokens in targets for t in tokens]),
        )


def drop(n: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which neighbours are left out: (n, 2).

    With probability `share` one of the two, with half of that both, so that the model knows every
    kind of evidence the baseline leaves it: one side alone, and none.
    """
    one = rng.random(n)
    which = rng.integers(0, 2, n)
    dropped = np.zeros((n, 2), np.bool_)
    dropped[np.arange(n), which] = one < share
    both: npt.NDArray[np.bool_] = (one >= share) & (one < 1.5 * share)
    dropped[both] = True
    return dropped


def held_out_sample(slots: Indices, most: int, seed: int) -> Indices:
    """At most `most` slots, drawn evenly, in ascending order."""
    if len(slots) <= most:
        return slots
    rng = np.random.default_rng(derive_seed(seed, "generator", "sample"))
    return np.sort(rng.choice(slots, most, replace=False))
