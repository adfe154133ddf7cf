"""The commands `firth ratings ...`: choose pairs, have them judged, score, measure and explain."""

from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.options import AsJson, Force, Out, OutFolder, Quiet, say_json, show, start
from firth.run.console import say
from firth.run.errors import ConfigError, InputError, require
from firth.run.stage import Outcome

app = typer.Typer(
    help="Build rated data sets by best-worst scaling (STR-2021).", no_args_is_help=True
)
_ITEMS = "Items: CSV or TSV with any columns of texts (`pairs.csv`), or .txt with an item a line."
_PAIRS = "File of scored pairs (sentence1, sentence2, score), or an evaluation set."
Items = Annotated[Path, typer.Option(help=_ITEMS, show_default=False)]
Tuples = Annotated[
    Path, typer.Option(help="Tuples that `firth ratings tuples` wrote.", show_default=False)
]
Annotations = Annotated[
    Path,
    typer.Option(
        help="CSV with tuple, annotator, best and worst, or the file of `firth ratings serve`.",
        show_default=False,
    ),
]
GoldFile = Annotated[
    Path | None, typer.Option("--gold", help="CSV with tuple, best and worst.", show_default=False)
]
GoldThreshold = Annotated[
    float, typer.Option(min=0, max=1, help="Least share of right gold answers of an annotator.")
]
Seed = Annotated[int, typer.Option(min=0, help="Decides every random choice.")]
Pairs = Annotated[str, typer.Argument(metavar="PAIRS", help=_PAIRS, show_default=False)]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder with the evaluation sets.", show_default=False)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting.", show_default=False),
]


@app.command()
def pairs(
    source: Annotated[
        Path,
        typer.Argument(
            help="Run, .txt with a sentence on each line, or CSV, TSV or JSON Lines.",
            show_default=False,
        ),
    ],
    out: OutFolder,
    strategy: Annotated[
        str, typer.Option(help="given, random, overlap, buckets or scores.")
    ] = "overlap",
    num_pairs: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 1_000,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column of the texts; twice for pairs.", show_default=False),
    ] = None,
    within: Annotated[
        str, typer.Option(metavar="COLUMN", help="Pair sentences with the same value in it.")
    ] = "",
    synonyms: Annotated[
        str | None,
        typer.Option(
            help="`wordnet`, `wordnet:FOLDER`, or a file with a word and its synonyms a line; they "
            "count as one word.",
            show_default=False,
        ),
    ] = None,
    changes: Settings = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Choose pairs of sentences for annotation, by overlap of words.

    Settings: measure, pool, min_overlap, max_overlap, length_difference, min_words, max_words,
    buckets, bucket_ratio, candidates, bins, score_range, score_column, max_uses, seed.
    """
    start(quiet)
    from firth.ratings.pairs import PairSettings, write_pairs
    from firth.run.settings import parse_section

    values = {"strategy": strategy, "num_pairs": num_pairs, **_changes(changes)}
    settings = parse_section(PairSettings, values, "--set")
    outcome = write_pairs(
        source, out, settings, columns=column or (), within=within, synonyms=synonyms, force=force
    )
    _show(outcome, out, as_json)


@app.command()
def tuples(
    items: Annotated[Path, typer.Argument(help=_ITEMS, show_default=False)],
    out: OutFolder,
    size: Annotated[int, typer.Option(min=3, help="Items in a tuple.")] = 4,
    factor: Annotated[float, typer.Option(help="Tuples for each item.")] = 2.0,
    seed: Seed = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make the tuples of a questionnaire: balanced, no two items together twice."""
    start(quiet)
    from firth.ratings.design import write_design

    _show(write_design(items, out, size=size, factor=factor, seed=seed, force=force), out, as_json)


@app.command()
def serve(
    db: Annotated[Path, typer.Option(help="SQLite file of the answers.", show_default=False)],
    items: Items,
    tuples: Tuples,
    gold: GoldFile = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 is a free one.")] = 8018,
    to_csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the questionnaire for a crowdsourcing platform instead.",
            show_default=False,
        ),
    ] = None,
    changes: Settings = None,
    seed: Seed = 13,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Ask people in the browser, on this machine; the same command continues.

    Settings: title, best, worst, instructions (Markdown), answers, gold_every, stop_below,
    stop_after, hold_minutes.
    """
    start(quiet)
    require("starlette", "ratings", "A questionnaire in the browser")
    from firth.ratings.records import read_gold, read_items, read_tuples
    from firth.ratings.store import Questionnaire, Rules, Store
    from firth.ratings.web import serve as serve_pages
    from firth.run.outputs import write_file
    from firth.run.settings import parse_section

    known = read_items(items)
    asked = read_tuples(tuples, {item.id for item in known})
    right = [] if gold is None else read_gold(gold, asked)
    rules = parse_section(Rules, _changes(changes), "--set")
    questionnaire = Questionnaire.of(known, asked, right, rules=rules, seed=seed)
    if to_csv is not None:
        write_file(to_csv, questionnaire.write_csv, force)
        say(f"{to_csv}: {len(asked):,} questions, {len(right):,} of them gold")
        return

    with Store.create(db, questionnaire) as store:
        say(f"{db}: {store.overview()}")
        serve_pages(store, port, lambda at: say(f"The questionnaire is at {at} (Ctrl+C ends it)"))
        say(f"{db}: {store.overview()}")


@app.command()
def score(
    tuples: Tuples,
    annotations: Annotations,
    out: OutFolder,
    gold: GoldFile = None,
    items: Annotated[
        Path | None, typer.Option(help="Items, in the wanted order.", show_default=False)
    ] = None,
    gold_threshold: GoldThreshold = 0.7,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score items from the answers: by counting and by Bradley-Terry, with 95 % intervals."""
    start(quiet)
    from firth.ratings.score import write_scores

    outcome = write_scores(
        tuples, annotations, out, gold, items, threshold=gold_threshold, force=force
    )
    _show(outcome, out, as_json)


