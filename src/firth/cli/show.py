"""How results look on the screen: plain text on standard output, nothing else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from firth.origin.origin import Explanation


def show_json(value: object) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_summary(title: str, summary: Mapping[str, Any]) -> None:
    """Print a stage's summary, one figure a line, nested names joined by dots."""
    typer.echo(title)
    for name, value in _flat("", summary):
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        typer.echo(f"  {name:<36} {shown}")


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its longest cell; the last one is not padded."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.echo("  ".join(cells).rstrip())


def show_explanation(found: "Explanation", top: int) -> None:
    """Print a score and its weightiest evidence."""
    typer.echo(f"1: {found.sentence1}\n2: {found.sentence2}")
    typer.echo(found.summary)
    for item in found.shown(top):
        typer.echo(f"\n{item.amount:+.4f}   {item.note}\n    {item.text}")


def _flat(prefix: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _flat(f"{prefix}{name}.", item)
        else:
            yield f"{prefix}{name}", item
