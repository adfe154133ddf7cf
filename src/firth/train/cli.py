"""The command that trains encoders: `train finetune` [torch]."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import AsJson, Force, OutFolder, Quiet, show
from firth.run.errors import require

app = typer.Typer(help="Fine-tune encoders (extra torch).", no_args_is_help=True)


@app.command()
def finetune(
    encoder: Annotated[str, typer.Argument(help="Folder or hub name of an encoder.")],
    data: Annotated[Path, typer.Option(metavar="FILE", help="Labelled pairs or triplets.")],
    out: OutFolder,
    folds: Annotated[
        int | None, typer.Option(min=2, help="Cross-validate instead: number of parts.")
    ] = None,
    leave_out: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Cross-validate instead: leave out one value of this column at a time.",
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Teach an encoder from labels: inference, scored pairs, or triplets."""
    require("torch", "torch", "Training")
    from firth.train.finetune import finetune as run_finetuning
    from firth.train.folds import cross_validate

    if folds is not None or leave_out is not None:
        result = cross_validate(
            encoder, data, out, folds=folds, leave_out=leave_out, epochs=epochs, seed=seed,
            force=force,
        )  # fmt: skip
    else:
        result = run_finetuning(encoder, data, out, epochs=epochs, seed=seed, force=force)
    show(result.as_dict(), as_json, result.text())
