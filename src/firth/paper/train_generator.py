"""The generator stage: learn the encoder-decoder, or adopt a language model (§3.2.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.corpus.corpus import Corpus
from firth.encoders.folder import PretrainedFiles
from firth.encoders.language_model import open_causal_lm
from firth.encoders.transformer import device
from firth.paper.coherence import neighbors
from firth.paper.language_model import CausalLM
from firth.paper.seq2seq import CorpusPartReader, EncodedParts, Job, Seq2Seq
from firth.paper.settings import PaperSettings
from firth.paper.tokens import Generator, PartReader, Role, Triple, part
from firth.paper.train_coherence import corpus_inputs, shared, shared_table
from firth.paper.transformer import ContextTransformer, Shape, mixture_loss
from firth.run.errors import InputError
from firth.run.files import mapped, read_json, write_atomically, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import Ints, ranges
from firth.train.loop import Best, History, Schedule, agreed, build_together, first, rank, train
from firth.train.tokenizer import TOKENIZER, open_tokenizer

GENERATOR = Stage("paper/generator", 3, "torch", "firth paper build")
CONFIG, TOKENIZER_FILE, HISTORY = "config.json", "tokenizer.json", "history.json"
_REPORTS, _PATIENCE, _MEASURED, _COUNTED = 20, 8, 1_000, 100_000
_LOOKED, _FIT = 200, "held_out_fit"
"""Held-out triples by which the best step is chosen, at most; its figure is minus their loss."""
_SIZES = ("width", "layers", "heads", "feedforward", "max_tokens", "pointer", "joint")


def train_generator(run: Run) -> Outcome:
    """Build the generator of a run, as its settings `paper.generator` say.

    seq2seq learns on the corpus. causal-lm loads the model, tries it, and records its name and the
    fingerprints of its files.

    Raises:
        MissingStageError: seq2seq: the run has no tokenizer.
        InputError: The corpus is too small, or the model cannot be loaded or used.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = settings.inputs("window", "precision", "generator")
    if settings.generator.backend == "causal-lm":
        files = PretrainedFiles.find(str(settings.generator.model))

        def adopt(_: Run, workspace: Path) -> Mapping[str, Any]:
            return _adopt(files, settings, workspace)

        return run.build(GENERATOR, adopt, inputs=inputs | {"model": files.fingerprint})

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        return _Training(run, settings, workspace).run()

    inputs |= corpus_inputs(run)
    return build_together(run, GENERATOR, fill, reads=[TOKENIZER], settings=["seed"], inputs=inputs)


def open_generator(run: Run) -> Generator:
    """Open the generator of a run, with number format and batch of its settings.

    Raises:
        MissingStageError: The stage is not built.
        InputError: causal-lm: the model is missing, has changed, or cannot be loaded.
    """
    folder, settings = run.folder(GENERATOR), run.wing("paper", PaperSettings)
    stored, batch_tokens = read_json(folder / CONFIG), settings.generator.batch_tokens
    where = device()
    dtype = settings.number_format(where)
    if stored["backend"] == "causal-lm":
        limits = {"max_tokens": stored["max_tokens"], "window": settings.window}
        return CausalLM(*open_adopted(run), **limits, batch_tokens=batch_tokens)
    models: dict[Role, ContextTransformer] = {}
    shape = Shape(**stored["shape"])
    if shape.window != settings.window:
        raise InputError(
            f"{run.path}: paper.window is {settings.window}, but the generator was built with "
            f"{shape.window}. Bring it up to date: {GENERATOR.command}"
        )
    for file, roles in stored["models"].items():
        network = ContextTransformer(shape)
        network.load_state_dict(load_file(folder / file))
        network.cast(dtype, where).eval()
        models |= {Role(role): network for role in roles}
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.encode_special_tokens = True
    return Seq2Seq(models, tokenizer, batch_tokens=batch_tokens)


