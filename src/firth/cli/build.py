"""Commands that keep a run, and show it to people and programs."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    Changes,
    Force,
    OutFile,
    Quiet,
    RayAddress,
    RunFolder,
    Workers,
    executor_of,
    run_folder,
    show,
    show_result,
)
from firth.run.console import say
from firth.run.errors import InputError

Inputs = Annotated[
    list[str] | None,
    typer.Argument(metavar="INPUT...", help="Files, folders, globs, or demo:speeches."),
]


def build(
    inputs: Inputs = None,
    run: RunFolder = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Pretrained encoder that the scorer uses: folder, file, hub name, name of a "
            "package's model such as use-multilingual, or http://HOST/v1#MODEL. `none` learns from "
            "the text alone. Default of a new run: `auto`, the best installed one that reads the "
            "language.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(metavar="FIELD,...", help="Fields of tables and records that hold the text."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Field of the titles of documents.")
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Field that names documents.")
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Field of the dates of documents.")
    ] = None,
    lines: Annotated[
        bool | None,
        typer.Option("--lines", help="Each line of a text file is a document.", show_default=False),
    ] = None,
    changes: Changes = None,
    workers: Workers = 1,
    ray: RayAddress = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from documents: a scorer, an encoder, an index and its calibration.

    What is up to date is not built again. An interrupted build is continued by the same command.
    """
    from firth.corpus.read import named_files
    from firth.pipeline.stages import bring_up_to_date
    from firth.run.run import opened_with

    folder = run_folder(run)
    opened = opened_with(folder, changes or [])
    documents = named_files(inputs) if inputs else None
    if encoder is not None:
        opened = opened.changed({"encoder": {"model": encoder}})
    fields = {"text_field": text, "title_field": title, "id_field": id, "date_field": date}
    named = {name: value for name, value in {**fields, "lines": lines}.items() if value is not None}
    opened = opened.changed({"corpus": named}) if named else opened
    show_result(bring_up_to_date(opened, documents, executor_of(workers, ray)), as_json)


def add(
    inputs: Inputs = None, run: RunFolder = None, as_json: AsJson = False, quiet: Quiet = False
) -> None:
    """Add documents to a run, or replace those with the same id. Models stay as they are."""
    from firth.corpus.read import named_files
    from firth.model import load

    if not inputs:
        raise InputError("expected files, folders or globs of documents to add")
    show_result(load(run_folder(run)).add(named_files(inputs)), as_json)


def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of documents.")],
    run: RunFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Remove documents from a run."""
    from firth.model import load

    show_result(load(run_folder(run)).remove(ids), as_json)


def status(run: RunFolder = None, as_json: AsJson = False) -> None:
    """Show the documents of a run, which parts are built, and what to run next."""
    from firth.pipeline.stages import status as status_of
    from firth.run.run import Run

    show_result(status_of(Run.open(run_folder(run))), as_json)


def verify(run: RunFolder = None, as_json: AsJson = False) -> None:
    """Read every byte of a run and compare it with what was written."""
    from firth.pipeline.stages import verify as verify_run
    from firth.run.run import Run

    problems = verify_run(Run.open(run_folder(run)))
    states = {part: "; ".join(lines) or "as it was written" for part, lines in problems.items()}
    show(problems, as_json, "\n".join(f"{part}: {state}" for part, state in states.items()))
    if any(problems.values()):
        raise typer.Exit(1)


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
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes for quick answers, and for slow ones.")
    ] = 1,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Time until an answer; then its process is killed.")
    ] = 5.0,
    quiet: Quiet = False,
) -> None:
    """Serve a run: the web app, an HTTP API, and OpenAI's embeddings endpoint."""
    from firth.serve.server import serve as run_server

    run_server(
        run_folder(run),
        host=host,
        port=port,
        auth=not no_auth,
        allowed=tuple(allowed_host or ()),
        workers=workers,
        seconds=seconds,
    )


def mcp(run: RunFolder = None) -> None:
    """Let an assistant search a run and compare texts: a server of the Model Context Protocol."""
    from firth.serve.mcp import serve_tools

    serve_tools(run_folder(run))


def report(
    out: OutFile = Path("report.html"),
    run: RunFolder = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a page of HTML about a run: what was read, how good it is, and examples."""
    from firth.model import load

    say(f"{load(run_folder(run)).report(out, force)}: written")
