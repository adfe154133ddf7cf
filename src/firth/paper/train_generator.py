"""The generator stage: learn the encoder-decoder of each direction (§3.2.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.corpus import Corpus
from firth.encoders.transformer import device
from firth.evaluation.bootstrap import Estimate
from firth.paper.coherence import neighbors
from firth.paper.seq2seq import ContextTransformer, Job, Seq2Seq, Shape, decode
from firth.paper.settings import PaperSettings
from firth.paper.tokens import PartReader, Role, Triple, contexts_of, positions_of
from firth.paper.train_coherence import corpus_inputs
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import Floats, Ints, by_budget
from firth.train.loop import (
    Batches,
    Best,
    History,
    Schedule,
    mean_of,
    train,
    verdict,
    write_tensors,
)
from firth.train.tokenizer import TOKENIZER, open_tokenizer

GENERATOR = Stage("paper/generator", 4, "torch", "firth paper build")
CONFIG, TOKENIZER_FILE, HISTORY = "config.json", "tokenizer.json", "history.json"
_REPORTS, _PATIENCE, _MEASURED, _COUNTED = 20, 8, 1_000, 100_000
_WARMUP = 0.05
_DROPPED = 0.15
"""Share of the parts to generate that are trained without one of their neighbors."""
_CHOOSING, _FIT = 200, "held_out_fit"
"""Held-out triples that choose the best step, at most; its figure is minus their loss."""
_SIZES = ("width", "layers", "max_tokens")


def train_generator(run: Run) -> Outcome:
    """Learn the generator of a run, as its settings `paper.generator` say.

    The best step has the highest log-likelihood of held-out triples. Others measure it: a direction
    has `learned` where its evidence makes its part likelier, above 0 by an interval.

    Raises:
        MissingStageError: The run has no tokenizer.
        InputError: The corpus is too small.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = settings.inputs("window", "precision", "generator") | corpus_inputs(run)

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        return _Training(run, settings, workspace).run()

    return run.build(GENERATOR, fill, reads=[TOKENIZER], settings=["seed"], inputs=inputs)


def open_generator(run: Run) -> Seq2Seq:
    """Open the generator of a run, with number format and batch of its settings.

    Raises:
        MissingStageError: The stage is not built.
        InputError: It was built with another window.
    """
    folder, settings = run.folder(GENERATOR), run.wing("paper", PaperSettings)
    stored, where = read_json(folder / CONFIG), device()
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
        network.to(device=where, dtype=settings.number_format(where)).eval()
        models |= {Role(role): network for role in roles}
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.encode_special_tokens = True
    return Seq2Seq(models, tokenizer, batch_tokens=settings.generator.batch_tokens)


