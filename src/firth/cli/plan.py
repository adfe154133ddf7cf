"""The command that says what a run would cost."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.fields import options_of
from firth.cli.options import Building, Force, OptionalOutFile, start
from firth.cli.show import show_json
from firth.run.config import Config
from firth.run.screen import tell

_CONFIG = (".yaml", ".yml")


@options_of(Building)
def plan(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG|INPUT...",
            help="YAML file of a run, as for firth run; or documents: files, folders, globs, "
            "hub:NAME.",
            show_default=False,
        ),
    ],
    words: Annotated[
        int | None,
        typer.Option(
            min=1, help="Words of all documents. Default: what the inputs hold.",
            show_default=False,
        ),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(min=1, help="Their number, instead of --words.", show_default=False),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Pairs of a harvest. Default: none, unless the run has one anyway.",
            show_default=False,
        ),
    ] = None,
    machines: Annotated[
        int, typer.Option(min=1, help="That share what can be shared: the harvest.")
    ] = 1,
    probe: Annotated[
        int,
        typer.Option(min=20_000, help="Words of the probe: more take longer and tell more."),
    ] = 400_000,
    out: OptionalOutFile = None,
    force: Force = False,
    *,
    settings: Building,
) -> None:  # fmt: skip
    """Say what a run would take in time, disk and memory, by building small parts of it.

    A minute or two: every stage is built on random parts of the documents, in a folder that is
    removed. --out is a file of JSON.
    """
    start(settings.quiet, out, force)
    from firth.evaluate.results import write_document
    from firth.plan.plan import plan as make_plan

    changes = settings.changes()
    if len(inputs) == 1 and inputs[0].endswith(_CONFIG):
        config = Config.load(Path(inputs[0])).changed(changes, inputs[0])
    else:
        corpus = {**changes.pop("corpus", {}), "inputs": inputs}
        config = Config().changed({**changes, "corpus": corpus}, "options")
    found = make_plan(
        config, words=words, documents=documents, pairs=pairs, machines=machines, probe_words=probe
    )
    if settings.as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())
    if out is not None:
        write_document(out, found.as_dict())
