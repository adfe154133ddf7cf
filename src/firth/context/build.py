"""The context stage: word vectors, idf, a sentence encoder, and corpus sentences as contexts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from firth.check import CHECK
from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.contexts import Contexts
from firth.context.encoder import ENCODER, BagEncoder, SentenceEncoder
from firth.context.language_model import PromptEncoder, PromptStates, upper_layers
from firth.context.references import reference_texts
from firth.context.settings import ContextConfig, Encoder
from firth.context.tune import PAIRS, learnable, tune
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.corpus.statistics import fit_idf_on_run, usual_sentences
from firth.lexical.word_space import WordSpace
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.model_files import PretrainedFiles
from firth.run.model_kind import ModelKind
from firth.run.pretrained import encoder_kind
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History

HISTORY, ADAPTATION = "history.json", "adaptation.json"
SAMPLE = {Encoder.BAG: 20_000, Encoder.CAUSAL_LM: 2_000, Encoder.SENTENCE_ENCODER: 2_000}
_LAYERS, _RATE = 8, 2e-4
"""Of a causal language model, where nothing else is said."""
_READ = {
    Encoder.BAG: (),
    Encoder.CAUSAL_LM: ("gguf_file", "max_tokens", "precision", "prompt", "references", "tune"),
    Encoder.SENTENCE_ENCODER: ("pooling", "references", "scale", "tune"),
}
"""Settings of `context` that belong to an encoder."""
# The purposes of seeds below say "fit", as this stage was called: with another name every figure
# that was ever measured would come out a little different.
_SEED = "fit"


def build_context(run: Run) -> Outcome:
    """Build the context stage as `run.config.context` says.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: The corpus is too small, or the language model cannot be loaded or tuned.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    encoder, inputs = context_inputs(run.config.context)
    settings = [*LIMITS, "seed", "context.bag", "context.contexts", "context.trust"]
    settings += [f"context.{name}" for name in _READ[encoder]]
    return run.build(
        CONTEXT,
        _build,
        # What is kept of a sentence encoder is chosen by the check.
        reads=[CORPUS, CHECK] if encoder is Encoder.SENTENCE_ENCODER else [CORPUS],
        settings=settings,
        places=["context.encoder", "context.gguf_file", "context.model"],
        inputs=inputs,
    )


def context_inputs(config: ContextConfig) -> tuple[Encoder, dict[str, str]]:
    """Which encoder a configuration means, and what is read for it from outside the run.

    Raises:
        InputError: There is no such model, it is refused, or it is no encoder of sentences.
    """
    encoder = chosen_encoder(config)
    inputs = {"encoder": encoder.value}
    if encoder is not Encoder.BAG:
        inputs["model"] = PretrainedFiles.find(str(config.model), config.gguf_file).fingerprint
    return encoder, inputs


def chosen_encoder(config: ContextConfig) -> Encoder:
    """The encoder that is configured, else what the model's files are; errors as above."""
    if config.encoder is not None:
        return config.encoder
    if config.model is None:
        return Encoder.BAG
    left_to_right = encoder_kind(config.model, config.gguf_file) is ModelKind.CAUSAL_LM
    return Encoder.CAUSAL_LM if left_to_right else Encoder.SENTENCE_ENCODER


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    config, corpus = run.config.context, Corpus.open(run)
    kind = chosen_encoder(config)
    # Trained again if interrupted later: from its last checkpoint, so that little is lost.
    bag, words, learned = learn(
        run,
        config.bag,
        derive_seed(run.config.seed, _SEED, "words"),
        workspace / SCRATCH / "words",
        "Context: words",
    )
    space = WordSpace(bag, fit_idf_on_run(run, config.bag.stemmer), config.trust)
    space.save(workspace)
    history, summary = {"words": learned}, {"words": dict(words)}
    encoder: SentenceEncoder
    if kind is Encoder.BAG:
        encoder = BagEncoder(space)
        write_json(workspace / ENCODER, {"encoder": encoder.kind.value})
    else:
        learn_more = _language_model if kind is Encoder.CAUSAL_LM else _sentence_encoder
        encoder, more, history["tuning"] = learn_more(run, corpus, config, workspace)
        summary |= more
    contexts = _contexts(run, corpus, encoder, config)
    contexts.save(workspace)
    write_json(workspace / HISTORY, history)
    return {"encoder": encoder.name, **summary, "contexts": len(contexts.positions)}


def _language_model(
    run: Run, corpus: Corpus, config: ContextConfig, workspace: Path
) -> tuple[SentenceEncoder, dict[str, Any], History]:
    files = PretrainedFiles.find(str(config.model), config.gguf_file)
    states = PromptStates.open(
        str(config.model), config.gguf_file, config.precision, [config.prompt], config.max_tokens
    )
    mean, deviation = states.statistics(run, config.references)
    encoder = PromptEncoder(
        states, mean[0], deviation[0], Path(files.gguf_file or files.model).name
    )
    seed = derive_seed(run.config.seed, _SEED, "tune")
    how = learnable(config.tune, corpus)
    batches = PAIRS[how.pairs](corpus, run.config.corpus, how, derive_seed(seed, "order"))
    tuned, history = nn.ModuleList(), []
    if how.steps:
        tuned = upper_layers(states.model, how.layers or _LAYERS)
        states.model.requires_grad_(False)
        rate = how.learning_rate or _RATE
        history = tune(encoder, tuned, batches, how, rate, seed, workspace / SCRATCH / "tune")
    encoder.save(workspace, files, tuned)
    losses = [round(entry["loss"], 6) for entry in history]
    return encoder, {"tuned_layers": len(tuned), "losses": losses}, history


def _sentence_encoder(
    run: Run, corpus: Corpus, config: ContextConfig, workspace: Path
) -> tuple[SentenceEncoder, dict[str, Any], History]:
    from firth.context.candidates import adapt_encoder

    found = adapt_encoder(run, str(config.model), workspace / SCRATCH / "tune")
    found.encoder.read_words(config.bag.stemmer, reference_texts(run, config.references))
    found.save(workspace, PretrainedFiles.find(str(config.model)), config)
    write_json(workspace / ADAPTATION, dict(found.report))
    thought = {one["candidate"]: one["why"] for one in found.report["candidates"] if "why" in one}
    return found.encoder, {"kept": found.kept.name, "candidates": thought}, found.history


def _contexts(
    run: Run, corpus: Corpus, encoder: SentenceEncoder, config: ContextConfig
) -> Contexts:
    limits = run.config.corpus
    usual = usual_sentences(corpus, limits)
    if not len(usual):
        raise InputError(
            f"{run.path}: its corpus has no sentence of {limits.min_words} to {limits.max_words} "
            "words, so there is no context to fit into"
        )
    size = min(config.contexts or SAMPLE[encoder.kind], len(usual))
    rng = np.random.default_rng(derive_seed(run.config.seed, _SEED, "contexts"))
    positions = usual[np.sort(rng.choice(len(usual), size, replace=False))]
    vectors = encoder.encode(corpus.texts(positions), "Context: vectors of contexts")
    return Contexts(positions, vectors.astype(np.float32))
