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

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs
from firth.surrogate.calibration import Values
from firth.surrogate.checked import checked
from firth.surrogate.settings import Architecture, BaseKind, Calibration, SurrogateConfig, Way

REPORT, CARD, LABELS = "report.json", "README.md", "calibration.json"
ALL = "all"
HELD_OUT = ("dev", "test")
ENOUGH = 200
"""Pairs below which a report says that its figures are rough."""
_POOLED = ", mean pooling"
_BASES = {
    BaseKind.STATIC: "word vectors learned on neighbouring sentences (or parts of one) of the same "
    "corpus, plus random directions that are longer for rarer words, averaged",
    BaseKind.TRANSFORMER: f"a Transformer of $layers layers with random weights{_POOLED}",
    BaseKind.LAYERS: "layers of the language model that Origin reads with, made to read in both "
    "directions, mean pooling and a linear map",
    BaseKind.PRETRAINED: "the encoder $base",
}
_OF_ORIGIN = (
    "No human judged a pair for its training.\nIt repeats, fast, the scores of a slower model "
    "called Origin, for which two sentences are similar\nwhen the same contexts would produce them "
    '(Sun et al., "Sentence Similarity Based on Contexts",\nTACL 2022). Both were made with firth.'
)
_OF_ANOTHER = (
    "It repeats, fast, the\nsimilarities of another encoder, $teacher. It was made with firth."
)
_KINDS = {Pairs.RANDOM: "random pairs", Pairs.NEIGHBOURS: "neighbours"}
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
        "l2": float(f"{np.mean((cosines - labels) ** 2):.6g}"),
        "constant_l2": float(f"{np.mean((constant - labels) ** 2):.6g}"),
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


def counted(corpus: Corpus) -> dict[str, int]:
    """How much a corpus holds: `documents`, `sentences`, `words`."""
    return {
        "documents": corpus.n_documents,
        "sentences": len(corpus),
        "words": int(corpus.word_counts.sum(dtype=np.int64)),
    }


def notes(report: Mapping[str, Any]) -> list[str]:
    """What to keep in mind about the figures of a report.

    Empty where there is enough to measure by, and the Surrogate is better than its start (and, by
    way paper, than a constant).
    """
    pairs = report["way"] == Way.PAPER
    sizes, units = report["pairs" if pairs else "sentences"], "pairs" if pairs else "sentences"
    more = "Harvest more pairs" if pairs else "More text would give more"
    said = [
        f"{split} has {sizes[split]} {units}, fewer than {ENOUGH}: its figures are rough. {more}."
        for split in HELD_OUT
        if sizes[split] < ENOUGH
    ]
    if report["chosen"]["steps"] and not report["chosen"]["step"] and not report.get("check"):
        harvest = "More pairs (firth harvest --pairs) or another" if pairs else "Another"
        said.append(
            "At no look during training did the model agree with its teacher on dev better than "
            f"the start: the start was kept. {harvest} rate (surrogate.learning_rate) may teach "
            "more."
        )
    for split in HELD_OUT:
        one, two = report["before"][split][ALL], report["after"][split][ALL]
        if pairs and two["l2"] >= two["constant_l2"]:
            said.append(
                f"On {split} the Surrogate's L2 ({two['l2']:.4g}) is not below that of a constant "
                f"({two['constant_l2']:.4g})."
            )
        # Where the start was kept, only the turned space's rounding is in between.
        worse = (two["spearman"] or 0.0) - (one["spearman"] or 0.0) < -5e-5
        if one["spearman"] is not None and worse:
            said.append(
                f"On {split} the start agreed with the teacher better (rank correlation "
                f"{one['spearman']:.3f}) than the Surrogate does ({two['spearman'] or 0.0:.3f})."
            )
    return said


def settings_shown(config: SurrogateConfig, way: Way, seed: int) -> dict[str, Any]:
    """The settings of a report: what was taken where none was given; no path but its last part."""
    return config.model_dump(mode="json") | {
        "base": _named(config.base),
        "teacher": None if config.teacher is None else _named(config.teacher),
        "epochs": config.passes(way),
        "learning_rate": config.chosen_rate,
        "batch": config.chosen_batch,
        "calibration": config.chosen_calibration.value,
        "seed": seed,
    }


def _named(model: str) -> str:
    return Path(model).resolve().name if Path(model).is_dir() else model


