"""Options that several commands share, each declared once, and what they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.run import progress
from firth.run.config import NOTHING, Config, lay_over, read_yaml
from firth.run.engine import HERE, Engine, EngineKind
from firth.run.errors import ConfigError, InputError
from firth.run.files import claim_file
from firth.run.presets import Preset
from firth.run.run import CONFIG, Run

if TYPE_CHECKING:
    from firth.search.among import Among

RunFolder = Annotated[
    Path, typer.Option("--run", help="Folder of the run.", show_default=False, file_okay=False)
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Seed of every random choice. Default: the run's (13)."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no notes.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.NAME=VALUE",
        help="Change a setting of the configuration; may be repeated.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_FILE: Any = typer.Option(
    "--out", metavar="FILE", help="File that is written; missing folders are made.",
    show_default=False,
)  # fmt: skip
OutFile = Annotated[Path, _FILE]
OptionalOutFile = Annotated[Path | None, _FILE]
_FOLDER: Any = typer.Option(
    "--out", metavar="FOLDER", help="Folder that the results are written to.", show_default=False
)
OutFolder = Annotated[Path, _FOLDER]
OptionalOutFolder = Annotated[Path | None, _FOLDER]
Force = Annotated[bool, typer.Option("--force", help="Replace what is in the way of --out.")]
SeedNumber = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of evaluation sets, one sub-folder each (see docs/evaluate.md)."),
]

OwnColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="OURS=YOURS...",
        help="Columns of your own files, where they are not found by name, as sentence1=a "
        "sentence2=b score=c.",
        show_default=False,
    ),
]

DocumentPatterns = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="PATTERN",
        help="Only documents of such names, as news-*; may be repeated.",
    ),
]
SourcePatterns = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="PATTERN", help="Only documents of such files; may be repeated."
    ),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only documents of which a field is so: author=Ann, 'date>=2020'. Repeatable.",
    ),
]

EngineName = Annotated[
    EngineKind,
    typer.Option(
        "--engine",
        help="Who does what is done in shards: `here`, this machine, or `ray`, the workers of a "
        "Ray cluster (docs/many-machines.md).",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Of the Ray cluster; `auto` is that of this machine. Default: RAY_ADDRESS, or the "
        "processors of this machine.",
        show_default=False,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        help="Processes of this machine that share such work; each opens the models it needs.",
    ),
]

Gpus = Annotated[
    float,
    typer.Option(
        "--gpus",
        min=0,
        metavar="NUMBER",
        help="Accelerators of the Ray cluster that each worker has, or the share of one: 0.5. "
        "Default: none.",
        show_default=False,
    ),
]

Changes = dict[str, Any]


PresetOption = Annotated[
    Preset | None,
    typer.Option(
        "--preset",
        help="Settings of the method as printed: `paper`, at the paper's size, or `paper-small` "
        "(docs/presets.md). --set wins over them.",
        show_default=False,
    ),
]


def start(quiet: bool, out: Path | None = None, force: bool = False) -> None:
    """Apply `--quiet`; refuse, before any work, a file that may not or cannot be written."""
    progress.set_quiet(quiet)
    if out is not None:
        claim_file(out, force)


def parse_settings(
    settings: Sequence[str] | None,
    seed: int | None = None,
    preset: Preset | None = None,
    **named: Changes,
) -> Changes:
    """`["paper.contexts=16"]` → {"paper": {"contexts": 16}}; values are YAML.

    Args:
        settings: As given to `--set`; null takes a setting back (`NOTHING`).
        seed: As given to `--seed`.
        preset: As given to `--preset`; everything else wins over it.
        **named: Section → settings that have options of their own; they win over `--set`, except
            where they are None.

    Raises:
        ConfigError: Every setting that is not of the form SECTION.NAME=VALUE.
    """
    changes: Changes = {} if seed is None else {"seed": seed}
    problems = []
    for setting in settings or ():
        path, equals, value = setting.partition("=")
        keys = path.split(".")
        if not equals or len(keys) < 2 or not all(keys):
            problems.append(f"got {setting!r}; expected SECTION.NAME=VALUE, as paper.contexts=16")
            continue
        section: Any = changes
        for key in keys[:-1]:
            section = section.setdefault(key, {}) if isinstance(section, dict) else None
        if not isinstance(section, dict):
            problems.append(f"{path}: got a value for it and one for a part of it; give one")
            continue
        try:
            read = read_yaml(value)
            section[keys[-1]] = NOTHING if read is None else read
        except ValueError:
            problems.append(f"{path}: got {value!r}, which is not a YAML value")
    if problems:
        raise ConfigError("--set", problems)
    for name, given in named.items():
        chosen = {key: value for key, value in given.items() if value is not None}
        if chosen:
            changes[name] = {**changes.get(name, {}), **chosen}
    whole: Changes = preset.settings if preset else {}
    lay_over(whole, changes)
    return whole


@dataclass(frozen=True)
class Building:
    """What every command that builds stages of a run takes beside what is its own."""

    as_json: AsJson = False
    preset: PresetOption = None
    settings: Settings = None
    seed: Seed = None
    quiet: Quiet = False

    def changes(self, **named: Changes) -> Changes:
        """What is to differ in the configuration; arguments and errors as in `parse_settings`."""
        return parse_settings(self.settings, self.seed, self.preset, **named)


@dataclass(frozen=True)
class InShards(Building):
    """What those commands take whose work is done in shards."""

    engine: EngineName = EngineKind.HERE
    address: Address = None
    workers: Workers = 1
    gpus: Gpus = 0

    def chosen_engine(self) -> Engine:
        """Who does the work; errors as in `engine_of`."""
        return engine_of(self.engine, self.address, self.workers, self.gpus)


def engine_of(kind: EngineKind, address: str | None, workers: int, gpus: float) -> Engine:
    """Who does the work, of `--engine`, `--address`, `--workers` and `--gpus`.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: Nobody answers at the address; this machine was given one or accelerators, or a
            cluster a number of processes.
    """
    if kind is EngineKind.HERE:
        if address is not None:
            raise InputError(f"--address {address}: expected --engine ray with it")
        if gpus:
            raise InputError(f"--gpus {gpus:g}: expected --engine ray with it. Here each of "
                             "--workers has one, as far as there are enough")  # fmt: skip
        if workers == 1:
            return HERE
        from firth.run.processes import Processes

        return Processes(workers)
    if workers != 1:
        raise InputError(
            f"--workers {workers}: expected --engine here with it. A Ray cluster has its own "
            "number of workers (ray start --num-cpus)"
        )
    from firth.run.cluster import Cluster

    return Cluster(address, gpus)


def asked_run(folder: Path, preset: Preset | None, settings: Sequence[str] | None = None) -> Run:
    """A run with what can differ for one question: `origin`, `paper`, and the chunks of a preset.

    Whatever else a preset sets is fixed by the run.

    Raises:
        ConfigError: `--set` names something else.
    """
    given = parse_settings(settings)
    if other := sorted(given.keys() - {"origin", "paper"}):
        fixed = "fixed by the run; only origin.* and paper.* can differ here"
        raise ConfigError("--set", [f"{name}: {fixed}" for name in other])
    chosen = parse_settings(settings, preset=preset)
    asked = {name: chosen.get(name, {}) for name in ("origin", "paper", "retrieve")}
    return Run.open(folder).changed(asked)


def asked_models(preset: Preset | None, *groups: Sequence[str]) -> list[list[str | Run]]:
    """Models as named, in their groups; runs, whose Origin is asked, with a preset's settings.

    Raises:
        InputError: There is a preset, and no run to follow it.
    """
    if preset is None:
        return [[*group] for group in groups]
    asked = [
        [asked_run(Path(m), preset) if (Path(m) / CONFIG).is_file() else m for m in group]
        for group in groups
    ]
    if not any(isinstance(model, Run) for group in asked for model in group):
        raise InputError(f"--preset {preset}: expected a run among the models, to follow it")
    return asked


def changed_run(folder: Path, changes: Changes, *, create: bool = False) -> Run:
    """A run with `changes` in its configuration; they are kept when something is built with them.

    Args:
        folder: Of the run.
        changes: Section → setting → value.
        create: Start a run where there is none.
    """
    if create and not (folder / CONFIG).exists():
        return Run(folder, Config().changed(changes, "options"))
    return Run.open(folder).changed(changes)


def parse_among(
    document: Sequence[str] | None, source: Sequence[str] | None, where: Sequence[str] | None
) -> "Among":
    """Which documents are asked about, of `--document`, `--source` and `--where`."""
    from firth.search.among import Among

    return Among(tuple(document or ()), tuple(source or ()), tuple(where or ()))


def parse_columns(given: Sequence[str] | None) -> dict[str, str]:
    """Ours → the file's, of `--columns`; raise `InputError` where one is not OURS=YOURS."""
    columns = {}
    for text in given or ():
        ours, equals, theirs = text.partition("=")
        if not (ours and equals and theirs) or ours in columns:
            raise InputError(
                f"--columns {text}: expected OURS=YOURS, each of ours once, as sentence1=premise"
            )
        columns[ours] = theirs
    return columns
