"""The command that fine-tunes: an encoder, labels, a folder."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    DataDir,
    Force,
    OutFolder,
    OwnColumns,
    Quiet,
    parse_columns,
    start,
)
from firth.cli.show import show_json
from firth.finetune.recipe import Kind, Objective
from firth.run.errors import InputError
from firth.run.screen import tell


def finetune(
    kind: Annotated[Kind, typer.Argument(help="What the labels are.", show_default=False)],
    base: Annotated[
        str,
        typer.Argument(
            metavar="START",
            help="RUN/surrogate, folder or hub name of an encoder; `static` or `transformer`, "
            "made of what --run has learned; scratch: before either: the same, its weights random.",
            show_default=False,
        ),
    ],
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            help="Known sets (sts-b, snli, ...) or files of your own, either with :SPLIT. Default: "
            "the usual ones; pairs has none.",
            show_default=False,
        ),
    ] = None,
    *,
    out: OutFolder,
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="Set or file that chooses the best weights. Default: the data's own, or drawn.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Set or file that measures; as --dev.",
                     show_default=False),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Run that `static` or `transformer` is made of.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    columns: OwnColumns = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option("--range", metavar="LOW HIGH",
                     help="Lowest and highest score of your files. Default: as found.",
                     show_default=False),
    ] = None,
    share: Annotated[
        float,
        typer.Option(min=0, max=0.4, help="Share of the rows drawn for each of dev and test where "
                     "there is none (with --by whole groups, for dev); 0: neither."),
    ] = 0.1,
    apart: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Draw whole groups, not rows: a column of your files, or `subtask` of a known "
            "set.",
            show_default=False,
        ),
    ] = None,
    objective: Annotated[
        Objective | None,
        typer.Option(
            help="nli: in-batch, softmax (the paper's); sts, pairs: l2, cosent, angle; triplets: "
            "triplet, in-batch. Default: the first.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the rows. Default: 4; 1 of nli and triplets.",
                     show_default=False),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Rows a step. Default: 16; 64 of in-batch.", show_default=False),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Adam's, at its peak. Default: 2e-5; 5e-4 of random weights and word "
                     "vectors, but of these 2e-3 for nli and triplets.", show_default=False),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Looks at dev, of ten, without a better figure after which "
                     "training ends. Default: never.", show_default=False),
    ] = None,
    parts: Annotated[
        int,
        typer.Option(min=1, help="In which a Transformer works on a step's rows: memory is that of "
                     "one, and processes that torchrun starts share them."),
    ] = 1,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Learn from so many random rows.", show_default=False),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Cross-validate: so many folds of rows, no model is kept.",
                     show_default=False),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Cross-validate: leave one group out in turn; a column of your files, or "
            "`subtask` of a known set.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        list[int] | None,
        typer.Option("--seed", "--seeds", min=0, metavar="SEED...",
                     help="Of every random choice; several train a model each, and the best by dev "
                     "is kept. Default: 13.", show_default=False),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=1, help="Bootstrap resamples of each interval.")
    ] = 1_000,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Fine-tune an encoder on labels: the best by dev is kept, as a sentence-transformers folder.

    What stopped continues where it was, with the same result. With --folds or --by it is
    cross-validated instead.
    """
    start(quiet)
    named, chosen = parse_columns(columns), seeds or [13]
    if folds is None and by is None:
        from firth.finetune.finetune import finetune as run_finetune

        found = run_finetune(
            kind, base, out, data=data or (), dev=dev, test=test, run=run, data_dir=data_dir,
            columns=named, score_range=score_range, share=share, apart=apart,
            objective=objective, epochs=epochs, batch=batch, learning_rate=learning_rate,
            patience=patience, parts=parts, seeds=chosen, limit=limit, resamples=resamples,
            force=force,
        )  # fmt: skip
        shown, text = found.report, found.text()
    else:
        _refuse(folds, by, apart, dev, test, chosen)
        from firth.finetune.folds import FOLDS, cross_validate

        crossed = cross_validate(
            kind, base, out, data=data or (), folds=folds or FOLDS, by=by, run=run,
            data_dir=data_dir, columns=named, score_range=score_range, share=share,
            objective=objective, epochs=epochs, batch=batch, learning_rate=learning_rate,
            patience=patience, parts=parts, seed=chosen[0], limit=limit, resamples=resamples,
            force=force,
        )  # fmt: skip
        shown, text = crossed.report, crossed.text()
    if as_json:
        show_json(dict(shown))
    else:
        tell(text)


def _refuse(
    folds: int | None, by: str | None, apart: str | None, dev: str | None, test: str | None,
    seeds: list[int],
) -> None:  # fmt: skip
    if folds is not None and by is not None:
        raise InputError("got both --folds and --by; expected one of them")
    if apart is not None:
        raise InputError("got --apart with --folds or --by; expected --by alone: it keeps groups "
                         "apart, those that choose too")  # fmt: skip
    if dev is not None or test is not None:
        raise InputError("got --dev or --test with --folds or --by, which make both of the rows")
    if len(seeds) > 1:
        raise InputError(f"got seeds {', '.join(map(str, seeds))}; cross-validation takes one")