@app.command()
def reliability(
    tuples: Tuples,
    annotations: Annotations,
    out: OutFolder,
    gold: GoldFile = None,
    gold_threshold: GoldThreshold = 0.7,
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 1_000,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure the split-half reliability of the answers."""
    start(quiet)
    from firth.ratings.reliability import write_reliability

    outcome = write_reliability(
        tuples, annotations, out, gold, threshold=gold_threshold, splits=splits, force=force
    )
    _show(outcome, out, as_json)


@app.command()
def features(
    pairs: Pairs,
    out: OutFolder,
    vectors: Annotated[
        str,
        typer.Option(help="Run, or file of word vectors (GloVe, word2vec).", show_default=False),
    ],
    pipeline: Annotated[
        str | None,
        typer.Option(help="spaCy pipeline. Default: the English one.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    seed: Seed = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show which shared and related words go with high scores (Table 4)."""
    start(quiet)
    from firth.evaluation.sets import load_set
    from firth.ratings.features import write_features

    data = load_set(pairs, data_dir)
    outcome = write_features(data, vectors, out, pipeline, seed=seed, force=force)
    _show(outcome, out, as_json)


@app.command()
def models(
    pairs: Pairs,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Runs, encoders and baselines, as for firth evaluate.",
            show_default=False,
        ),
    ] = None,
    finetune: Annotated[
        str | None,
        typer.Option(metavar="ENCODER", help="Fine-tune it on the pairs, too.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the results.", show_default=False),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    data_dir: DataDir = None,
    seed: Seed = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure models on scored pairs, by domain, as they are and fine-tuned (Tables 5 and 6)."""
    start(quiet)
    from firth.evaluation.sets import load_set
    from firth.model import open_scorer
    from firth.ratings.models import fine_tune, study_models
    from firth.run.outputs import claim_output

    if finetune is not None and out is None:
        raise InputError("--finetune needs a folder for its results: --out FOLDER")
    if out is not None:
        claim_output(out / "results.json", force)
    scorers = {name: open_scorer(name) for name in models or ["baseline:dice"]}
    data, tuned = load_set(pairs, data_dir), None
    if finetune is not None and out is not None:
        data, tuned = fine_tune(finetune, pairs, out, data_dir=data_dir, folds=folds, seed=seed)
    _result(
        study_models(data, scorers, tuned, folds=folds, seed=seed),
        None if out is None else out / "results.json",
        force,
        as_json,
    )


@app.command()
def bins(
    pairs: Pairs,
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="OTHER...", help="Other scores of the same pairs.", show_default=False
        ),
    ],
    num_bins: Annotated[int, typer.Option("--bins", min=1, help="Number of bins.")] = 5,
    domain: Annotated[
        str | None, typer.Option(help="Use only pairs of this domain.", show_default=False)
    ] = None,
    out: Out = None,
    data_dir: DataDir = None,
    seed: Seed = 13,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare two scores of the same pairs within bins, such as relatedness and similarity."""
    start(quiet)
    from firth.evaluation.sets import load_set
    from firth.ratings.models import compare_in_bins

    sets = [load_set(name, data_dir) for name in others]
    first = load_set(pairs, data_dir)
    comparison = compare_in_bins(first, sets, num_bins, domain=domain, seed=seed)
    _result(comparison, out, force, as_json)


def _changes(options: list[str] | None) -> dict[str, Any]:
    """Return name → value of `NAME=VALUE`; values are YAML."""
    from firth.run.settings import read_yaml

    values, problems = {}, []
    for option in options or []:
        name, equals, text = option.partition("=")
        try:
            values[name.strip()] = read_yaml(text)
        except ValueError:
            equals = ""
        if not equals:
            problems.append(f"{option!r}: expected NAME=VALUE")
    if problems:
        raise ConfigError("--set", problems)
    return values


def _show(outcome: Outcome, out: Path, as_json: bool) -> None:
    """Print the summary of a folder of results."""
    values = dict(outcome.manifest.summary)
    lines = [*values.pop("lines"), f"{out}: {'unchanged' if outcome.reused else 'written'}"]
    show({"folder": str(out), **values}, as_json, lines)


def _result(result: Any, out: Path | None, force: bool, as_json: bool) -> None:
    from firth.run.files import write_json
    from firth.run.outputs import write_file

    if out is not None:
        write_file(out, lambda path: write_json(path, result.as_dict()), force)
    if as_json:
        say_json(result.as_dict())
    else:
        say(result.text())
