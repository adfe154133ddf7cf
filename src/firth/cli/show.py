"""How results look on the screen, or as JSON: on standard output, nothing else."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firth.run.screen import say, say_styled, tell, wrapped
from firth.summaries import sentences_of

if TYPE_CHECKING:
    from firth.lexical.scorer import Explanation
    from firth.run.stage import Outcome
    from firth.scale.scale import Scale


def show_json(value: object) -> None:
    """Print a value as JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=False))


def show_built(outcomes: "Mapping[str, Outcome]", as_json: bool) -> None:
    """Print what each stage did: in sentences, or by the keys of its summary.

    Args:
        outcomes: Name of a stage → its outcome.
        as_json: Print name → `reused` (whether it was up to date) and `summary`.
    """
    if as_json:
        show_json(
            {
                name: {"reused": one.reused, "summary": dict(one.manifest.summary)}
                for name, one in outcomes.items()
            }
        )
        return
    for name, one in outcomes.items():
        show_summary(name, one.manifest.summary, one.reused)


def show_summary(name: str, summary: Mapping[str, Any], reused: bool = False) -> None:
    """Print what a stage did, in sentences that begin with its name."""
    head = f"{name} (up to date)" if reused else name
    lines = wrapped(f"{head}: {sentences_of(name, summary)}").split("\n")
    say_styled((head, "bold"), (lines[0][len(head) :], ""))
    for line in lines[1:]:
        say(line)


def show_explanation(found: "Explanation", top: int, scale: "Scale | None" = None) -> None:
    """Print a score, what it means where its scale is known, and its weightiest evidence."""
    from firth.origin.reasons import Reasons

    meaning = "" if scale is None else scale.describe(found.similarity)
    if isinstance(found, Reasons):
        from firth.cli.show_reasons import show_reasons

        show_reasons(found, top, meaning)
        return
    tell(f"1: {found.sentence1}\n2: {found.sentence2}\n{found.summary}")
    if meaning:
        tell(meaning)
    for item in found.shown(top):
        tell(f"\n{item.amount:+.4g}   {item.note}\n    {item.text}")
