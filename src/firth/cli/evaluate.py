"""Commands that measure: `evaluate`, `compare-models` and `falsemerge`."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import AsJson, DataDir, Force, Out, Quiet, RunFolder, run_folder, show_result

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Runs, encoder folders or hub names, and baselines: baseline:dice, "
        "baseline:tfidf@RUN, baseline:ngrams@RUN. The others are compared with the first.",
    ),
]


def evaluate(
    models: Models,
    task: Annotated[
        list[str],
        typer.Option(
            metavar="SET[:SPLIT]",
            help="Evaluation set, such as sts12 or sts-b:dev, or a file of rated pairs. "
            "Repeatable.",
        ),
    ],
    data_dir: DataDir = None,
    exclude_overlap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN|SET",
            help="Leave out pairs whose sentences occur in the corpus of a run, or in another set. "
            "Repeatable.",
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Score each pair alone, as two texts are scored.")
    ] = False,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure models on rated pairs: correlations with 95 % intervals, and paired differences.

    A run scores a set as a whole: words that are frequent in the set count less.
    """
    from firth.evaluation.evaluate import evaluate as run_evaluation
    from firth.model import open_scorer

    result = run_evaluation(
        {name: open_scorer(name) for name in models},
        task,
        data_dir,
        exclude_overlap=exclude_overlap or (),
        alone=alone,
    )
    show_result(result, as_json, out=out, force=force)


def compare_models(
    models: Models, run: RunFolder = None, as_json: AsJson = False, quiet: Quiet = False
) -> None:
    """Compare models without labels, by questions about a run's held-out documents."""
    from firth.evaluation.compare import compare_models as run_comparison
    from firth.model import open_scorer
    from firth.run.run import Run

    opened = Run.open(run_folder(run))
    scorers = {name: open_scorer(name) for name in models}
    show_result(run_comparison(scorers, opened), as_json)


def falsemerge(
    check: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Function of two texts: whether they say the same, or a similarity.",
        ),
    ],
    cut: Annotated[
        float | None, typer.Option(help="Similarity from which texts are taken for the same.")
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Further table of pairs (TSV). Repeatable."),
    ] = None,
    max_wrong: Annotated[
        float,
        typer.Option(min=0, max=1, help="Exit with 1 if more of the differing pairs are merged."),
    ] = 1.0,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Count how often a function takes texts that differ for the same, by what they differ in.

    Pairs are those that caches, memories and tools for duplicates merged by mistake.
    """
    from firth.evaluation.false_merges import false_merges, imported

    result = false_merges(imported(check), name=check, cut=cut, tables=pairs or ())
    show_result(result, as_json, out=out, force=force)
    if result.wrong > max_wrong:
        raise typer.Exit(1)
