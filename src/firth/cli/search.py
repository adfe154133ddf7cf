"""Commands that use what was learned: vectors of all sentences, and search."""

from typing import Annotated

import typer

from firth.cli.options import (
    Changes,
    Quiet,
    RunFolder,
    Seed,
    Settings,
    changed_run,
    parse_settings,
    start,
)
from firth.cli.show import show_summary

Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME_OR_PATH",
        help="Folder or hub name of a sentence encoder. Default: the run's Surrogate.",
        show_default=False,
    ),
]


def index(
    folder: RunFolder,
    model: Model = None,
    settings: Settings = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Store the vectors of all sentences of a run, to be searched and compared."""
    start(quiet)
    from firth.index import INDEX
    from firth.pipeline import bring_up_to_date

    named: Changes = {"model": model}
    run = changed_run(folder, parse_settings(settings, seed, index=named))
    for name, outcome in bring_up_to_date(run, INDEX).items():
        show_summary(name, outcome.manifest.summary)
