"""Commands that measure: models against people, and models against each other."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.options import (
    AsJson,
    DataDir,
    Force,
    OptionalOutFile,
    OptionalOutFolder,
    OwnColumns,
    PresetOption,
    Quiet,
    Seed,
    asked_models,
    parse_columns,
    start,
)
from firth.cli.show import show_json
from firth.run.errors import InputError
from firth.run.screen import tell

if TYPE_CHECKING:
    from firth.evaluate.cache import Cache

CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder of what was computed before. Default: $FIRTH_CACHE, or the user's own.",
        show_default=False,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Compute everything anew.")]
Resamples = Annotated[int, typer.Option(min=1, help="Bootstrap resamples of each interval.")]
Subtasks = Annotated[bool, typer.Option("--subtasks", help="The subtasks too.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME...",
        help="Evaluation sets, or all, or files of your own; see docs/evaluate.md.",
        show_default=False,
    ),
]


def evaluate(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="Runs (Origin), Surrogates or any sentence-transformers path or name, "
            "baseline:NAME, baseline:all, baseline:all@RUN.",
            show_default=False,
        ),
    ] = None,
    task: Tasks = None,
    columns: OwnColumns = None,
    out: OptionalOutFolder = None,
    data_dir: DataDir = None,
    split: Annotated[
        str | None, typer.Option(help="train, dev or test. Default: the one usually reported.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="Leave out rows whose texts stand in a row of these sets, as sts-b:dev.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=2, help="Take so many random rows of each set. Default: all."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL,MODEL,...",
            help="Models that differ in their seed: also report mean and spread. May be repeated.",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Compare all others with this one in pairs.")
    ] = None,
    subtasks: Subtasks = False,
    aggregate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW",
            help="Also report one figure of the parts of a set: mean, weighted, 10-fold or "
            "cross-topic. May be repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
    resamples: Resamples = 1_000,
    leakage: Annotated[
        bool,
        typer.Option(
            "--leakage/--no-leakage", help="Look for evaluation texts in the models' corpora."
        ),
    ] = True,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    preset: PresetOption = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Compare models' scores with human ratings, with 95 % intervals.

    --out is a folder of JSON, similarities, tables and plots.
    """
    start(quiet)
    if not task:
        raise InputError("expected --task NAME..., as --task sts-b lee, or --task all")
    named = _groups(group or ())
    if not models and not named:
        raise InputError(
            "expected MODEL... before --task, as firth evaluate baseline:dice --task lee"
        )
    asked, *members = asked_models(preset, models or [], *named.values())
    from firth.evaluate.evaluate import evaluate_models
    from firth.evaluate.figures import parse_aggregates
    from firth.evaluate.report import COMMAND, WRITTEN
    from firth.run.results import claim_folder

    if out is not None:
        claim_folder(out, COMMAND, WRITTEN, force)
    found = evaluate_models(
        asked,
        task,
        data_dir,
        groups=dict(zip(named, members, strict=True)),
        against=against,
        split=split,
        without=without or (),
        pairs=pairs,
        resamples=resamples,
        seed=13 if seed is None else seed,
        command=shlex.join(["firth", *sys.argv[1:]]),
        cache=open_cache(cache, no_cache),
        leakage=leakage,
        aggregates=parse_aggregates(aggregate or ()),
        columns=parse_columns(columns),
    )
    if as_json:
        show_json(found.to_dict())
    else:
        tell(found.text(subtasks=subtasks))
    if out is not None:
        found.write(out, force=force)


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="A folder of firth evaluate --out, or its JSON.", show_default=False
        ),
    ],
    second: Annotated[
        Path | None,
        typer.Argument(
            metavar="B", help="Another one. Default: the models of A.", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Only comparisons with this model.")
    ] = None,
    subtasks: Subtasks = False,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Also give the models' means over these sets, and their differences.",
        ),
    ] = None,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    resamples: Annotated[
        int | None, typer.Option(min=1, help="Bootstrap resamples. Default: those of A.")
    ] = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Say which of two models is ahead on each set, and by how much (paired bootstrap)."""
    start(quiet, out, force)
    from firth.evaluate.comparison import compare_saved
    from firth.evaluate.results import write_document

    found = compare_saved(
        first,
        second,
        against=against,
        subtasks=subtasks,
        mean=[name.strip() for name in mean.split(",")] if mean is not None else (),
        seed=seed,
        resamples=resamples,
        cache=open_cache(cache, no_cache),
    )
    if as_json:
        show_json(found.to_dict())
    else:
        for line in (*found.averages, *found.differences):
            tell(str(line))
    if out is not None:
        write_document(out, found.to_dict())


def leakage(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A run, a Parquet file of pairs, or files of documents.",
            show_default=False,
        ),
    ],
    task: Tasks = None,
    columns: OwnColumns = None,
    data_dir: DataDir = None,
    examples: Annotated[int, typer.Option(min=0, help="Examples to show of each set.")] = 3,
    min_words: Annotated[
        int, typer.Option(min=2, help="Texts of fewer words are not looked for.")
    ] = 6,
    threshold: Annotated[
        float, typer.Option(min=0.1, max=1, help="Least Jaccard similarity that is near.")
    ] = 0.7,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Say which evaluation texts a training text holds, exactly or nearly: in all sets, unless
    some are named."""
    start(quiet, out, force)
    from firth.evaluate.leakage import find_leakage, training_of
    from firth.evaluate.load import select_every_split, summary
    from firth.evaluate.results import write_document

    training = training_of(source)
    sets, left_out = select_every_split(task or ["all"], data_dir, parse_columns(columns))
    found = find_leakage(training, sets, open_cache(cache, no_cache), min_words, threshold)
    if as_json:
        show_json(found.to_dict(examples=True))
    else:
        for one in found.sets:
            tell(str(one))
            for match in found.examples[one.task, one.split][:examples]:
                tell(f"    {match.kind} ({match.similarity:.2f}): {match.text}")
                if match.sentence != match.text:
                    tell(f"        {match.sentence}")
        for line in summary(left_out):
            tell(f"({line})")
    if out is not None:
        write_document(out, found.to_dict(examples=True))


def _groups(given: Sequence[str]) -> dict[str, list[str]]:
    groups = {}
    for text in given:
        name, equals, members = text.partition("=")
        models = [member.strip() for member in members.split(",") if member.strip()]
        several = [model for model in models if model.partition("@")[0] == "baseline:all"]
        if several:
            raise InputError(
                f"--group {text}: {several[0]} stands for several models, and a group is of models "
                "that differ in their seed only. Name each of them"
            )
        if not equals or not name or len(models) < 2:
            raise InputError(
                f"--group {text}: expected NAME=MODEL,MODEL,... with at least two models"
            )
        groups[name] = models
    return groups


def open_cache(folder: Path | None, none: bool) -> "Cache":
    """The cache that `--cache` and `--no-cache` ask for; raise `InputError` if both do."""
    from firth.evaluate.cache import Cache
    from firth.run.files import cache_folder

    if none and folder is not None:
        raise InputError("got both --cache and --no-cache; expected one of them")
    return Cache(None if none else folder or cache_folder())
