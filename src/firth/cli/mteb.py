"""The command that runs tasks of MTEB."""

from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    Force,
    OptionalOutFile,
    PresetOption,
    Quiet,
    asked_models,
    start,
)
from firth.cli.show import show_json
from firth.run.screen import tell
from firth.run.table import table


def mteb(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="As for firth evaluate.", show_default=False),
    ],
    task: Annotated[
        list[str],
        typer.Option(metavar="NAME...", help="Tasks of MTEB of type STS.", show_default=False),
    ],
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    quiet: Quiet = False,
) -> None:
    """Run tasks of MTEB (type STS) on our models, by MTEB's own code."""
    start(quiet, out, force)
    from firth.evaluate.mteb import evaluate_mteb
    from firth.evaluate.results import write_document

    (asked,) = asked_models(preset, models)
    figures = [figure for model in asked for figure in evaluate_mteb(model, task)]
    found = [one.to_dict() for one in figures]
    header = ("task", "split", "subset", "model", "spearman", "pearson", "main score")
    rows = []
    for one in figures:
        values = (one.spearman, one.pearson, one.main_score)
        rows.append([one.task, one.split, one.subset, one.model, *(f"{v:.1f}" for v in values)])
    if as_json:
        show_json(found)
    else:
        tell(table([header, *rows], keys=4))
    if out is not None:
        write_document(out, found)
