"""Commands that measure: models against people, and models against each other."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.options import Quiet, Seed, start
from firth.run.errors import InputError
from firth.run.screen import say

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
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help="Evaluation sets, or all; see docs/evaluate.md.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write JSON, similarities, tables and plots to this folder."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of evaluation sets.")] = None,
    split: Annotated[
        str | None, typer.Option(help="train, dev or test. Default: the one usually reported.")
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
    subtasks: Annotated[bool, typer.Option("--subtasks", help="Show the subtasks too.")] = False,
    aggregate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW",
            help="Also report one figure of the parts of a set: mean, weighted, 10-fold or "
            "cross-topic. May be repeated.",
            show_default=False,
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results to this JSON file.")
    ] = None,
    resamples: Resamples = 1_000,
    leakage: Annotated[
        bool,
        typer.Option(
            "--leakage/--no-leakage", help="Look for evaluation texts in the models' corpora."
        ),
    ] = True,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Compare models' scores with human ratings, with 95 % intervals."""
    start(quiet, json_file)
    if not task:
        raise InputError("expected --task NAME..., as --task sts-b lee, or --task all")
    groups = _groups(group or ())
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: a file; expected a folder")
    if not models and not groups:
        raise InputError(
            "expected MODEL... before --task, as firth evaluate baseline:dice --task lee"
        )
    from firth.evaluate.aggregate import parse_aggregates
    from firth.evaluate.evaluate import evaluate_models

    aggregates = parse_aggregates(aggregate or ())
    found = evaluate_models(
        models or [],
        task,
        data_dir,
        groups=groups,
        against=against,
        split=split,
        pairs=pairs,
        resamples=resamples,
        seed=13 if seed is None else seed,
        command=shlex.join(["firth", *sys.argv[1:]]),
        cache=open_cache(cache, no_cache),
        leakage=leakage,
        aggregates=aggregates,
    )
    say(found.text(subtasks=subtasks))
    if json_file is not None:
        found.to_json(json_file)
    if out is not None:
        found.write(out)


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
    subtasks: Annotated[bool, typer.Option("--subtasks", help="Compare the subtasks too.")] = False,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Also give the models' means over these sets, and their differences.",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the differences to this JSON file.")
    ] = None,
    resamples: Annotated[
        int | None, typer.Option(min=1, help="Bootstrap resamples. Default: those of A.")
    ] = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Say which of two models is ahead on each set, and by how much (paired bootstrap)."""
    start(quiet, json_file)
    from firth.evaluate.report import write_document
    from firth.evaluate.versus import compare_saved

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
    for average in found.averages:
        say(str(average))
    for difference in found.differences:
        say(str(difference))
    if json_file is not None:
        write_document(json_file, found.to_dict())


def leakage(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A run, a Parquet file of pairs, or files of documents.",
            show_default=False,
        ),
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME...", help="Evaluation sets. Default: all, every split."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of evaluation sets.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Examples to show of each set.")] = 3,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write counts and examples to this JSON file."),
    ] = None,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Say which evaluation texts a training text holds, exactly or nearly."""
    start(quiet, json_file)
    from firth.evaluate.leakage import find_leakage
    from firth.evaluate.report import write_document
    from firth.evaluate.selection import select_every_split
    from firth.evaluate.training_text import training_of

    training = training_of(source)
    sets, left_out = select_every_split(task or ["all"], data_dir)
    found = find_leakage(training, sets, open_cache(cache, no_cache))
    for one in found.sets:
        say(str(one))
        for match in found.examples[one.task, one.split][:examples]:
            say(f"    {match.kind} ({match.similarity:.2f}): {match.text}")
            if match.sentence != match.text:
                say(f"        {match.sentence}")
    for item in left_out:
        say(f"({item})")
    if json_file is not None:
        write_document(json_file, found.to_dict(examples=True))


def _groups(given: Sequence[str]) -> dict[str, list[str]]:
    groups = {}
    for text in given:
        name, equals, members = text.partition("=")
        models = [member.strip() for member in members.split(",") if member.strip()]
        if not equals or not name or len(models) < 2:
            raise InputError(
                f"--group {text}: expected NAME=MODEL,MODEL,... with at least two models"
            )
        groups[name] = models
    return groups


def open_cache(folder: Path | None, none: bool) -> "Cache":
    """The cache that `--cache` and `--no-cache` ask for; raise `InputError` if both do."""
    from firth.evaluate.cache import Cache, default_folder

    if none and folder is not None:
        raise InputError("got both --cache and --no-cache; expected one of them")
    return Cache(None if none else folder or default_folder())
