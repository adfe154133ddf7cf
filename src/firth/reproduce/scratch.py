"""An encoder as it was before it learned anything: the rival from scratch of what it has become."""

from pathlib import Path
from typing import TYPE_CHECKING

from firth.finetune.start import Start
from firth.reproduce.report import COMMAND
from firth.run.results import write_folder
from firth.run.seeds import derive_seed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PREFIX = "scratch:"


def scratch_of(start: Start, out: Path, seed: int) -> Path:
    """The same encoder with random weights, kept in `out`; errors as in `Start.open`."""

    def build(workspace: Path) -> str:
        model = start.open(seed).cpu()
        forget(model, derive_seed(seed, "reproduce", "scratch"))
        model.save(str(workspace), create_model_card=False)
        return f"{start.shown}, all weights random"

    config = {"start": start.identity(), "seed": seed}
    write_folder(out, command=f"{COMMAND} (scratch)", inputs={}, config=config, build=build,
                 libraries=("sentence-transformers", "torch"))  # fmt: skip
    return out


def forget(model: "SentenceTransformer", seed: int) -> None:
    """Matrices become normal with the deviation they have, norms 1, other vectors 0, in place."""
    import torch

    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.copy_(weight.std() * torch.randn(weight.shape, generator=drawn))
            else:
                weight.fill_(float("norm" in name.lower() and name.endswith("weight")))
