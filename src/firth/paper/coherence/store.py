"""The files of a trained coherence model: weights as safetensors, settings as JSON."""

from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from firth.paper.coherence.model import CoherenceModel
from firth.paper.settings import Interaction
from firth.run.files import read_json, write_atomically, write_json

WEIGHTS = "model.safetensors"
SETTINGS = "model.json"
VECTORS = "vectors.npy"
HISTORY = "history.json"


@dataclass(frozen=True)
class Settings:
    """What is needed to build the model and to read text as it was trained to.

    Attributes:
        vocabulary: Number of word pieces.
        embedding: Size of a word piece's vector.
        hidden: Hidden size of each LSTM direction.
        interaction: The last layer.
        max_tokens: Word pieces read of a sentence.
        window: Sentences on each side of a slot that make its context.
    """

    vocabulary: int
    embedding: int
    hidden: int
    interaction: Interaction
    max_tokens: int
    window: int

    def model(self, seed: int = 0) -> CoherenceModel:
        """A model of this shape with random weights; torch's random state is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return CoherenceModel(self.vocabulary, self.embedding, self.hidden, self.interaction)


def save_model(folder: Path, model: CoherenceModel, settings: Settings) -> None:
    """Write weights and settings; the weights, written last, say that the model is complete."""
    write_json(folder / SETTINGS, asdict(settings))
    with write_atomically(folder / WEIGHTS) as partial:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, partial)


def load_model(folder: Path) -> tuple[CoherenceModel, Settings]:
    """The model that `save_model` wrote, in evaluation mode."""
    values = read_json(folder / SETTINGS)
    settings = Settings(**{**values, "interaction": Interaction(values["interaction"])})
    model = settings.model()
    model.load_state_dict(load_file(folder / WEIGHTS))
    return model.eval(), settings
