"""`firth bws`: make a questionnaire, ask it, score the answers, say how good they are; plan one."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.fields import options_of
from firth.cli.options import AsJson, Force, OutFile, OutFolder, Quiet, SeedNumber, start
from firth.cli.show import show_json
from firth.relatedness.questionnaire.setup import Rules
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.screen import tell

if TYPE_CHECKING:
    from firth.relatedness.bws.answers import Judgements
    from firth.relatedness.bws.simulate import Crowd
    from firth.run.stage import Outcome

group = typer.Typer(
    help="Best-worst scaling: questionnaire, scores, reliability.", no_args_is_help=True
)

_ITEMS = "Pairs as .tsv, a .csv with any text columns, or a .txt with an item a line."
Items = Annotated[Path, typer.Argument(metavar="ITEMS", help=_ITEMS)]
ItemsFile = Annotated[Path, typer.Option("--items", help=_ITEMS)]
Tuples = Annotated[Path, typer.Option(help="CSV: tuple,item1,…,itemN, of firth bws tuples.")]
Annotations = Annotated[Path, typer.Option(help="CSV: tuple,annotator,best,worst[,time].")]
GoldFile = Annotated[
    Path | None,
    typer.Option("--gold", help="CSV: tuple,best,worst; annotators are checked with it."),
]
GoldEvery = Annotated[int, typer.Option(help="Every so manieth question is a gold one.")]
Threshold = Annotated[
    float,
    typer.Option(
        "--gold-threshold", min=0, max=1, help="Share of gold questions to be answered rightly."
    ),
]
ScoreGold = Annotated[
    bool, typer.Option("--score-gold", help="Count answers to gold questions too.")
]
DatabaseFile = Annotated[Path, typer.Option("--db", help="SQLite file of the answers.")]
Size = Annotated[int, typer.Option(min=3, help="Items of a tuple.")]
Kind = Annotated[
    str, typer.Option("--noise-kind", help="Distribution of the noise: normal or gumbel.")
]
Careless = Annotated[
    float, typer.Option(min=0, max=1, help="Share of annotators who answer at random.")
]
Annotators = Annotated[int, typer.Option(min=1, help="How many annotators there are.")]
Noise = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Standard deviation of what annotators see around the true score, in units of scores.",
    ),
]


def _show(outcome: "Outcome", out: Path, as_json: bool) -> None:
    if as_json:
        written = {path.stem: read_json(path) for path in sorted(out.glob("*.json"))}
        written.pop("manifest")
        show_json({"folder": str(out), "reused": outcome.reused, **written})
        return
    for line in outcome.manifest.summary["report"]:
        tell(line)
    tell(f"{out}: {'up to date' if outcome.reused else 'written'}")


@group.command()
def tuples(
    items: Items,
    out: OutFolder,
    size: Size = 4,
    factor: Annotated[float, typer.Option(help="Tuples per item.")] = 2.0,
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Make a questionnaire: balanced tuples of items, and a report on their balance."""
    start(quiet)
    from firth.relatedness.bws.design import write_design

    found = write_design(items, out, size=size, factor=factor, seed=seed, force=force)
    _show(found, out, as_json)


