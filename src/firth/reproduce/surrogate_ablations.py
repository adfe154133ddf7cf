"""Table 7 and §5.6 of Sun et al.: the Surrogate by the pairs it learns from, by its structure.

Both raise `InputError` where STSb or the base cannot be found, `MissingStageError` where the run
has no harvest, corpus or tokenizer.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.models import EncoderScorer
from firth.harvest import HARVEST
from firth.origin.settings import Method
from firth.reproduce.ablation import Rated, rated_pairs
from firth.reproduce.context_fits import Floats
from firth.reproduce.derived import Derived, training_pairs, with_training_pairs
from firth.reproduce.options import Request
from firth.reproduce.published import STRUCTURES, SUN_TABLE7
from firth.reproduce.report import (
    STSB,
    UNKNOWN,
    Lines,
    Report,
    Values,
    flat,
    intervals,
    percent,
    row,
)
from firth.run.errors import ConfigError
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.run import Run
from firth.surrogate import CROSS_ENCODER
from firth.surrogate.cross_scorer import CrossScorer
from firth.surrogate.distill import Distilled, build_cross_encoder, build_surrogate
from firth.surrogate.report import ALL
from firth.surrogate.settings import BaseKind, CrossEncoderConfig, Way
from firth.surrogate.start import start_model

SMALLEST = 30
START = "0 (start)"
SIAMESE, CROSS = "Siamese", "cross-encoder"


def table7(request: Request) -> Report:
    """Spearman of the Surrogate for each number of harvested pairs, and before any.

    The pairs of a smaller number are among those of a larger one. The harvest, its labels and the
    Surrogate's settings are those of the run; `RUN/reproduce/table7/NUMBER` keeps each Surrogate.

    Raises:
        ConfigError: A size below 30 or above the training pairs of the harvest.
    """
    rated, run = rated_pairs(request), request.run
    known = _details(rated, run)
    sizes = _sizes(request)
    changes = {"surrogate": {"base": request.options.base, "way": Way.PAPER.value}}
    varied = run.changed(changes)
    # The start comes first: a base that cannot be opened is refused before anything is made.
    unlearned = _similarities(rated, start_model(varied))
    start = rated.spearman(unlearned)
    found, changed, reports = {}, {}, {}
    for size in sizes:
        derived = with_training_pairs(run, f"table7/{size}", size, changes)
        outcome = build_surrogate(derived)
        note(f"{size} pairs: {'unchanged' if outcome.reused else 'trained'}")
        distilled = Distilled.open(derived)
        reports[size] = distilled.report
        similarities = _similarities(rated, open_encoder(str(distilled.path)))
        found[size] = rated.spearman(similarities)
        changed[size] = rated.difference(similarities, unlearned)
        note(f"{size} pairs: {found[size]}")
    overlap = rated.word_overlap(run)

    after = {size: report["after"]["test"][ALL] for size, report in reports.items()}
    before = reports[sizes[0]]["before"]["test"][ALL]
    rows = [row(START, start, UNKNOWN, percent(before["spearman"]))]
    rows += [row(f"{size:,}", found[size], changed[size], percent(after[size]["spearman"]))
             for size in sizes]  # fmt: skip
    rows += [row(f"{size:,}", *[None] * 7, printed) for size, printed in SUN_TABLE7.items()]
    rows += [row(name, one) for name, one in overlap.items()]
    ours, gap = [start, *found.values()], [UNKNOWN] * len(SUN_TABLE7)
    lines: Values = {"Surrogate": [*ours, *gap]}
    lines |= {name: [*flat(one, ours), *gap] for name, one in overlap.items()}
    lines |= {"Surrogate, printed": [*[None] * len(ours), *SUN_TABLE7.values()]}
    places = [START, *(f"{size:,}" for size in (*sizes, *SUN_TABLE7))]
    config = varied.config.surrogate
    notes = (
        rated.note,
        f"Base {config.base}, {config.passes(Way.PAPER)} epochs of the pairs there are. The paper: "
        "RoBERTa, labels from an Origin with 500 contexts of a corpus of 100 billion tokens.",
        f"Labels of the run's harvest: {_labelled_by(known['harvest'])}.",
        "Change: minus the start, on the same resamples. With Origin: rank correlation with the "
        "labels on the harvest's own test pairs.",
        *rated.caveats,
    )
    details = known | {
        "surrogate": config.model_dump(mode="json"),
        "intervals": intervals({START: start, **found}),
        "differences": intervals(changed),
        "harvest_test": {str(size): dict(one) for size, one in after.items()},
        "overlap": intervals(overlap),
    }
    columns = ("pairs", "ours", "low", "high", "change", "low", "high", "with Origin", "printed")
    title = "Sun et al., Table 7: pairs for the Surrogate (Spearman, %)"
    plot = Lines("harvested pairs", STSB, places, lines)
    return Report(request.name, title, columns, rows, plot, notes, details)


def siamese_vs_cross(request: Request) -> Report:
    """§5.6: Spearman on STSb of both structures, and how well each repeats Origin.

    Same harvested pairs, labels, base, seed, epochs and rate. Both stay in
    `RUN/reproduce/siamese-vs-cross`; the run's own Surrogate is left alone.

    Raises:
        ConfigError: The base is `static`, which has no layers for two sentences.
    """
    rated, run = rated_pairs(request), request.run
    known = _details(rated, run)
    derived = Derived(run, f"{request.name}/models", _taught(request))
    outcomes = {SIAMESE: build_surrogate(derived), CROSS: build_cross_encoder(derived)}
    for name, outcome in outcomes.items():
        note(f"{name}: {'unchanged' if outcome.reused else 'trained'}")
    distilled = Distilled.open(derived)
    cross = CrossScorer.open(str(derived.folder(CROSS_ENCODER)), "cpu")
    scores = {
        SIAMESE: _similarities(rated, open_encoder(str(distilled.path))),
        CROSS: cross.similarities(rated.pairs),
    }
    found = {name: rated.spearman(values) for name, values in scores.items()}
    ahead = rated.difference(scores[CROSS], scores[SIAMESE])
    repeats: dict[str, Mapping[str, Any]] = {
        SIAMESE: distilled.report["after"]["test"][ALL],
        CROSS: outcomes[CROSS].manifest.summary["after"]["test"],
    }
    overlap = rated.word_overlap(run)

    rows = [row(name, found[name], percent(test["spearman"]), 100 * test["l2"],
                100 * test["constant_l2"], STRUCTURES[name])
            for name, test in repeats.items()]  # fmt: skip
    rows += [row(name, one) for name, one in overlap.items()]
    lines: Values = {"ours": list(found.values())}
    lines |= {name: flat(one, list(found)) for name, one in overlap.items()}
    lines |= {"printed": [STRUCTURES[name] for name in found]}
    pairs, settings = distilled.report["pairs"], distilled.report["settings"]
    notes = (
        rated.note,
        f"{ahead.sentence(CROSS, SIAMESE)} on STSb.",
        f"Base {settings['base']}, {pairs['train']} training pairs; the paper: RoBERTa, 100 "
        "million.",
        f"With Origin: rank correlation with the labels of {pairs['test']} held-out harvested "
        "pairs; L2 and the L2 of a constant on the same, x 100.",
        *rated.caveats,
    )
    details = known | {
        "surrogate": settings,
        "intervals": intervals(found),
        "difference": asdict(ahead),
        "harvest_test": {name: dict(test) for name, test in repeats.items()},
        "overlap": intervals(overlap),
    }
    columns = ("structure", "ours", "low", "high", "with Origin", "L2", "constant L2", "printed")
    title = "Sun et al., §5.6: Siamese and cross-encoder (Spearman, %)"
    plot = Lines("structure", STSB, list(found), lines, connected=False)
    return Report(request.name, title, columns, rows, plot, notes, details)


def _details(rated: Rated, run: Run) -> dict[str, Any]:
    return rated.details | {
        "stages": run.inputs(CORPUS, TOKENIZER, HARVEST),
        "harvest": dict(run.manifest(HARVEST).config),
    }


def _similarities(rated: Rated, model: SentenceTransformer) -> Floats:
    return np.asarray(EncoderScorer(model, "Surrogate").similarities(rated.pairs), np.float64)


def _sizes(request: Request) -> list[int]:
    total = training_pairs(request.run)
    # 30, 100, 300, … and all there are.
    steps = {base * 10**power for base in (1, 3) for power in range(1, 10)}
    default = [str(total), *(str(size) for size in steps if SMALLEST <= size < total)]
    return sorted(set(request.sizes(default, total, min(SMALLEST, total)).values()))


def _labelled_by(harvest: Mapping[str, Any]) -> str:
    """The Origin of a harvest, from the settings of its manifest, in words."""
    if harvest["origin.method"] == Method.PAPER:
        origin = harvest["paper"]
        return f"Origin as printed, {origin['contexts']} contexts, measure {origin['measure']}"
    return "the default Origin, of sentences, words and terms"


def _taught(request: Request) -> dict[str, Any]:
    """Both structures with the settings of the run's Surrogate."""
    shared, base = {*CrossEncoderConfig.model_fields}, _base(request)
    own = request.run.config.surrogate.model_dump(mode="json", include=shared)
    return {
        "surrogate": {"base": base, "way": Way.PAPER.value},
        "cross_encoder": own | {"base": base},
    }


def _base(request: Request) -> str:
    asked, own = request.options.base, request.run.config.surrogate.base
    if asked is None:
        return BaseKind.TRANSFORMER.value if own == BaseKind.STATIC else own
    if asked == BaseKind.STATIC:
        problem = (
            "--base: got static, which has no layer that could see two sentences; expected "
            "transformer, or the folder or hub name of an encoder"
        )
        raise ConfigError(request.name, [problem])
    return asked
