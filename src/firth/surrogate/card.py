"""The model card: a Surrogate's README.md, complete without firth and equal between equal runs."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from firth.surrogate.base import BaseKind
from firth.surrogate.figures import ALL

_BASES = {
    BaseKind.STATIC: "word vectors learned on neighbouring sentences of the same corpus, plus "
    "random directions that are longer for rarer words, averaged",
    BaseKind.TRANSFORMER: "a Transformer of four layers with random weights, mean pooling",
}
_CALIBRATIONS = {
    "quantile": "the score's quantile among the training scores",
    "zscore": "the normal distribution function of the standardised score",
    "none": "the score itself, clipped to [0, 1]",
    "match": "the score, on the scale of the start's cosines",
}


def model_card(report: Mapping[str, Any]) -> str:
    """README.md of a Surrogate, from the report of its distillation."""
    settings, corpus = report["settings"], report["corpus"]
    base = settings["base"]
    kind = BaseKind.of(base)
    text = resources.files("firth.surrogate").joinpath("card.md").read_text(encoding="utf-8")
    return Template(text).substitute(
        # A base given as a folder is known by its last part: cards hold no paths.
        base=_BASES.get(kind) or f"the encoder {Path(base).name if Path(base).is_dir() else base}",
        dimensions=report["model"]["dimensions"],
        parameters=f"{report['model']['parameters']:,}",
        documents=f"{corpus['documents']:,}",
        sentences=f"{corpus['sentences']:,}",
        words=f"{corpus['words']:,}",
        pairs=f"{report['pairs']['train']:,}",
        label=_CALIBRATIONS[settings["calibration"]],
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
    for split in ("dev", "test"):
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
