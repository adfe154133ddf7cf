"""What the check thought of a student's training, as its card and its summary say it."""

from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

from firth.check.judged import accuracy_rows, ahead_rows, markdown

START, TRAINED = "start", "trained"
_KEPT = {
    START: "The start was kept, and what was learned was thrown away.",
    TRAINED: "What was learned was kept.",
}


def told(check: Mapping[str, Any]) -> str:
    """What the check found and what was kept, in words, from `Start.judge`."""
    found = (f"By the check on held-out documents {one['why']}."
             for one in check["candidates"] if "why" in one)  # fmt: skip
    return " ".join([*found, *check["notes"], _KEPT[check["kept"]]])


def checked(check: Mapping[str, Any] | None) -> str:
    """The part of a card on it; empty where nothing was trained."""
    if check is None:
        return ""
    text = resources.files("firth.surrogate").joinpath("checked.md").read_text(encoding="utf-8")
    tables = {"accuracy": markdown(accuracy_rows(check)), "ahead": markdown(ahead_rows(check))}
    return "\n\n" + Template(text).substitute(tables, told=told(check)).rstrip("\n")
