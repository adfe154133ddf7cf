"""Baselines by name: `baseline:NAME` or `baseline:NAME@SOURCE`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from firth.baselines.protocol import Scorer
from firth.baselines.trained import TRAINED, identify_trained, open_trained
from firth.errors import InputError

PREFIX = "baseline:"


def _nothing(_: str | None) -> object:
    return None


@dataclass(frozen=True)
class Baseline:
    """One entry of the registry.

    Attributes:
        summary: What it does, in a line.
        open: Builds the scorer from what follows `@` (None when nothing does).
        source: What may follow `@`; None when nothing may.
        required: Whether something must follow `@`.
        identify: What identifies the thing after `@` whatever it is called: a value of plain
            types, such as a digest of the files read.
    """

    summary: str
    open: Callable[[str | None], Scorer]
    source: str | None = None
    required: bool = False
    identify: Callable[[str | None], object] = _nothing


def _dice(_: str | None) -> Scorer:
    from firth.baselines.dice import Dice

    return Dice()


def _tfidf(run: str | None) -> Scorer:
    from firth.baselines.idf import fit_idf_on_run
    from firth.baselines.tfidf import TfIdf

    return TfIdf(fit_idf_on_run(run) if run else None)


def _corpus(run: str | None) -> object:
    from firth.artifacts import Manifest
    from firth.corpus import CORPUS

    found = Manifest.read(Path(run) / CORPUS.name) if run else None
    return found.digest if found else None


def _open_trained(name: str, source: str | None) -> Scorer:
    return open_trained(name, str(source))


def _identify_trained(name: str, source: str | None) -> object:
    return identify_trained(name, str(source))


BASELINES: Mapping[str, Baseline] = {
    "dice": Baseline("words in common (Dice coefficient over word sets)", _dice),
    "tfidf": Baseline(
        "cosine of tf-idf vectors; idf from the evaluated set, or from a run's corpus",
        _tfidf,
        source="RUN",
        identify=_corpus,
    ),
    **{
        name: Baseline(
            trained.summary,
            partial(_open_trained, name),
            source="RUN",
            required=True,
            identify=partial(_identify_trained, name),
        )
        for name, trained in TRAINED.items()
    },
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
    if not source and (at or BASELINES[name].required):
        hint = ""
        if name in TRAINED:
            hint = f", trained by: firth train baseline {name} --run {takes}"
        raise InputError(f"{spec}: nothing after @. Write {PREFIX}{name}@{takes}{hint}")
    return name, source or None


def open_baseline(spec: str) -> Scorer:
    """Build the scorer `baseline:NAME[@SOURCE]`.

    Raises:
        InputError: No such baseline, or a source it does not take.
        MissingStageError: The run after `@` has no corpus yet, or did not train this baseline.
    """
    name, source = parse_baseline(spec)
    return BASELINES[name].open(source)


def identify_baseline(spec: str) -> object:
    """What tells this baseline from others, names of files and folders aside: plain values.

    Raises:
        InputError: No such baseline, or a source it does not take.
    """
    name, source = parse_baseline(spec)
    return [name, BASELINES[name].identify(source)]
