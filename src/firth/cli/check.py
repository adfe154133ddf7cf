"""The command that compares models without labels."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    Force,
    OptionalOutFile,
    PresetOption,
    Quiet,
    Seed,
    asked_models,
    start,
)
from firth.cli.show import show_json
from firth.run.screen import tell


def check(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="As for firth evaluate.", show_default=False),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--run", help="Run whose held-out documents are asked about.", show_default=False,
            file_okay=False,
        ),
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT...",
            help="Or documents that no model was trained on: files, folders, globs, hub:NAME.",
            show_default=False,
        ),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option(min=1, help="Most items of a kind. Default: the run's (2,000).",
                     show_default=False),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Compare all others with this one. Default: the first.",
            show_default=False,
        ),
    ] = None,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Say which model is better on documents of your own, without labels.

    --out is a file of JSON.
    """
    start(quiet, out, force)
    from firth.evaluate.label_free import check as run_check
    from firth.evaluate.results import write_document

    (asked,) = asked_models(preset, models)
    found = run_check(
        asked, folder, documents or (), items=items, against=against, seed=seed
    )  # fmt: skip
    if as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())
    if out is not None:
        write_document(out, found.as_dict())
