"""Options that several commands share, each declared once, and what they do."""

from collections.abc import Sequence
from copy import deepcopy
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.run import progress
from firth.run.config import Config, read_yaml
from firth.run.errors import ConfigError, InputError
from firth.run.files import claim_file
from firth.run.run import CONFIG, Run

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

Changes = dict[str, Any]


class Preset(StrEnum):
    """Settings that belong together."""

    PAPER = "paper"
    """Origin as printed: 20,000 chunks screened, 500 contexts a sentence, all λ = 1, and the cosine
    of raw log-likelihoods."""


PresetOption = Annotated[
    Preset | None,
    typer.Option("--preset", help="`paper`: Origin as printed (docs/origin-paper.md)."),
]
PRESETS: dict[Preset, Changes] = {
    Preset.PAPER: {
        "corpus": {"window": 1},
        "retrieve": {"chunks": 20_000},
        "origin": {"method": "paper"},
        "paper": {
            "contexts": 500,
            "shortlist": 1_000,
            "selection": "two-step",
            "diverse": True,
            "max_jaccard": 0.5,
            "weights": {"coherence": 1.0, "sentence": 1.0, "left": 1.0, "right": 1.0},
            "pmi": False,
            "measure": "cosine",
        },
    }
}


def with_preset(preset: Preset | None, changes: Changes) -> Changes:
    """The settings of a preset, with the user's own laid over them."""
    found: Changes = deepcopy(PRESETS[preset]) if preset else {}
    for section, values in changes.items():
        known = found.get(section)
        found[section] = {**known, **values} if isinstance(known, dict) else values
    return found


def start(quiet: bool, out: Path | None = None, force: bool = False) -> None:
    """Apply `--quiet`; refuse, before any work, a file that may not or cannot be written."""
    progress.set_quiet(quiet)
    if out is not None:
        claim_file(out, force)


def parse_settings(
    settings: Sequence[str] | None, seed: int | None = None, **named: Changes
) -> Changes:
    """`["paper.contexts=16"]` → {"paper": {"contexts": 16}}; values are YAML.

    Args:
        settings: As given to `--set`.
        seed: As given to `--seed`.
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
            section[keys[-1]] = read_yaml(value)
        except ValueError:
            problems.append(f"{path}: got {value!r}, which is not a YAML value")
    if problems:
        raise ConfigError("--set", problems)
    for name, given in named.items():
        chosen = {key: value for key, value in given.items() if value is not None}
        if chosen:
            changes[name] = {**changes.get(name, {}), **chosen}
    return changes


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
