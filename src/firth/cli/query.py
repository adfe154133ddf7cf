"""Commands that answer about texts: `similarity`, `explain`, `differences`."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import AsJson, Force, Out, Quiet, RunFolder, Top, run_folder, show
from firth.run.console import say
from firth.run.errors import InputError

First = Annotated[str | None, typer.Argument(metavar="TEXT1")]
Second = Annotated[str | None, typer.Argument(metavar="TEXT2")]
PairsFile = Annotated[
    Path | None,
    typer.Option(
        "--pairs-file",
        metavar="FILE",
        help="Table of pairs instead of two texts: TSV, CSV or JSON lines with the columns "
        "sentence1 and sentence2.",
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", help="Run, encoder folder or baseline instead of --run."
    ),
]


def similarity(
    text1: First = None,
    text2: Second = None,
    run: RunFolder = None,
    model: ModelName = None,
    pairs_file: PairsFile = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print the similarity of two texts, or of each pair of a file.

    A run scores a file as a whole: words that are frequent in the file count less.
    """
    from firth.model import open_scorer
    from firth.run.outputs import claim_output, write_rows
    from firth.text.types import scored_as_set

    if out is not None:
        claim_output(out, force)
    pairs = _pairs(text1, text2, pairs_file)
    scores = scored_as_set(open_scorer(model or str(run_folder(run))), pairs).tolist()
    rows = [
        {"sentence1": left, "sentence2": right, "score": score}
        for (left, right), score in zip(pairs, scores, strict=True)
    ]
    if out is not None:
        write_rows(out, rows, force)
        say(f"{out}: {len(rows):,} scores")
    elif pairs_file is None:
        show(rows[0], as_json, f"similarity {scores[0]:.3f}")
    else:
        lines = [f"{row['score']:.6f}\t{row['sentence1']}\t{row['sentence2']}" for row in rows]
        show(rows, as_json, lines)


def explain(
    text1: First = None,
    text2: Second = None,
    run: RunFolder = None,
    pairs_file: PairsFile = None,
    top: Top = 5,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Explain the similarity of two texts: aligned words, shared topics, and what differs.

    --out writes .html, .json or .txt.
    """
    from firth.model import load
    from firth.run.outputs import claim_output
    from firth.scorer.explanation import save_explanations

    if out is not None:
        claim_output(out, force)
    pairs = _pairs(text1, text2, pairs_file)
    scorer = load(run_folder(run)).scorer.among(pairs)
    explanations = [explanation.top(top) for explanation in scorer.explanations(pairs)]
    if out is not None:
        save_explanations(explanations, out, force)
        say(f"{out}: {len(explanations):,} explanations")
    else:
        values = [explanation.as_dict() for explanation in explanations]
        plain = values if pairs_file else values[0]
        show(plain, as_json, "\n\n".join(map(str, explanations)))


def differences(
    text1: First = None,
    text2: Second = None,
    pairs_file: PairsFile = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="ISO 639-1 code. By default recognized.")
    ] = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what two texts, or the pairs of a file, differ in that matters. It needs no run.

    Numbers, dates, names, negations, opposites, the filling of one slot, and the order of words.
    """
    from firth.run.outputs import claim_output, write_rows
    from firth.text.differences import differences as find_differences

    if out is not None:
        claim_output(out, force)
    found = [find_differences(*pair, language) for pair in _pairs(text1, text2, pairs_file)]
    if out is not None:
        rows = [
            {"sentence1": each.a, "sentence2": each.b, "differ": bool(each), "why": each.text}
            for each in found
        ]
        write_rows(out, rows, force)
        say(f"{out}: {len(rows):,} pairs, {sum(map(bool, found)):,} differ in what matters")
        return
    values = [each.as_dict() for each in found]
    lines = [each.text for each in found]
    if pairs_file:
        lines = [f"{each.text}\t{each.a}\t{each.b}" for each in found]
    show(values if pairs_file else values[0], as_json, lines)


def _pairs(text1: str | None, text2: str | None, file: Path | None) -> list[tuple[str, str]]:
    """Return the pairs of a file, or the two texts."""
    if file is not None:
        if text1 is not None:
            raise InputError("got texts and --pairs-file; expected one of them")
        from firth.evaluation.files import read_table

        table = read_table(file)
        if not {"sentence1", "sentence2"} <= {*table.header}:
            raise InputError(f"{file}: expected the columns sentence1 and sentence2")
        return [(row["sentence1"], row["sentence2"]) for _, row in table.records]
    if text1 is None or text2 is None:
        raise InputError("expected two texts, or --pairs-file FILE")
    return [(text1, text2)]
