"""Training examples of the encoder-decoder: triples of a corpus, and the batch of each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from firth.corpus.corpus import Corpus
from firth.paper.generation.protocol import PartReader, Role, Tokens, Triple, cut
from firth.paper.generation.transformer import Packed
from firth.paper.tokens import stored_tokens
from firth.run.progress import track
from firth.run.seeds import derive_seed

Indices = npt.NDArray[np.int64]


class TokenizedCorpus:
    """The tokens of every sentence of a corpus, memory-mapped from a scratch folder.

    Args:
        corpus: The sentences.
        reader: Turns them into tokens, and says how long a part may be.
        scratch: Folder for the tokens; what an interrupted training left there is used again.
    """

    def __init__(self, corpus: Corpus, reader: PartReader, scratch: Path) -> None:
        self._most, self._window = reader.max_tokens, corpus.window
        self._documents = corpus.document_bounds
        batches = track(corpus.batches(), "Reading the corpus")
        self._tokens, self.bounds = stored_tokens(batches, reader.tokens, scratch)

    def _edges(self, positions: Indices) -> Indices:
        """First tokens of c_<, s and c_> of each position, and the end of c_>: (n, 4)."""
        document = np.searchsorted(self._documents, positions, side="right") - 1
        low = np.maximum(self._documents[document], positions - self._window)
        high = np.minimum(self._documents[document + 1], positions + 1 + self._window)
        sentences = np.stack([low, positions, positions + 1, high], axis=1)
        edges: Indices = self.bounds[sentences]
        return edges

    def triples(self, positions: Indices) -> list[Triple]:
        """c_<, s and c_> of each position, each cut to `max_tokens`."""
        return [
            (
                cut(self._tokens[a:b].tolist(), Role.LEFT, self._most),
                cut(self._tokens[b:c].tolist(), Role.SENTENCE, self._most),
                cut(self._tokens[c:d].tolist(), Role.RIGHT, self._most),
            )
            for a, b, c, d in self._edges(positions).tolist()
        ]

    def sizes(self, positions: Indices) -> Indices:
        """Tokens of the three parts of each position, at most `max_tokens` each: (n, 3)."""
        sizes: Indices = np.minimum(np.diff(self._edges(positions), axis=1), self._most)
        return sizes

    def counts(self, sentences: Indices, vocabulary: int) -> torch.Tensor:
        """How often each token occurs in these sentences: (vocabulary,), float32."""
        spans = [self._tokens[self.bounds[i] : self.bounds[i + 1]] for i in sentences.tolist()]
        return torch.from_numpy(
            np.bincount(np.concatenate(spans), minlength=vocabulary).astype(np.float32)
        )


def split_positions(corpus: Corpus, share: float, seed: int) -> tuple[Indices, Indices]:
    """Positions to train on, and those of held-out documents: about `share`, at least one.

    No document is on both sides. A corpus with a single document that has positions gives up the
    last `share` of these instead.
    """
    positions = corpus.slots()
    documents = corpus.document_of(positions)
    distinct = np.unique(documents)
    if len(distinct) < 2:
        end = max(1, len(positions) - max(1, round(share * len(positions))))
        return positions[:end], positions[end:]
    rng = np.random.default_rng(derive_seed(seed, "generator", "held-out"))
    held = rng.permutation(distinct)[: max(1, round(share * len(distinct)))]
    out = np.isin(documents, held)
    return positions[~out], positions[out]


class BatchPlan:
    """Which positions each step trains on, a function of seed and step alone.

    In each epoch the positions are shuffled, sorted by the length of their longest part, and cut
    into batches; these are taken in random order. Equally long ones change places, the lengths of
    the batches do not.

    Args:
        positions: Positions to train on.
        longest: Tokens of the longest part of each.
        batch_tokens: Tokens of a batch, the padding of three parts included.
        seed: Of the run.
    """

    def __init__(self, positions: Indices, longest: Indices, batch_tokens: int, seed: int) -> None:
        self._positions, self._longest, self._seed = positions, longest, seed
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

    def positions(self, step: int) -> Indices:
        """Sentence numbers of the positions of a step, counted from 0."""
        epoch, turn = divmod(step, self.batches)
        if epoch != self._epoch:
            rng = np.random.default_rng(derive_seed(self._seed, "generator", "epoch", epoch))
            shuffled = rng.permutation(len(self._positions))
            self._order = shuffled[np.argsort(-self._longest[shuffled], kind="stable")]
            self._turn = rng.permutation(self.batches)
            self._epoch = epoch
        begin, end = self._cuts[self._turn[turn]], self._cuts[self._turn[turn] + 1]
        return self._positions[self._order[begin:end]]


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
        triples: Sequence[Triple],
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
        targets = [triple[role] for role in roles for triple in triples]
        repeated = [[role for role in some for _ in triples] for some in (given, roles)]
        return cls(
            roles=roles,
            read=Packed.of([*texts, *marks], [*repeated[0], *roles], where),
            given=given,
            dropped=torch.from_numpy(dropped),
            inputs=Packed.of([(start, *tokens[:-1]) for tokens in targets], repeated[1], where),
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


def sample(positions: Indices, most: int, seed: int) -> Indices:
    """At most `most` positions, drawn evenly, in ascending order."""
    if len(positions) <= most:
        return positions
    rng = np.random.default_rng(derive_seed(seed, "generator", "sample"))
    return np.sort(rng.choice(positions, most, replace=False))
