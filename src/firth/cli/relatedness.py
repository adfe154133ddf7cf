"""`firth pairs` and `firth relatedness`: choose pairs; explain and predict their scores."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.evaluate import CacheFolder, NoCache, Resamples, open_cache
from firth.cli.fields import options_of
from firth.cli.options import (
    AsJson,
    DataDir,
    Force,
    OutFile,
    OutFolder,
    PresetOption,
    Quiet,
    SeedNumber,
    asked_models,
    start,
)
from firth.cli.show import show_json
from firth.relatedness.pairs.settings import SampleSettings
from firth.run.files import read_json
from firth.run.screen import tell

pair_group = typer.Typer(help="Choose sentence pairs for annotation.", no_args_is_help=True)
group = typer.Typer(
    help="What makes sentences related, and how well models tell.", no_args_is_help=True
)

Pairs = Annotated[
    str,
    typer.Argument(
        metavar="PAIRS",
        help="A file of scored pairs (sentence1, sentence2, score; .tsv or .csv), or the name of "
        "an evaluation set.",
    ),
]
Domain = Annotated[str, typer.Option(help="Column of the file that names a pair's domain.")]


@pair_group.command()
@options_of(SampleSettings)
def sample(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="Sentences: .txt (one a line), .tsv, .csv, .jsonl (each also .gz, .zst), a folder "
            "of them, or a run. Pairs: .tsv, .csv, .jsonl.",
        ),
    ],
    settings: SampleSettings,
    out: OutFile,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column or field of the sentences; twice for pairs. Default: sentence or text; "
            "sentence1 and sentence2."
        ),
    ] = None,
    synonyms: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Replace words by their most frequent synonym before overlap is measured: lines "
            "of a word and its synonyms (tabs or commas), or wordnet, or wordnet:FOLDER.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Pair only sentences with the same value in it."),
    ] = None,
    score_column: Annotated[str, typer.Option(help="Column of the scores.")] = "score",
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Choose sentence pairs: as given, at random, by overlap, by buckets of overlap or score.

    --out is a .tsv of the pairs; a report (.json) and a plot (.png) are written beside it.
    """
    start(quiet)
    from firth.relatedness.pairs.sample import claim_sample, sample_pairs

    claim_sample(out, force)
    found = sample_pairs(
        source, settings, columns=column, within=within, score_column=score_column,
        synonyms=synonyms,
    )  # fmt: skip
    written = found.write(out)
    if as_json:
        show_json(found.to_dict())
        return
    tell(found.text())
    tell("written: " + ", ".join(str(path) for path in written))


@group.command()
def features(
    pairs: Pairs,
    out: OutFolder,
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
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Say which shared or related words go with people's scores (Table 4, Figure 2)."""
    start(quiet)
    from firth.relatedness.features import WRITTEN, measure_features
    from firth.run.results import claim_folder

    name = "firth relatedness features"
    claim_folder(out, name, WRITTEN, force)
    found = measure_features(
        pairs, vectors, spacy, data_dir=data_dir, domain=domain, seed=seed, resamples=resamples,
        min_share=min_share, command=_command(),
    )  # fmt: skip
    _finish(found, found.table().text(), out, name, as_json, force)


@group.command()
def models(
    pairs: Pairs,
    out: OutFolder,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="As firth evaluate takes them. Default: Dice, tf-idf and GloVe (mean, max).",
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
        typer.Option(help="Peak rate. Default: 2e-5, or 5e-4 of word vectors."),
    ] = None,
    train_pairs: Annotated[
        int | None, typer.Option(min=2, help="At most so many training pairs a fold. Default: all.")
    ] = None,
    data_dir: DataDir = None,
    domain: Domain = "subtask",
    resamples: Resamples = 1_000,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    preset: PresetOption = None,
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Measure models on scored pairs, as they are and fine-tuned on them (Tables 5 and 6)."""
    start(quiet)
    from firth.relatedness.models import WRITTEN, Setting, study_models
    from firth.relatedness.tune import Recipe
    from firth.run.results import claim_folder

    name = "firth relatedness models"
    claim_folder(out, name, WRITTEN, force)
    recipe = None
    if finetune is not None:
        recipe = Recipe(finetune, epochs, batch, learning_rate, train_pairs, seed)
    (asked,) = asked_models(preset, models or [])
    found = study_models(
        pairs, asked, out, recipe, leave_one_out=leave_one_out, data_dir=data_dir,
        domain=domain, setting=Setting(folds, seed, resamples), cache=open_cache(cache, no_cache),
        command=_command(),
    )  # fmt: skip
    _finish(found, found.text(), out, name, as_json, force)


@group.command()
def bins(
    pairs: Pairs,
    others: Annotated[
        list[str],
        typer.Argument(metavar="OTHER...", help="Other scores of the same pairs, as STS's."),
    ],
    out: OutFolder,
    count: Annotated[int, typer.Option("--bins", min=1, help="How many bins of OTHER.")] = 5,
    only: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="Look only for pairs of this domain.")
    ] = None,
    data_dir: DataDir = None,
    domain: Domain = "subtask",
    resamples: Resamples = 1_000,
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Compare two kinds of scores of the same pairs within bins, as relatedness and similarity."""
    start(quiet)
    from firth.relatedness.bins import WRITTEN, compare_in_bins
    from firth.run.results import claim_folder

    name = "firth relatedness bins"
    claim_folder(out, name, WRITTEN, force)
    found = compare_in_bins(
        pairs, others, count, only=only, data_dir=data_dir, domain=domain, seed=seed,
        resamples=resamples, command=_command(),
    )  # fmt: skip
    _finish(found, found.table().text(), out, name, as_json, force)


def _finish(found: Any, text: str, out: Path, name: str, as_json: bool, force: bool) -> None:
    """Show and write results; as JSON, what was written."""
    from firth.run.results import publish

    if not as_json:
        tell(text)
    publish(out, found.write, found.settings, command=name, force=force)
    if as_json:
        show_json(read_json(out / "results.json"))


def _command() -> str:
    return shlex.join(["firth", *sys.argv[1:]])
