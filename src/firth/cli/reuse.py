"""The commands that find what stands in several documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.options import (
    AsJson,
    Force,
    OptionalOutFile,
    PresetOption,
    Quiet,
    Seed,
    asked_run,
    start,
)
from firth.cli.show import show_json
from firth.reuse.kinds import Kind, Order, Unit
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.screen import tell

if TYPE_CHECKING:
    from firth.reuse.duplicates import Duplicates
    from firth.reuse.mine import Mined

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
        min_words=min_words, seed=seed,
    )  # fmt: skip
    if out is not None:
        found.write(out)
    of_run = found.threshold if model is None and not documents else None
    _show(found, top, as_json, folder, of_run)


def mine(
    folder: RunArgument,
    model: Model = None,
    order: OrderOption = Order.FREE,
    threshold: Threshold = None,
    rate: Rate = 0.001,
    candidates: Annotated[
        int, typer.Option(min=1, help="Documents that each is aligned with, at most.")
    ] = 10,
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
        seed=seed,
    )  # fmt: skip
    if out is not None:
        found.write(out)
    _show(found, top, as_json, folder, found.threshold if model is None else None)


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
    if as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())


def _show(
    found: "Duplicates | Mined", top: int, as_json: bool, folder: Path, threshold: float | None
) -> None:
    """Print what was found, and what its least similarity means.

    Args:
        found: What.
        top: Groups or pairs to show.
        as_json: As JSON.
        folder: Of the run.
        threshold: Cosine of the run's Surrogate; None where it is not one.
    """
    from firth.scale.scale import Scale, Scorer, with_shares

    scale = None if threshold is None else Scale.current(Run.open(folder), Scorer.VECTORS)
    if as_json:
        show_json(with_shares(found.as_dict(top), scale, threshold or 0.0))
        return
    tell(found.text(top))
    if scale and threshold is not None:
        tell(f"\nA similarity of {threshold:.2f} is {scale.describe(threshold)}.")
