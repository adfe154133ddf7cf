"""Commands that find text, and what their scores mean: `search`, `match`, `duplicates`, ..."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from firth.cli.options import (
    AsJson,
    Force,
    Out,
    Quiet,
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

if TYPE_CHECKING:
    from firth.corpus.document import Document

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

    --out writes the documents without them, and what was dropped and why; or the pairs of passages.
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
    groups = model.duplicates(threshold, false_share=false_share, unit=unit, where=where)
    if out is not None:
        say(wrapped(write_cleaned(model.run, groups, out, force)))
    else:
        show_result(groups, as_json, top)


Column = Annotated[
    str,
    typer.Option(
        "--text",
        metavar="FIELD,...",
        help="Fields of tables and records with the text. In two lists that differ: name=title.",
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoder. By default the one that firth build would take."),
]
Unrelated = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Texts of the same kind that cannot have a counterpart: they prove the rate.",
    ),
]


def match(
    left: Annotated[Path, typer.Argument(metavar="LEFT", help="Lines of text, or records.")],
    right: Annotated[
        Path | None, typer.Argument(metavar="RIGHT", help="The same. [default: LEFT]")
    ] = None,
    column: Column = "text",
    precision: Annotated[
        float | None, typer.Option(help="Share of the matches that shall be right. [default: 0.9]")
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write matches to judge; from the answers, say how many are false at most.",
        ),
    ] = None,
    many_to_one: Annotated[
        bool | None,
        typer.Option(
            "--many-to-one/--one-to-one",
            help="Several texts of LEFT may match one of RIGHT. [default: as the lists say]",
        ),
    ] = None,
    veto: Annotated[
        bool, typer.Option("--veto", help="Texts that differ in what matters do not match.")
    ] = False,
    encoder: EncoderName = None,
    unrelated: Unrelated = None,
    workers: Workers = 1,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Match each text of a list with one of another, or of the same, without a run.

    --out writes a row for each text of LEFT, with the columns of both files side by side: CSV by
    the name .csv, JSON Lines otherwise.
    """
    from firth.plain import match as match_lists
    from firth.run.outputs import write_rows

    if review is not None and review.suffix.lower() != ".csv":
        raise InputError(f"--review {review}: expected a name that ends in .csv")
    columns_of_right = column.partition("=")[2] or column
    sides = [_documents(left, column.partition("=")[0])]
    if right is not None:
        sides.append(_documents(right, columns_of_right))
    texts = [[document.text.strip() for document in side] for side in sides]
    ids = [[document.id for document in side] for side in sides]
    result = match_lists(
        *texts,
        precision=precision,
        many_to_one=many_to_one,
        veto=veto,
        encoder=encoder,
        left_ids=ids[0],
        right_ids=ids[1] if right is not None else None,
        unrelated=_unrelated(unrelated, column),
        executor=executor_of(workers, None),
    )
    if review is not None:
        judged = result.review(review)
        todo = f"{review}: write 1 or 0 in the column match of each row, and repeat the command"
        show(judged, as_json, wrapped(judged.summary() if judged else todo))
        return
    if out is None:
        show_result(result, as_json)
        return
    columns = [[*dict.fromkeys(chain(*(record.fields for record in side)))] for side in sides]

    def row(side: int, name: str, number: int | None) -> dict[str, str]:
        fields = {} if number is None else sides[side][number].fields
        return {f"{name}: {key}": "; ".join(fields.get(key, ())) for key in columns[side]}

    rows = [row(0, "left", m.left) | row(-1, "right", m.right) | m.as_dict() for m in result]
    write_rows(out, rows, force)
    say(wrapped(f"{out}: {result.summary()}"))


def calibrate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Texts, instead of those of a run.")
    ] = None,
    run: RunFolder = None,
    column: Column = "text",
    encoder: EncoderName = None,
    unrelated: Unrelated = None,
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
        texts = [document.text.strip() for document in _documents(file, column)]
        calibration = calibrate_texts(
            texts, encoder=encoder, unrelated=_unrelated(unrelated, column)
        )
    else:
        if encoder is not None or unrelated is not None:
            raise InputError("got --encoder or --unrelated; expected a file of texts beside them")
        opened = Run.open(run_folder(run))
        build_calibration(opened)
        calibration = Calibration.open(opened)
    if false_match_rate is None:
        show_result(calibration, as_json)
        return
    threshold = calibration.threshold(false_match_rate)
    line = f"threshold {threshold:.3f}: {100 * false_match_rate:g}% of texts without a counterpart"
    if calibration.matches and false_match_rate * calibration.matches.drawn < GUESSED:
        line += f"; a guess, as it is fitted to {calibration.matches.drawn:,} texts"
    show({"false_match_rate": false_match_rate, "threshold": threshold}, as_json, line)


def _unrelated(file: Path | None, column: str) -> list[str] | None:
    """Return the texts of a file, whose columns have the names of the left list."""
    if file is None:
        return None
    return [document.text.strip() for document in _documents(file, column.partition("=")[0])]


def _documents(file: Path, column: str) -> "list[Document]":
    """Return the records of a file with all their fields, at least one."""
    from firth.corpus.document import ALL_FIELDS
    from firth.corpus.read import read_texts
    from firth.run.settings import CorpusSettings

    settings = CorpusSettings(text_field=column, fields=ALL_FIELDS)
    documents = list(read_texts(file, settings))
    if not documents:
        raise InputError(f"{file}: has no text in a field {column!r}. Name it with --text")
    return documents


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
