"""The fit stage: word vectors, idf, a sentence encoder, and corpus sentences as contexts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.decorrelated import Contexts
from firth.context.encoder import BagEncoder, SentenceEncoder, WordVectors
from firth.context.language_model import PromptEncoder, language_model, save_prompt_encoder
from firth.context.open import IDF
from firth.context.prompt import statistics
from firth.context.settings import ContextConfig, Encoder
from firth.context.tune import Neighbours, tune
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.lexical.idf import fit_idf_on_run
from firth.lexical.word_vectors import WordBag
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.pretrained import PretrainedFiles
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.run.training import History

HISTORY = "history.json"
_SAMPLE = {Encoder.BAG: 20_000, Encoder.CAUSAL_LM: 2_000}


def build_context(run: Run) -> Outcome:
    """Build the fit stage as `run.config.context` says.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: The corpus is too small, or the language model cannot be loaded or tuned.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    config, inputs = run.config.context, {}
    settings = [*LIMITS, "seed", "context.bag", "context.contexts", "context.encoder"]
    if config.encoder is Encoder.CAUSAL_LM:
        inputs["model"] = PretrainedFiles.find(str(config.model), config.gguf_file).fingerprint
        settings += ["context.gguf_file", "context.precision", "context.tune"]
    return run.build(
        CONTEXT, _build, reads=[CORPUS], settings=settings, places=["context.model"], inputs=inputs
    )


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    config = run.config.context
    summary, history = _words(run, config, workspace)
    idf = fit_idf_on_run(run)
    write_json(workspace / IDF, {"sentences": idf.sentences, "frequencies": dict(idf.frequencies)})
    corpus = Corpus.open(run)
    encoder: SentenceEncoder
    if config.encoder is Encoder.BAG:
        bag = WordBag.load(workspace)
        encoder = BagEncoder(WordVectors(bag), bag.title)
    else:
        encoder, more, tuning = _language_model(run, corpus, config, workspace)
        summary, history = summary | more, history | tuning
    contexts = _contexts(run, corpus, encoder, config)
    contexts.save(workspace)
    write_json(workspace / HISTORY, history)
    return {"encoder": encoder.name, **summary, "contexts": len(contexts.slots)}


def _words(
    run: Run, config: ContextConfig, workspace: Path
) -> tuple[dict[str, Any], dict[str, History]]:
    seed = derive_seed(run.config.seed, "fit", "words")
    # Trained again if interrupted later: from its last checkpoint, so that little is lost.
    bag, found, history = learn(run, config.bag, seed, workspace / SCRATCH / "words", "Fit: words")
    bag.save(workspace)
    return {"words": dict(found)}, {"words": history}


def _language_model(
    run: Run, corpus: Corpus, config: ContextConfig, workspace: Path
) -> tuple[SentenceEncoder, dict[str, Any], dict[str, History]]:
    states, files = language_model(config)
    mean, deviation = statistics(states, run)
    encoder = PromptEncoder(states, mean[0], deviation[0], "the language model")
    seed = derive_seed(run.config.seed, "fit", "tune")
    batches = Neighbours(corpus, run.config.corpus, config.tune.batch, derive_seed(seed, "order"))
    tuned, history = tune(encoder, batches, config.tune, seed, workspace / SCRATCH / "tune")
    save_prompt_encoder(workspace, encoder, files, tuned)
    encoder.name = Path(files.gguf_file or files.model).name
    losses = [round(entry["loss"], 6) for entry in history]
    return encoder, {"tuned_layers": len(tuned), "losses": losses}, {"tuning": history}


def _contexts(
    run: Run, corpus: Corpus, encoder: SentenceEncoder, config: ContextConfig
) -> Contexts:
    limits, counts = run.config.corpus, corpus.word_counts
    usual = np.flatnonzero((counts >= limits.min_words) & (counts <= limits.max_words))
    if not len(usual):
        raise InputError(
            f"{run.path}: its corpus has no sentence of {limits.min_words} to {limits.max_words} "
            "words, so there is no context to fit into"
        )
    size = min(config.contexts or _SAMPLE[config.encoder], len(usual))
    rng = np.random.default_rng(derive_seed(run.config.seed, "fit", "contexts"))
    slots = np.sort(rng.choice(usual, size, replace=False)).astype(np.int64)
    vectors = encoder.encode(corpus.texts(slots), "Fit: contexts")
    return Contexts(slots, vectors.astype(np.float32))
