"""The commands `firth ratings ...`: choose pairs, have them judged, score, measure and explain."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.options import AsJson, Force, OutFile, OutFolder, Quiet, show
from firth.run.console import say
from firth.run.errors import ConfigError, require
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.outputs import claim_output, write_folder, write_rows

app = typer.Typer(
    help="Build rated data sets by best-worst scaling (STR-2021).", no_args_is_help=True
)
_ANSWERS = (
    "CSV with tuple, annotator, best and worst; results of Mechanical Turk; or the file of "
    "`firth ratings serve`."
)
_ITEMS = "Items: CSV, TSV or JSON Lines with any columns of texts (`pairs.csv`)."
_SHARE = "Least share of right gold answers of an annotator."
_SOURCE = "Run, .txt with a sentence a line, or table with sentence, or sentence1 and sentence2."
_TUPLES = "Tuples that `firth ratings tuples` wrote."
Items = Annotated[Path, typer.Option(help=_ITEMS)]
Tuples = Annotated[Path, typer.Option(help=_TUPLES)]
Annotations = Annotated[Path, typer.Option(help=_ANSWERS)]
GoldFile = Annotated[Path | None, typer.Option("--gold", help="CSV with tuple, best and worst.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides every random choice.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting.")
]


@app.command()
def pairs(
    source: Annotated[Path, typer.Argument(help=_SOURCE)],
    out: OutFolder,
    strategy: Annotated[
        str, typer.Option(help="given, random, overlap, buckets or scores.")
    ] = "overlap",
    num_pairs: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 1_000,
    within: Annotated[
        str, typer.Option(metavar="COLUMN", help="Pair sentences with the same value in it.")
    ] = "",
    synonyms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A set of synonyms a line; each counts as one."),
    ] = None,
    changes: Settings = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose pairs of sentences for annotation, by overlap of words.

    Settings: measure, partner, labels, bucket_ratio, seed.
    """
    from firth.ratings.pairs import PairSettings, sample_pairs
    from firth.ratings.sentences import fingerprint_source

    settings = _parsed(PairSettings, changes, strategy=strategy, num_pairs=num_pairs)
    choices = settings.model_dump(mode="json") | {"within": within}
    inputs = {"source": fingerprint_source(source)}
    if synonyms is not None:
        inputs["synonyms"] = fingerprint_file(synonyms)

    def make() -> Any:
        return sample_pairs(source, settings, within=within, synonyms=synonyms)

    _write("pairs", out, make, choices, inputs, force, as_json)


@app.command()
def tuples(
    items: Annotated[Path, typer.Argument(help=_ITEMS)],
    out: OutFolder,
    size: Annotated[int, typer.Option(min=3, help="Items in a tuple.")] = 4,
    factor: Annotated[float, typer.Option(help="Tuples for each item.")] = 2.0,
    seed: Seed = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make the tuples of a questionnaire: balanced, no two items together twice."""
    from firth.ratings.design import Design
    from firth.ratings.records import read_items

    names = [item.id for item in read_items(items)]
    settings = {"size": size, "factor": factor, "seed": seed}
    inputs = {"items": fingerprint_file(items)}

    def make() -> Any:
        return Design.of(names, size=size, factor=factor, seed=seed)

    _write("tuples", out, make, settings, inputs, force, as_json)


@app.command()
def serve(
    db: Annotated[Path, typer.Option(help="SQLite file of the answers.")],
    items: Items,
    tuples: Tuples,
    gold: GoldFile = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 is a free one.")] = 8018,
    changes: Settings = None,
    seed: Seed = 13,
    quiet: Quiet = False,
) -> None:
    """Ask people in the browser, on this machine; the same command continues.

    Settings: title, best, worst, instructions (Markdown), answers, gold_every, stop_below.
    """
    require("starlette", "ratings", "A questionnaire in the browser")
    from firth.ratings.records import read_gold, read_items, read_tuples
    from firth.ratings.store import Rules, Store
    from firth.ratings.web import serve as serve_pages

    item_records = read_items(items)
    tuple_records = read_tuples(tuples, {item.id for item in item_records})
    right = [] if gold is None else read_gold(gold, tuple_records)
    rules = _parsed(Rules, changes)
    with Store.create(db, item_records, tuple_records, right, rules=rules, seed=seed) as store:
        say(f"{db}: {store.overview()}")
        serve_pages(store, port, lambda at: say(f"The questionnaire is at {at} (Ctrl+C ends it)"))
        say(f"{db}: {store.overview()}")


@app.command()
def questions(
    items: Items, tuples: Tuples, out: OutFile, force: Force = False, quiet: Quiet = False
) -> None:
    """Write the tuples with their texts as CSV, for the page of a crowd platform.

    Gold questions are tuples among them. `firth ratings score` reads the platform's results.
    """
    from firth.ratings import records

    claim_output(out, force)
    item_records = records.read_items(items)
    tuple_records = records.read_tuples(tuples, {item.id for item in item_records})
    write_rows(out, records.questions(item_records, tuple_records), force, for_spreadsheets=False)
    say(f"{out}: {len(tuple_records):,} questions")


@app.command()
def score(
    tuples: Tuples,
    annotations: Annotations,
    out: OutFolder,
    gold: GoldFile = None,
    gold_threshold: Annotated[float, typer.Option(min=0, max=1, help=_SHARE)] = 0.7,
    splits: Annotated[int, typer.Option(min=1, help="Random splits for the reliability.")] = 1_000,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score items by counting, with 95 % intervals, and measure split-half reliability."""
    from firth.ratings.records import read_gold, read_tuples
    from firth.ratings.score import score_answers
    from firth.ratings.store import read_answers

    tuple_records = read_tuples(tuples)
    right = [] if gold is None else read_gold(gold, tuple_records)
    records = tuple_records, read_answers(annotations), right

    def make() -> Any:
        return score_answers(*records, threshold=gold_threshold, splits=splits)

    plain = [[asdict(record) for record in table] for table in records]
    inputs = {"answers": fingerprint_value(plain)}  # They may lie in a database.
    settings = {"threshold": gold_threshold, "splits": splits}
    _write("score", out, make, settings, inputs, force, as_json)


def _parsed(kind: Any, options: list[str] | None, **defaults: object) -> Any:
    """Return settings as given, changed by options `NAME=VALUE`; values as of `read_options`."""
    from firth.run.settings import parse_section, read_options

    values, problems = read_options(options or [])
    if problems:
        raise ConfigError("--set", problems)
    return parse_section(kind, defaults | values, "--set")


def _write(
    command: str,
    out: Path,
    make: Callable[[], Any],
    settings: Mapping[str, Any],
    inputs: Mapping[str, str],
    force: bool,
    as_json: bool,
) -> None:
    """Write a result to a folder, unless it is there already, and print its summary.

    `make` computes the result, which has `as_dict()`, `text()` and `write(folder)`.
    """

    def fill(folder: Path) -> Mapping[str, Any]:
        result = make()
        result.write(folder)
        return {**result.as_dict(), "lines": result.text().split("\n")}

    name = f"ratings {command}"
    outcome = write_folder(out, fill, command=name, settings=settings, inputs=inputs, force=force)
    values = dict(outcome.manifest.summary)
    lines = [*values.pop("lines"), f"{out}: {'unchanged' if outcome.reused else 'written'}"]
    show({"folder": str(out), **values}, as_json, "\n".join(lines))
