"""The commands that find what stands in several documents."""

from pathlib import Path
from typing import Annotated, Any

import typer

from firth.cli.options import (
    AsJson,
    Conditions,
    DocumentPatterns,
    Force,
    OptionalOutFile,
    PresetOption,
    Quiet,
    Seed,
    SourcePatterns,
    asked_run,
    parse_among,
    start,
)
from firth.cli.show import show_json
from firth.reuse.kinds import Kind, Order, Unit
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.screen import tell

RunArgument = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder of the run.", show_default=False, file_okay=False),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="Folder or hub name of a sentence encoder. Default: the run's.",
        show_default=False,
    ),
]  # fmt: skip
Threshold = Annotated[
    float | None,
    typer.Option(help="Least similarity of what is alike, in (0, 1).", show_default=False),
]
Rate = Annotated[
    float,
    typer.Option(
        help="Instead: share of pairs of sentences of one document that may be taken for alike."
    ),
]
OrderOption = Annotated[
    Order, typer.Option(help="`free`: sentences may have moved; `kept`: they may not.")
]


def duplicates(
    folder: RunArgument,
    documents: Annotated[
        bool, typer.Option("--documents/--sentences", help="What is compared.")
    ] = False,
    kind: Annotated[
        Kind,
        typer.Option(help="How far to look: the same words, nearly the same, or reworded too."),
    ] = Kind.REWORDED,
    model: Model = None,
    threshold: Threshold = None,
    rate: Rate = 0.001,
    min_words: Annotated[int, typer.Option(min=2, help="Shorter sentences are passed over.")] = 6,
    document: DocumentPatterns = None,
    source: SourcePatterns = None,
    where: Conditions = None,
    top: Annotated[int, typer.Option(min=0, help="Groups to show.")] = 10,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Find sentences, or documents, that say the same, in groups.

    --out is a file of all groups: .parquet, or else JSON lines.
    """
    start(quiet, out, force)
    from firth.reuse.duplicates import duplicates as find

    unit = Unit.DOCUMENTS if documents else Unit.SENTENCES
    found = find(
        folder, unit=unit, kind=kind, model=model, threshold=threshold, rate=rate,
        min_words=min_words, among=parse_among(document, source, where), seed=seed,
    )  # fmt: skip
    if out is not None:
        found.write(out)
    of_run = found.threshold if model is None and not documents else None
    _show(found.text(top), found.as_dict(top), as_json, folder, of_run)


def mine(
    folder: RunArgument,
    model: Model = None,
    order: OrderOption = Order.FREE,
    threshold: Threshold = None,
    rate: Rate = 0.001,
    candidates: Annotated[
        int, typer.Option(min=1, help="Documents that each is aligned with, at most.")
    ] = 10,
    document: DocumentPatterns = None,
    source: SourcePatterns = None,
    where: Conditions = None,
    top: Annotated[int, typer.Option(min=0, help="Pairs to show.")] = 20,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Find documents that re-tell one another, ranked by how much of them is found in both.

    --out is a file of all pairs: .parquet, or else JSON lines.
    """
    start(quiet, out, force)
    from firth.reuse.mine import mine as find

    found = find(
        folder, model=model, order=order, threshold=threshold, rate=rate, candidates=candidates,
        among=parse_among(document, source, where), seed=seed,
    )  # fmt: skip
    if out is not None:
        found.write(out)
    of_run = found.threshold if model is None else None
    _show(found.text(top), found.as_dict(top), as_json, folder, of_run)


def compare_documents(
    a: Annotated[
        str, typer.Argument(help="A file, or the id of a document of RUN.", show_default=False)
    ],
    b: Annotated[str, typer.Argument(help="Another one.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of a run.", show_default=False, file_okay=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="A sentence encoder, or baseline:NAME. Default: the run's.",
            show_default=False,
        ),
    ] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Ask the run's Origin.")] = False,
    order: OrderOption = Order.FREE,
    threshold: Threshold = None,
    rate: Rate = 0.001,
    out: OptionalOutFile = None,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Say which sentences of two documents say the same, and how much of each is in the other.

    --out is a file of JSON.
    """
    start(quiet, out, force)
    from firth.evaluate.results import write_document
    from firth.reuse.compare import compare_documents as compare

    if preset is not None and not origin:
        raise InputError(f"--preset {preset}: got no --origin; only Origin follows it")
    run = None if folder is None else asked_run(folder, preset)
    found = compare(
        a, b, run, model=model, origin=origin, order=order, threshold=threshold, rate=rate,
        seed=seed,
    )  # fmt: skip
    if out is not None:
        write_document(out, found.as_dict())
    of_run = found.threshold if model is None else None
    _show(found.text(), found.as_dict(), as_json, folder, of_run, origin)


def _show(
    text: str,
    plain: dict[str, Any],
    as_json: bool,
    folder: Path | None,
    threshold: float | None,
    origin: bool = False,
) -> None:
    """Print what was found, and what its least similarity means.

    Args:
        text: For people.
        plain: For JSON.
        as_json: Which of the two.
        folder: Of the run, if there is one.
        threshold: The least similarity; None where no model of the run's gave it.
        origin: Whether the run's Origin did, and not its Surrogate.
    """
    from firth.scale.scale import Scale, Scorer, with_shares

    scale = None
    if folder is not None and threshold is not None:
        scale = Scale.current(Run.open(folder), Scorer.ORIGIN if origin else Scorer.VECTORS)
    if as_json:
        show_json(with_shares(plain, scale, threshold or 0.0))
        return
    tell(text)
    if scale and threshold is not None:
        tell(f"\nA similarity of {threshold:.2f} is {scale.describe(threshold)}.")
