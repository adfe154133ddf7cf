"""Commands of best-worst scaling with simulated annotators: try a questionnaire, plan one."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firth.cli.bws_options import (
    Careless,
    GoldFile,
    Items,
    Kind,
    Noise,
    Out,
    SeedNumber,
    Threshold,
    Tuples,
    lines,
    show,
)
from firth.cli.options import Quiet, start
from firth.run.errors import InputError
from firth.run.screen import say

if TYPE_CHECKING:
    from firth.relatedness.bws.judgements import Floats, Judgements
    from firth.relatedness.bws.simulate import Crowd


def simulate(
    items: Items,
    tuples: Tuples,
    out: Out,
    answers: Annotated[int, typer.Option(min=1, help="Answers to each tuple.")] = 2,
    noise: Noise = None,
    shr: Annotated[
        float | None,
        typer.Option(
            help="Choose the noise so that split-half reliability becomes this. Default, without "
            "--noise: 0.84.",
            show_default=False,
        ),
    ] = None,
    noise_kind: Kind = "normal",
    annotators: Annotated[int, typer.Option(min=1, help="How many annotators there are.")] = 389,
    careless: Careless = 0.0,
    gold: Annotated[
        int, typer.Option(min=0, help="Gold questions, answered by all annotators.")
    ] = 0,
    random_truth: Annotated[
        bool, typer.Option("--random-truth", help="Make up true scores, to try a questionnaire.")
    ] = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Simulate annotators of items whose scores are known: answers to try everything with."""
    start(quiet)
    from firth.relatedness.bws.output import write_folder
    from firth.relatedness.bws.records import read_items, read_tuples
    from firth.relatedness.bws.simulation import simulate_answers, with_random_truth

    if noise is not None and shr is not None:
        raise InputError("got both --noise and --shr; expected one of them")
    crowd = _crowd(noise or 0.0, noise_kind, careless, annotators)
    truth = read_items(items)
    if random_truth:
        truth = with_random_truth(truth, seed)
    asked = read_tuples(tuples, [item.id for item in truth])
    target = None if noise is not None else 0.84 if shr is None else shr

    def build(folder: Path) -> Mapping[str, Any]:
        found = simulate_answers(
            truth, asked, crowd, answers=answers, target=target, gold=gold, seed=seed
        )
        found.write(folder)
        return lines(found.text())

    show(
        write_folder(
            out,
            (
                "files", "records", "design", "balance", "judgements", "split_half",
                "simulate", "calibrate", "simulation",
            ),
            inputs={"items": items, "tuples": tuples},
            config={
                "answers": answers, "noise": noise, "reliability": target, "kind": noise_kind,
                "annotators": annotators, "careless": careless, "gold": gold,
                "random truth": random_truth, "seed": seed,
            },
            build=build,
            libraries=("numpy", "scipy"),
        ),
        out,
    )  # fmt: skip


def plan(
    items: Annotated[int, typer.Option(min=3, help="Number of items.", show_default=False)],
    target_shr: Annotated[
        float, typer.Option(help="Split-half reliability to be reached (Spearman).")
    ] = 0.84,
    noise: Noise = None,
    tuples: Annotated[
        Path | None, typer.Option(help="Of a pilot, with --annotations.", show_default=False)
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(help="Of a pilot: the noise is chosen to fit it.", show_default=False),
    ] = None,
    gold: GoldFile = None,
    gold_threshold: Threshold = 0.7,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Items with scores: the true ones are assumed to be spread like them. Default: "
            "evenly over 0 to 1.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[int, typer.Option(min=3, help="Items of a tuple.")] = 4,
    factor: Annotated[
        list[float] | None,
        typer.Option(help="Tuples per item to try; may be repeated. Default: 1 1.5 2 3 4."),
    ] = None,
    answers: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Answers per tuple to try; may be repeated. Default: 1 2 3 4 6 8."
        ),
    ] = None,
    noise_kind: Kind = "normal",
    careless: Careless = 0.0,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the plan to this JSON file.")
    ] = None,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Say how many answers buy which reliability, and the cheapest design that reaches a target.

    Without --noise and --annotations the noise is that with which the design of STR-2021 (5,500
    items, 11,000 tuples, 2 answers) has STR-2021's reliability, 0.84.
    """
    start(quiet, json_file)
    from dataclasses import replace

    from firth.evaluate.results import write_document
    from firth.relatedness.bws.calibrate import noise_of_str
    from firth.relatedness.bws.plan import ANSWERS, FACTORS, make_plan, noise_of_pilot

    if (tuples is None) != (annotations is None):
        raise InputError("a pilot is given by --tuples and --annotations; got one of them")
    if noise is not None and annotations is not None:
        raise InputError("got both --noise and --annotations; expected one of them")
    crowd = _crowd(noise or 0.0, noise_kind, careless, 389)
    spread = None if scores is None else _known_scores(scores)
    if tuples is not None and annotations is not None:
        judged = _pilot(tuples, annotations, gold, gold_threshold)
        fitted, seen = noise_of_pilot(judged, crowd, spread, seed=seed)
        crowd, source = replace(crowd, noise=fitted), f"fits the pilot's reliability of {seen:.3f}"
    elif noise is None:
        crowd = replace(crowd, noise=noise_of_str(crowd, spread, seed=seed))
        source = "as STR-2021's design needs for its 0.84"
    else:
        source = "given"
    found = make_plan(
        items,
        target_shr,
        crowd,
        scores=spread,
        size=size,
        factors=factor or FACTORS,
        answers=answers or ANSWERS,
        source=source,
        seed=seed,
    )
    say(found.text())
    if json_file is not None:
        write_document(json_file, found.to_dict())


def _crowd(noise: float, kind: str, careless: float, annotators: int) -> "Crowd":
    from firth.relatedness.bws.simulate import Crowd, Noise

    if kind not in [*Noise]:
        raise InputError(f"--noise-kind {kind}: expected {' or '.join(Noise)}")
    return Crowd(noise, Noise(kind), careless, annotators)


def _known_scores(path: Path) -> "Floats":
    from firth.relatedness.bws.records import read_items
    from firth.relatedness.bws.simulation import true_scores

    return true_scores(read_items(path))


def _pilot(tuples: Path, annotations: Path, gold: Path | None, threshold: float) -> "Judgements":
    from firth.relatedness.bws.answers import sort_answers
    from firth.relatedness.bws.judgements import Judgements
    from firth.relatedness.bws.records import read_annotations, read_gold, read_tuples

    asked = read_tuples(tuples)
    right = read_gold(gold, asked) if gold else []
    answers = sort_answers(asked, read_annotations(annotations), right, threshold=threshold)
    return Judgements.of(asked, answers.kept)
