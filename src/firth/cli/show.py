"""How results look on the screen: plain text on standard output, nothing else."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firth.run.screen import say

if TYPE_CHECKING:
    from firth.lexical.scorer import Explanation


def show_json(value: object) -> None:
    """Print a value as JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def show_summary(title: str, summary: Mapping[str, Any]) -> None:
    """Print a stage's summary, one figure a line, nested names joined by dots."""
    say(title)
    for name, value in _flat("", summary):
        say(f"  {name:<36} {_shown(value)}")


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its longest cell; the last one is not padded."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say("  ".join(cells).rstrip())


def show_explanation(found: "Explanation", top: int) -> None:
    """Print a score and its weightiest evidence."""
    from firth.origin.reasons import Reasons

    if isinstance(found, Reasons):
        from firth.cli.show_reasons import show_reasons

        show_reasons(found, top)
        return
    say(f"1: {found.sentence1}\n2: {found.sentence2}")
    say(found.summary)
    for item in found.shown(top):
        say(f"\n{item.amount:+.4g}   {item.note}\n    {item.text}")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value)) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _flat(prefix: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _flat(f"{prefix}{name}.", item)
        else:
            yield f"{prefix}{name}", item
