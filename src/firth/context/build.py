"""The context stage: word vectors, idf, a sentence encoder, and corpus sentences as contexts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.contexts import Contexts
from firth.context.encoder import ENCODER, BagEncoder, SentenceEncoder
from firth.context.language_model import PromptEncoder, PromptStates
from firth.context.settings import ContextConfig, Encoder
from firth.context.tune import Neighbours, tune
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.corpus.statistics import fit_idf_on_run, usual_sentences
from firth.lexical.word_space import WordSpace
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.pretrained import PretrainedFiles
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History

HISTORY = "history.json"
_SAMPLE = {Encoder.BAG: 20_000, Encoder.CAUSAL_LM: 2_000}
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
    config, inputs = run.config.context, {}
    settings = [*LIMITS, "seed", "context.bag", "context.contexts", "context.encoder"]
    settings += ["context.trust"]
    if config.encoder is Encoder.CAUSAL_LM:
        inputs["model"] = PretrainedFiles.find(str(config.model), config.gguf_file).fingerprint
        own = ("gguf_file", "max_tokens", "precision", "prompt", "references", "tune")
        settings += [f"context.{name}" for name in own]
    return run.build(
        CONTEXT, _build, reads=[CORPUS], settings=settings, places=["context.model"], inputs=inputs
    )


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    config, corpus = run.config.context, Corpus.open(run)
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
    if config.encoder is Encoder.BAG:
        encoder = BagEncoder(space)
        write_json(workspace / ENCODER, {"encoder": encoder.kind.value})
    else:
        encoder, more, history["tuning"] = _language_model(run, corpus, config, workspace)
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
    batches = Neighbours(corpus, run.config.corpus, config.tune, derive_seed(seed, "order"))
    tuned, history = tune(encoder, batches, config.tune, seed, workspace / SCRATCH / "tune")
    encoder.save(workspace, files, tuned)
    losses = [round(entry["loss"], 6) for entry in history]
    return encoder, {"tuned_layers": len(tuned), "losses": losses}, history


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
    size = min(config.contexts or _SAMPLE[config.encoder], len(usual))
    rng = np.random.default_rng(derive_seed(run.config.seed, _SEED, "contexts"))
    positions = np.sort(rng.choice(usual, size, replace=False)).astype(np.int64)
    vectors = encoder.encode(corpus.texts(positions), "Context: vectors of contexts")
    return Contexts(positions, vectors.astype(np.float32))
