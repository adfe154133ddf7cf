"""The generator stage: train the encoder-decoder, or adopt a pretrained language model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from firth.corpus import CORPUS, TOKENIZER
from firth.paper.generation import GENERATOR
from firth.paper.generation.open import CONFIG
from firth.paper.settings import Backend
from firth.run.files import write_json
from firth.run.run import Run
from firth.run.stage import Outcome


def train_generator(run: Run) -> Outcome:
    """Build the generator stage as `run.config.generator` says.

    seq2seq trains on the corpus of the run, with its tokenizer. causal-lm loads the model, tries
    it, and records its name and the fingerprints of its files; the weights stay where they are.

    Raises:
        MissingStageError: seq2seq: the run has no corpus or no tokenizer.
        InputError: The corpus is too small, or the model cannot be loaded or used.
    """
    settings = ["generator", "seed"]
    if run.config.generator.backend is Backend.SEQ2SEQ:
        return run.build(GENERATOR, _train, reads=[CORPUS, TOKENIZER], settings=settings)
    found = _adopt(run)

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        return _record(found, workspace)

    return run.build(GENERATOR, fill, settings=settings, inputs={"model": found["fingerprint"]})


def _train(run: Run, workspace: Path) -> dict[str, Any]:
    from firth.corpus.corpus import Corpus
    from firth.corpus.tokenizer import open_tokenizer
    from firth.paper.generation.training_seq2seq import train_seq2seq

    return train_seq2seq(
        Corpus.open(run), open_tokenizer(run), run.config.generator, run.config.seed, workspace
    )


def _adopt(run: Run) -> dict[str, Any]:
    from firth.paper.generation.causal_lm import CausalLM
    from firth.run.pretrained import PretrainedFiles, open_causal_lm

    config = run.config.generator
    name = str(config.model)
    model, tokenizer = open_causal_lm(name, config.gguf_file, torch.float32, torch.device("cpu"))
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
