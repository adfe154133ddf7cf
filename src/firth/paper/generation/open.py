"""Opening the generator of a run, whichever backend it has."""

from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from tokenizers import Tokenizer

from firth.paper.generation import GENERATOR
from firth.paper.generation.protocol import Generator, Role
from firth.paper.generation.seq2seq import Seq2Seq
from firth.paper.generation.transformer import ContextTransformer, Shape
from firth.paper.settings import Backend, GeneratorConfig
from firth.run.files import read_json
from firth.run.model_files import PretrainedFiles
from firth.run.precision import device, number_format
from firth.run.pretrained import open_causal_lm
from firth.run.run import Run

CONFIG, TOKENIZER_FILE = "config.json", "tokenizer.json"


def open_generator(run: str | Path | Run) -> Generator:
    """Open the generator stage of a run.

    Args:
        run: A run whose generator is built. `precision` and `batch_tokens` are taken from its
            configuration; everything else from the stage.

    Raises:
        MissingStageError: The stage is not built.
        InputError: causal-lm: the model is gone, has changed, or cannot be loaded.
    """
    run = Run.open(run)
    folder = run.folder(GENERATOR)
    stored = read_json(folder / CONFIG)
    if stored["backend"] == Backend.CAUSAL_LM:
        return _open_causal(stored, run.config.generator)
    return open_seq2seq(folder, run.config.generator)


def open_seq2seq(folder: Path, config: GeneratorConfig) -> Seq2Seq:
    """Open trained Transformers from the files that training left in `folder`."""
    stored = read_json(folder / CONFIG)
    where = device()
    dtype = number_format(config.precision, where)
    models: dict[Role, ContextTransformer] = {}
    for file, roles in stored["models"].items():
        model = ContextTransformer(Shape(**stored["shape"]))
        model.load_state_dict(load_file(folder / file))
        model.cast(dtype, where).eval()
        models |= {Role(role): model for role in roles}
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.encode_special_tokens = True
    return Seq2Seq(models, tokenizer, batch_tokens=config.batch_tokens)


def _open_causal(stored: dict[str, Any], config: GeneratorConfig) -> Generator:
    # Loads transformers, which the other backend does without.
    from firth.paper.generation.causal_lm import CausalLM

    files = PretrainedFiles(**stored["model"])
    files.check()
    where = device()
    dtype = number_format(config.precision, where)
    model, tokenizer = open_causal_lm(files.model, files.gguf_file, dtype, where)
    limits = {"max_tokens": stored["max_tokens"], "batch_tokens": config.batch_tokens}
    return CausalLM(model, tokenizer, **limits)
