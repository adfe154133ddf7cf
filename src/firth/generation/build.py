"""The generator stage: train the encoder-decoder, or adopt a pretrained language model."""

from pathlib import Path
from typing import Any

import torch

from firth.artifacts import Outcome, write_json
from firth.corpus import CORPUS, TOKENIZER
from firth.generation import GENERATOR
from firth.generation.open import CONFIG
from firth.run import Run
from firth.settings import Backend


def train_generator(run: Run) -> Outcome:
    """Build the generator stage as `run.config.generator` says.

    seq2seq trains on the corpus of the run, with its tokenizer. causal-lm loads the model, tries
    it, and records its name and the fingerprints of its files; the weights stay where they are.

    Raises:
        MissingStageError: seq2seq: the run has no corpus or no tokenizer.
        InputError: The corpus is too small, or the model cannot be loaded or used.
    """
    settings = run.config.generator.model_dump(mode="json")
    config = {"seed": run.config.seed, **settings}
    if run.config.generator.backend is Backend.SEQ2SEQ:
        inputs = run.inputs(CORPUS, TOKENIZER)
        return run.execute(
            GENERATOR, inputs=inputs, config=config, build=lambda workspace: _train(run, workspace)
        )
    found = _adopt(run)
    return run.execute(
        GENERATOR,
        inputs={"model": found["fingerprint"]},
        config=config,
        build=lambda workspace: _record(found, workspace),
    )


def _train(run: Run, workspace: Path) -> dict[str, Any]:
    from firth.corpus.corpus import Corpus
    from firth.corpus.tokenizer import open_tokenizer
    from firth.generation.training_seq2seq import train_seq2seq

    return train_seq2seq(
        Corpus.open(run), open_tokenizer(run), run.config.generator, run.config.seed, workspace
    )


def _adopt(run: Run) -> dict[str, Any]:
    from firth.generation.causal_lm import CausalLM
    from firth.generation.pretrained import PretrainedFiles, load_pretrained

    config = run.config.generator
    name = str(config.model)
    model, tokenizer = load_pretrained(name, config.gguf_file, torch.float32, torch.device("cpu"))
    generator = CausalLM(model, tokenizer, max_tokens=config.max_tokens)
    files = PretrainedFiles.find(name, config.gguf_file)
    return {
        "fingerprint": files.fingerprint,
        "files": files,
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "start": tokenizer.convert_ids_to_tokens(generator.start),
        "layout": str(generator.layout),
        "max_tokens": config.max_tokens,
    }


def _record(found: dict[str, Any], workspace: Path) -> dict[str, Any]:
    files = found["files"]
    stored = {
        "model": files.model,
        "gguf_file": files.gguf_file,
        "files": {name: list(known) for name, known in files.files.items()},
    }
    kept = {k: v for k, v in found.items() if k != "files"}
    write_json(workspace / CONFIG, {"backend": Backend.CAUSAL_LM, "model": stored, **kept})
    return kept
