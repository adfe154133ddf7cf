"""Training the encoder-decoder on a corpus, and what it has learned (§3.2.2)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.corpus import Corpus
from firth.paper.generation.examples import (
    BatchPlan,
    Example,
    TokenizedCorpus,
    drop,
    sample,
    split_positions,
)
from firth.paper.generation.open import CONFIG, TOKENIZER_FILE
from firth.paper.generation.protocol import ROLE_OF, Role, Triple
from firth.paper.generation.seq2seq import CorpusPartReader, Job, Seq2Seq, special_tokens
from firth.paper.generation.transformer import (
    ContextTransformer,
    Memory,
    Shape,
    mixture_loss,
    spread,
)
from firth.paper.settings import Backend, GeneratorConfig
from firth.run.errors import InputError
from firth.run.files import write_atomically, write_json
from firth.run.precision import number_format
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.run.training import History, Schedule, train

HISTORY = "history.json"
_REPORTS, _WATCHED, _REPORTED, _COUNTED = 10, 64, 1_000, 100_000


def train_seq2seq(
    corpus: Corpus, tokenizer: Tokenizer, config: GeneratorConfig, seed: int, workspace: Path
) -> dict[str, Any]:
    """Train one Transformer for the three directions, or three, and save them in `workspace`.

    Args:
        corpus: Its positions with their neighbours are the examples; some documents are held out.
        tokenizer: Of the run.
        config: Sizes and schedule.
        seed: Of the run.
        workspace: Of the stage; checkpoints go to its scratch folder.

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
            f"the corpus has {len(corpus.slots())} sentences with a neighbour on each side; to "
            "train a generator and to test it takes a few at least. Add documents."
        )
    shape = Shape(
        vocabulary=tokenizer.get_vocab_size(),
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        feedforward=config.feedforward,
        max_tokens=config.max_tokens,
    )
    longest = store.sizes(positions).max(axis=1)
    plan = BatchPlan(positions, longest, config.batch_tokens, seed)
    counts = store.counts(sample(positions, _COUNTED, seed), shape.vocabulary)
    watched = store.triples(sample(held_out, _WATCHED, seed))
    start, missing = special_tokens(tokenizer)

    def trained(name: str, roles: Sequence[Role]) -> tuple[ContextTransformer, History]:
        torch.manual_seed(derive_seed(seed, "generator", name, "start"))
        model = ContextTransformer(shape, config.dropout)
        model.start_from(counts)

        def batch_at(step: int) -> Example:
            triples = store.triples(plan.positions(step))
            rng = np.random.default_rng(derive_seed(seed, "generator", name, "drop", step))
            dropped = np.stack([drop(len(triples), config.drop_neighbour, rng) for _ in roles])
            return Example.of(triples, roles, dropped, start, missing)

        def evaluate() -> dict[str, float]:
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
            bfloat16=number_format(config.precision, torch.device("cpu")) is torch.bfloat16,
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
            save_file({n: t.detach().contiguous() for n, t in model.state_dict().items()}, partial)
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
        "epochs": round(config.steps / plan.batches, 3),
        "held_out": losses,
    }


def loss_of(model: ContextTransformer) -> Callable[[Example], Tensor]:
    """Mean loss in nats a generated token, a function of an example."""

    def loss(example: Example) -> Tensor:
        prediction = model.decode(example.inputs, _memory(model, example), example.targets)
        return mixture_loss(model, prediction, example.targets)

    return loss


def _memory(model: ContextTransformer, example: Example) -> Memory:
    """The memory of each part to be generated: `<mask>`, and its neighbours unless dropped."""
    read, marks, n = example.read, len(example.roles), example.dropped.shape[1]
    rows, longest, places = len(read.lengths), read.longest, read.places

    def others(parts: Tensor, i: int) -> list[Tensor]:
        given = zip(example.given, parts, strict=True)
        return [part for role, part in given if role is not example.roles[i]]

    layers = []
    for flat in [*model.read(read), read.tokens[:, None]]:
        padded = spread(flat, places, rows * longest).view(rows, longest, -1)
        parts = padded[: rows - marks].view(-1, n, longest, flat.shape[1])
        masks = padded[rows - marks :, :1]
        memories = [
            torch.cat([masks[i].expand(n, 1, -1), *others(parts, i)], 1) for i in range(marks)
        ]
        layers.append(torch.cat(memories))
    real = read.real[: rows - marks].view(-1, n, longest)
    seen = []
    for i in range(marks):
        kept = ~example.dropped[i]
        sides = [known & kept[:, j, None] for j, known in enumerate(others(real, i))]
        seen.append(torch.cat([torch.ones(n, 1, dtype=torch.bool), *sides], 1))
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