def open_adopted(run: Run) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Open the language model that is the generator of a run, and its tokenizer.

    Raises:
        MissingStageError: The stage is not built.
        InputError: The model is missing, has changed, or cannot be loaded.
    """
    stored, where = read_json(run.folder(GENERATOR) / CONFIG), device()
    files = PretrainedFiles.find(stored["model"])
    files.check(stored["files"])
    dtype = run.wing("paper", PaperSettings).number_format(where)
    return open_causal_lm(files, dtype, where)


def _adopt(files: PretrainedFiles, settings: PaperSettings, workspace: Path) -> Mapping[str, Any]:
    model, tokenizer = open_causal_lm(files, torch.float32, torch.device("cpu"))
    most = settings.generator.max_tokens
    generator = CausalLM(model, tokenizer, max_tokens=most, window=settings.window)
    stored = {"backend": "causal-lm", "model": files.model, "files": dict(files.files)}
    write_json(workspace / CONFIG, {**stored, "max_tokens": most})
    return {
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "start": tokenizer.convert_ids_to_tokens(generator.language_model.start),
    }


class _Training:
    """The training of one Transformer for the three directions, or of three."""

    def __init__(self, run: Run, settings: PaperSettings, workspace: Path) -> None:
        config = self.config = settings.generator
        self.seed, self.workspace, self.where = run.settings.seed, workspace, device()
        self.bfloat16 = settings.number_format(self.where) is torch.bfloat16
        self.tokenizer = open_tokenizer(run)
        reader = self.reader = CorpusPartReader(self.tokenizer, config.max_tokens)
        corpus = Corpus.open(run)
        self.store = TokenizedCorpus(corpus, reader, settings.window, workspace / SCRATCH)
        scratch = workspace / SCRATCH

        def learned() -> Ints:
            positions = corpus.positions()
            return positions[np.flatnonzero(self.store.sizes(positions).min(axis=1))]

        self.learned = shared(scratch / "learned.npy", learned)
        if not len(self.learned):
            raise InputError(
                "The corpus has no sentence with a neighbor on each side, so a generator has "
                "nothing to learn from. Add running text."
            )
        held_out = Corpus.open(run, "held-out")
        some = sample(held_out.positions(), _MEASURED, self.seed)
        pairs = np.stack([np.arange(len(some))] * 2, axis=1)
        contexts = held_out.contexts(some, settings.window)
        self.held_out = reader.triples(held_out.texts(some), contexts, pairs)
        sizes = {name: getattr(config, name) for name in _SIZES}
        vocabulary = self.tokenizer.get_vocab_size()
        self.shape = Shape(vocabulary=vocabulary, window=settings.window, **sizes)
        longest = shared(
            scratch / "longest.npy", lambda: self.store.sizes(self.learned).max(axis=1)
        )
        self.plan = BatchPlan(
            self.learned, longest, config.batch_tokens, self.seed, agreed(scratch)
        )
        first(lambda: self.plan.positions(0))

    def run(self) -> dict[str, Any]:
        """Train, save, and return sizes and the held-out losses of each term."""
        models: dict[Role, ContextTransformer] = {}
        histories: dict[str, History] = {}
        files: dict[str, list[int]] = {}
        steps: dict[str, int] = {}
        parameters = 0
        for roles in [tuple(Role)] if self.config.shared else [(role,) for role in Role]:
            name = "shared" if self.config.shared else roles[0].name.lower()
            model, histories[name], steps[name] = self._trained(name, roles)
            models |= dict.fromkeys(roles, model)
            files[f"{name}.safetensors"] = [int(role) for role in roles]
            parameters += sum(p.numel() for p in model.parameters())
            with write_atomically(self.workspace / f"{name}.safetensors") as partial:
                save_file({n: t.cpu().contiguous() for n, t in model.state_dict().items()}, partial)
        if rank():
            return {}
        generator = Seq2Seq(models, self.tokenizer, batch_tokens=self.config.batch_tokens)
        write_json(self.workspace / HISTORY, histories)
        self.tokenizer.save(str(self.workspace / TOKENIZER_FILE))
        stored = {"backend": "seq2seq", "shape": asdict(self.shape), "models": files}
        write_json(self.workspace / CONFIG, stored)
        return {
            "parameters": parameters,
            "positions": len(self.learned),
            "steps": steps,
            "held_out": held_out_losses(generator, self.held_out),
        }

    def _trained(self, name: str, roles: Sequence[Role]) -> tuple[ContextTransformer, History, int]:
        """Return a model with its best weights, its history, and the step of these weights."""
        config = self.config
        torch.manual_seed(derive_seed(self.seed, "generator", name, "start"))
        model = ContextTransformer(self.shape, config.dropout)
        model.start_from(self.store.counts(sample(self.learned, _COUNTED, self.seed)))
        model.to(self.where)

        def batch_at(number: int) -> list[Job]:
            triples = self.store.triples(self.plan.positions(number))
            seed = derive_seed(self.seed, "generator", name, "drop", number)
            rng, jobs = np.random.default_rng(seed), []
            for role in roles:
                others = [other for other in Role if other is not role]
                dropped = drop(len(triples), config.drop_neighbor, rng)
                for triple, row in zip(triples, dropped, strict=True):
                    out = {other for other, is_out in zip(others, row, strict=True) if is_out}
                    jobs.append(Job.without(triple, role, out))
            return jobs

        def loss_of(jobs: list[Job]) -> Tensor:
            encoded = EncodedParts(model, jobs, self.reader, config.batch_tokens)
            return mixture_loss(model, *encoded.predict(jobs))

        steps = max(1, round(config.passes * self.plan.batches / config.accumulate))
        schedule = Schedule(
            steps=steps,
            rate=config.learning_rate,
            warmup=min(config.warmup, steps),
            checkpoint_steps=config.checkpoint_steps,
            seed=derive_seed(self.seed, "generator", name),
            report_steps=-(-steps // _REPORTS),
            bfloat16=self.bfloat16,
            accumulate=config.accumulate,
        )
        whole = [triple for triple in self.held_out if all(triple)][:_LOOKED]
        size = max(1, config.batch_tokens // (3 * config.max_tokens))
        tested = [
            [Job.of(triple, role) for triple in whole[at : at + size] for role in roles]
            for at in range(0, len(whole), size)
        ]

        def fit() -> float | None:
            with torch.inference_mode():
                losses = [float(loss_of(jobs)) for jobs in tested]
            return -sum(losses) / len(losses) if losses else None

        title = "Training the generator" + ("" if config.shared else f": {name}")
        scratch = self.workspace / SCRATCH / name
        model.eval()
        best = Best(model, fit, scratch, _FIT)
        history = train(
            model, batch_at, loss_of, schedule, scratch, title, best.look,
            lambda past: best.start is not None and best.stalled(past, _PATIENCE),
        )  # fmt: skip
        if best.start is None:
            return model, history, steps
        best.restore()
        return model, history, best.step


class TokenizedCorpus:
    """The tokens of every sentence of a corpus, memory-mapped from a scratch folder."""

    def __init__(self, corpus: Corpus, reader: PartReader, window: int, scratch: Path) -> None:
        self._most, self._window = reader.max_tokens, window
        self._documents = corpus.document_bounds
        self._table = shared_table(corpus, reader.tokens, scratch)

    def _edges(self, positions: Ints) -> Ints:
        """Return where the tokens of each offset begin and end, (n, 2 · window + 1, 2).

        Beyond the document there are none.
        """
        around = neighbors(positions, self._documents, self._window)
        sentences = np.column_stack((around[:, 0, ::-1], positions, around[:, 1]))
        inside, bounds = sentences >= 0, self._table.bounds
        return np.stack([bounds[sentences * inside], bounds[(sentences + 1) * inside]], axis=-1)

    def triples(self, positions: Ints) -> list[Triple]:
        """Return c_<, s and c_> of each position, as `PartReader` has them."""
        triples, w = [], self._window
        for edges in self._edges(positions).tolist():
            row = [self._table.tokens[begin:end].tolist() for begin, end in edges]
            sides = row[:w], row[w : w + 1], row[w + 1 :]
            left, s, right = (part(r, sides[r], self._most) for r in Role)
            triples.append((left, s, right))
        return triples

    def sizes(self, positions: Ints) -> npt.NDArray[np.int32]:
        """Return the tokens of the three parts of each position, (n, 3)."""
        sizes, firsts = np.empty((len(positions), 3), np.int32), [0, self._window, self._window + 1]
        for start in range(0, len(positions), _COUNTED):
            some = slice(start, start + _COUNTED)
            counts = np.diff(self._edges(positions[some]), axis=-1)[..., 0]
            sizes[some] = np.add.reduceat(np.minimum(counts, self._most), firsts, axis=1)
        return sizes

    def counts(self, sentences: Ints) -> Ints:
        """Return how often each token occurs in some sentences, as far as the highest token."""
        starts = self._table.bounds[sentences]
        places = ranges(starts, self._table.bounds[sentences + 1] - starts)
        return np.bincount(self._table.tokens[places])


class BatchPlan:
    """The positions of each batch, a function of the seed and the number of the batch alone.

    In each epoch positions are shuffled, sorted by their longest part, cut into batches of
    `batch_tokens` with padding, and taken in random order. The sizes of the batches do not change.
    The order of an epoch is a file of `scratch`, which processes share.
    """

    def __init__(
        self, positions: Ints, longest: Ints, batch_tokens: int, seed: int, scratch: Path
    ) -> None:
        self._positions, self._longest, self._seed = positions, longest, seed
        self._scratch = scratch
        self._cuts = [0]
        ordered = np.sort(longest, kind="stable")[::-1]
        while self._cuts[-1] < len(ordered):
            begin = self._cuts[-1]
            size = max(1, batch_tokens // (3 * max(1, int(ordered[begin]))))
            self._cuts.append(min(begin + size, len(ordered)))
        self._dealt = lru_cache(maxsize=2)(self._deal)

    @property
    def batches(self) -> int:
        """The number of batches in an epoch."""
        return len(self._cuts) - 1

    def positions(self, number: int) -> Ints:
        """Return the sentence numbers of a batch, counted from 0."""
        epoch, turn = divmod(number, self.batches)
        order, turns = np.split(self._dealt(epoch), [len(self._positions)])
        begin, end = self._cuts[turns[turn]], self._cuts[turns[turn] + 1]
        return self._positions[order[begin:end]]

    def _deal(self, epoch: int) -> Ints:
        """Return the order of the positions in an epoch, and then that of the batches."""

        def dealt() -> Ints:
            rng = np.random.default_rng(derive_seed(self._seed, "generator", "epoch", epoch))
            shuffled = rng.permutation(len(self._positions))
            order = shuffled[np.argsort(-self._longest[shuffled], kind="stable")]
            return np.concatenate((order, rng.permutation(self.batches)))

        return mapped(self._scratch / f"epoch-{epoch}.npy", dealt)


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


def held_out_losses(generator: Seq2Seq, triples: Sequence[Triple]) -> dict[str, dict[str, float]]:
    """Return the mean negative log-likelihood of real triples, in nats a token.

    Each term has `loss`, and `baseline` without the evidence. Without triples there is nothing.
    """
    whole = [triple for triple in triples if all(triple)]
    losses: dict[str, dict[str, float]] = {}
    for role in Role if whole else ():
        kinds = losses[role.name.lower()] = {}
        for kind, evidence in (("loss", True), ("baseline", False)):
            jobs = [Job.of(triple, role, evidence) for triple in whole]
            total = float(generator.score(jobs, role).sum())
            kinds[kind] = round(-total / sum(job.size[0] for job in jobs), 6)
    return losses
