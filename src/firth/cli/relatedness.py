"""`firth relatedness`: what explains people's scores of sentence pairs, and how well models do."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from firth.cli.evaluate import CacheFolder, NoCache, Resamples, open_cache
from firth.cli.options import Quiet, Seed, start
from firth.run.screen import say

group = typer.Typer(
    help="What makes sentences related, and how well models tell.", no_args_is_help=True
)

Pairs = Annotated[
    str,
    typer.Argument(
        metavar="PAIRS",
        help="A file of scored pairs (sentence1, sentence2, score; .tsv or .csv), or the name of "
        "an evaluation set.",
        show_default=False,
    ),
]
Out = Annotated[
    Path, typer.Option(help="Folder of the results.", show_default=False, file_okay=False)
]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder of evaluation sets, where PAIRS is the name of one.")
]
Domain = Annotated[str, typer.Option(help="Column of the file that names a pair's domain.")]


@group.command()
def features(
    pairs: Pairs,
    out: Out,
    vectors: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="Word vectors: baseline:glove, baseline:vectors@FILE, baseline:NAME@RUN; +content "
            "leaves stop words out.",
        ),
    ] = "baseline:glove",
    spacy: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="spaCy pipeline, by name or folder. Default: the English one installed.",
            show_default=False,
        ),
    ] = None,
    min_share: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Show parts of speech that both have in more of the pairs than this."
        ),
    ] = 0.1,
    data_dir: DataDir = None,
    domain: Domain = "subtask",
    resamples: Resamples = 1_000,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Say which shared or related words go with people's scores (Table 4, Figure 2)."""
    start(quiet)
    from firth.relatedness.features.features import measure_features

    found = measure_features(
        pairs,
        vectors,
        spacy,
        data_dir=data_dir,
        domain=domain,
        seed=13 if seed is None else seed,
        resamples=resamples,
        min_share=min_share,
        command=shlex.join(["firth", *sys.argv[1:]]),
    )
    say(found.table().text())
    found.write(out)


@group.command()
def models(
    pairs: Pairs,
    out: Out,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="As firth evaluate takes them. Default: Dice, tf-idf and GloVe (mean, max).",
            show_default=False,
        ),
    ] = None,
    finetune: Annotated[
        str | None,
        typer.Option(
            metavar="BASE",
            help="Fine-tune this encoder (folder or hub name) on the pairs, cross-validated.",
        ),
    ] = None,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out/--no-leave-one-out",
            help="Fine-tune without one domain at a time too, where there are several.",
        ),
    ] = True,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training pairs.")] = 1,
    batch: Annotated[int, typer.Option(min=1, help="Training pairs a step.")] = 16,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Peak rate. Default: 2e-5, or 2e-3 for static word vectors."),
    ] = None,
    train_pairs: Annotated[
        int | None, typer.Option(min=2, help="At most so many training pairs a fold. Default: all.")
    ] = None,
    data_dir: DataDir = None,
    domain: Domain = "subtask",
    resamples: Resamples = 1_000,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Measure models on scored pairs, as they are and fine-tuned on them (Tables 5 and 6)."""
    start(quiet)
    from firth.relatedness.models.study import Setting, study_models
    from firth.relatedness.models.tune import Recipe

    number = 13 if seed is None else seed
    recipe = None
    if finetune is not None:
        recipe = Recipe(finetune, epochs, batch, learning_rate, train_pairs, number)
    found = study_models(
        pairs,
        models or (),
        out,
        recipe,
        leave_one_out=leave_one_out,
        data_dir=data_dir,
        domain=domain,
        setting=Setting(folds, number, resamples),
        cache=open_cache(cache, no_cache),
        command=shlex.join(["firth", *sys.argv[1:]]),
    )
    say(found.text())
    found.write(out)


@group.command()
def bins(
    pairs: Pairs,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...", help="Other scores of the same pairs, as STS's.", show_default=False
        ),
    ],
    out: Out,
    count: Annotated[int, typer.Option("--bins", min=1, help="How many bins of OTHER.")] = 5,
    only: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="Look only for pairs of this domain.")
    ] = None,
    data_dir: DataDir = None,
    domain: Domain = "subtask",
    resamples: Resamples = 1_000,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Compare two kinds of scores of the same pairs within bins, as relatedness and similarity."""
    start(quiet)
    from firth.relatedness.models.bins import compare_in_bins

    found = compare_in_bins(
        pairs,
        others,
        count,
        only=only,
        data_dir=data_dir,
        domain=domain,
        seed=13 if seed is None else seed,
        resamples=resamples,
        command=shlex.join(["firth", *sys.argv[1:]]),
    )
    say(found.table().text())
    found.write(out)
