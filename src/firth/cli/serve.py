"""Commands that show a run to people and programs: `serve`, `report`."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import Force, OutFile, Quiet, RunFolder, run_folder, start
from firth.run.console import say


def serve(
    run: RunFolder = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8017,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Answer without a token on other addresses, too.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="Name under which clients reach the service. Repeatable.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Serve a run: the web app, an HTTP API, and OpenAI's embeddings endpoint."""
    start(quiet)
    from firth.serve.server import serve as run_server

    run_server(
        run_folder(run), host=host, port=port, auth=not no_auth, allowed=tuple(allowed_host or ())
    )


def report(
    out: OutFile = Path("report.html"),
    run: RunFolder = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a page of HTML about a run: what was read, how good it is, and examples."""
    start(quiet)
    from firth.model import load

    say(f"{load(run_folder(run)).report(out, force)}: written")
