"""Commands that use what was learned: vectors of all sentences, what scores mean, and search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.fields import options_of
from firth.cli.options import (
    Address,
    AsJson,
    Building,
    Changes,
    Conditions,
    DocumentPatterns,
    EngineName,
    Force,
    Gpus,
    InShards,
    OptionalOutFile,
    OutFile,
    PresetOption,
    Quiet,
    RunFolder,
    SourcePatterns,
    Workers,
    asked_run,
    changed_run,
    engine_of,
    parse_among,
    start,
)
from firth.cli.show import show_built, show_explanation, show_json
from firth.run.engine import EngineKind
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.progress import note
from firth.run.screen import say, tell

if TYPE_CHECKING:
    from firth.search.search import Hit, Search

Model = Annotated[
    str | None,
    typer.Option(
        metavar="NAME_OR_PATH",
        help="Folder or hub name of a sentence encoder. Default: the run's Surrogate.",
        show_default=False,
    ),
]
_REASONS = 3
"""Pieces of evidence of each part that `--why` shows."""


@options_of(InShards)
def index(
    folder: RunFolder,
    model: Model = None,
    *,
    settings: InShards,
) -> None:
    """Store the vectors of all sentences of a run, to be searched and compared."""
    start(settings.quiet)
    engine = settings.chosen_engine()
    from firth.index import INDEX
    from firth.pipeline import bring_up_to_date

    run = changed_run(folder, settings.changes(index={"model": model}))
    show_built(bring_up_to_date(run, INDEX, engine=engine), settings.as_json)


def encode(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RUN", help="Records, lines of text, or a run.", show_default=False
        ),
    ],
    out: OutFile,
    model: Model = None,
    format: Annotated[
        str, typer.Option(help="Of the numbers: `float32`, `float16`, `int8` or `binary`.")
    ] = "float32",
    text_field: Annotated[
        str | None,
        typer.Option(help="Field of the text in records, or several: subject,body. Default: text."),
    ] = None,
    id_field: Annotated[
        str | None, typer.Option(help="Field of their names. Default: id, if there is one.")
    ] = None,
    engine: EngineName = EngineKind.HERE,
    address: Address = None,
    workers: Workers = 1,
    gpus: Gpus = 0,
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the vectors of a file's records, or of a run's sentences, to a file.

    --out ends in .npy, .parquet or .safetensors.
    """
    start(quiet, out, force)
    from firth.index.encode import Format
    from firth.index.encode import encode as run_encode

    if format not in [each.value for each in Format]:
        raise InputError(f"--format {format}: expected {', '.join(Format)}")
    done = run_encode(
        source,
        out,
        model=model,
        format=format,
        text_field=text_field,
        id_field=id_field,
        force=force,
        engine=engine_of(engine, address, workers, gpus),
    )
    if as_json:
        ids = str(done.ids) if done.ids else None
        show_json(
            {"vectors": str(done.vectors), "ids": ids, "rows": done.rows,
             "dimensions": done.dimensions, "format": format}
        )  # fmt: skip
        return
    tell(f"{done.vectors}: {done.rows:,} vectors of {done.dimensions:,} dimensions, {format}")
    if done.ids is not None:
        tell(f"{done.ids}: their names")


@options_of(Building)
def scale(
    folder: RunFolder,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="TSV file of pairs that people judged: two sentences, and 1 (a match) or 0.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: Building,
) -> None:
    """Learn what scores mean in this corpus: how high random pairs and neighbours score."""
    start(settings.quiet)
    from firth.pipeline import bring_up_to_date
    from firth.scale import SCALE

    named: Changes = {"labels": str(labels) if labels else None}
    run = changed_run(folder, settings.changes(scale=named))
    show_built(bring_up_to_date(run, SCALE), settings.as_json)


def search(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of the run.", show_default=False)
    ],
    query: Annotated[
        str | None, typer.Argument(help="What is looked for.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="File of queries instead, one a line.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Hits to show.")] = 10,
    documents: Annotated[
        bool, typer.Option("--documents", help="Documents by their best sentence, once each.")
    ] = False,
    by: Annotated[
        str, typer.Option(help="`both`, `vectors` or `words`: what is compared.")
    ] = "both",
    document: DocumentPatterns = None,
    source: SourcePatterns = None,
    where: Conditions = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Rank the best hits anew, by Origin.")
    ] = False,
    rerank_by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_PATH",
            help="Rank them anew by a cross-encoder, such as RUN/cross-encoder.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Show what Origin's score of each hit comes from.")
    ] = False,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    quiet: Quiet = False,
) -> None:
    """Find sentences or documents by what they mean and by their words.

    --out is a file of JSON.
    """
    start(quiet, out, force)
    from firth.search.search import By, Search
    from firth.surrogate.cross_scorer import CrossScorer

    if rerank and rerank_by is not None:
        raise InputError("got both --rerank (by Origin) and --rerank-by; expected one of them")
    if (query is None) == (file is None):
        raise InputError("expected a query, or --file FILE with one a line")
    queries = [query] if query is not None else _read_queries(Path(str(file)))
    if by not in [each.value for each in By]:
        raise InputError(f"--by {by}: expected {', '.join(By)}")
    if preset is not None and not (rerank or why):
        raise InputError(f"--preset {preset}: got neither --rerank nor --why, which ask Origin")
    found = Search.open(asked_run(folder, preset))
    scorer = CrossScorer.open(rerank_by) if rerank_by is not None else rerank
    among = parse_among(document, source, where)
    if remark := found.index.library.remark():
        note(remark)
    results = [
        (
            asked,
            found.search(
                asked, top=top, by=By(by), documents=documents, among=among, rerank=scorer
            ),
        )
        for asked in queries
    ]
    if as_json or out is not None:
        plain = [found.as_dict(asked, hits, why) for asked, hits in results]
        if out is not None:
            write_json(out, plain)
        if as_json:
            show_json(plain)
        return
    for number, (asked, hits) in enumerate(results):
        if len(results) > 1:
            tell(f"{'' if not number else chr(10)}? {asked}")
        _show_hits(found, asked, hits, why)


def _show_hits(found: "Search", query: str, hits: "list[Hit]", why: bool) -> None:
    if not hits:
        say("nothing found: no sentence shares a word with the query")
    for rank, hit in enumerate(hits, start=1):
        dated = f"  {hit.date[:10]}" if hit.date else ""
        tell(f"{rank:>3}  {hit.score:.3f}  {hit.document}{dated}", "bold")
        tell(f"     {hit.text}")
        if hit.meaning:
            by = "Origin" if hit.origin is not None else "cosine"
            value = hit.origin if hit.origin is not None else hit.cosine
            tell(f"     {by} {value:.3f}: {hit.meaning}", "dim")
        if why:
            say()
            show_explanation(found.why(query, hit), _REASONS)
            say()


def _read_queries(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not (queries := [line.strip() for line in lines if line.strip()]):
        raise InputError(f"{path}: no query; expected one a line")
    return queries
