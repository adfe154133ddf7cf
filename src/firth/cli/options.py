"""Options that several commands share, and what they mean."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.run.console import say, set_quiet, wrapped
from firth.run.errors import InputError
from firth.run.results import TOP, plain

if TYPE_CHECKING:
    from firth.run.executor import Executor

RunFolder = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="FOLDER",
        help="Folder of the run. Default: $FIRTH_RUN, or the only run in this folder.",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE|FILE",
        help="Change a setting, as SECTION.NAME=VALUE, or all of a .toml file. Repeatable.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no notes.", callback=set_quiet)
]
"""It applies itself: a command only lists it."""
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DataDir = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder with one sub-folder per set.")
]
Top = Annotated[int, typer.Option("--top", min=1, help="Number of results to print.")]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Use only documents that match, such as \"date >= 2020 and author = 'Ann'\".",
    ),
]


def _claimed(context: typer.Context, out: Path | None) -> Path | None:
    """Return the file that `--out` names; raise `InputError` where it cannot be written."""
    if out is not None:
        from firth.run.outputs import claim_output

        claim_output(out, context.params["force"])
    return out


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the result to a file.", callback=_claimed),
]
"""It is looked at before the work starts; a command that has it has `force`, too."""
OutFile = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="File to write.", callback=_claimed)
]
OutFolder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what --out names.", is_eager=True)]
Workers = Annotated[
    int, typer.Option("--workers", min=1, help="Processes of this machine that share the work.")
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="Ray cluster that shares the work, such as `auto`."
    ),
]


def run_folder(run: Path | None) -> Path:
    """Return the folder of the run that a command works on."""
    from firth.run.run import CONFIG

    if run is not None:
        if not str(run).strip() or str(run) == ".":
            raise InputError(f"--run {str(run)!r}: expected the name of a folder for the run")
        return run
    if named := os.environ.get("FIRTH_RUN"):
        return Path(named)
    runs = sorted(path.parent for path in Path().glob(f"*/{CONFIG}"))
    if len(runs) == 1:
        return runs[0]
    names = ", ".join(map(str, runs[:5])) or "none"
    raise InputError(f"no run is named, and this folder has {names}. Name it with --run FOLDER")


def executor_of(workers: int, ray: str | None) -> "Executor":
    """Return what runs the shards of a stage."""
    from firth.run.executor import Local, Processes, Ray

    if ray is not None:
        return Ray(ray)
    return Processes(workers) if workers > 1 else Local()


def show_result(
    result: Any, as_json: bool, top: int = TOP, out: Path | None = None, force: bool = False
) -> None:
    """Write a result to a file, or print its first items as JSON or as text."""
    if out is not None:
        result.save(out, force)
        say(wrapped(f"{out}: {result.summary()}"))
    else:
        show(result, as_json, "" if as_json else result.text(top))


def show(value: Any, as_json: bool, text: str) -> None:
    """Print a value as one JSON document, or a text."""
    say(json.dumps(plain(value), ensure_ascii=False, indent=2, default=str) if as_json else text)
