"""The generator stage: learn the encoder-decoder, or adopt a language model (§3.2.2)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import TOKENIZER, open_tokenizer
from firth.encoders.folder import PretrainedFiles
from firth.encoders.language_model import open_causal_lm
from firth.encoders.transformer import device
from firth.paper.generator import GENERATOR, ROLE_OF, Generator
from firth.paper.language_model import CausalLM
from firth.paper.seq2seq import CorpusPartReader, Job, Seq2Seq, special_tokens
from firth.paper.settings import GeneratorSettings, PaperSettings
from firth.paper.tokens import PartReader, Role, Tokens, TokenTable, Triple, cut
from firth.paper.transformer import ContextTransformer, Memory, Packed, Shape, mixture_loss
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import read_json, write_atomically, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.text.arrays import Ints
from firth.train.loop import History, Schedule, train

CONFIG, TOKENIZER_FILE, HISTORY = "config.json", "tokenizer.json", "history.json"
_REPORTS, _MEASURED, _COUNTED = 10, 1_000, 100_000


def train_generator(run: Run) -> Outcome:
    """Build the generator of a run, as its settings `paper.generator` say.

    seq2seq learns on the corpus. causal-lm loads the model, tries it, and records its name and the
    fingerprints of its files; the weights stay where they are.

    Raises:
        MissingStageError: seq2seq: the run has no tokenizer.
        InputError: The corpus is too small, or the model cannot be loaded or used.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = settings.inputs("window", "precision", "generator")
    if settings.generator.backend == "causal-lm":
        files = PretrainedFiles.find(str(settings.generator.model))

        def adopt(_: Run, workspace: Path) -> Mapping[str, Any]:
            return _adopt(files, settings.generator, workspace)

        return run.build(GENERATOR, adopt, inputs=inputs | {"model": files.fingerprint})
    corpus = Corpus.open(run)

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        tokenizer, seed = open_tokenizer(run), run.settings.seed
        return _Training(corpus, tokenizer, settings, seed, workspace).run()

    inputs["corpus"] = corpus.digest
    return run.build(GENERATOR, fill, reads=[TOKENIZER], settings=["seed"], inputs=inputs)


def open_generator(run: Run) -> Generator:
    """Open the generator of a run.

    The number format and the tokens of a batch are those of the run's settings; all else is as the
    stage recorded it.

    Raises:
        MissingStageError: The stage is not built.
        InputError: causal-lm: the model is missing, has changed, or cannot be loaded.
    """
    folder, settings = run.folder(GENERATOR), run.wing("paper", PaperSettings)
    stored, batch_tokens = read_json(folder / CONFIG), settings.generator.batch_tokens
    where = device()
    dtype = settings.number_format(where)
    if stored["backend"] == "causal-lm":
        files = PretrainedFiles.find(stored["model"])
        files.check(stored["files"])
        limits = {"max_tokens": stored["max_tokens"], "batch_tokens": batch_tokens}
        return CausalLM(*open_causal_lm(files, dtype, where), **limits)
    models: dict[Role, ContextTransformer] = {}
    for file, roles in stored["models"].items():
        network = ContextTransformer(Shape(**stored["shape"]))
        network.load_state_dict(load_file(folder / file))
        network.cast(dtype, where).eval()
        models |= {Role(role): network for role in roles}
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.encode_special_tokens = True
    return Seq2Seq(models, tokenizer, batch_tokens=batch_tokens)


def _adopt(files: PretrainedFiles, config: GeneratorSettings, workspace: Path) -> Mapping[str, Any]:
    model, tokenizer = open_causal_lm(files, torch.float32, torch.device("cpu"))
    generator = CausalLM(model, tokenizer, max_tokens=config.max_tokens)
    stored = {"backend": "causal-lm", "model": files.model, "files": dict(files.files)}
    write_json(workspace / CONFIG, {**stored, "max_tokens": config.max_tokens})
    return {
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "start": tokenizer.convert_ids_to_tokens(generator.start),
        "layout": generator.layout,
    }


