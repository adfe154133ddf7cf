"""The fit stage: word vectors, idf, a sentence encoder, and corpus sentences as contexts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.artifacts import SCRATCH, Outcome, write_json
from firth.baselines.bag import learn
from firth.baselines.idf import fit_idf_on_run
from firth.baselines.prompt_eol import statistics
from firth.baselines.word_bag import WordBag
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.errors import InputError
from firth.fit import FIT
from firth.fit.contexts import Contexts
from firth.fit.encoder import BagEncoder, SentenceEncoder, WordVectors
from firth.fit.open import IDF
from firth.fit.prompt import PromptEncoder, language_model, save_prompt_encoder
from firth.fit.tune import Neighbours, tune
from firth.fit_settings import Encoder, FitConfig
from firth.generation.pretrained import PretrainedFiles
from firth.run import Run
from firth.seeds import derive_seed
from firth.training import History

HISTORY = "history.json"
_SAMPLE = {Encoder.BAG: 20_000, Encoder.CAUSAL_LM: 2_000}


def train_fit(run: Run) -> Outcome:
    """Build the fit stage as `run.config.fit` says.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: The corpus is too small, or the language model cannot be loaded or tuned.
        MissingExtraError: A GGUF file needs the package gguf.
    """
    config = run.config.fit
    inputs = run.inputs(CORPUS)
    relevant = config.model_dump(mode="json", exclude={"precision"})
    if config.encoder is Encoder.CAUSAL_LM:
        files = PretrainedFiles.find(str(config.model), config.gguf_file)
        inputs["model"] = files.fingerprint
        relevant |= {"model": None}
    else:
        relevant = {name: relevant[name] for name in ("encoder", "bag", "contexts")}
    limits = run.config.corpus
    return run.execute(
        FIT,
        inputs=inputs,
        config={
            "seed": run.config.seed,
            "words": [limits.min_words, limits.max_words],
            "settings": relevant,
        },
        build=lambda workspace: _build(run, config, workspace),
    )


def _build(run: Run, config: FitConfig, workspace: Path) -> Mapping[str, Any]:
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
    run: Run, config: FitConfig, workspace: Path
) -> tuple[dict[str, Any], dict[str, History]]:
    seed = derive_seed(run.config.seed, "fit", "words")
    # Trained again if interrupted later: from its last checkpoint, so that little is lost.
    bag, found, history = learn(run, config.bag, seed, workspace / SCRATCH / "words", "Fit: words")
    bag.save(workspace)
    return {"words": dict(found)}, {"words": history}


def _language_model(
    run: Run, corpus: Corpus, config: FitConfig, workspace: Path
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


def _contexts(run: Run, corpus: Corpus, encoder: SentenceEncoder, config: FitConfig) -> Contexts:
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
