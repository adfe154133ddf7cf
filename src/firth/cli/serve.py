"""The commands that show a run: as a service, and as one page."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    Force,
    OutFile,
    PresetOption,
    Quiet,
    Seed,
    Settings,
    asked_run,
    start,
)
from firth.cli.show import show_json
from firth.run.screen import tell

_Folder = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder of the run.", show_default=False, file_okay=False),
]


def serve(
    folder: _Folder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")] = 8017,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that clients must send. Default: FIRTH_TOKEN of the "
            "environment, if it is set.",
            show_default=False,
        ),
    ] = None,
    open_to_all: Annotated[
        bool, typer.Option("--open", help="Ask no token, though other machines reach --host.")
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="A name under which the service is reached, besides localhost; may be repeated.",
        ),
    ] = None,
    preset: PresetOption = None,
    settings: Settings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show a run in the browser, and answer programs: search, reasons, vectors.

    Needs the extra `serve`. Ctrl+C ends it; what has begun is finished.
    """
    start(quiet)
    from firth.serve.server import serve as serve_run
    from firth.serve.token import read_token

    run = asked_run(folder, preset, settings)
    token = read_token(token_file)

    def ready(address: str) -> None:
        if as_json:
            show_json({"address": address, "run": str(folder), "token": token is not None})
            return
        asked = "; programs send its token" if token else ""
        tell(f"{folder} at {address}  (Ctrl+C ends it{asked})")

    serve_run(
        run, ready, host=host, port=port, token=token, open_to_all=open_to_all, names=name or ()
    )


def report(
    folder: _Folder,
    out: OutFile,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Written by firth evaluate --out. Default: the run's own evaluation, if any.",
            show_default=False,
        ),
    ] = None,
    preset: PresetOption = None,
    settings: Settings = None,
    as_json: AsJson = False,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write a run as one page of HTML: what it read, what scores mean, reasons, search.

    Needs the extra `report`. What the run lacks is left out, and the command that adds it named.
    """
    start(quiet, out, force)
    from firth.report.report import write_report

    run = asked_run(folder, preset, settings)
    found = write_report(run, out, evaluation=evaluation, seed=seed, force=force)
    if as_json:
        lacking = [{"part": part, "command": command} for part, command in found.lacking]
        show_json({"report": str(out), "verdicts": [*found.verdicts], "lacking": lacking})
        return
    lines = [*found.verdicts, f"Report: {out}"]
    lines += [f"Not in it: {part}. To add it: {command}" for part, command in found.lacking]
    tell("\n".join(lines))
