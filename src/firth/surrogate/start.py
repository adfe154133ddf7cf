"""Where distillation starts: the encoder named by the configuration, before it sees a label."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer

from firth.run.pretrained import open_encoder
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History
from firth.surrogate.base import BaseKind
from firth.surrogate.encoder import scratch_encoder
from firth.surrogate.static import static_start


@dataclass(frozen=True)
class Start:
    """An encoder before distillation.

    Attributes:
        model: It.
        history: Loss while its first vectors were learned; empty where nothing was learned.
    """

    model: SentenceTransformer
    history: History


def build_start(run: Run, scratch: Path) -> Start:
    """The encoder named by `run.config.surrogate.base`.

    Args:
        run: A run whose corpus and tokenizer are built.
        scratch: Folder for checkpoints; an interrupted call continues from what it left there.

    Raises:
        InputError: The base is neither `static`, `transformer` nor an encoder that can be loaded.
    """
    config = run.config.surrogate
    torch.manual_seed(derive_seed(run.config.seed, "surrogate", "weights"))
    match BaseKind.of(config.base):
        case BaseKind.STATIC:
            return Start(*static_start(run, scratch))
        case BaseKind.TRANSFORMER:
            return Start(scratch_encoder(run, scratch), [])
        case BaseKind.PRETRAINED:
            return Start(open_encoder(config.base), [])


def start_model(run: str | Path | Run) -> SentenceTransformer:
    """The Surrogate as it was before distillation, built anew: for comparing before and after.

    A static start learns its first vectors again, which takes as long as it did in `distill`.

    Raises:
        MissingStageError: The run has no corpus or tokenizer.
        InputError: The base cannot be loaded.

    Example:
        >>> start_model("run").encode(["The ship left the harbour."]).shape[0]
        1
    """
    with tempfile.TemporaryDirectory() as folder, quiet_libraries():
        return build_start(Run.open(run), Path(folder)).model
