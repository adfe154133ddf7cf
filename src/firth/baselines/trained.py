"""Baselines that learn from a run's corpus: `firth train baseline NAME --run RUN`.

Each is a stage in `RUN/baselines/NAME`. To add one: a module with two functions,

    fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]   fills it, returns the summary
    load(folder: Path) -> Scorer                                     opens it
    inputs(run: Run, name: str) -> Mapping[str, str]                 optional: what else it reads;
                                             a setting of that name then counts by its content

a section in `firth.baselines.settings`, and a line in `TRAINED`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from firth.baselines.settings import BaselinesConfig
from firth.corpus import CORPUS
from firth.corpus.settings import LIMITS
from firth.lexical.scorer import Scorer
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.run import CONFIG, Run
from firth.run.stage import MANIFEST, Manifest, Outcome, Stage

FOLDER = "baselines"


@dataclass(frozen=True)
class Trained:
    """A baseline that learns.

    Attributes:
        summary: What it is, in a line.
        module: Holds `fit` and `load`.
        libraries: Distributions whose versions decide them.
        settings: What it reads of the configuration beside its own section and the seed.
        extra: Extra of firth that installs what it needs.
    """

    summary: str
    module: str
    libraries: tuple[str, ...]
    settings: tuple[str, ...] = ()
    extra: str = ""


_TUNING = ("torch", "transformers", "sentence-transformers", "datasets", "accelerate")

TRAINED: Mapping[str, Trained] = {
    "skip-gram": Trained(
        "mean of skip-gram word vectors (word2vec, by gensim)",
        "firth.baselines.word2vec",
        ("gensim", "PyStemmer"),
        extra="baselines",
    ),
    "cbow": Trained(
        "mean of CBOW word vectors (word2vec, by gensim)",
        "firth.baselines.word2vec",
        ("gensim", "PyStemmer"),
        extra="baselines",
    ),
    "siamese-cbow": Trained(
        "mean of word vectors that tell a sentence's neighbours from others (Kenter et al. 2016)",
        "firth.baselines.cbos",
        ("PyStemmer",),
    ),
    "cbos": Trained(
        "sum of word vectors, predicted from the neighbours' sums (Yuan & Zhang)",
        "firth.baselines.cbos",
        ("PyStemmer",),
    ),
    "bag": Trained(
        "weighted sum of word vectors, by contrast with all other sentences of a batch",
        "firth.baselines.bag",
        ("torch", "PyStemmer"),
    ),
    "skip-thought": Trained(
        "last state of a GRU that helps to write the sentences before and after",
        "firth.baselines.skip_thought",
        ("torch", "PyStemmer"),
    ),
    **{
        name: Trained(summary, "firth.baselines.unsupervised", _TUNING, LIMITS)
        for name, summary in {
            "simcse": "an encoder tuned by SimCSE: a sentence and itself under dropout",
            "tsdae": "an encoder tuned by TSDAE: sentences rebuilt from damaged ones",
            "ct": "an encoder tuned by Contrastive Tension: two copies that agree",
        }.items()
    },
}
"""Every trained baseline by name; its settings stand in `baselines.NAME`, `-` being `_`."""


def section_of(name: str) -> str:
    """Field of `BaselinesConfig` that holds the settings of `name`."""
    return name.replace("-", "_")


def find_trained(name: str) -> Trained:
    """The entry of `name`; raise `InputError` naming all if there is none."""
    if name not in TRAINED:
        raise InputError(f"{name}: no baseline that is trained. Known: {', '.join(TRAINED)}")
    return TRAINED[name]


def _module(name: str) -> ModuleType:
    return import_module(find_trained(name).module)


def base_settings(names: Sequence[str], base: str) -> dict[str, Any]:
    """Changes of a configuration that make all of `names` start from the encoder `base`.

    Raises:
        InputError: One of them starts from nothing.
    """
    if wrong := [name for name in names if "base" not in _fields(name)]:
        raise InputError(
            f"--base {base}: {', '.join(wrong)} starts from nothing. Train it without --base"
        )
    return {"baselines": {section_of(name): {"base": base} for name in names}}


def _fields(name: str) -> list[str]:
    return list(type(getattr(BaselinesConfig(), section_of(name))).model_fields)


def stage_of(name: str, folder: str | None = None) -> Stage:
    """The stage that trains `name`, in the folder `baselines/NAME` of a run or in another one."""
    trained, command = find_trained(name), f"firth train baseline {name} --run"
    return Stage(folder or f"{FOLDER}/{name}", command, trained.libraries, trained.extra)


def build_baseline(run: Run, name: str, folder: str | None = None) -> Outcome:
    """Bring the baseline `name` of a run up to date with the run's corpus and configuration.

    Args:
        run: The run; the settings are those of its configuration.
        name: One of `TRAINED`.
        folder: Where to keep it inside the run; by default `baselines/NAME`.

    Raises:
        InputError: No such baseline, or the corpus is too small to learn from.
        MissingStageError: A stage that it reads is not built.
        MissingExtraError: A library it needs is not installed.
    """
    trained, module = find_trained(name), _module(name)
    more: Mapping[str, str] = module.inputs(run, name) if hasattr(module, "inputs") else {}
    own = {field: f"baselines.{section_of(name)}.{field}" for field in _fields(name)}

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        summary: Mapping[str, Any] = module.fit(handed, name, workspace)
        return summary

    return run.build(
        stage_of(name, folder),
        fill,
        reads=[CORPUS],
        settings=["seed", *trained.settings, *(own[f] for f in own if f not in more)],
        places=[own[f] for f in own if f in more],
        inputs=more,
        code=trained.module,
    )


def train_baseline(
    name: str, run: str | Path | Run, seed: int | None = None, **settings: object
) -> Scorer:
    """Train a baseline on a run's corpus, or reuse it if nothing has changed, and open it.

    Args:
        name: One of `TRAINED`.
        run: A run whose corpus is built.
        seed: Of every random choice; None takes the run's. Like the settings, it is written into
            the run's configuration.
        settings: Fields of its section in `firth.baselines.settings`, such as `epochs`.

    Raises:
        InputError: No such baseline or run.
        ConfigError: A setting does not exist or has a wrong value.
        MissingStageError: The run has no corpus yet.
        MissingExtraError: A library it needs is not installed.

    Example:
        >>> scorer = train_baseline("cbow", "run", epochs=2)
        >>> scorer.similarities([("A ship sailed.", "The ship left.")]).shape
        (1,)
    """
    find_trained(name)
    changes: dict[str, Any] = {"baselines": {section_of(name): settings}, "seed": seed}
    changed = Run.open(run).changed(changes)
    build_baseline(changed, name)
    return open_trained(name, changed.path)


def trained_folder(name: str, source: str | Path) -> Path:
    """Where the trained baseline `name` lies.

    Args:
        name: One of `TRAINED`.
        source: A run that trained it, or a folder that holds it.

    Raises:
        MissingStageError: The run did not train it.
        InputError: `source` is neither.
    """
    folder, stage = Path(source), stage_of(name)
    if (folder / CONFIG).is_file():
        return Run.open(folder).folder(stage)
    found = Manifest.read(folder)
    if found is None or found.stage != stage.name:
        got = f"holds {found.stage}" if found else "neither a run nor a trained baseline"
        raise InputError(
            f"{folder}: {got}; expected a run or a folder trained by: {stage.command} RUN"
        )
    return folder


def open_trained(name: str, source: str | Path) -> Scorer:
    """Open a trained baseline; errors as in `trained_folder`."""
    return load_trained(name, trained_folder(name, source))


def load_trained(name: str, folder: Path) -> Scorer:
    """Open a folder known to hold the trained baseline `name`."""
    scorer: Scorer = _module(name).load(folder)
    return scorer


def identify_trained(name: str, source: str | Path) -> list[list[str]]:
    """(relative path, fingerprint of the bytes) of its files, the manifest aside."""
    files = fingerprint_folder(trained_folder(name, source))
    return [[path, found] for path, found in files if Path(path).name != MANIFEST]


def fingerprint_folder(folder: Path) -> list[list[str]]:
    """(relative path, fingerprint of the bytes) of every file in `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [[path.relative_to(folder).as_posix(), fingerprint_file(path)] for path in files]
