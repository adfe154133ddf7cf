"""What an experiment is given: a run, data to measure on, and options checked before any work."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path

from firth.baselines.glove import PACKAGE as GLOVE
from firth.paper.settings import Weights
from firth.run.errors import ConfigError, InputError, MissingExtraError
from firth.run.run import Run

RUN_WEIGHTS = "run"
_TERMS = ("coherence", "sentence", "left", "right")
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
_LEAST = {"pairs": 10, "contexts": 1, "shortlist": 1, "train_pairs": 2}
_MODULES = {"plots": "matplotlib", "baselines": "gensim", "relatedness": "spacy", "glove": GLOVE}


@dataclass(frozen=True)
class Options:
    """Options of the experiments; None leaves a choice to the experiment.

    Attributes:
        split: Of STSb: `train`, `dev` (for choosing) or `test` (what the paper reports).
        pairs: Random pairs of the split to measure on, at least 10; None takes all.
        sizes: What is varied, as typed: `4`, `100K`, `10%`; ascending or not.
        contexts: |C_s| where it is fixed.
        shortlist: Contexts of a sentence that get their terms, of which C_s is chosen.
        lambdas: λ1 … λ4 as typed, `1,1,1,1`, or `run` for those of the run.
        model: A causal language model, folder or hub name, in the place of the run's generator.
        gguf_file: The GGUF file inside `model`.
        base: Encoder that is trained: `static`, `transformer`, folder or hub name.
        vectors: Word vectors (STR-2021), as `firth evaluate` names them.
        train_pairs: At most so many training pairs a fold or training, at least 2.
        start: What is fine-tuned (Tables 1 to 4), as `firth finetune` names it.
        peer: Models that stand in a table too: `MODEL`, or `NAME=MODEL`, where the name is a row of
            the paper that it stands beside, or what it shall be called.
        learn_from: Sets or files with labels, in the place of the paper's (NLI, triplets).
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
    start: tuple[str, ...] | None = None
    peer: tuple[str, ...] | None = None
    learn_from: tuple[str, ...] | None = None

    def check(self, experiment: str, takes: Set[str]) -> None:
        """Look at the options themselves; what depends on a run is the experiment's business.

        Raises:
            ConfigError: Every option that the experiment does not take or that is out of range.
        """
        given = {
            f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None
        }
        taken = ", ".join(map(_flag, sorted(takes))) or "none"
        problems = [f"{experiment} takes no {_flag(name)}. It takes: {taken}"
                    for name in given if name not in takes]  # fmt: skip
        problems += [
            f"{_flag(name)}: got {given[name]}; expected at least {least}"
            for name, least in _LEAST.items()
            if name in given and given[name] < least
        ]
        if self.gguf_file is not None and self.model is None:
            problems.append("--gguf-file: got no --model; expected the folder it lies in")
        if self.sizes == ():
            problems.append("--sizes: got none; expected one or more, as 4,8,16")
        try:
            self.weights(all_ones())
        except ValueError as error:
            problems.append(f"--lambdas: {error}")
        for size in self.sizes or ():
            try:
                parse_size(size, whole=1)
            except ValueError as error:
                problems.append(f"--sizes: {error}")
        if problems:
            raise ConfigError(experiment, problems)

    def weights(self, of_run: Weights) -> Weights:
        """λ1 … λ4 of Eq. 3: all 1 if none were given."""
        if self.lambdas == RUN_WEIGHTS:
            return of_run
        return all_ones() if self.lambdas is None else parse_weights(self.lambdas)


@dataclass(frozen=True)
class Request:
    """What the experiment `name` is given.

    Attributes:
        folder: Of its results; those on STR-2021 keep in it what takes long.
        given: A run, or None where none was named; `run` for those that need one.
        data_dir: Folder of evaluation sets; None, or a set it lacks, goes to the hub.
        seed: Of every random choice; the run's, where there is one.
    """

    name: str
    folder: Path
    given: Run | None = None
    data_dir: Path | None = None
    options: Options = field(default_factory=Options)
    seed: int = 13

    @property
    def run(self) -> Run:
        """The run to learn from; raise `InputError` where none was named."""
        if self.given is None:
            raise InputError(f"{self.name}: expected --run RUN, a run to learn from")
        return self.given

    def sizes(self, default: Sequence[str], whole: int, least: int = 1) -> dict[str, int]:
        """`--sizes` (or `default`) as typed → as numbers, ascending, from `least` to the `whole`.

        Raises:
            ConfigError: Every size out of this range.
        """
        found = {text: parse_size(text, whole) for text in self.options.sizes or default}
        problems = [
            f"--sizes: got {text!r}, {size:,}; expected {least:,} to {whole:,}, all there are"
            for text, size in found.items()
            if not least <= size <= whole
        ]
        if problems:
            raise ConfigError(self.name, problems)
        return dict(sorted(found.items(), key=lambda item: item[1]))


def need_extras(what: str, *extras: str) -> None:
    """Raise `MissingExtraError` naming all of firth's `extras` that `what` lacks."""
    lacking = [one for one in extras if not find_spec(_MODULES[one])]
    if lacking:
        raise MissingExtraError(what, ",".join(lacking))


def all_ones() -> Weights:
    """λ1 … λ4 = 1, whatever the default of a run is."""
    return Weights(coherence=1, sentence=1, left=1, right=1)


def parse_weights(text: str) -> Weights:
    """`1,1,0.5,1` → λ1 … λ4 in the order of Eq. 3; raise `ValueError` if it is not that."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(_TERMS) or min(values) < 0 or not any(values):
        raise ValueError(
            f"got {text!r}; expected `run`, or λ1 … λ4 (discriminative, sentence, left, right) "
            "≥ 0 and not all 0, as 1,1,1,1"
        )
    return Weights(**dict(zip(_TERMS, values, strict=True)))


def parse_size(text: str, whole: int) -> int:
    """`250`, `100K`, `1.5M`, or a share of `whole` as `10%`; raise `ValueError` if it is neither.

    Example:
        >>> parse_size("1.5K", whole=10_000), parse_size("10%", whole=10_000)
        (1500, 1000)
    """
    number, unit = text.strip(), 1.0
    is_share = number.endswith("%")
    if is_share:
        number, unit = number[:-1], whole / 100
    elif number[-1:].upper() in _UNITS:
        number, unit = number[:-1], _UNITS[number[-1].upper()]
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf") or (is_share and value > 100):
        raise ValueError(f"got {text!r}; expected a number above 0, as 250, 100K, 1.5M, or 10%")
    return max(1, round(value * unit))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
