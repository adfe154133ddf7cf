"""Commands that find text, and what their scores mean: `search`, `match`, `duplicates`, ..."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from firth.cli.options import (
    AsJson,
    Force,
    Out,
    Quiet,
    RayAddress,
    RunFolder,
    Top,
    Where,
    Workers,
    executor_of,
    run_folder,
    show,
    show_result,
)
from firth.run.console import say, wrapped
from firth.run.errors import InputError

Unit = Annotated[
    Literal["sentence", "document"], typer.Option(help="Result: sentences or documents.")
]


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
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the sentences or documents that answer a query."""
    from firth.model import load

    model = load(run_folder(run))
    hits = model.search(query, top=top, mode=mode, unit=unit, where=where)
    show_result(hits, as_json, top, out, force)


def duplicates(
    run: RunFolder = None,
    threshold: Annotated[
        float | None, typer.Option(help="Least cosine of similar sentences.")
    ] = None,
    false_share: Annotated[
        float | None,
        typer.Option(
            help="Expected share of chance among similar sentences. It sets the threshold. "
            "[default: 0.05]"
        ),
    ] = None,
    unit: Annotated[
        Literal["sentence", "document", "passage"],
        typer.Option(help="What is compared; passages bring pairs of documents."),
    ] = "sentence",
    where: Where = None,
    top: Top = 20,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find groups of equal, nearly equal and similar texts.

    --out writes the documents without them, and what was dropped, for what, and why; or the pairs
    of documents that share passages.
    """
    from firth.model import load
    from firth.run.outputs import claim_output
    from firth.search.duplicates import dropped_file, write_cleaned

    if threshold is not None and false_share is not None:
        raise InputError("got --threshold and --false-share; expected one of them")
    if out is not None and unit != "passage":
        claim_output(dropped_file(out), force)
    model = load(run_folder(run))
    if unit == "passage":
        result = model.duplicates(threshold, unit=unit, where=where)
        show_result(result, as_json, top, out, force)
        return
    found = model.duplicates(threshold, false_share=false_share, unit=unit, where=where)
    if out is not None:
        say(wrapped(write_cleaned(model.run, found, out, force).text()))
    else:
        show_result(found, as_json, top)


Column = Annotated[
    str,
    typer.Option("--text", metavar="FIELD,...", help="Fields of tables and records with the text."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Field of what the texts are called.")]
EncoderName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoder. By default the one that firth build would take."),
]


def match(
    left: Annotated[Path, typer.Argument(metavar="LEFT", help="Lines of text, or records.")],
    right: Annotated[
        Path | None, typer.Argument(metavar="RIGHT", help="The same. [default: LEFT]")
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    encoder: EncoderName = None,
    false_match_rate: Annotated[
        float, typer.Option(help="Share of texts without a counterpart that may get a match.")
    ] = 0.01,
    language: Annotated[str, typer.Option(help="Language of the texts (ISO 639-1).")] = "auto",
    top: Top = 20,
    workers: Workers = 1,
    ray: RayAddress = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Match each text of a list with one of another, or of the same, without a run.

    --out writes a row for each text of LEFT: CSV by the name .csv, JSON Lines otherwise.
    """
    from firth.plain import match as match_lists

    sides = [_texts(file, column, id_column) for file in (left, right) if file is not None]
    ids, texts = zip(*sides, strict=True)
    result = match_lists(
        *texts,
        encoder=encoder,
        false_match_rate=false_match_rate,
        left_ids=ids[0],
        right_ids=ids[1] if right is not None else None,
        language=language,
        executor=executor_of(workers, ray),
    )
    show_result(result, as_json, top, out, force)


def calibrate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Texts, instead of those of a run.")
    ] = None,
    run: RunFolder = None,
    column: Column = "text",
    encoder: EncoderName = None,
    false_match_rate: Annotated[
        float | None,
        typer.Option(help="Print the cosine that so many texts without a counterpart reach."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show which cosines chance gives in a run, or an encoder among the texts of a file."""
    from firth.plain import calibrate as calibrate_texts
    from firth.run.run import Run
    from firth.search.calibrate import build_calibration
    from firth.search.calibration import GUESSED, Calibration

    if file is not None:
        if run is not None:
            raise InputError("got a file and --run; expected one of them")
        known = calibrate_texts(_texts(file, column, None)[1], encoder=encoder)
    else:
        if encoder is not None:
            raise InputError("got --encoder without a file of texts; a run has its own")
        opened = Run.open(run_folder(run))
        build_calibration(opened)
        known = Calibration.open(opened)
    if false_match_rate is None:
        show_result(known, as_json)
        return
    threshold = known.threshold(false_match_rate)
    line = f"threshold {threshold:.3f}: {100 * false_match_rate:g}% of texts without a counterpart"
    if known.matches and false_match_rate * known.matches.drawn < GUESSED:
        line += f"; a guess, as it is fitted to {known.matches.drawn:,} texts"
    show({"false_match_rate": false_match_rate, "threshold": threshold}, as_json, line)


def _texts(file: Path, column: str, id_column: str | None) -> tuple[list[str], list[str]]:
    """Return the ids and the texts of a file, at least one."""
    from firth.corpus.read import read_texts
    from firth.run.settings import CorpusSettings

    settings = CorpusSettings(text_field=column, id_field=id_column)
    rows = list(read_texts(file, settings))
    if not rows:
        raise InputError(f"{file}: has no text in a field {column!r}. Name it with --text")
    return [id for id, _ in rows], [text for _, text in rows]


def compare_documents(
    first: Annotated[str, typer.Argument(metavar="DOCUMENT1", help="Id in the run, or a file.")],
    second: Annotated[str, typer.Argument(metavar="DOCUMENT2", help="Id in the run, or a file.")],
    run: RunFolder = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Align the sentences of two documents: equal, changed, and without a counterpart."""
    from firth.model import load

    show_result(load(run_folder(run)).compare_documents(first, second), as_json)
