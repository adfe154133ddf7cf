"""What is said of a Surrogate: how well it repeats Origin, what to keep in mind, its card.

The card is the README.md of the folder, complete without firth and equal between equal runs.
"""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from firth.surrogate.calibration import Values
from firth.surrogate.settings import BaseKind, Calibration, SurrogateConfig

ALL = "all"
HELD_OUT = ("dev", "test")
ENOUGH = 200
"""Pairs below which a report says that its figures are rough."""
_BASES = {
    BaseKind.STATIC: "word vectors learned on neighbouring sentences of the same corpus, plus "
    "random directions that are longer for rarer words, averaged",
    BaseKind.TRANSFORMER: "a Transformer of $layers layers with random weights, mean pooling",
    BaseKind.PRETRAINED: "the encoder $base",
}
_CALIBRATIONS = {
    Calibration.QUANTILE: "the score's quantile among the training scores",
    Calibration.ZSCORE: "the normal distribution function of the standardised score",
    Calibration.NONE: "the score itself, clipped to [0, 1]",
    Calibration.MATCH: "the score, on the scale of the start's cosines",
}


def measure(cosines: Values, labels: Values, scores: Values, constant: float) -> dict[str, Any]:
    """Agreement of a model with Origin on n ≥ 1 pairs.

    Args:
        cosines: The model's, shape (n,).
        labels: Calibrated, shape (n,).
        scores: Origin's, raw, shape (n,).
        constant: The mean training label.

    Returns:
        `n`; `l2`, the mean squared difference of cosine and label; `constant_l2`, the same for a
        model that always answers `constant` (a Surrogate that is not below this has learned nothing
        that L2 can see); `spearman`, the rank correlation of cosine and raw score, None where it is
        undefined; `low` and `high`, its 95 % interval (Bonett & Wright 2000, Eq. 4), None below 10
        pairs.
    """
    n, spearman = len(cosines), rank_correlation(cosines, scores)
    low = high = None
    if spearman is not None and n >= 10:
        # Fisher's z, with Bonett and Wright's standard error for ranks.
        z = np.arctanh(np.clip(spearman, -0.999999, 0.999999))
        reach = norm.ppf(0.975) * np.sqrt((1 + spearman**2 / 2) / (n - 3))
        low, high = (round(float(np.tanh(z + side * reach)), 6) for side in (-1, 1))
    return {
        "n": n,
        "l2": round(float(np.mean((cosines - labels) ** 2)), 6),
        "constant_l2": round(float(np.mean((constant - labels) ** 2)), 6),
        "spearman": None if spearman is None else round(spearman, 6),
        "low": low,
        "high": high,
    }


def measure_by_kind(
    cosines: Values, labels: Values, scores: Values, constant: float, kinds: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """`measure` for each kind of pair, and under "all" for all of them."""
    named = np.asarray(kinds)
    chosen = {ALL: np.ones(len(named), bool)} | {
        str(kind): named == kind for kind in np.unique(named)
    }
    return {
        kind: measure(cosines[rows], labels[rows], scores[rows], constant)
        for kind, rows in chosen.items()
    }


def rank_correlation(one: Values, two: Values) -> float | None:
    """Spearman's ρ; None with fewer than 3 pairs or where one side is constant."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return float(np.corrcoef(rankdata(one), rankdata(two))[0, 1])


def notes(report: Mapping[str, Any]) -> list[str]:
    """What to keep in mind about the figures of a report: its `pairs`, `chosen`, `before`, `after`.

    Empty where there are enough pairs, and the Surrogate is better than its start and a constant.
    """
    said = [
        f"{split} has {report['pairs'][split]} pairs, fewer than {ENOUGH}: its figures are rough, "
        "see the intervals. Harvest more pairs for firmer ones."
        for split in HELD_OUT
        if report["pairs"][split] < ENOUGH
    ]
    if not report["chosen"]["step"]:
        said.append(
            "At no look during training did the model agree with Origin on dev better than the "
            "start: the start was kept. More pairs (firth harvest --pairs) or another rate "
            "(surrogate.learning_rate) may teach more."
        )
    for split in HELD_OUT:
        one, two = report["before"][split][ALL], report["after"][split][ALL]
        if two["l2"] >= two["constant_l2"]:
            said.append(
                f"On {split} the Surrogate's L2 ({two['l2']:.4f}) is not below that of a constant "
                f"({two['constant_l2']:.4f})."
            )
        if one["spearman"] is not None and (two["spearman"] or 0.0) < one["spearman"]:
            said.append(
                f"On {split} the start agreed with Origin better (rank correlation "
                f"{one['spearman']:.3f}) than the Surrogate does ({two['spearman'] or 0.0:.3f})."
            )
    return said


def settings_shown(config: SurrogateConfig, seed: int) -> dict[str, Any]:
    """The settings of a report: what was taken where none was given; no path but its last part."""
    base = Path(config.base)
    is_folder = config.kind is BaseKind.PRETRAINED and base.is_dir()
    return config.model_dump(mode="json") | {
        "base": base.resolve().name if is_folder else config.base,
        "learning_rate": config.chosen_rate,
        "batch": config.chosen_batch,
        "calibration": config.chosen_calibration.value,
        "seed": seed,
    }


def model_card(report: Mapping[str, Any], kind: BaseKind) -> str:
    """README.md of a Surrogate, from the report of its distillation and the kind of its base."""
    settings = report["settings"]
    text = resources.files("firth.surrogate").joinpath("card.md").read_text(encoding="utf-8")
    counts = {name: f"{count:,}" for name, count in report["corpus"].items()}
    return Template(text).substitute(
        counts,
        base=Template(_BASES[kind]).substitute(settings),
        dimensions=report["model"]["dimensions"],
        parameters=f"{report['model']['parameters']:,}",
        pairs=f"{report['pairs']['train']:,}",
        label=_CALIBRATIONS[Calibration(settings["calibration"])],
        epochs=settings["epochs"],
        batch=settings["batch"],
        rate=f"{settings['learning_rate']:g}",
        seed=settings["seed"],
        table=_table(report),
        notes="".join(f"\n\n{note}" for note in report["notes"]),
    )


def _table(report: Mapping[str, Any]) -> str:
    rows = [
        "| pairs | n | L2 before | L2 after | L2 of a constant | rho before | rho after (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    for split in HELD_OUT:
        before, after = report["before"][split], report["after"][split]
        for kind in sorted(after, key=lambda kind: (kind != ALL, kind)):
            one, two = before[kind], after[kind]
            interval = "" if two["low"] is None else f" ({two['low']:.3f} to {two['high']:.3f})"
            rows.append(
                f"| {split}, {kind} | {two['n']} | {one['l2']:.4f} | {two['l2']:.4f} | "
                f"{two['constant_l2']:.4f} | {_rho(one)} | {_rho(two)}{interval} |"
            )
    return "\n".join(rows)


def _rho(figures: Mapping[str, Any]) -> str:
    return "undefined" if figures["spearman"] is None else f"{figures['spearman']:.3f}"