def model_card(report: Mapping[str, Any]) -> str:
    """README.md of a Surrogate, from the report of its distillation."""
    settings, cross = report["settings"], report["architecture"] == Architecture.CROSS_ENCODER
    counts = {name: f"{count:,}" for name, count in report["corpus"].items()}
    paper = report["way"] == Way.PAPER
    known = {
        "base": Template(_BASES[BaseKind.of(settings["base"])]).substitute(settings),
        "dimensions": report["model"].get("dimensions"),
        "answer": "score" if cross else "cosine",
        "parameters": f"{report['model']['parameters']:,}",
        "epochs": settings["epochs"],
        "batch": settings["batch"],
        "rate": f"{settings['learning_rate']:g}",
        "seed": settings["seed"],
        "notes": "".join(f"\n\n{note}" for note in report["notes"]),
    }
    if not cross:
        known["drawn"] = _drawn(report["scale"]["pairs"])
        known["scale"] = _levels(report["scale"]["levels"])
        known["checked"] = checked(report["check"])
    if paper:
        known["pairs"] = f"{report['pairs']['train']:,}"
        known["label"] = _CALIBRATIONS[Calibration(settings["calibration"])]
        known["teacher"], known["table"] = "Origin", _table(report)
    else:
        known["pairs"] = f"{report['sentences']['train']:,}"
        known["weight"] = f"{settings['vector_weight']:g}"
        known["temperature"] = f"{settings['temperature']:g}"
        known["teacher"], known["table"] = _spelled_out(report["teacher"]), _agreement(report)
        known["sizes"] = _sizes(report)
    of_origin = known["teacher"].strip("`").startswith("Origin")
    known["repeats"] = Template(_OF_ORIGIN if of_origin else _OF_ANOTHER).substitute(known)
    known |= counts
    made = f"made_{report['way']}" if report["chosen"]["steps"] else "made_start"
    for part, file in (("made", made), ("faithful", f"faithful_{report['way']}")):
        known[part] = _text(file).substitute(known).rstrip("\n")
    if cross:
        known["base"] = known["base"].removesuffix(_POOLED)
    return _text("card_cross-encoder" if cross else "card").substitute(known)


def _text(name: str) -> Template:
    folder = resources.files("firth.surrogate")
    return Template(folder.joinpath(f"{name}.md").read_text(encoding="utf-8"))


def _spelled_out(teacher: str) -> str:
    """A name as it is shown in Markdown."""
    return f"`{teacher}`"


def _agreement(report: Mapping[str, Any]) -> str:
    rows = ["| pairs | n | rho before | rho after |", "|---|---|---|---|"]
    for split in HELD_OUT:
        before, after = report["before"][split], report["after"][split]
        rows += [
            f"| {split}, {kind} | {after[kind]['n']} | {_rho(before[kind])} | {_rho(after[kind])} |"
            for kind in sorted(after, key=lambda kind: (kind != ALL, kind))
        ]
    return "\n".join(rows)


def _drawn(pairs: Mapping[str, int]) -> str:
    return " and ".join(f"{n:,} {_KINDS[Pairs(kind)]}" for kind, n in pairs.items())


def _levels(levels: Sequence[Mapping[str, Any]]) -> str:
    if not levels:
        return "(Too few pairs to say.)"
    rows = ["| cosine of at least | random pairs | neighbouring sentences |", "|---|---|---|"]
    for one in levels:
        near = one["neighbours"]
        shown = "-" if near is None else f"{100 * near:.1f} %"
        rows.append(f"| {one['cosine']:.2f} | {100 * one['rate']:g} % | {shown} |")
    return "\n".join(rows)


def _sizes(report: Mapping[str, Any]) -> str:
    rows = ["| dimensions | numbers | bytes a vector | rho |", "|---|---|---|---|"]
    rows += [
        f"| {one['dimensions']} | {one['precision']} | {one['bytes']} | {_rho(one)} |"
        for one in report["sizes"]
    ]
    return "\n".join(rows)


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
                f"| {split}, {kind} | {two['n']} | {one['l2']:.4g} | {two['l2']:.4g} | "
                f"{two['constant_l2']:.4g} | {_rho(one)} | {_rho(two)}{interval} |"
            )
    return "\n".join(rows)


def _rho(figures: Mapping[str, Any]) -> str:
    return "undefined" if figures["spearman"] is None else f"{figures['spearman']:.3f}"
