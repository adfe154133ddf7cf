"""The command that makes tables and figures of the papers again."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    DataDir,
    Force,
    OptionalOutFolder,
    PresetOption,
    Quiet,
    Seed,
    Settings,
    changed_run,
    parse_settings,
    start,
)
from firth.cli.show import show_json
from firth.run.errors import ConfigError
from firth.run.screen import tell


def reproduce(
    name: Annotated[str, typer.Argument(help="Which; see docs/reproduce.md.")],
    folder: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of the run; str-… need none.", file_okay=False),
    ] = None,
    data_dir: DataDir = None,
    out: OptionalOutFolder = None,
    split: Annotated[
        str | None,
        typer.Option(help="Of STSb: dev, for choosing, or test, as in the paper. Default: test."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=10, help="Measure on so many random pairs. Default: on all.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="What is varied: words of the corpus, as 100K,1M,10% (table5), contexts (table6), "
            "harvested pairs (table7).",
            show_default=False,
        ),
    ] = None,
    contexts: Annotated[
        int | None, typer.Option(min=1, help="|C_s| where it is fixed. Default: 64.")
    ] = None,
    shortlist: Annotated[
        int | None,
        typer.Option(
            min=1, help="Contexts that get their terms. Default: twice the largest |C_s|."
        ),
    ] = None,
    lambdas: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,N,N",
            help="Weights of Eq. 3 (discriminative, sentence, left, right), or `run` for those of "
            "the run. Default: all 1.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Folder or hub name of a causal language model, in the place of the run's "
            "generator.",
            show_default=False,
        ),
    ] = None,
    gguf_file: Annotated[
        str | None, typer.Option(help="The GGUF file inside --model.", show_default=False)
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_PATH",
            help="Encoder to train: folder or hub name (str-table5, str-table6, table7, "
            "siamese-vs-cross); the last two also take transformer, table7 also static.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Word vectors of str-table4. Default: baseline:glove."),
    ] = None,
    train_pairs: Annotated[
        int | None,
        typer.Option(min=2, help="At most so many training pairs a fold: str-table5, str-table6."),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    settings: Settings = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Make a table or figure of a paper again: train what it compares, measure, plot.

    --out is RUN/reproduce/NAME by default, or reproduce/NAME.
    """
    start(quiet)
    from firth.reproduce.options import Options
    from firth.reproduce.registry import find_experiment
    from firth.reproduce.registry import reproduce as run_experiment

    asked = Options(
        split=split,
        pairs=pairs,
        sizes=None if sizes is None else tuple(filter(None, sizes.replace(" ", "").split(","))),
        contexts=contexts,
        shortlist=shortlist,
        lambdas=lambdas,
        model=model,
        gguf_file=gguf_file,
        base=base,
        vectors=vectors,
        train_pairs=train_pairs,
    )
    asked.check(name, find_experiment(name).takes)
    changes = parse_settings(settings, preset=preset)
    if folder is None and changes:
        raise ConfigError("--set", ["got no --run; expected the run whose settings change"])
    run = None if folder is None else changed_run(folder, changes)
    report = run_experiment(name, run, data_dir, out, options=asked, seed=seed, force=force)
    if as_json:
        show_json(report.to_dict())
    else:
        tell(report.text())
