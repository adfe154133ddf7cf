"""Table 7 of Sun et al.: the Surrogate as the harvest it learns from grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.metrics import Estimate
from firth.evaluate.models import EncoderScorer
from firth.harvest import HARVEST
from firth.origin.settings import Method
from firth.reproduce.ablation import Rated, rated_pairs
from firth.reproduce.context_fits import Floats
from firth.reproduce.derived import training_pairs, with_training_pairs
from firth.reproduce.options import Request, parse_size
from firth.reproduce.published import SUN_TABLE7
from firth.reproduce.report import UNKNOWN, Lines, Report, intervals, percent, row
from firth.run.errors import ConfigError
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.run import Run
from firth.surrogate.distill import Distilled, build_surrogate
from firth.surrogate.report import ALL
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
    """
    rated, run = rated_pairs(request), request.run
    stages = run.inputs(CORPUS, TOKENIZER, HARVEST)
    sizes = _sizes(request)
    changes = {"surrogate": {"base": request.options.base}}
    varied = run.changed(changes)
    # The start comes first: a base that cannot be opened is refused before anything is made.
    unlearned = _similarities(rated, start_model(varied))
    start = rated.spearman(unlearned)
    found = {}
    for size in sizes:
        derived = with_training_pairs(run, f"table7/{size}", size, changes)
        outcome = build_surrogate(derived)
        note(f"{size} pairs: {'unchanged' if outcome.reused else 'trained'}")
        found[size] = _measured(rated, derived)
        note(f"{size} pairs: {found[size].stsb}")
    changed = {size: rated.difference(one.similarities, unlearned) for size, one in found.items()}
    overlap = rated.word_overlap(run)

    before = percent(next(iter(found.values())).before["spearman"])
    rows = [row(START, start, UNKNOWN, before)]
    rows += [row(f"{size:,}", one.stsb, changed[size], percent(one.after["spearman"]))
             for size, one in found.items()]  # fmt: skip
    rows += [row(f"{size:,}", *[None] * 7, printed) for size, printed in SUN_TABLE7.items()]
    rows += [row(name, one) for name, one in overlap.items()]
    ours = [start, *(one.stsb for one in found.values())]
    gap = [None] * len(SUN_TABLE7)
    plot = Lines(
        "harvested pairs",
        "Spearman (%), STSb",
        [START, *(f"{size:,}" for size in (*sizes, *SUN_TABLE7))],
        {
            "Surrogate": [*ours, *gap],
            **{name: [one.value] * len(ours) + gap for name, one in overlap.items()},
            "Surrogate, printed": [*[None] * len(ours), *SUN_TABLE7.values()],
        },
    )
    config, harvest = varied.config.surrogate, run.manifest(HARVEST).config
    notes = (
        rated.note,
        f"Base {config.base}, {config.epochs} epochs of the pairs there are. The paper: RoBERTa, "
        "labels from an Origin with 500 contexts of a corpus of 100 billion tokens.",
        f"Labels of the run's harvest: {_labelled_by(harvest)}.",
        "Change: minus the start, on the same resamples. With Origin: rank correlation with the "
        "labels on the harvest's own test pairs.",
        *rated.caveats,
    )
    details = rated.details | {
        "stages": stages,
        "harvest": dict(harvest),
        "surrogate": config.model_dump(mode="json"),
        "intervals": intervals({START: start} | {size: one.stsb for size, one in found.items()}),
        "differences": intervals(changed),
        "harvest_test": {str(size): dict(one.after) for size, one in found.items()},
        "overlap": intervals(overlap),
    }
    columns = (
        "pairs", "ours", "low", "high", "change", "low", "high", "with Origin", "printed"
    )  # fmt: skip
    title = "Sun et al., Table 7: pairs for the Surrogate (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


@dataclass(frozen=True, eq=False)
class _Measured:
    stsb: Estimate
    similarities: Floats
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def _measured(rated: Rated, run: Run) -> _Measured:
    distilled = Distilled.open(run)
    before, after = (distilled.report[when]["test"][ALL] for when in ("before", "after"))
    similarities = _similarities(rated, open_encoder(str(distilled.path)))
    return _Measured(rated.spearman(similarities), similarities, before, after)


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
        raise ConfigError(request.name, problems)
    return sorted(set(sizes.values()))


def _labelled_by(harvest: Mapping[str, Any]) -> str:
    """The Origin of a harvest, from the settings of its manifest, in words."""
    if harvest.get("origin.method", harvest.get("origin", {}).get("method")) == Method.PAPER:
        origin = harvest["origin"]
        return f"Origin as printed, {origin['contexts']} contexts, measure {origin['measure']}"
    return "the default Origin, of sentences, words and terms"
