"""What a user may ask of an experiment, and how it is checked before any work starts."""

from collections.abc import Set
from dataclasses import dataclass, fields

from firth.origin.settings import Weights
from firth.run.errors import ConfigError

RUN_WEIGHTS = "run"
_NAMES = ("coherence", "sentence", "left", "right")
_UNITS = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "B": 1_000_000_000}


@dataclass(frozen=True)
class Options:
    """Options of the experiments; None leaves a choice to the experiment.

    Attributes:
        split: Of STSb: `train`, `dev` (for choosing) or `test` (what the paper reports).
        pairs: Random pairs of the split to measure on; None takes all.
        sizes: What is varied, as typed: `4`, `100K`, `10%`; ascending or not.
        contexts: |C_s| where it is fixed.
        shortlist: Contexts of a sentence that get their terms, of which C_s is chosen.
        lambdas: λ1 … λ4 as typed, `1,1,1,1`, or `run` for those of the run.
        model: A causal language model, folder or hub name, in the place of the run's generator.
        gguf_file: The GGUF file inside `model`.
        base: Encoder that is trained: `static`, `transformer`, folder or hub name.
        vectors: Word vectors (STR-2021).
        train_pairs: At most so many training pairs a fold (STR-2021).
    """

    split: str | None = None
    pairs: int | None = None
    sizes: tuple[str, ...] | None = None
    contexts: int | None = None
    shortlist: int | None = None
    lambdas: str | None = None
    model: str | None = None
    gguf_file: str | None = None
    base: str | None = None
    vectors: str | None = None
    train_pairs: int | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [item.name for item in fields(self) if getattr(self, item.name) is not None]

    def check(self, experiment: str, takes: Set[str]) -> None:
        """Look at the options themselves; what depends on a run is the experiment's business.

        Raises:
            ConfigError: Every option that the experiment does not take or that is out of range.
        """
        problems = []
        taken = ", ".join(_flag(name) for name in sorted(takes)) or "none"
        problems += [
            f"{experiment} takes no {_flag(name)}. It takes: {taken}"
            for name in self.given
            if name not in takes
        ]
        for name, least in (("pairs", 10), ("contexts", 1), ("shortlist", 1), ("train_pairs", 2)):
            value = getattr(self, name)
            if value is not None and value < least:
                problems.append(f"{_flag(name)}: got {value}; expected at least {least}")
        if self.gguf_file is not None and self.model is None:
            problems.append("--gguf-file: got no --model; expected the folder it lies in")
        if self.lambdas not in (None, RUN_WEIGHTS):
            try:
                parse_weights(str(self.lambdas))
            except ValueError as error:
                problems.append(f"--lambdas: {error}")
        for size in self.sizes or ():
            try:
                parse_size(size, whole=1)
            except ValueError as error:
                problems.append(f"--sizes: {error}")
        if self.sizes is not None and not self.sizes:
            problems.append("--sizes: got none; expected one or more, as 4,8,16")
        if problems:
            raise ConfigError(experiment, problems)

    def weights(self, of_run: Weights) -> Weights:
        """λ1 … λ4 of Eq. 3: all 1 if none were given."""
        if self.lambdas == RUN_WEIGHTS:
            return of_run
        return all_ones() if self.lambdas is None else parse_weights(self.lambdas)


def all_ones() -> Weights:
    """λ1 … λ4 = 1, whatever the default of a run is."""
    return Weights(coherence=1, sentence=1, left=1, right=1)


def parse_weights(text: str) -> Weights:
    """`1,1,0.5,1` → λ1 … λ4 in the order of Eq. 3; raise `ValueError` if it is not that."""
    parts = text.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != len(_NAMES) or min(values) < 0 or not any(values):
        raise ValueError(
            f"got {text!r}; expected `run`, or λ1 … λ4 (discriminative, sentence, left, right) "
            "≥ 0 and not all 0, as 1,1,1,1"
        )
    return Weights(**dict(zip(_NAMES, values, strict=True)))


def parse_size(text: str, whole: int) -> int:
    """`250`, `100K`, `1.5M`, or a share of `whole` as `10%`; raise `ValueError` if it is neither.

    Example:
        >>> parse_size("1.5K", whole=10_000), parse_size("10%", whole=10_000)
        (1500, 1000)
    """
    number, unit = text.strip(), 1.0
    if number.endswith("%"):
        number, unit = number[:-1], whole / 100
    elif number[-1:].upper() in _UNITS and number[-1:].isalpha():
        number, unit = number[:-1], _UNITS[number[-1].upper()]
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf") or (text.strip().endswith("%") and value > 100):
        raise ValueError(f"got {text!r}; expected a number above 0, as 250, 100K, 1.5M, or 10%")
    return max(1, round(value * unit))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
