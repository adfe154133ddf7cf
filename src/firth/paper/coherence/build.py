"""The coherence stage: learn the model, then cache the vectors of all sentences (§3.2.1, §3.3)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.encode import encode, encode_corpus
from firth.paper.coherence.examples import BatchSource, Slots, split
from firth.paper.coherence.loss import HeldOut, batch_loss
from firth.paper.coherence.model import CoherenceModel
from firth.paper.coherence.store import HISTORY, VECTORS, WEIGHTS, Settings, load_model, save_model
from firth.paper.coherence.tokens import TokenizedSentences, tokenize_corpus
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History, Schedule, train

REPORTS = 20
"""Entries of the history, at most."""


def train_coherence(run: Run) -> Outcome:
    """Learn p(y=1 | c_<, s, c_>) on the run's corpus, as `run.config.coherence` says.

    The summary holds the last entry of the history: training loss, and loss and accuracies on the
    held-out documents (see `HeldOut.measure`).

    Raises:
        MissingStageError: If the run has no corpus or no tokenizer.
        InputError: If the corpus has too few slots.
    """
    return run.build(COHERENCE, _build, reads=[CORPUS, TOKENIZER], settings=["coherence", "seed"])


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus, tokenizer, config = Corpus.open(run), open_tokenizer(run), run.config.coherence
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    tokens = tokenize_corpus(corpus.batches(), tokenizer, config.max_tokens, scratch)
    if not (workspace / WEIGHTS).is_file():
        settings = Settings(
            vocabulary=tokenizer.get_vocab_size(),
            embedding=config.embedding,
            hidden=config.hidden,
            interaction=config.interaction,
            max_tokens=config.max_tokens,
            window=corpus.window,
        )
        model, history = _learned(run, corpus, tokens, settings, scratch)
        write_json(workspace / HISTORY, history)
        save_model(workspace, model, settings)
    model, _ = load_model(workspace)
    encode_corpus(model.encoder, tokens, workspace / VECTORS, scratch)
    last = read_json(workspace / HISTORY)[-1]
    return {"sentences": len(corpus), "slots": len(corpus.slots()), **last}


def _learned(
    run: Run, corpus: Corpus, tokens: TokenizedSentences, settings: Settings, scratch: Path
) -> tuple[CoherenceModel, History]:
    config = run.config.coherence
    seed = derive_seed(run.config.seed, "coherence")
    bounds, sentences = corpus.document_bounds, corpus.slots()
    slots = Slots(sentences, corpus.document_of(sentences), corpus.window)
    learned, tested = split(slots, config.held_out, derive_seed(seed, "held out"))
    model = settings.model(derive_seed(seed, "weights"))
    held_out = HeldOut(tested, bounds, derive_seed(seed, "held out", "examples"))

    def read(sentences: Any) -> torch.Tensor:
        return encode(model.encoder, tokens, sentences)

    schedule = Schedule(
        steps=config.steps,
        learning_rate=config.learning_rate,
        warmup=config.steps // 10,
        checkpoint_steps=config.checkpoint_steps,
        seed=derive_seed(seed, "steps"),
        report_steps=-(-config.steps // REPORTS),
        bfloat16=_multiplies_bfloat16(),
    )
    history = train(
        model,
        BatchSource(learned, config.batch, derive_seed(seed, "batches")),
        lambda batch: batch_loss(model, read, batch, bounds, corpus.window),
        schedule,
        scratch,
        "Training coherence",
        lambda: held_out.measure(model, read),
    )
    return model, history


def _multiplies_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 in hardware, which halves the time of a step."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
