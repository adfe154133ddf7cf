"""§5.6 of Sun et al.: the Siamese Surrogate and a cross-encoder, trained on the same pairs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.models import EncoderScorer
from firth.harvest import HARVEST
from firth.reproduce.ablation import rated_pairs
from firth.reproduce.derived import Derived
from firth.reproduce.options import Request
from firth.reproduce.published import STRUCTURES
from firth.reproduce.report import Lines, Report, flat, intervals, percent, row
from firth.run.errors import ConfigError
from firth.run.pretrained import open_cross_encoder, open_encoder
from firth.run.progress import note
from firth.surrogate.distill import Distilled, build_surrogate
from firth.surrogate.report import ALL
from firth.surrogate.settings import BaseKind

SIAMESE, CROSS = "Siamese", "cross-encoder"


def siamese_vs_cross(request: Request) -> Report:
    """Spearman on STSb of both structures, and how well each repeats Origin.

    Same harvested pairs, labels, base, seed, epochs and rate. Both stay in
    `RUN/reproduce/siamese-vs-cross`; the run's own Surrogate is left alone.

    Raises:
        ConfigError: The base is `static`, which has no layers for two sentences.
        InputError: STSb or the base cannot be found.
        MissingStageError: The run has no harvest, corpus or tokenizer.
    """
    from firth.reproduce.cross_encoder import CROSS_ENCODER, CrossScorer, build_cross_encoder

    rated, run = rated_pairs(request), request.run
    stages = run.inputs(CORPUS, TOKENIZER, HARVEST)
    derived = Derived(run, f"{request.name}/models", {"surrogate": {"base": _base(request)}})
    outcomes = {SIAMESE: build_surrogate(derived), CROSS: build_cross_encoder(derived)}
    for name, outcome in outcomes.items():
        note(f"{name}: {'unchanged' if outcome.reused else 'trained'}")
    distilled = Distilled.open(derived)
    siamese = EncoderScorer(open_encoder(str(distilled.path)), SIAMESE)
    cross = CrossScorer(open_cross_encoder(str(derived.folder(CROSS_ENCODER))))
    scores = {
        name: np.asarray(scorer.similarities(rated.pairs), np.float64)
        for name, scorer in ((SIAMESE, siamese), (CROSS, cross))
    }
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
        rows.append(row(name, one, percent(test["spearman"]), 100 * test["l2"],
                        100 * test["constant_l2"], STRUCTURES[name]))  # fmt: skip
    rows += [row(name, one) for name, one in overlap.items()]
    plot = Lines(
        "structure",
        "Spearman (%), STSb",
        list(found),
        {
            "ours": list(found.values()),
            **{name: flat(one, list(found)) for name, one in overlap.items()},
            "printed": [STRUCTURES[name] for name in found],
        },
        connected=False,
    )
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
    details = rated.details | {
        "stages": stages,
        "harvest": dict(run.manifest(HARVEST).config),
        "surrogate": settings,
        "intervals": intervals(found),
        "difference": asdict(ahead),
        "harvest_test": {name: dict(test) for name, test in repeats.items()},
        "overlap": intervals(overlap),
    }
    columns = ("structure", "ours", "low", "high", "with Origin", "L2", "constant L2", "printed")
    title = "Sun et al., §5.6: Siamese and cross-encoder (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


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
