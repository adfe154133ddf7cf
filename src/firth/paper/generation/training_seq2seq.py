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
    Indices,
    TokenizedCorpus,
    drop,
    held_out_sample,
    split_slots,
)
from firth.paper.generation.forest import Tokens
from firth.paper.generation.mixture import mixture_loss
from firth.paper.generation.open import CONFIG, TOKENIZER_FILE
from firth.paper.generation.packed import spread
from firth.paper.generation.protocol import Term
from firth.paper.generation.roles import ROLES, PartReader, Role, special_tokens
from firth.paper.generation.seq2seq import PART_OF, Job, Seq2Seq, evidence
from firth.paper.generation.transformer import ContextTransformer, Memory, Shape
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
        corpus: Its slots with their neighbours are the examples; some documents are held out.
        tokenizer: Of the run.
        config: Sizes and schedule.
        seed: Of the run.
        workspace: Of the stage; checkpoints go to its scratch folder.

    Returns:
        Sizes, and for each term the held-out loss in nats a token with the evidence and without it.

    Raises:
        InputError: The corpus is too small to hold anything out.
    """
    scratch = workspace / SCRATCH
    store = TokenizedCorpus(
        corpus, PartReader(tokenizer, config.max_tokens), scratch, config.max_tokens
    )
    split = split_slots(corpus, config.held_out, seed)
    slots, held_out = (s[store.sizes(s).min(axis=1) > 0] for s in (split.train, split.held_out))
    if not len(slots) or not len(held_out):
        raise InputError(
            f"the corpus has {len(corpus.slots())} sentences with a neighbour on each side; to "
            "train a generator and to test it takes a few at least. Add documents."
        )
    watched = [store.triple(s) for s in held_out_sample(held_out, _WATCHED, seed).tolist()]
    directions = [ROLES] if config.shared else [(role,) for role in ROLES]
    shape = Shape(
        vocabulary=tokenizer.get_vocab_size(),
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        feedforward=config.feedforward,
        max_tokens=config.max_tokens,
    )
    models: dict[Role, ContextTransformer] = {}
    histories: dict[str, History] = {}
    files: dict[str, list[int]] = {}
    for roles in directions:
        name = "shared" if config.shared else roles[0].name.lower()
        model, histories[name] = _train_one(
            name, roles, shape, store, slots, watched, tokenizer, config, seed, scratch
        )
        models |= dict.fromkeys(roles, model)
        files[f"{name}.safetensors"] = [int(role) for role in roles]
        with write_atomically(workspace / f"{name}.safetensors") as partial:
            save_file(_weights(model), partial)
    sample = [store.triple(s) for s in held_out_sample(held_out, _REPORTED, seed).tolist()]
    losses = held_out_losses(Seq2Seq(models, tokenizer, batch_tokens=config.batch_tokens), sample)
    write_json(workspace / HISTORY, histories)
    tokenizer.save(str(workspace / TOKENIZER_FILE))
    write_json(
        workspace / CONFIG,
        {"backend": Backend.SEQ2SEQ, "shape": asdict(shape), "models": files},
    )
    return {
        "parameters": len(directions) * sum(p.numel() for p in model.parameters()),
        "train_slots": len(slots),
        "held_out_slots": len(held_out),
        "epochs": round(config.steps / _plan(store, slots, config, seed).batches, 3),
        "held_out": losses,
    }


def _plan(store: TokenizedCorpus, slots: Indices, config: GeneratorConfig, seed: int) -> BatchPlan:
    return BatchPlan(slots, store.sizes(slots).max(axis=1), config.batch_tokens, seed)


def _train_one(
    name: str,
    roles: Sequence[Role],
    shape: Shape,
    store: TokenizedCorpus,
    slots: Indices,
    watched: Sequence[tuple[Tokens, Tokens, Tokens]],
    tokenizer: Tokenizer,
    config: GeneratorConfig,
    seed: int,
    scratch: Path,
) -> tuple[ContextTransformer, History]:
    torch.manual_seed(derive_seed(seed, "generator", name, "start"))
    model = ContextTransformer(shape, config.dropout)
    model.start_from(store.counts(held_out_sample(slots, _COUNTED, seed), shape.vocabulary))
    plan = _plan(store, slots, config, seed)
    start, missing = special_tokens(tokenizer)

    def batch_at(step: int) -> Example:
        triples = [store.triple(slot) for slot in plan.slots(step).tolist()]
        rng = np.random.default_rng(derive_seed(seed, "generator", name, "drop", step))
        dropped = np.stack([drop(len(triples), config.drop_neighbour, rng) for _ in roles])
        return Example.of(triples, roles, dropped, start, missing)

    def evaluate() -> dict[str, float]:
        generator = Seq2Seq(dict.fromkeys(ROLES, model), tokenizer)
        losses = held_out_losses(generator, watched, roles)
        return {f"{term}_{kind}": v for term, kinds in losses.items() for kind, v in kinds.items()}

    bfloat16 = number_format(config.precision, torch.device("cpu")) is torch.bfloat16
    schedule = Schedule(
        steps=config.steps,
        learning_rate=config.learning_rate,
        warmup=min(config.warmup, config.steps),
        checkpoint_steps=config.checkpoint_steps,
        seed=derive_seed(seed, "generator", name),
        report_steps=max(1, config.steps // _REPORTS),
        bfloat16=bfloat16,
    )
    title = "Training the generator" + ("" if config.shared else f": {name}")
    history = train(model, batch_at, loss_of(model), schedule, scratch / name, title, evaluate)
    return model, history


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
    layers = []
    for flat in [*model.read(read), read.tokens[:, None]]:
        padded = spread(flat, places, rows * longest).view(rows, longest, -1)
        parts = padded[: rows - marks].view(-1, n, longest, flat.shape[1])
        masks = padded[rows - marks :, :1]
        memories = [
            torch.cat([masks[i].expand(n, 1, -1), *_others(parts, example, i)], 1)
            for i in range(marks)
        ]
        layers.append(torch.cat(memories))
    real = read.real[: rows - marks].view(-1, n, longest)
    seen = []
    for i in range(marks):
        kept = ~example.dropped[i]
        sides = [known & kept[:, j, None] for j, known in enumerate(_others(real, example, i))]
        seen.append(torch.cat([torch.ones(n, 1, dtype=torch.bool), *sides], 1))
    *layers, tokens = layers
    return Memory(layers, tokens[..., 0], torch.cat(seen))


def _others(parts: Tensor, example: Example, i: int) -> list[Tensor]:
    role = example.roles[i]
    return [part for given, part in zip(example.given, parts, strict=True) if given is not role]


def held_out_losses(
    generator: Seq2Seq,
    triples: Sequence[tuple[Tokens, Tokens, Tokens]],
    roles: Sequence[Role] = ROLES,
) -> dict[str, dict[str, float]]:
    """Mean negative log-likelihood in nats a token of real triples.

    Returns:
        Term → {"loss": with the evidence of `Generator.likelihoods`, "baseline": with that of
        `Generator.baseline`}. Their difference is what the evidence is worth.
    """
    found = {}
    for term in Term:
        role = PART_OF[term]
        if role not in roles:
            continue
        losses = {}
        for kind, whole in (("loss", True), ("baseline", False)):
            parts = [dict(zip(ROLES, triple, strict=True)) for triple in triples]
            jobs = [Job.of(evidence(p, role, whole=whole), role) for p in parts]
            total = generator.score(jobs, role).sum()
            losses[kind] = round(-float(total) / sum(len(job.target) for job in jobs), 6)
        found[term.value] = losses
    return found


def _weights(model: ContextTransformer) -> dict[str, Tensor]:
    return {name: value.detach().contiguous() for name, value in model.state_dict().items()}
