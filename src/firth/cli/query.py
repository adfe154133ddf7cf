"""Commands that answer about texts: `similarity`, `explain`, `differences`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.options import (
    AsJson,
    Force,
    Out,
    Quiet,
    RunFolder,
    Top,
    run_folder,
    show,
    show_result,
)
from firth.run.console import plural
from firth.run.errors import InputError
from firth.run.results import TOP, Results

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


@dataclass(frozen=True, repr=False)
class _Pairs(Results[dict[str, Any]]):
    """What is said of pairs of texts: `sentence1`, `sentence2`, and the answers."""

    named = "pairs"

    def summary(self) -> str:
        return plural(len(self), "pair")

    def text(self, top: int = TOP) -> str:
        """Return a line for each pair: answers, then texts, between tabs."""
        rows = ((*answers, a, b) for a, b, *answers in map(dict.values, self))
        return "\n".join("\t".join(map(str, row)) for row in rows)


def similarity(
    text1: First = None,
    text2: Second = None,
    run: RunFolder = None,
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
    from firth.text.types import scored_as_set

    pairs = _pairs(text1, text2, pairs_file)
    scores = scored_as_set(open_scorer(str(run_folder(run))), pairs).tolist()
    rows = tuple(
        {"sentence1": a, "sentence2": b, "score": round(score, 6)}
        for (a, b), score in zip(pairs, scores, strict=True)
    )
    if pairs_file or out:
        show_result(_Pairs(items=rows), as_json, out=out, force=force)
    else:
        show(rows[0], as_json, f"similarity {scores[0]:.3f}")


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

    --out writes .html, .json or .txt; and the rows of the decomposition as .csv or .jsonl.
    """
    from firth.model import load
    from firth.scorer.explanation import Explanations

    pairs = _pairs(text1, text2, pairs_file)
    scorer = load(run_folder(run)).scorer.among(pairs)
    explanations = Explanations(
        items=tuple(explanation.top(top) for explanation in scorer.explanations(pairs))
    )
    show_result(explanations if pairs_file else explanations[0], as_json, top, out, force)


def differences(
    text1: First = None,
    text2: Second = None,
    pairs_file: PairsFile = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="ISO 639-1 code. By default recognized.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoder that decides replaced words.")
    ] = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what two texts, or the pairs of a file, differ in that matters. It needs no run.

    Numbers, dates, names, negations, opposites, the filling of one slot, and the order of words.
    """
    from firth.text.differences import differences as find_differences

    opened = None
    if encoder is not None:
        from firth.encoders.kinds import open_encoder

        opened = open_encoder(encoder)
    pairs = _pairs(text1, text2, pairs_file)
    results = [find_differences(a, b, language=language, encoder=opened) for a, b in pairs]
    rows = tuple(
        {"sentence1": a, "sentence2": b, "differ": result.differ, "why": result.summary()}
        for (a, b), result in zip(pairs, results, strict=True)
    )
    result = _Pairs(items=rows) if pairs_file or out else results[0]
    show_result(result, as_json, out=out, force=force)


def _pairs(text1: str | None, text2: str | None, file: Path | None) -> list[tuple[str, str]]:
    """Return the pairs of a file, or the two texts."""
    if file is not None:
        if text1 is not None:
            raise InputError("got texts and --pairs-file; expected one of them")
        from firth.corpus.files import read_table

        table = read_table(file)
        if not {"sentence1", "sentence2"} <= {*table.header}:
            raise InputError(f"{file}: expected the columns sentence1 and sentence2")
        return [(row["sentence1"], row["sentence2"]) for _, row in table.records]
    if text1 is None or text2 is None:
        raise InputError("expected two texts, or --pairs-file FILE")
    return [(text1, text2)]
