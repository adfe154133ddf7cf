"""Commands of best-worst scaling: make a questionnaire, score answers, say how good they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.bws_options import (
    Annotations,
    GoldFile,
    Items,
    Out,
    ScoreGold,
    SeedNumber,
    Threshold,
    Tuples,
    lines,
    show,
)
from firth.cli.options import Quiet, start


def tuples(
    items: Items,
    out: Out,
    size: Annotated[int, typer.Option(min=3, help="Items of a tuple.")] = 4,
    factor: Annotated[float, typer.Option(help="Tuples per item.")] = 2.0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace other tuples that stand in --out.")
    ] = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Make a questionnaire: balanced tuples of items, and a report on their balance."""
    start(quiet)
    from firth.relatedness.bws.balance import measure_balance
    from firth.relatedness.bws.design import design_tuples
    from firth.relatedness.bws.output import write_folder
    from firth.relatedness.bws.records import Tuple, read_items, write_tuples
    from firth.run.files import write_json

    names = [item.id for item in read_items(items)]

    def build(folder: Path) -> Mapping[str, Any]:
        rows = design_tuples(len(names), size=size, factor=factor, seed=seed)
        width = len(str(len(rows)))
        write_tuples(
            folder / "tuples.csv",
            [
                Tuple(f"{number:0{width}}", tuple(names[item] for item in row))
                for number, row in enumerate(rows.tolist(), start=1)
            ],
        )
        balance = measure_balance(rows, len(names))
        write_json(folder / "balance.json", balance.to_dict())
        return lines(balance.text())

    show(
        write_folder(
            out,
            ("files", "records", "design", "balance"),
            inputs={"items": items},
            config={"size": size, "factor": factor, "seed": seed},
            build=build,
            replace=replace,
        ),
        out,
    )


def score(
    tuples: Tuples,
    annotations: Annotations,
    out: Out,
    gold: GoldFile = None,
    items: Annotated[
        Path | None,
        typer.Option(help="All items, for their order and those in no tuple.", show_default=False),
    ] = None,
    gold_threshold: Threshold = 0.7,
    score_gold: ScoreGold = False,
    prior: Annotated[
        float, typer.Option(help="Prior of Bradley-Terry: standard deviation in log-odds.")
    ] = 1.5,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of intervals.")] = 1000,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Score items from answers: by counting and by Bradley-Terry, with intervals."""
    start(quiet)
    from firth.relatedness.bws.output import write_folder
    from firth.relatedness.bws.records import read_annotations, read_gold, read_items, read_tuples
    from firth.relatedness.bws.score import score_answers

    names = [item.id for item in read_items(items)] if items else []
    asked = read_tuples(tuples, names or None)
    given = read_annotations(annotations)
    right = read_gold(gold, asked) if gold else []

    def build(folder: Path) -> Mapping[str, Any]:
        found = score_answers(
            asked,
            given,
            right,
            items=names,
            threshold=gold_threshold,
            score_gold=score_gold,
            prior=prior,
            resamples=resamples,
            seed=seed,
        )
        found.write(folder)
        return lines(found.text())

    show(
        write_folder(
            out,
            (
                "files", "records", "design", "balance", "answers", "judgements",
                "bradley_terry", "intervals", "score",
            ),
            inputs={"tuples": tuples, "annotations": annotations, "gold": gold, "items": items},
            config={
                "gold threshold": gold_threshold, "score gold": score_gold, "prior": prior,
                "resamples": resamples, "seed": seed,
            },
            build=build,
            libraries=("numpy", "scipy", "scikit-learn"),
        ),
        out,
    )  # fmt: skip


def reliability(
    tuples: Tuples,
    annotations: Annotations,
    out: Out,
    gold: GoldFile = None,
    gold_threshold: Threshold = 0.7,
    score_gold: ScoreGold = False,
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 1000,
    by_answers: Annotated[
        bool, typer.Option("--by-answers/--no-by-answers", help="Also of fewer answers a tuple.")
    ] = True,
    spearman_brown: Annotated[
        bool,
        typer.Option(
            "--spearman-brown", help="Also step the mean up to the full number of answers."
        ),
    ] = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Measure split-half reliability: mean and spread over random splits."""
    start(quiet)
    from firth.relatedness.bws.answers import sort_answers
    from firth.relatedness.bws.judgements import Judgements
    from firth.relatedness.bws.output import write_folder
    from firth.relatedness.bws.records import read_annotations, read_gold, read_tuples
    from firth.relatedness.bws.reliability import measure_reliability

    asked = read_tuples(tuples)
    given = read_annotations(annotations)
    right = read_gold(gold, asked) if gold else []

    def build(folder: Path) -> Mapping[str, Any]:
        answers = sort_answers(asked, given, right, threshold=gold_threshold, score_gold=score_gold)
        found = measure_reliability(
            Judgements.of(asked, answers.kept),
            seed=seed,
            splits=splits,
            by_answers=by_answers,
            spearman_brown=spearman_brown,
        )
        found.write(folder)
        return lines(answers.text(), found.text())

    show(
        write_folder(
            out,
            (
                "files", "records", "design", "balance", "answers", "judgements",
                "split_half", "reliability", "plots",
            ),
            inputs={"tuples": tuples, "annotations": annotations, "gold": gold},
            config={
                "gold threshold": gold_threshold, "score gold": score_gold, "splits": splits,
                "by answers": by_answers, "Spearman-Brown": spearman_brown, "seed": seed,
            },
            build=build,
            libraries=("numpy", "scipy"),
        ),
        out,
    )  # fmt: skip
