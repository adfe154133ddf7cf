"""Commands that bring runs into stores, and back."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import AsJson, Quiet, start
from firth.cli.show import show_json
from firth.run.screen import tell

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.", show_default=False)]
Address = Annotated[
    str,
    typer.Argument(
        metavar="ADDRESS", help="As s3://bucket/my-run, gs://…; or a folder.", show_default=False
    ),
]


def push(
    run: Run,
    address: Address,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a run there that was not pulled to here.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove there what only earlier commits needed."),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Put a run into a store (S3, GCS, a shared folder), as a whole or not at all.

    What is there already is not sent again; the same command goes on with what was interrupted.
    """
    start(quiet)
    from firth.run.remote import push as run_push

    done = run_push(run, address, force=force, prune=prune)
    if as_json:
        show_json(done.as_dict())
    else:
        tell(done.text())


def pull(
    address: Address,
    run: Run,
    force: Annotated[
        bool, typer.Option("--force", help="Replace stages and settings that changed here.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Bring a run here from a store, every byte compared with its checksum.

    What is here already is not fetched; the same command goes on with what was interrupted.
    """
    start(quiet)
    from firth.run.remote import pull as run_pull

    done = run_pull(address, run, force=force)
    if as_json:
        show_json(done.as_dict())
    else:
        tell(done.text())
