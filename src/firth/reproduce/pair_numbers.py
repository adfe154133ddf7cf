"""Table 7 of Sun et al.: the Surrogate as the harvest it learns from grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.metrics import Difference, Estimate
from firth.evaluate.models import EncoderScorer
from firth.harvest import HARVEST
from firth.origin.settings import Method
from firth.reproduce.harvest_cut import training_pairs, with_training_pairs
from firth.reproduce.options import parse_size
from firth.reproduce.published_sun import TABLE7
from firth.reproduce.rated import Floats, Rated, cells, interval, rated_pairs
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row
from firth.run.errors import ConfigError
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.surrogate.distill import Distilled, build_surrogate
from firth.surrogate.figures import ALL
from firth.surrogate.start import start_model

SMALLEST = 30
START = "0 (start)"


def table7(request: Request) -> Report:
    """Spearman of the Surrogate for each number of harvested pairs, and before any.

    The pairs of a smaller number are among those of a larger one. The harvest, its labels and the
    Surrogate's settings are those of the run; `RUN/reproduce/table7/NUMBER` keeps each Surrogate.

    Raises:
        ConfigError: A size that is no number, below 30 or above the training pairs of the harvest.
        InputError: STSb or the base cannot be found.
        MissingStageError: The run has no harvest, corpus or tokenizer.
        MissingExtraError: A library that training needs is not installed.
    """
    rated = rated_pairs(request)
    run = request.run
    run.inputs(CORPUS, TOKENIZER, HARVEST)
    sizes = _sizes(request)
    changes = {"surrogate": {"base": request.options.base}}
    found = {}
    for size in sizes:
        derived = with_training_pairs(run, f"table7/{size}", size, changes)
        outcome = build_surrogate(derived)
        note(f"{size} pairs: {'unchanged' if outcome.reused else 'trained'}")
        found[size] = _measured(rated, derived)
        note(f"{size} pairs: {found[size].stsb}")
    similarities = _similarities(rated, start_model(derived))
    start = rated.spearman(similarities)
    changed = {
        size: rated.difference(one.similarities, similarities) for size, one in found.items()
    }
    overlap = rated.word_overlap(run)

    first = next(iter(found.values()))
    rows = [Row(START, (*cells(start), None, None, None, first.before, None))]
    rows += [
        Row(f"{size:,}", (*cells(one.stsb), *_bounds(changed[size]), one.agreement, None))
        for size, one in found.items()
    ]
    rows += [Row(f"{size:,}", (*[None] * 7, printed)) for size, printed in TABLE7.items()]
    rows += [Row(name, (*cells(one), *[None] * 5)) for name, one in overlap.items()]
    ours = [start, *(one.stsb for one in found.values())]
    gap: list[float | None] = [None] * len(TABLE7)
    plot = Lines(
        "harvested pairs",
        "Spearman (%), STSb",
        [START, *(f"{size:,}" for size in (*sizes, *TABLE7))],
        {
            "Surrogate": [one.value for one in ours] + gap,
            **{name: [one.value] * len(ours) + gap for name, one in overlap.items()},
            "Surrogate, printed": [None] * len(ours) + list(TABLE7.values()),
        },
        frozenset({"Surrogate, printed"}),
        {"Surrogate": [(one.low, one.high) for one in ours] + [(None, None)] * len(TABLE7)},
    )
    notes = (
        f"Measured on {rated.described}; low and high: 95 % bootstrap interval.",
        f"Base {derived.config.surrogate.base}, {derived.config.surrogate.epochs} epochs of the "
        "pairs there are. The paper: RoBERTa, labels from an Origin with 500 contexts of a corpus "
        "of 100 billion tokens.",
        f"Labels of the run's harvest: {_labelled_by(run.manifest(HARVEST).config['origin'])}.",
        "Change: minus the start, on the same resamples. With Origin: rank correlation with the "
        "labels on the harvest's own test pairs.",
        *rated.notes,
    )
    details = {
        "seed": run.config.seed,
        "split": rated.split,
        "pairs": len(rated.pairs),
        "stages": run.inputs(CORPUS, TOKENIZER, HARVEST),
        "harvest": dict(run.manifest(HARVEST).config),
        "surrogate": derived.config.surrogate.model_dump(mode="json"),
        "intervals": {START: interval(start)}
        | {str(size): interval(one.stsb) for size, one in found.items()},
        "differences": {str(size): interval(one) for size, one in changed.items()},
        "harvest_test": {str(size): one.report for size, one in found.items()},
        "overlap": {name: interval(one) for name, one in overlap.items()},
    }
    columns = (
        "pairs", "ours", "low", "high", "change", "low", "high", "with Origin", "printed"
    )  # fmt: skip
    title = "Sun et al., Table 7: pairs for the Surrogate (Spearman, %)"
    return Report("table7", title, columns, tuple(rows), plot, notes, details)


@dataclass(frozen=True, eq=False)
class _Measured:
    stsb: Estimate
    similarities: Floats
    before: float | None
    agreement: float | None
    report: dict[str, Any]


def _measured(rated: Rated, run: Run) -> _Measured:
    distilled = Distilled.open(run)
    before, after = (distilled.report[when]["test"][ALL] for when in ("before", "after"))
    with quiet_libraries():
        model = open_encoder(str(distilled.path))
    similarities = _similarities(rated, model)
    return _Measured(
        rated.spearman(similarities),
        similarities,
        _percent(before["spearman"]),
        _percent(after["spearman"]),
        dict(after),
    )


def _similarities(rated: Rated, model: SentenceTransformer) -> Floats:
    return np.asarray(EncoderScorer(model, "Surrogate").similarities(rated.pairs), np.float64)


def _sizes(request: Request) -> list[int]:
    total, typed = training_pairs(request.run), request.options.sizes
    if typed is None:
        # 30, 100, 300, … and all there are.
        steps = {base * 10**power for base in (1, 3) for power in range(1, 10)}
        return sorted({*(size for size in steps if SMALLEST <= size < total), total})
    sizes = {text: parse_size(text, whole=total) for text in typed}
    problems = [
        f"--sizes: got {text!r}, {size:,} pairs; expected {SMALLEST} to {total:,}, the training "
        "pairs of the run's harvest"
        for text, size in sizes.items()
        if not SMALLEST <= size <= total
    ]
    if problems:
        raise ConfigError("table7", problems)
    return sorted(set(sizes.values()))


def _bounds(change: Difference) -> tuple[float | None, float | None, float | None]:
    return change.value, change.low, change.high


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _labelled_by(origin: Mapping[str, Any]) -> str:
    """The Origin of a harvest, in words."""
    if origin["method"] == Method.PAPER:
        return f"Origin as printed, {origin['contexts']} contexts, measure {origin['measure']}"
    return "the default Origin, of sentences, words and terms"
