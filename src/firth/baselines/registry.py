"""Baselines by name: `baseline:NAME` or `baseline:NAME@SOURCE`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from firth.baselines.protocol import Scorer
from firth.errors import InputError

PREFIX = "baseline:"


@dataclass(frozen=True)
class Baseline:
    """One entry of the registry.

    Attributes:
        summary: What it does, in a line.
        open: Builds the scorer from what follows `@` (None when nothing does).
        source: What may follow `@`; None when nothing may.
    """

    summary: str
    open: Callable[[str | None], Scorer]
    source: str | None = None


def _dice(_: str | None) -> Scorer:
    from firth.baselines.dice import Dice

    return Dice()


def _tfidf(run: str | None) -> Scorer:
    from firth.baselines.idf import fit_idf_on_run
    from firth.baselines.tfidf import TfIdf

    return TfIdf(fit_idf_on_run(run) if run else None)


BASELINES: Mapping[str, Baseline] = {
    "dice": Baseline("words in common (Dice coefficient over word sets)", _dice),
    "tfidf": Baseline(
        "cosine of tf-idf vectors; idf from the evaluated set, or from a run's corpus",
        _tfidf,
        source="RUN",
    ),
}


def parse_baseline(spec: str) -> tuple[str, str | None]:
    """Split `baseline:NAME@SOURCE` into name and source; raise `InputError` where that fails."""
    name, at, source = spec.removeprefix(PREFIX).partition("@")
    if name not in BASELINES:
        known = ", ".join(PREFIX + known for known in BASELINES)
        raise InputError(f"{spec}: no such baseline. Known: {known}")
    takes = BASELINES[name].source
    if at and takes is None:
        raise InputError(f"{spec}: {PREFIX}{name} takes nothing after @. Write {PREFIX}{name}")
    if at and not source:
        raise InputError(f"{spec}: nothing after @. Write {PREFIX}{name}@{takes}")
    return name, source or None


def open_baseline(spec: str) -> Scorer:
    """Build the scorer `baseline:NAME[@SOURCE]`.

    Raises:
        InputError: No such baseline, or a source it does not take.
        MissingStageError: The run after `@` has no corpus yet.
    """
    name, source = parse_baseline(spec)
    return BASELINES[name].open(source)
