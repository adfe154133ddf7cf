"""`firth pairs` and `firth relatedness`: choose pairs; explain and predict their scores."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from firth.cli.evaluate import CacheFolder, NoCache, Resamples, open_cache
from firth.cli.options import (
    AsJson,
    DataDir,
    Force,
    OutFile,
    OutFolder,
    Quiet,
    SeedNumber,
    start,
)
from firth.cli.show import show_json
from firth.relatedness.pairs.settings import (
    Growth,
    OverlapMeasure,
    PairPool,
    SampleSettings,
    Strategy,
)
from firth.run.files import read_json
from firth.run.screen import say

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
        show_default=False,
    ),
]
Domain = Annotated[str, typer.Option(help="Column of the file that names a pair's domain.")]


@pair_group.command()
def sample(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="Sentences: .txt (one a line), .tsv, .csv, .jsonl (each also .gz, .zst), a folder "
            "of them, or a run. Pairs: .tsv, .csv, .jsonl.",
            show_default=False,
        ),
    ],
    strategy: Annotated[
        Strategy, typer.Option(help="How pairs are chosen; see docs/pairs.md.", show_default=False)
    ],
    out: OutFile,
    pairs: Annotated[int, typer.Option(min=1, help="How many.")] = 1_000,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column or field of the sentences; twice for pairs. Default: sentence or text; "
            "sentence1 and sentence2.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        OverlapMeasure | None, typer.Option(help="Of overlap. Default: dice; idf for buckets.")
    ] = None,
    min_overlap: Annotated[
        float | None, typer.Option(help="Least overlap. Default: 0.25 for the strategy overlap.")
    ] = None,
    max_overlap: Annotated[
        float | None,
        typer.Option(help="Overlaps are below this. Default: 0.75 for the strategy overlap."),
    ] = None,
    length_difference: Annotated[
        float | None,
        typer.Option(
            help="Largest difference in length, as a share of the longer sentence. Default: 0.25 "
            "for the strategy overlap."
        ),
    ] = None,
    min_words: Annotated[int, typer.Option(help="Fewest words of a sentence.")] = 5,
    max_words: Annotated[int, typer.Option(help="Most words of a sentence.")] = 25,
    synonyms: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Replace words by their most frequent synonym before overlap is measured: lines "
            "of a word and its synonyms (tabs or commas), or wordnet, or wordnet:FOLDER.",
        ),
    ] = None,
    pool: Annotated[
        PairPool, typer.Option(help="Where pairs of sentences are looked for.")
    ] = PairPool.INDEX,
    within: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Pair only sentences with the same value in it."),
    ] = None,
    buckets: Annotated[int, typer.Option(help="Percentile buckets of overlap.")] = 50,
    growth: Annotated[
        Growth, typer.Option(help="Pairs a bucket, from low overlap to high.")
    ] = Growth.UNIFORM,
    steepness: Annotated[
        float, typer.Option(help="Exponential: the last bucket gives so many times the first.")
    ] = 100.0,
    examine: Annotated[
        int | None,
        typer.Option(
            help="Pairs to look at. Default: 20 times --pairs; for pool random a million."
        ),
    ] = None,
    score_column: Annotated[str, typer.Option(help="Column of the scores.")] = "score",
    bins: Annotated[int, typer.Option(help="Bins of the scores.")] = 5,
    score_range: Annotated[tuple[float, float], typer.Option(help="Lowest and highest score.")] = (
        0.0,
        5.0,
    ),
    uses: Annotated[int, typer.Option(help="In how many pairs a sentence may be.")] = 1,
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Choose sentence pairs: as given, at random, by overlap, by buckets of overlap or score.

    --out is a .tsv of the pairs; a report (.json) and a plot (.png) are written beside it.
    """
    start(quiet)
    from firth.relatedness.pairs.sample import claim_sample, sample_pairs

    claim_sample(out, force)
    settings = SampleSettings(
        strategy, pairs, measure, pool, min_overlap, max_overlap, length_difference, min_words,
        max_words, buckets, growth, steepness, examine, bins, score_range, uses, seed,
    )  # fmt: skip
    found = sample_pairs(
        source, settings, columns=column, within=within, score_column=score_column,
        synonyms=synonyms,
    )  # fmt: skip
    written = found.write(out)
    if as_json:
        show_json(found.to_dict())
        return
    say(found.text())
    say("written: " + ", ".join(str(path) for path in written))


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
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Say which shared or related words go with people's scores (Table 4, Figure 2)."""
    start(quiet)
    from firth.relatedness.features import WRITTEN, measure_features
    from firth.run.results import claim_folder, publish

    name = "firth relatedness features"
    claim_folder(out, name, WRITTEN, force)
    found = measure_features(
        pairs,
        vectors,
        spacy,
        data_dir=data_dir,
        domain=domain,
        seed=seed,
        resamples=resamples,
        min_share=min_share,
        command=_command(),
    )
    if not as_json:
        say(found.table().text())
    publish(out, found.write, found.settings, command=name, force=force)
    if as_json:
        show_json(read_json(out / "results.json"))


@group.command()
def models(
    pairs: Pairs,
    out: OutFolder,
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
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Measure models on scored pairs, as they are and fine-tuned on them (Tables 5 and 6)."""
    start(quiet)
    from firth.relatedness.models import WRITTEN, Setting, study_models
    from firth.relatedness.tune import Recipe
    from firth.run.results import claim_folder, publish

    name = "firth relatedness models"
    claim_folder(out, name, WRITTEN, force)
    recipe = None
    if finetune is not None:
        recipe = Recipe(finetune, epochs, batch, learning_rate, train_pairs, seed)
    found = study_models(
        pairs,
        models or (),
        out,
        recipe,
        leave_one_out=leave_one_out,
        data_dir=data_dir,
        domain=domain,
        setting=Setting(folds, seed, resamples),
        cache=open_cache(cache, no_cache),
        command=_command(),
    )
    if not as_json:
        say(found.text())
    publish(out, found.write, found.settings, command=name, force=force)
    if as_json:
        show_json(read_json(out / "results.json"))


@group.command()
def bins(
    pairs: Pairs,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...", help="Other scores of the same pairs, as STS's.", show_default=False
        ),
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
    from firth.run.results import claim_folder, publish

    name = "firth relatedness bins"
    claim_folder(out, name, WRITTEN, force)
    found = compare_in_bins(
        pairs,
        others,
        count,
        only=only,
        data_dir=data_dir,
        domain=domain,
        seed=seed,
        resamples=resamples,
        command=_command(),
    )
    if not as_json:
        say(found.table().text())
    publish(out, found.write, found.settings, command=name, force=force)
    if as_json:
        show_json(read_json(out / "results.json"))


def _command() -> str:
    return shlex.join(["firth", *sys.argv[1:]])
