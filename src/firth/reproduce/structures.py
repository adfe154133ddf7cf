"""§5.6 of Sun et al.: the Siamese Surrogate and a cross-encoder, trained on the same pairs."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np

from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.models import EncoderScorer
from firth.harvest import HARVEST
from firth.reproduce.derived import Derived
from firth.reproduce.published_sun import STRUCTURES
from firth.reproduce.rated import cells, flat, interval, rated_pairs
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row
from firth.run.errors import ConfigError, MissingExtraError
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.quiet import quiet_libraries
from firth.surrogate.base import BaseKind
from firth.surrogate.distill import Distilled, build_surrogate
from firth.surrogate.figures import ALL

SIAMESE, CROSS = "Siamese", "cross-encoder"
NAME = "siamese-vs-cross"


def siamese_vs_cross(request: Request) -> Report:
    """Spearman on STSb of both structures, and how well each repeats Origin.

    Same harvested pairs, labels, base, seed, epochs and rate. Both stay in
    `RUN/reproduce/siamese-vs-cross`; the run's own Surrogate is left alone.

    Raises:
        ConfigError: The base is `static`, which has no layers for two sentences.
        InputError: STSb or the base cannot be found.
        MissingStageError: The run has no harvest, corpus or tokenizer.
        MissingExtraError: A library that training needs is not installed.
    """
    rated = rated_pairs(request)
    run = request.run
    run.inputs(CORPUS, TOKENIZER, HARVEST)
    derived = Derived(run, f"{NAME}/models", {"surrogate": {"base": _base(request)}})
    try:
        import_module("accelerate")
        import_module("datasets")
    except ImportError:
        raise MissingExtraError("training the Surrogate", "train") from None

    from firth.reproduce.cross_encoder import (
        CROSS_ENCODER,
        CrossScorer,
        build_cross_encoder,
        open_cross_encoder,
    )

    outcomes = {SIAMESE: build_surrogate(derived), CROSS: build_cross_encoder(derived)}
    for name, outcome in outcomes.items():
        note(f"{name}: {'unchanged' if outcome.reused else 'trained'}")
    distilled = Distilled.open(derived)
    with quiet_libraries():
        siamese = open_encoder(str(distilled.path))
        cross = open_cross_encoder(derived.folder(CROSS_ENCODER))
    scores = {
        SIAMESE: EncoderScorer(siamese, SIAMESE).similarities(rated.pairs),
        CROSS: CrossScorer(cross).similarities(rated.pairs),
    }
    scores = {name: np.asarray(values, np.float64) for name, values in scores.items()}
    found = {name: rated.spearman(values) for name, values in scores.items()}
    ahead = rated.difference(scores[CROSS], scores[SIAMESE])
    repeats: dict[str, Mapping[str, Any]] = {
        SIAMESE: distilled.report["after"]["test"][ALL],
        CROSS: outcomes[CROSS].manifest.summary["test"],
    }
    overlap = rated.word_overlap(run)

    rows = []
    for name, one in found.items():
        test = repeats[name]
        agreement = None if test["spearman"] is None else 100 * test["spearman"]
        l2 = (100 * test["l2"], 100 * test["constant_l2"])
        rows.append(Row(name, (*cells(one), agreement, *l2, STRUCTURES[name])))
    rows += [Row(name, (*cells(one), *[None] * 4)) for name, one in overlap.items()]
    names = list(found)
    plot = Lines(
        "structure",
        "Spearman (%), STSb",
        names,
        {
            "ours": [one.value for one in found.values()],
            **{name: flat(one, names) for name, one in overlap.items()},
            "printed": [STRUCTURES[name] for name in names],
        },
        frozenset({"printed"}),
        {"ours": [(one.low, one.high) for one in found.values()]},
        connected=False,
    )
    pairs = distilled.report["pairs"]
    notes = (
        f"Measured on {rated.described}; low and high: 95 % bootstrap interval.",
        f"{ahead.sentence(CROSS, SIAMESE)} on STSb.",
        f"Base {distilled.report['settings']['base']}, {pairs['train']} training pairs; the paper: "
        "RoBERTa, 100 million.",
        f"With Origin: rank correlation with the labels of {pairs['test']} held-out harvested "
        "pairs; L2 and the L2 of a constant on the same, x 100.",
        *rated.notes,
    )
    details = {
        "seed": run.config.seed,
        "split": rated.split,
        "pairs": len(rated.pairs),
        "stages": run.inputs(CORPUS, TOKENIZER, HARVEST),
        "harvest": dict(run.manifest(HARVEST).config),
        "surrogate": distilled.report["settings"],
        "intervals": {name: interval(one) for name, one in found.items()},
        "difference": asdict(ahead),
        "harvest_test": {name: dict(test) for name, test in repeats.items()},
        "overlap": {name: interval(one) for name, one in overlap.items()},
    }
    columns = ("structure", "ours", "low", "high", "with Origin", "L2", "constant L2", "printed")
    title = "Sun et al., §5.6: Siamese and cross-encoder (Spearman, %)"
    return Report(NAME, title, columns, tuple(rows), plot, notes, details)


def _base(request: Request) -> str:
    asked = request.options.base
    if asked is not None:
        if BaseKind.of(asked) is BaseKind.STATIC:
            raise ConfigError(
                NAME,
                ["--base: got static, which has no layer that could see two sentences; expected "
                 "transformer, or the folder or hub name of an encoder"],
            )  # fmt: skip
        return asked
    own = request.run.config.surrogate.base
    return BaseKind.TRANSFORMER.value if BaseKind.of(own) is BaseKind.STATIC else own
