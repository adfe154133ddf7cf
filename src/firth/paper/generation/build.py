"""The generator stage: train the encoder-decoder, or adopt a pretrained language model."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.generation import GENERATOR
from firth.paper.generation.causal_lm import CausalLM
from firth.paper.generation.open import CONFIG
from firth.paper.generation.training_seq2seq import train_seq2seq
from firth.paper.settings import Backend
from firth.run.files import write_json
from firth.run.model_files import PretrainedFiles
from firth.run.pretrained import open_causal_lm
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
    config = run.config.generator
    if config.backend is Backend.SEQ2SEQ:
        return run.build(GENERATOR, _train, reads=[CORPUS, TOKENIZER], settings=settings)
    # Looked at first, because what is found belongs to the request.
    files = PretrainedFiles.find(str(config.model), config.gguf_file)
    inputs = {"model": files.fingerprint}

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        return _adopt(run, files, workspace)

    return run.build(GENERATOR, fill, settings=settings, inputs=inputs)


def _train(run: Run, workspace: Path) -> dict[str, Any]:
    return train_seq2seq(
        Corpus.open(run), open_tokenizer(run), run.config.generator, run.config.seed, workspace
    )


def _adopt(run: Run, files: PretrainedFiles, workspace: Path) -> dict[str, Any]:
    config = run.config.generator
    model, tokenizer = open_causal_lm(
        str(config.model), config.gguf_file, torch.float32, torch.device("cpu")
    )
    generator = CausalLM(model, tokenizer, max_tokens=config.max_tokens)
    kept = {
        "fingerprint": files.fingerprint,
        "architecture": type(model).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "start": tokenizer.convert_ids_to_tokens(generator.start),
        "layout": str(generator.layout),
        "max_tokens": config.max_tokens,
    }
    write_json(workspace / CONFIG, {"backend": Backend.CAUSAL_LM, "model": asdict(files), **kept})
    return kept