@group.command()
def score(
    tuples: Tuples,
    annotations: Annotations,
    out: OutFolder,
    gold: GoldFile = None,
    items: Annotated[
        Path | None,
        typer.Option(help="All items, for their order and those in no tuple."),
    ] = None,
    gold_threshold: Threshold = 0.7,
    score_gold: ScoreGold = False,
    prior: Annotated[
        float, typer.Option(help="Prior of Bradley-Terry: standard deviation in log-odds.")
    ] = 1.5,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of intervals.")] = 1000,
    as_json: AsJson = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Score items from answers: by counting and by Bradley-Terry, with intervals."""
    start(quiet)
    from firth.relatedness.bws.score import write_scores

    found = write_scores(
        tuples, annotations, out, gold, items, threshold=gold_threshold, score_gold=score_gold,
        prior=prior, resamples=resamples, seed=seed,
    )  # fmt: skip
    _show(found, out, as_json)


@group.command()
def reliability(
    tuples: Tuples,
    annotations: Annotations,
    out: OutFolder,
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
    as_json: AsJson = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Measure split-half reliability: mean and spread over random splits."""
    start(quiet)
    from firth.relatedness.bws.reliability import write_reliability

    found = write_reliability(
        tuples, annotations, out, gold, threshold=gold_threshold, score_gold=score_gold,
        splits=splits, by_answers=by_answers, spearman_brown=spearman_brown, seed=seed,
    )  # fmt: skip
    _show(found, out, as_json)


@group.command()
def simulate(
    items: Items,
    tuples: Tuples,
    out: OutFolder,
    answers: Annotated[int, typer.Option(min=1, help="Answers to each tuple.")] = 2,
    noise: Noise = None,
    shr: Annotated[
        float | None,
        typer.Option(
            help="Choose the noise so that split-half reliability becomes this. Default, without "
            "--noise: 0.84."
        ),
    ] = None,
    noise_kind: Kind = "normal",
    annotators: Annotators = 389,
    careless: Careless = 0.0,
    gold: Annotated[
        int, typer.Option(min=0, help="Gold questions, answered by all annotators.")
    ] = 0,
    random_truth: Annotated[
        bool, typer.Option("--random-truth", help="Make up true scores, to try a questionnaire.")
    ] = False,
    as_json: AsJson = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Simulate annotators of items whose scores are known: answers to try everything with."""
    start(quiet)
    from firth.relatedness.bws.simulate import STR_SHR, write_simulation

    if noise is not None and shr is not None:
        raise InputError("got both --noise and --shr; expected one of them")
    target = None if noise is not None else STR_SHR if shr is None else shr
    crowd = _crowd(noise, noise_kind, careless, annotators)
    found = write_simulation(
        items, tuples, out, crowd, random_truth=random_truth, answers=answers, target=target,
        gold=gold, seed=seed,
    )  # fmt: skip
    _show(found, out, as_json)


@group.command()
def plan(
    items: Annotated[int, typer.Option(min=3, help="Number of items.")],
    target_shr: Annotated[
        float, typer.Option(help="Split-half reliability to be reached (Spearman).")
    ] = 0.84,
    noise: Noise = None,
    tuples: Annotated[Path | None, typer.Option(help="Of a pilot, with --annotations.")] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(help="Of a pilot: the noise is chosen to fit it."),
    ] = None,
    gold: GoldFile = None,
    gold_threshold: Threshold = 0.7,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Items with scores: the true ones are assumed to be spread like them. Default: "
            "evenly over 0 to 1."
        ),
    ] = None,
    size: Size = 4,
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
    annotators: Annotators = 389,
    careless: Careless = 0.0,
    as_json: AsJson = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Say how many answers buy which reliability, and the cheapest design that reaches a target.

    Without --noise and --annotations the noise is that with which the design of STR-2021 (5,500
    items, 11,000 tuples, 2 answers) has STR-2021's reliability, 0.84.
    """
    start(quiet)
    from dataclasses import replace

    from firth.relatedness.bws.records import read_items
    from firth.relatedness.bws.simulate import (
        ANSWERS,
        FACTORS,
        make_plan,
        noise_of_pilot,
        noise_of_str,
        true_scores,
    )

    if (tuples is None) != (annotations is None):
        raise InputError("a pilot is given by --tuples and --annotations; got one of them")
    if noise is not None and annotations is not None:
        raise InputError("got both --noise and --annotations; expected one of them")
    crowd = _crowd(noise, noise_kind, careless, annotators)
    spread = None if scores is None else true_scores(read_items(scores))
    source = "given"
    if tuples is not None and annotations is not None:
        judged = _pilot(tuples, annotations, gold, gold_threshold)
        fitted, seen = noise_of_pilot(judged, crowd, spread, seed=seed)
        crowd, source = replace(crowd, noise=fitted), f"fits the pilot's reliability of {seen:.3f}"
    elif noise is None:
        crowd = replace(crowd, noise=noise_of_str(crowd, spread, seed=seed))
        source = "as STR-2021's design needs for its 0.84"
    found = make_plan(
        items, target_shr, crowd, scores=spread, size=size, factors=factor or FACTORS,
        answers=answers or ANSWERS, source=source, seed=seed,
    )  # fmt: skip
    if as_json:
        show_json(found.to_dict())
    else:
        tell(found.text())


@group.command()
@options_of(Rules)
def serve(
    tuples: Tuples,
    items: ItemsFile,
    db: DatabaseFile,
    settings: Rules,
    gold: GoldFile = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Instructions (Markdown). Default: on relatedness.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the pages.")] = None,
    best: Annotated[str | None, typer.Option(help="What the best item is: most related.")] = None,
    worst: Annotated[
        str | None, typer.Option(help="What the worst item is: least related.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")] = 8_000,
    as_json: AsJson = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Ask best-worst questions in the browser, on this machine; the same command goes on."""
    start(quiet)
    from firth.relatedness.questionnaire.server import serve as serve_pages
    from firth.relatedness.questionnaire.setup import Wording, read_questionnaire
    from firth.relatedness.questionnaire.store import Store
    from firth.run.rows import read_text

    texts = {"title": title, "best": best, "worst": worst}
    texts["instructions"] = None if instructions is None else read_text(instructions)
    wording = Wording(**{name: text for name, text in texts.items() if text is not None})
    store = Store.create(
        db, read_questionnaire(items, tuples, gold, wording=wording, rules=settings, seed=seed)
    )

    def ready(address: str) -> None:
        if as_json:
            show_json({"address": address, **asdict(store.overview())})
            return
        tell(f"{db}: {store.overview()}")
        tell(f"Questionnaire at {address}  (Ctrl+C ends it; all answers are in {db})")

    try:
        serve_pages(store, port, ready)
    finally:
        if not as_json:
            tell(f"{db}: {store.overview()}")
        store.close()


@group.command()
def export(
    db: DatabaseFile,
    out: OutFile,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the answers (CSV: tuple,annotator,best,worst,time), gold ones among them.

    The questionnaire may still be running.
    """
    start(quiet, out, force)
    from firth.relatedness.bws.records import write_annotations
    from firth.relatedness.questionnaire.store import Store

    store = Store.open(db)
    try:
        if out.exists() and out.samefile(db):
            raise InputError(f"{out}: the questionnaire itself. Name another file with --out")
        found = store.annotations()
        if not found:
            raise InputError(f"{db}: no answers yet")
        write_annotations(out, found)
        overview = store.overview()
        if as_json:
            show_json({"file": str(out), "annotations": len(found), **asdict(overview)})
        else:
            tell(f"{len(found):,} annotations written to {out}; {overview}")
    finally:
        store.close()


@group.command()
def crowd(
    tuples: Tuples,
    items: ItemsFile,
    out: OutFile,
    gold: GoldFile = None,
    gold_every: GoldEvery = 10,
    as_json: AsJson = False,
    force: Force = False,
    seed: SeedNumber = 13,
    quiet: Quiet = False,
) -> None:
    """Write the questionnaire as a CSV for a crowd platform: a row a tuple, with texts and gold."""
    start(quiet, out, force)
    from firth.relatedness.questionnaire.setup import read_questionnaire, write_crowd

    asked = read_questionnaire(items, tuples, gold, rules=Rules(gold_every=gold_every), seed=seed)
    count = write_crowd(out, asked)
    if as_json:
        show_json({"file": str(out), "questions": count, "gold": len(asked.gold)})
    else:
        tell(f"{count:,} questions ({len(asked.gold):,} gold) written to {out}")


def _crowd(noise: float | None, kind: str, careless: float, annotators: int) -> "Crowd":
    from firth.relatedness.bws.simulate import Crowd, Noise

    if kind not in [*Noise]:
        raise InputError(f"--noise-kind {kind}: expected {' or '.join(Noise)}")
    return Crowd(noise or 0.0, Noise(kind), careless, annotators)


def _pilot(tuples: Path, annotations: Path, gold: Path | None, threshold: float) -> "Judgements":
    from firth.relatedness.bws.answers import Judgements, sort_answers
    from firth.relatedness.bws.records import read_answered

    asked, given, right = read_answered(tuples, annotations, gold)
    answers = sort_answers(asked, given, right, threshold=threshold)
    return Judgements.of(asked, answers.kept)