class _Training:
    """The training of one Transformer for the three directions, or of three."""

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: Tokenizer,
        settings: PaperSettings,
        seed: int,
        workspace: Path,
    ) -> None:
        config = settings.generator
        self.config, self.seed, self.workspace = config, seed, workspace
        self.tokenizer, self.where = tokenizer, device()
        self.bfloat16 = settings.number_format(self.where) is torch.bfloat16
        reader = CorpusPartReader(tokenizer, config.max_tokens)
        self.store = TokenizedCorpus(corpus, reader, settings.window, workspace / SCRATCH)
        both = split_positions(corpus, config.held_out, seed)
        self.learned, self.held_out = (
            some[self.store.sizes(some).min(axis=1, initial=1) > 0] for some in both
        )
        if not len(self.learned) or not len(self.held_out):
            raise InputError(
                f"The corpus has {len(corpus.positions())} sentences with a neighbor on each "
                "side, too few to train a generator and to measure it. Add documents."
            )
        self.shape = Shape(
            vocabulary=tokenizer.get_vocab_size(),
            width=config.width,
            layers=config.layers,
            heads=config.heads,
            feedforward=config.feedforward,
            max_tokens=config.max_tokens,
            pointer=config.pointer,
        )
        longest = self.store.sizes(self.learned).max(axis=1)
        self.plan = BatchPlan(self.learned, longest, config.batch_tokens, seed)
        counted = sample(self.learned, _COUNTED, seed)
        self.counts = self.store.counts(counted, self.shape.vocabulary)
        self.start, self.missing = special_tokens(tokenizer)

    def run(self) -> dict[str, Any]:
        """Train, save, and return sizes and the held-out losses of each term."""
        models: dict[Role, ContextTransformer] = {}
        histories: dict[str, History] = {}
        files: dict[str, list[int]] = {}
        parameters = 0
        for roles in [tuple(Role)] if self.config.shared else [(role,) for role in Role]:
            name = "shared" if self.config.shared else roles[0].name.lower()
            model, histories[name] = self._trained(name, roles)
            models |= dict.fromkeys(roles, model)
            files[f"{name}.safetensors"] = [int(role) for role in roles]
            parameters += sum(p.numel() for p in model.parameters())
            with write_atomically(self.workspace / f"{name}.safetensors") as partial:
                save_file({n: t.cpu().contiguous() for n, t in model.state_dict().items()}, partial)
        generator = Seq2Seq(models, self.tokenizer, batch_tokens=self.config.batch_tokens)
        measured = self.store.triples(sample(self.held_out, _MEASURED, self.seed))
        write_json(self.workspace / HISTORY, histories)
        self.tokenizer.save(str(self.workspace / TOKENIZER_FILE))
        stored = {"backend": "seq2seq", "shape": asdict(self.shape), "models": files}
        write_json(self.workspace / CONFIG, stored)
        return {
            "parameters": parameters,
            "train_positions": len(self.learned),
            "held_out_positions": len(self.held_out),
            "epochs": round(self.config.steps * self.config.accumulate / self.plan.batches, 3),
            "held_out": held_out_losses(generator, measured),
        }

    def _trained(self, name: str, roles: Sequence[Role]) -> tuple[ContextTransformer, History]:
        config = self.config
        torch.manual_seed(derive_seed(self.seed, "generator", name, "start"))
        model = ContextTransformer(self.shape, config.dropout)
        model.start_from(self.counts)
        model.to(self.where)

        def batch_at(number: int) -> Example:
            triples = self.store.triples(self.plan.positions(number))
            seed = derive_seed(self.seed, "generator", name, "drop", number)
            rng = np.random.default_rng(seed)
            dropped = np.stack([drop(len(triples), config.drop_neighbor, rng) for _ in roles])
            return Example.of(triples, roles, dropped, self.start, self.missing, self.where)

        schedule = Schedule(
            steps=config.steps,
            rate=config.learning_rate,
            warmup=min(config.warmup, config.steps),
            checkpoint_steps=config.checkpoint_steps,
            seed=derive_seed(self.seed, "generator", name),
            report_steps=max(1, config.steps // _REPORTS),
            bfloat16=self.bfloat16,
            accumulate=config.accumulate,
        )
        title = "Training the generator" + ("" if config.shared else f": {name}")
        scratch = self.workspace / SCRATCH / name
        return model, train(model, batch_at, loss_of(model), schedule, scratch, title)


class TokenizedCorpus:
    """The tokens of every sentence of a corpus, memory-mapped from a scratch folder."""

    def __init__(self, corpus: Corpus, reader: PartReader, window: int, scratch: Path) -> None:
        self._most, self._window = reader.max_tokens, window
        self._documents = corpus.document_bounds
        batches = progress(corpus.batches(), "Tokenizing the corpus")
        self._table = TokenTable.stored(batches, reader.tokens, scratch)

    def _edges(self, positions: Ints) -> Ints:
        """Return the bounds of the tokens of c_<, s and c_> of each position, (n, 4)."""
        document = np.searchsorted(self._documents, positions, side="right") - 1
        low = np.maximum(self._documents[document], positions - self._window)
        high = np.minimum(self._documents[document + 1], positions + 1 + self._window)
        sentences = np.stack([low, positions, positions + 1, high], axis=1)
        edges: Ints = self._table.bounds[sentences]
        return edges

    def triples(self, positions: Ints) -> list[Triple]:
        """Return c_<, s and c_> of each position, each cut to `max_tokens`."""
        tokens = self._table.tokens
        return [
            (
                cut(tokens[a:b].tolist(), Role.LEFT, self._most),
                cut(tokens[b:c].tolist(), Role.SENTENCE, self._most),
                cut(tokens[c:d].tolist(), Role.RIGHT, self._most),
            )
            for a, b, c, d in self._edges(positions).tolist()
        ]

    def sizes(self, positions: Ints) -> Ints:
        """Return the tokens of the three parts of each position, `max_tokens` at most: (n, 3)."""
        sizes: Ints = np.minimum(np.diff(self._edges(positions), axis=1), self._most)
        return sizes

    def counts(self, sentences: Ints, vocabulary: int) -> Tensor:
        """Return how often each token occurs in some sentences, (vocabulary,)."""
        tokens, bounds = self._table.tokens, self._table.bounds
        spans = [tokens[bounds[i] : bounds[i + 1]] for i in sentences.tolist()]
        counts = np.bincount(np.concatenate(spans), minlength=vocabulary)
        return torch.from_numpy(counts.astype(np.float32))


def split_positions(corpus: Corpus, share: float, seed: int) -> tuple[Ints, Ints]:
    """Divide the positions: those to train on, and those of about `share` of the documents.

    No document is on both sides. A corpus with positions in one document only holds out the last
    `share` of them.
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
    """The positions of each batch, a function of the seed and the number of the batch alone.

    In each epoch the positions are shuffled, sorted by the length of their longest part, and cut
    into batches of `batch_tokens`, the padding of three parts included. The batches are taken in
    random order. Equally long positions change places; the sizes of the batches do not change.
    """

    def __init__(self, positions: Ints, longest: Ints, batch_tokens: int, seed: int) -> None:
        self._positions, self._longest, self._seed = positions, longest, seed
        self._cuts = [0]
        ordered = np.sort(longest, kind="stable")[::-1]
        while self._cuts[-1] < len(ordered):
            begin = self._cuts[-1]
            size = max(1, batch_tokens // (3 * max(1, int(ordered[begin]))))
            self._cuts.append(min(begin + size, len(ordered)))
        self._epoch, self._order, self._turn = -1, positions[:0], positions[:0]

    @property
    def batches(self) -> int:
        """The number of batches in an epoch."""
        return len(self._cuts) - 1

    def positions(self, number: int) -> Ints:
        """Return the sentence numbers of a batch, counted from 0."""
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
    """n triples, and their parts that are generated.

    Attributes:
        roles: The m parts that are generated.
        read: For each part in `given`, n texts; then `<mask>` for each of `roles`.
        given: The parts that `read` holds, in order.
        dropped: (m, n, 2), which neighbors of a generated part are left out.
        inputs: For each of `roles`, n decoder inputs: `<s>`, and the part without its last token.
        targets: The tokens of those parts, one after another.
    """

    roles: Sequence[Role]
    read: Packed
    given: Sequence[Role]
    dropped: Tensor
    inputs: Packed
    targets: Tensor

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
        """Make an example of triples without empty parts, on the device `where`.

        `start` and `missing` are the ids of `<s>` and `<mask>`.
        """
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
    """Draw which neighbors are left out, (n, 2).

    With probability `share` it is one of the two, with half of that both. The model thus learns
    each kind of evidence that the baseline leaves: one side alone, and none.
    """
    one = rng.random(n)
    which = rng.integers(0, 2, n)
    dropped = np.zeros((n, 2), np.bool_)
    dropped[np.arange(n), which] = one < share
    both: npt.NDArray[np.bool_] = (one >= share) & (one < 1.5 * share)
    dropped[both] = True
    return dropped


def sample(positions: Ints, most: int, seed: int) -> Ints:
    """Draw at most `most` positions, in ascending order."""
    if len(positions) <= most:
        return positions
    rng = np.random.default_rng(derive_seed(seed, "generator", "sample"))
    return np.sort(rng.choice(positions, most, replace=False))


def loss_of(model: ContextTransformer) -> Callable[[Example], Tensor]:
    """Return a function of an example: the mean loss in nats a generated token."""

    def loss(example: Example) -> Tensor:
        prediction = model.decode(example.inputs, _memory(model, example), example.targets)
        return mixture_loss(model, prediction, example.targets)

    return loss


def _memory(model: ContextTransformer, example: Example) -> Memory:
    """Return the memory of each generated part: `<mask>`, and its neighbors unless dropped."""
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


def held_out_losses(generator: Seq2Seq, triples: Sequence[Triple]) -> dict[str, dict[str, float]]:
    """Return the mean negative log-likelihood of real triples, in nats a token.

    Each term has `loss`, with the evidence of `Generator.likelihoods`, and `baseline`, with that of
    `Generator.baseline`. Their difference is the value of the evidence.
    """
    losses: dict[str, dict[str, float]] = {term.value: {} for term in ROLE_OF}
    for term, role in ROLE_OF.items():
        for kind, whole in (("loss", True), ("baseline", False)):
            jobs = [Job.of(triple, role, whole=whole) for triple in triples]
            total = float(generator.score(jobs, role).sum())
            losses[term.value][kind] = round(-total / sum(len(job.target) for job in jobs), 6)
    return losses
