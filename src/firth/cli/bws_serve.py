"""Commands of the questionnaire: serve it, take the answers out, write it for a crowd platform."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.options import Quiet, Seed, start
from firth.run.errors import InputError
from firth.run.screen import say

if TYPE_CHECKING:
    from firth.relatedness.questionnaire.plan import Questionnaire, Rules, Wording

Tuples = Annotated[
    Path, typer.Option(help="Tuples: tuple,item1,…,itemN (CSV).", show_default=False)
]
Items = Annotated[
    Path,
    typer.Option(help="Items: a pairs TSV, a CSV, or a text an item a line.", show_default=False),
]
GoldFile = Annotated[
    Path | None, typer.Option(help="Gold questions among the tuples: tuple,best,worst (CSV).")
]
GoldEvery = Annotated[int, typer.Option(help="Every so manieth question is a gold one.")]
DatabaseFile = Annotated[
    Path, typer.Option("--db", help="SQLite file of the answers.", show_default=False)
]


def serve(
    tuples: Tuples,
    items: Items,
    db: DatabaseFile,
    gold: GoldFile = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Instructions (Markdown). Default: on relatedness.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the pages.")] = None,
    best: Annotated[str | None, typer.Option(help="What the best item is: most related.")] = None,
    worst: Annotated[
        str | None, typer.Option(help="What the worst item is: least related.")
    ] = None,
    annotations: Annotated[int, typer.Option(help="Answers wanted for each tuple.")] = 2,
    gold_every: GoldEvery = 10,
    stop_below: Annotated[
        float,
        typer.Option(
            help="Ask no more of annotators whose share of right gold answers is below this; the "
            "paper's is 0.7. Default: nobody is stopped."
        ),
    ] = 0.0,
    stop_after: Annotated[int, typer.Option(help="Gold answers before that.")] = 5,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")] = 8_000,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Ask best-worst questions in the browser, on this machine; the same command goes on."""
    start(quiet)
    from firth.relatedness.questionnaire.plan import Rules, Wording
    from firth.relatedness.questionnaire.server import serve as serve_pages
    from firth.relatedness.questionnaire.store import Store

    given = {"title": title, "best": best, "worst": worst}
    texts = {name: text for name, text in given.items() if text is not None}
    if instructions is not None:
        texts["instructions"] = _text(instructions)
    rules = Rules(annotations, gold_every, stop_below, stop_after)
    questionnaire = _plan(tuples, items, gold, seed, rules, Wording(**texts))
    store = Store.create(db, questionnaire)

    def ready(address: str) -> None:
        say(f"{db}: {store.overview()}")
        say(f"Questionnaire at {address}  (Ctrl+C ends it; all answers are in {db})")

    try:
        serve_pages(store, port, ready)
    finally:
        say(f"{db}: {store.overview()}")
        store.close()


def export(
    db: DatabaseFile,
    out: Annotated[
        Path,
        typer.Option(
            help="Annotations: tuple,annotator,best,worst,time (CSV).", show_default=False
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Write the answers of a questionnaire, gold ones among them; it may still be running."""
    start(quiet)
    from firth.relatedness.bws.records import write_annotations
    from firth.relatedness.questionnaire.store import Store

    store = Store.open(db)
    try:
        found = store.annotations()
        if not found:
            raise InputError(f"{db}: no answers yet")
        write_annotations(out, found)
        say(f"{len(found):,} annotations written to {out}; {store.overview()}")
    finally:
        store.close()


def crowd(
    tuples: Tuples,
    items: Items,
    out: Annotated[Path, typer.Option(help="The questionnaire (CSV).", show_default=False)],
    gold: GoldFile = None,
    gold_every: GoldEvery = 10,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Write the questionnaire for a crowd platform: a row a tuple, with texts and gold answers."""
    start(quiet)
    from firth.relatedness.questionnaire.crowd import write_crowd
    from firth.relatedness.questionnaire.plan import Rules

    questionnaire = _plan(tuples, items, gold, seed, Rules(gold_every=gold_every))
    count = write_crowd(out, questionnaire)
    say(f"{count:,} questions ({len(questionnaire.gold):,} gold) written to {out}")


def _plan(
    tuples: Path,
    items: Path,
    gold: Path | None,
    seed: int | None,
    rules: "Rules",
    wording: "Wording | None" = None,
) -> "Questionnaire":
    from firth.relatedness.questionnaire.plan import read_plan

    seed = 13 if seed is None else seed
    return read_plan(items, tuples, gold, wording=wording, rules=rules, seed=seed)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
