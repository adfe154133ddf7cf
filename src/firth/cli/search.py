"""Commands that find text: `search`, `duplicates`, `find-reuse`, `compare-documents`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from firth.cli.options import (
    AsJson,
    Force,
    Out,
    Quiet,
    RunFolder,
    Top,
    Where,
    run_folder,
    say_json,
    show,
)
from firth.run.console import say, wrapped
from firth.run.errors import InputError

Unit = Annotated[
    Literal["sentence", "document"], typer.Option(help="Result: sentences or documents.")
]

_NEAREST = 3
"""Hits that are shown where nothing answers."""


def search(
    query: Annotated[str, typer.Argument(help="Words, a sentence, or more.")],
    run: RunFolder = None,
    top: Top = 10,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"],
        typer.Option(help="Rank by words and vectors, by vectors, or by words."),
    ] = "hybrid",
    unit: Unit = "sentence",
    where: Where = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the similarity of query and hit.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the sentences or documents that answer a query."""
    from firth.model import load
    from firth.search.calibration import NOTHING

    model = load(run_folder(run))
    hits = model.search(query, top=top, mode=mode, unit=unit, where=where)
    if as_json:
        plain = {"query": query, **hits.as_dict()}
        if explain:
            for row, hit in zip(plain["hits"], hits, strict=True):
                row["explanation"] = model.explain(query, hit.text).as_dict()
        say_json(plain)
        return
    if hits.remark:
        say(wrapped(hits.remark))
    for number, hit in enumerate(hits[:_NEAREST] if hits.answer == NOTHING else hits, start=1):
        say(wrapped(f"{number:>2}  {hit.marked()}"))
        say(f"    {hit.title or hit.document}{f'; {hit.answer}' if hit.answer else ''}")
        if explain:
            say(f"    {model.explain(query, hit.text).top(3).text}")


def duplicates(
    run: RunFolder = None,
    threshold: Annotated[float | None, typer.Option(help="Lowest cosine of similar texts.")] = None,
    false_match_rate: Annotated[
        float | None,
        typer.Option(
            help="Share of sentences without a counterpart that may be given one. It sets the "
            "threshold. [default: 0.01]"
        ),
    ] = None,
    unit: Unit = "sentence",
    top: Top = 20,
    review: Annotated[
        int | None,
        typer.Option(help="Write so many pairs to judge to --out (CSV), or read them back.", min=1),
    ] = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find groups of equal, nearly equal and similar texts.

    --out writes the documents without them, and what was dropped, for what, and why.
    """
    from firth.model import load
    from firth.run.outputs import claim_output
    from firth.search.clean import dropped_file, read_review, write_cleaned, write_review
    from firth.search.duplicates import FALSE_MATCHES

    if threshold is not None and false_match_rate is not None:
        raise InputError("got --threshold and --false-match-rate; expected one of them")
    if review is not None:
        out = out or Path("duplicates-review.csv")
        if out.is_file() and not force:
            judged = read_review(out)
            show(judged, as_json, judged.text())
            return
    for path in () if out is None else (out, dropped_file(out)):
        claim_output(path, force)
    model = load(run_folder(run))
    rate = FALSE_MATCHES if false_match_rate is None else false_match_rate
    result = model.duplicates(threshold, false_match_rate=rate, unit=unit)
    if out is not None and review is not None:
        count = write_review(result, review, out, model.run.settings.seed, force)
        say(f"{out}: {count} pairs. Fill the column `match` with 1 or 0, and call this again")
    elif out is not None:
        say(wrapped(write_cleaned(model.run, result, out, force).text()))
    else:
        show(result.as_dict(), as_json, result.text(top))


def find_reuse(
    run: RunFolder = None,
    where: Where = None,
    top: Top = 20,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the pairs of documents that share passages."""
    from firth.model import load
    from firth.run.outputs import claim_output, write_rows

    if out is not None:
        claim_output(out, force)
    result = load(run_folder(run)).find_reuse(where=where)
    if out is not None:
        write_rows(out, [pair.as_dict() for pair in result.pairs], force)
        say(f"{out}: {len(result.pairs):,} pairs of documents")
    else:
        show(result.as_dict(), as_json, result.text(top))


def compare_documents(
    first: Annotated[str, typer.Argument(metavar="DOCUMENT1", help="Id in the run, or a file.")],
    second: Annotated[str, typer.Argument(metavar="DOCUMENT2", help="Id in the run, or a file.")],
    run: RunFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Align the sentences of two documents: equal, changed, and without a counterpart."""
    from firth.model import load

    result = load(run_folder(run)).compare_documents(first, second)
    show(result.as_dict(), as_json, result.text())
