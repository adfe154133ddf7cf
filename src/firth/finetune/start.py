"""Where fine-tuning starts: a folder or hub name, or an encoder made of what a run has learned."""

from pathlib import Path
from typing import TYPE_CHECKING

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.models import EncoderScorer, fingerprint_model, resolve_model
from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.surrogate.cross_scorer import CrossScorer
from firth.surrogate.settings import BaseKind

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_EXPECTED = (
    "Expected RUN/surrogate, the folder or hub name of an encoder, such as roberta-base, "
    "`static` or `transformer` with the run that they are made of (--run RUN), or scratch: before "
    "either for the same encoder with random weights"
)
SCRATCH = "scratch:"
"""Before the name of an encoder: the same with random weights."""


class Start:
    """An encoder that is opened anew for each training.

    Args:
        name: Folder or hub name of an encoder (a bare one gets mean pooling); `static`: the word
            vectors that `run` has learned; `transformer`: random weights and `run`'s tokenizer;
            `scratch:` before any of these: the same encoder with random weights.
        run: A run, for what is made of one.

    Raises:
        InputError: `run` is missing, or is given for what is not made of it.
    """

    def __init__(self, name: str | Path, run: str | Path | Run | None = None) -> None:
        self.name = str(name)
        self._base = self.name.removeprefix(SCRATCH)
        self._forgets = self._base != self.name
        self.kind = BaseKind.of(self._base)
        made = self.kind is not BaseKind.PRETRAINED
        if made != (run is not None):
            problem = "needs a run to be made of" if made else "is not made of a run"
            raise InputError(f"{name}: {problem} (--run). {_EXPECTED}")
        self._run = Run.open(run).changed({"surrogate": {"base": self._base}}) if run else None

    @property
    def random(self) -> bool:
        """Whether its weights are random: then a seed decides them."""
        return self._forgets or self.kind is BaseKind.TRANSFORMER

    @property
    def shown(self) -> str:
        """Its name for reports: no path but its last two parts."""
        folder = Path(self._base)
        base = "/".join(folder.resolve().parts[-2:]) if folder.is_dir() else self._base
        return f"{SCRATCH}{base}" if self._forgets else base

    def identity(self) -> str:
        """What decides it, as a fingerprint."""
        found = self._identity()
        return f"{SCRATCH}{found}" if self._forgets else found

    def _identity(self) -> str:
        if self._run is None:
            return fingerprint_model(self._base) or self._base
        run = self._run
        stages = [stage for stage in (CORPUS, TOKENIZER, CONTEXT) if run.has(stage)]
        config = run.config.model_dump(mode="json")
        known = {name: config[name] for name in ("seed", "surrogate", "context", "origin")}
        return fingerprint_value([run.inputs(*stages), known])

    def open(self, seed: int) -> "SentenceTransformer":
        """The encoder; `seed` decides random weights.

        Raises:
            InputError: It is refused, cannot be loaded, or gives sentences no vector that could
                learn.
            MissingStageError: The run is not built far enough.
        """
        with quiet_libraries():
            model = self._made(seed) if self._run else self._loaded()
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise InputError(f"{self.name}: none of its weights can learn. {_EXPECTED}")
        if self._forgets:
            _forget(model, derive_seed(seed, "reproduce", "scratch"))
        return model

    def _made(self, seed: int) -> "SentenceTransformer":
        from firth.surrogate.start import start_model

        assert self._run is not None
        if self.kind is BaseKind.TRANSFORMER:
            return start_model(self._run.changed({"seed": seed}))
        return start_model(self._run)

    def _loaded(self) -> "SentenceTransformer":
        scorer = resolve_model(self._base)
        if not isinstance(scorer, EncoderScorer):
            what = "a cross-encoder" if isinstance(scorer, CrossScorer) else scorer.name
            raise InputError(f"{self.name}: {what}, which is no encoder. {_EXPECTED}")
        return scorer.model


def _forget(model: "SentenceTransformer", seed: int) -> None:
    """Matrices become normal with the deviation they have, norms 1, other vectors 0, in place."""
    import torch

    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.copy_(weight.std() * torch.randn(weight.shape, generator=drawn))
            else:
                weight.fill_(float("norm" in name.lower() and name.endswith("weight")))