class _Training:
    """The training of one Transformer for the three directions, or of three."""

    def __init__(self, run: Run, settings: PaperSettings, workspace: Path) -> None:
        config = self.config = settings.generator
        self.seed, self.workspace, self.where = run.settings.seed, workspace, device()
        self.bfloat16 = settings.number_format(self.where) is torch.bfloat16
        self.tokenizer = open_tokenizer(run)
        reader = self.reader = PartReader(self.tokenizer, config.max_tokens)
        corpus, self.window = Corpus.open(run), settings.window
        self.corpus, positions = corpus, positions_of(corpus)
        sizes = sizes_of(corpus, positions, reader, self.window)
        self.learned = positions[sizes.min(axis=1) > 0]
        if not len(self.learned):
            raise InputError(
                "The corpus has no sentence with a neighbor on each side, so a generator has "
                "nothing to learn from. Add running text."
            )
        # Three parts are generated, and each is given the two others.
        lengths = 3 * sizes[sizes.min(axis=1) > 0].sum(axis=1)

        def deal(rng: np.random.Generator) -> list[Ints]:
            order = rng.permutation(len(lengths))
            batches = by_budget(lengths[order], config.batch_tokens)
            return [self.learned[order[batches[n]]] for n in rng.permutation(len(batches))]

        self.batches = Batches(deal, derive_seed(self.seed, "generator", "order"))
        held_out = Corpus.open(run, "held-out")
        some = sample(positions_of(held_out), _MEASURED + _CHOOSING, self.seed)
        triples = triples_of(held_out, some, reader, self.window)
        complete = np.flatnonzero([all(triple) for triple in triples])
        # One in six chooses the step; the others measure it.
        chooses = np.arange(len(complete)) % 6 == 0
        self.choosing = [triples[n] for n in complete[chooses]]
        self.measured = [triples[n] for n in complete[~chooses]]
        self.documents = held_out.document_of(some)[complete[~chooses]]
        self.shape = Shape(
            vocabulary=self.tokenizer.get_vocab_size(),
            window=settings.window,
            **{name: getattr(config, name) for name in _SIZES},
        )

    def run(self) -> dict[str, Any]:
        """Train, save, and return sizes, the held-out losses of each term, and what learned."""
        models: dict[Role, ContextTransformer] = {}
        histories: dict[str, History] = {}
        files: dict[str, list[int]] = {}
        steps: dict[str, int] = {}
        parameters = 0
        for roles in [tuple(Role)] if self.config.shared else [(role,) for role in Role]:
            name = "shared" if self.config.shared else roles[0].name.lower()
            model, histories[name], step = self._trained(name, roles)
            models |= dict.fromkeys(roles, model)
            steps |= {role.name.lower(): step for role in roles}
            files[f"{name}.safetensors"] = [int(role) for role in roles]
            parameters += sum(p.numel() for p in model.parameters())
            write_tensors(self.workspace / f"{name}.safetensors", model.state_dict())
        generator = Seq2Seq(models, self.tokenizer, batch_tokens=self.config.batch_tokens)
        losses, gains = held_out_losses(generator, self.measured, self.documents, self.seed)
        write_json(self.workspace / HISTORY, histories)
        self.tokenizer.save(str(self.workspace / TOKENIZER_FILE))
        stored = {"shape": asdict(self.shape), "models": files}
        write_json(self.workspace / CONFIG, stored)
        lacks = "more text: its neighbors do not make it likelier"
        verdicts = {
            name: verdict(f"The likelihood of the {name}", steps[name], lacks, gain)
            for name, gain in gains.items()
        }
        return {
            "parameters": parameters,
            "positions": len(self.learned),
            "steps": steps,
            "held_out": losses,
            "learned": {name: found["learned"] for name, found in verdicts.items()},
            "lacks": [found["lacks"] for found in verdicts.values() if "lacks" in found],
        }

    def _trained(self, name: str, roles: Sequence[Role]) -> tuple[ContextTransformer, History, int]:
        """Return a model with its best weights, its history, and the step of these weights."""
        config = self.config
        torch.manual_seed(derive_seed(self.seed, "generator", name, "start"))
        model = ContextTransformer(self.shape, config.dropout)
        counted = self.corpus.texts(sample(self.learned, _COUNTED, self.seed))
        model.start_from(np.bincount([t for row in self.reader.tokens(counted) for t in row]))
        model.to(self.where)

        def batch_at(number: int) -> list[Job]:
            triples = triples_of(self.corpus, self.batches(number), self.reader, self.window)
            seed = derive_seed(self.seed, "generator", name, "drop", number)
            rng, jobs = np.random.default_rng(seed), []
            for role in roles:
                other_roles = [other for other in Role if other is not role]
                dropped = drop(len(triples), _DROPPED, rng)
                for triple, row in zip(triples, dropped, strict=True):
                    out = {other for other, is_out in zip(other_roles, row, strict=True) if is_out}
                    jobs.append(Job.without(triple, role, out))
            return jobs

        def loss_of(jobs: list[Job]) -> Tensor:
            return model.losses(*decode(model, jobs, self.reader)).mean()

        steps = max(1, round(config.passes * self.batches.epoch_steps / config.accumulate))
        seed = derive_seed(self.seed, "generator", name)
        more = {"bfloat16": self.bfloat16, "accumulate": config.accumulate}
        schedule = Schedule.of(
            steps, config.learning_rate, seed, warmup=_WARMUP, reports=_REPORTS, **more
        )
        size = max(1, config.batch_tokens // (9 * config.max_tokens))
        tested = [
            [Job.of(triple, role) for triple in self.choosing[at : at + size] for role in roles]
            for at in range(0, len(self.choosing), size)
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
            lambda past: best.start is not None
            and best.stalled(past, _PATIENCE, schedule.warmup),
        )  # fmt: skip
        if best.start is None:
            return model, history, steps
        best.restore()
        return model, history, best.step


def triples_of(corpus: Corpus, positions: Ints, reader: PartReader, window: int) -> list[Triple]:
    """Return c_<, s and c_> of each position."""
    pairs = np.stack([np.arange(len(positions))] * 2, axis=1)
    return reader.triples(corpus.texts(positions), contexts_of(corpus, positions, window), pairs)


def sizes_of(corpus: Corpus, positions: Ints, reader: PartReader, window: int) -> Ints:
    """Return the tokens of the three parts of each position, (n, 3)."""
    rows = (row for texts in corpus.batches() for row in reader.tokens(texts))
    counts = np.array([*(min(len(row), reader.max_tokens) for row in rows), 0], np.int64)
    around = counts[neighbors(positions, corpus.document_bounds, window)].sum(axis=2)
    return np.column_stack((around[:, 0], counts[positions], around[:, 1]))


def drop(n: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Draw which neighbors are left out, (n, 2).

    With probability `share` it is one of the two, with half of that both. The model thus learns
    each kind of evidence that the baseline leaves: one side alone, and none.
    """
    drawn = rng.random(n)
    which = rng.integers(0, 2, n)
    dropped = np.zeros((n, 2), np.bool_)
    dropped[np.arange(n), which] = drawn < share
    dropped[(drawn >= share) & (drawn < 1.5 * share)] = True
    return dropped


def sample(positions: Ints, most: int, seed: int) -> Ints:
    """Draw at most `most` positions, in ascending order."""
    if len(positions) <= most:
        return positions
    rng = np.random.default_rng(derive_seed(seed, "generator", "sample"))
    return np.sort(rng.choice(positions, most, replace=False))


def held_out_losses(
    generator: Seq2Seq, triples: Sequence[Triple], documents: Ints, seed: int
) -> tuple[dict[str, dict[str, float]], dict[str, Estimate]]:
    """Return the mean negative log-likelihood of real triples, in nats a token, and gains.

    Each term has `loss`, and `baseline` without the evidence. Its gain is the mean difference of a
    triple, in hundredths of a nat a token, with an interval over `documents`.
    """
    losses: dict[str, dict[str, float]] = {}
    gains: dict[str, Estimate] = {}
    for role in Role:
        kinds = (True, False)
        jobs = [[Job.of(triple, role, evidence) for triple in triples] for evidence in kinds]
        scores: list[Floats] = [generator.score(some, role) for some in jobs]
        sizes = np.array([job.size for job in jobs[0]], np.float64)
        if len(triples):
            means = [round(-float(one.sum() / sizes.sum()), 6) for one in scores]
            losses[role.name.lower()] = dict(zip(("loss", "baseline"), means, strict=True))
        gain = (scores[0] - scores[1]) / sizes
        gains[role.name.lower()] = mean_of(gain, documents, derive_seed(seed, role.name))
    return losses, gains
