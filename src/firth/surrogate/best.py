"""Keeping the best weights of a training: those that agree most with Origin on held-out pairs."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

LOOKS = 10
"""Times a training is looked at, evenly spread; the last time at its end."""


class Best:
    """The best weights of a model so far, those it starts with being the first.

    Args:
        model: It.
        figure: How good it is now, the higher the better; None where that is undefined, which is
            worse than any number.
    """

    def __init__(self, model: nn.Module, figure: Callable[[], float | None]) -> None:
        self._model, self._figure = model, figure
        self._kept: dict[str, Tensor] = {}
        self.step = 0
        """Where the best weights were found; 0 is the start."""
        self.seen: list[dict[str, Any]] = []
        """Each look: `step` and `spearman`."""
        self.look(0)

    def look(self, step: int) -> None:
        """Take the figure, and the weights if no earlier ones were as good."""
        value = self._figure()
        ahead = value is not None and all(
            one["spearman"] is None or value > one["spearman"] for one in self.seen
        )
        self.seen.append({"step": step, "spearman": None if value is None else round(value, 6)})
        if ahead or not self._kept:
            self.step = step
            self._kept = {
                name: tensor.detach().to("cpu", copy=True)
                for name, tensor in self._model.state_dict().items()
            }

    def restore(self) -> None:
        """Give the model its best weights back."""
        self._model.load_state_dict(self._kept)


class Looks(TrainerCallback):
    """Looks at a training `LOOKS` times."""

    def __init__(self, best: Best, steps: int) -> None:
        self._best = best
        self._places = {-(-steps * look // LOOKS) for look in range(1, LOOKS + 1)}

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Look, if it is time."""
        if state.global_step in self._places:
            self._best.look(state.global_step)
