"""What `surrogate.base` may name, and what follows from it; light, to be checked early."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.surrogate.settings import Calibration, SurrogateConfig

_MARKERS = ("modules.json", "config.json")


class BaseKind(StrEnum):
    """The three kinds of encoder to start from."""

    STATIC = "static"
    """Word vectors of the corpus, averaged."""
    TRANSFORMER = "transformer"
    """A small Transformer with random weights."""
    PRETRAINED = "pretrained"
    """An encoder from a folder or hub."""

    @classmethod
    def of(cls, base: str) -> "BaseKind":
        """The kind of a base as the configuration names it."""
        return cls(base) if base in (cls.STATIC, cls.TRANSFORMER) else cls.PRETRAINED


LEARNING_RATES: Mapping[BaseKind, float] = {
    BaseKind.STATIC: 5e-4,
    BaseKind.TRANSFORMER: 5e-4,
    BaseKind.PRETRAINED: 2e-5,
}
"""Peak rates of Adam where the configuration gives none."""


def learning_rate(config: SurrogateConfig) -> float:
    """The configured learning rate, else the one that suits the base."""
    return config.learning_rate or LEARNING_RATES[BaseKind.of(config.base)]


def batch_size(config: SurrogateConfig) -> int:
    """Pairs a step: as configured, else what suits the base."""
    if config.batch:
        return config.batch
    return 512 if BaseKind.of(config.base) is BaseKind.STATIC else 64


def calibration(config: SurrogateConfig) -> Calibration:
    """The configured map of labels, else the one that suits the base.

    A static start agrees with Origin already, and absolute labels would tear its cosines from
    their scale; those of the other bases mean nothing before training.
    """
    if config.calibration:
        return config.calibration
    static = BaseKind.of(config.base) is BaseKind.STATIC
    return Calibration.MATCH if static else Calibration.QUANTILE


def base_inputs(base: str) -> dict[str, str]:
    """Name → fingerprint of the files of a base that is a folder; empty for all others.

    A model on the hub is known by its name alone.

    Raises:
        InputError: It looks like a folder and is none, or holds no encoder.
    """
    folder = Path(base)
    if BaseKind.of(base) is not BaseKind.PRETRAINED:
        return {}
    if not folder.is_dir():
        if folder.exists() or folder.is_absolute() or base.startswith(".") or base.count("/") > 1:
            found = "a file" if folder.exists() else "no such folder"
            raise InputError(f"surrogate.base: {base}: {found}. {EXPECTED}")
        return {}
    if not any((folder / name).is_file() for name in _MARKERS):
        raise InputError(f"surrogate.base: {base}: no {' or '.join(_MARKERS)} in it. {EXPECTED}")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"base/{path.relative_to(folder).as_posix()}": fingerprint_file(path) for path in files}


EXPECTED = (
    "Expected `static`, `transformer`, or the folder or hub name of an encoder, such as "
    "roberta-base."
)
