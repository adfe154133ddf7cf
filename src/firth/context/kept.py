"""What a run keeps of a pretrained encoder: which one it is, and what was changed of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from firth.context.encoder import ENCODER
from firth.context.settings import Encoder
from firth.lexical.arrays import Floats
from firth.run.files import read_json, write_atomically, write_json
from firth.run.model_files import PretrainedFiles

_TUNED, _SCALE = "tuned.safetensors", "scale.safetensors"


@dataclass(frozen=True, eq=False)
class Kept:
    """A pretrained encoder as it is used: its weights stay where they are.

    Attributes:
        files: Of the pretrained model.
        settings: What else is needed to open it as it was.
        tuned: Weights that differ from the pretrained ones, by their names in what was tuned.
        mean: Of each dimension, (d,); taken away from its vectors.
        deviation: Of each dimension, (d,), above 0; they are divided by it.
        words: Mean of the states of words, (e,), where they are compared.
    """

    files: PretrainedFiles
    settings: Mapping[str, Any]
    tuned: Mapping[str, torch.Tensor]
    mean: Floats
    deviation: Floats
    words: Floats | None = None

    def save(self, folder: Path, kind: Encoder) -> None:
        """Write it into the folder of a stage."""
        with write_atomically(folder / _TUNED) as partial:
            save_file({name: each.cpu().contiguous() for name, each in self.tuned.items()}, partial)
        known = {"mean": self.mean, "deviation": self.deviation, "words": self.words}
        scale = {name: torch.from_numpy(each) for name, each in known.items() if each is not None}
        with write_atomically(folder / _SCALE) as partial:
            save_file(scale, partial)
        model = {
            "model": self.files.model,
            "gguf_file": self.files.gguf_file,
            "files": dict(self.files.files),
        }
        write_json(folder / ENCODER, {"encoder": kind.value, "model": model, **self.settings})

    @classmethod
    def load(cls, folder: Path) -> "Kept":
        """Read what `save` wrote.

        Raises:
            InputError: The pretrained model is gone, or has changed.
        """
        stored = read_json(folder / ENCODER)
        del stored["encoder"]
        files = PretrainedFiles(**stored.pop("model"))
        files.check()
        scale = load_file(folder / _SCALE)
        mean, deviation = scale["mean"].numpy(), scale["deviation"].numpy()
        words = scale["words"].numpy() if "words" in scale else None
        return cls(files, stored, load_file(folder / _TUNED), mean, deviation, words)

    @property
    def name(self) -> str:
        """The last part of the model's name."""
        return Path(self.files.gguf_file or self.files.model).name
