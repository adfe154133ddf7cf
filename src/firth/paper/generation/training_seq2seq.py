"""Training the encoder-decoder on a corpus: what a step sees, and what is learned (§3.2.2)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.corpus import Corpus
from firth.paper.generation.open import CONFIG, TOKENIZER_FILE
from firth.paper.generation.protocol import ROLE_OF, PartReader, Role, Tokens, Triple, cut
from firth.paper.generation.seq2seq import CorpusPartReader, Job, Seq2Seq, special_tokens
from firth.paper.generation.transformer import (
    ContextTransformer,
    Memory,
    Packed,
    Shape,
    mixture_loss,
)
from firth.paper.settings import Backend, GeneratorConfig
from firth.paper.tokens import stored_tokens
from firth.run.errors import InputError
from firth.run.files import write_atomically, write_json
from firth.run.precision import device, number_format
from firth.run.progress import track
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.run.training import History, Schedule, train

HISTORY = "history.json"
_REPORTS, _WATCHED, _REPORTED, _COUNTED = 10, 64, 1_000, 100_000
Indices = npt.NDArray[np.int64]


def train_seq2seq(
    corpus: Corpus, tokenizer: Tokenizer, config: GeneratorConfig, seed: int, workspace: Path
) -> dict[str, Any]:
    """Train one Transformer for the three directions, or three, and save them in `workspace`.

    Returns:
        Sizes, and for each term the held-out loss in nats a token with the evidence and without it.

    Raises:
        InputError: The corpus is too small to hold anything out.
    """
    reader = CorpusPartReader(tokenizer, config.max_tokens)
    store = TokenizedCorpus(corpus, reader, workspace / SCRATCH)
    both = split_positions(corpus, config.held_out, seed)
    positions, held_out = (some[store.sizes(some).min(axis=1) > 0] for some in both)
    if not len(positions) or not len(held_out):
        raise InputError(
            f"the corpus has {len(corpus.positions())} sentences with a neighbour on each side; to "
            "train a generator and to test it takes a few at least. Add documents."
        )
    shape = Shape(
        vocabulary=tokenizer.get_vocab_size(),
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        feedforward=config.feedforward,
        max_tokens=config.max_tokens,
        pointer=config.pointer,
    )
    longest = store.sizes(positions).max(axis=1)
    plan = BatchPlan(positions, longest, config.batch_tokens, seed)
    counts = store.counts(sample(positions, _COUNTED, seed), shape.vocabulary)
    watched = store.triples(sample(held_out, _WATCHED, seed))
    start, missing = special_tokens(tokenizer)
    where = device()

    def trained(name: str, roles: Sequence[Role]) -> tuple[ContextTransformer, History]:
        torch.manual_seed(derive_seed(seed, "generator", name, "start"))
        model = ContextTransformer(shape, config.dropout)
        model.start_from(counts)
        model.to(where)

        def batch_at(number: int) -> Example:
            triples = store.triples(plan.positions(number))
            rng = np.random.default_rng(derive_seed(seed, "generator", name, "drop", number))
            dropped = np.stack([drop(len(triples), config.drop_neighbour, rng) for _ in roles])
            return Example.of(triples, roles, dropped, start, missing, where)

        def evaluate(step: int) -> dict[str, float]:
            generator = Seq2Seq(dict.fromkeys(Role, model), tokenizer)
            found = held_out_losses(generator, watched, roles)
            return {
                f"{term}_{kind}": v for term, kinds in found.items() for kind, v in kinds.items()
            }

        schedule = Schedule(
            steps=config.steps,
            learning_rate=config.learning_rate,
            warmup=min(config.warmup, config.steps),
            checkpoint_steps=config.checkpoint_steps,
            seed=derive_seed(seed, "generator", name),
            report_steps=max(1, config.steps // _REPORTS),
            bfloat16=number_format(config.precision, where) is torch.bfloat16,
            accumulate=config.accumulate,
            shared_by="generator.accumulate",
        )
        title = "Training the generator" + ("" if config.shared else f": {name}")
        scratch = workspace / SCRATCH / name
        return model, train(model, batch_at, loss_of(model), schedule, scratch, title, evaluate)

    models: dict[Role, ContextTransformer] = {}
    histories: dict[str, History] = {}
    files: dict[str, list[int]] = {}
    parameters = 0
    for roles in [tuple(Role)] if config.shared else [(role,) for role in Role]:
        name = "shared" if config.shared else roles[0].name.lower()
        model, histories[name] = trained(name, roles)
        models |= dict.fromkeys(roles, model)
        files[f"{name}.safetensors"] = [int(role) for role in roles]
        parameters += sum(p.numel() for p in model.parameters())
        with write_atomically(workspace / f"{name}.safetensors") as partial:
            save_file({n: t.cpu().contiguous() for n, t in model.state_dict().items()}, partial)
    generator = Seq2Seq(models, tokenizer, batch_tokens=config.batch_tokens)
    losses = held_out_losses(generator, store.triples(sample(held_out, _REPORTED, seed)))
    write_json(workspace / HISTORY, histories)
    tokenizer.save(str(workspace / TOKENIZER_FILE))
    stored = {"backend": Backend.SEQ2SEQ, "shape": asdict(shape), "models": files}
    write_json(workspace / CONFIG, stored)
    return {
        "parameters": parameters,
        "train_positions": len(positions),
        "held_out_positions": len(held_out),
        "epochs": round(config.steps * config.accumulate / plan.batches, 3),
        "held_out": losses,
    }


class TokenizedCorpus:
    """The tokens of every sentence of a corpus, memory-mapped from a scratch folder."""

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
    positions = corpus.positions()
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
    """Which positions each batch has, a function of seed and its number alone.

    In each epoch the positions are shuffled, sorted by the length of their longest part, and cut
    into batches of `batch_tokens`, the padding of three parts included; these are taken in random
    order. Equally long ones change places, the lengths of the batches do not.
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

    def positions(self, number: int) -> Indices:
        """Sentence numbers of the positions of a batch, counted from 0."""
        epoch, turn = divmod(number, self.batches)
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
        where: torch.device,
    ) -> "Example":
        """Make an example of triples without empty parts; `start` and `missing` are token ids, and
        `where` is the model."""
        given = [role for role in Role if any(role is not other for other in roles)]
        texts = [triple[role] for role in given for triple in triples]
        marks: list[Tokens] = [(missing,) for _ in roles]
        targets = [triple[role] for role in roles for triple in triples]
        repeated = [[role for role in some for _ in triples] for some in (given, roles)]
        return cls(
            roles=roles,
            read=Packed.of([*texts, *marks], [*repeated[0], *roles], where),
            given=given,
            dropped=torch.from_numpy(dropped).to(where),
            inputs=Packed.of([(start, *tokens[:-1]) for tokens in targets], repeated[1], where),
            targets=torch.tensor([t for tokens in targets for t in tokens], device=where),
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


def loss_of(model: ContextTransformer) -> Callable[[Example], Tensor]:
    """Mean loss in nats a generated token, a function of an example."""

    def loss(example: Example) -> Tensor:
        prediction = model.decode(example.inputs, _memory(model, example), example.targets)
        return mixture_loss(model, prediction, example.targets)

    return loss


def _memory(model: ContextTransformer, example: Example) -> Memory:
    """The memory of each part to be generated: `<mask>`, and its neighbours unless dropped."""
    read, marks, n = example.read, len(example.roles), example.dropped.shape[1]

    def others(parts: Tensor, i: int) -> list[Tensor]:
        given = zip(example.given, parts, strict=True)
        return [part for role, part in given if role is not example.roles[i]]

    layers = []
    for flat in [*model.read(read), read.tokens[:, None]]:
        padded = read.spread(flat)
        parts, masks = padded[:-marks].view(-1, n, *padded.shape[1:]), padded[-marks:, :1]
        memories = [
            torch.cat([masks[i].expand(n, 1, -1), *others(parts, i)], 1) for i in range(marks)
        ]
        layers.append(torch.cat(memories))
    real = read.real[:-marks].view(-1, n, read.longest)
    seen = []
    for i in range(marks):
        kept = ~example.dropped[i]
        sides = [known & kept[:, j, None] for j, known in enumerate(others(real, i))]
        seen.append(torch.cat([kept.new_ones(n, 1), *sides], 1))
    *layers, tokens = layers
    return Memory(layers, tokens[..., 0], torch.cat(seen))


def held_out_losses(
    generator: Seq2Seq, triples: Sequence[Triple], roles: Sequence[Role] = tuple(Role)
) -> dict[str, dict[str, float]]:
    """Mean negative log-likelihood in nats a token of real triples.

    Returns:
        Term → {"loss": with the evidence of `Generator.likelihoods`, "baseline": with that of
        `Generator.baseline`}. Their difference is what the evidence is worth.
    """
    found: dict[str, dict[str, float]] = {}
    for term, role in ROLE_OF.items():
        if role in roles:
            found[term.value] = {}
            for kind, whole in (("loss", True), ("baseline", False)):
                jobs = [Job.of(triple, role, whole=whole) for triple in triples]
                total = float(generator.score(jobs, role).sum())
                mean = -total / sum(len(job.target) for job in jobs)
                found[term.value][kind] = round(mean, 6)
    return found
