"""What is said of a fine-tuned model: figures beside the start's, in words and as its card."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from statistics import stdev
from string import Template
from typing import Any, Self

from firth.evaluate.figures import Bootstrap
from firth.evaluate.metrics import Difference, Estimate, Floats, Metric
from firth.evaluate.rows import EvaluationSet, Sample, Scored
from firth.finetune.calibration import Calibration, Line
from firth.finetune.sets import TRAIN
from firth.run.files import read_json

REPORT, CARD, HELD_OUT = "report.json", "README.md", "test.jsonl"
START, TUNED = "start", "fine-tuned"


@dataclass(frozen=True)
class Reported:
    """What fine-tuning left in a folder.

    Attributes:
        path: The folder.
        report: Contents of its `report.json`.
        reused: Whether it was already there.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @classmethod
    def open(cls, folder: str | Path, reused: bool = True) -> Self:
        """What a folder holds; raise `InputError` if that is nothing."""
        return cls(Path(folder), read_json(Path(folder) / REPORT), reused)


def measured(
    data: EvaluationSet, start: Floats, tuned: Sequence[Floats], kept: int, bootstrap: Bootstrap
) -> dict[str, Any]:
    """Metric → figures × 100 with 95 % intervals, of a set that nothing was learned from.

    Args:
        data: The set.
        start: Similarities of the model before, of `data.pairs`.
        tuned: Of each seed's model.
        kept: Which of those was kept.
        bootstrap: Of the intervals.

    Returns:
        `start`, `fine-tuned` (the one that was kept) and their paired `difference`; and where there
        are several seeds, `seeds`: `mean` with its interval, `deviation`, `lowest`, `highest`.
    """
    before, *after = (_sample(data, one) for one in (start, *tuned))
    chosen = after[kept]
    first, best, mean = (bootstrap.figures(some) for some in ([before], [chosen], after))
    ahead = bootstrap.differences(chosen, before, subtasks=False)
    found: dict[str, Any] = {}
    for key, figure in best.items():
        entry = {START: asdict(first[key]), TUNED: asdict(figure), "difference": asdict(ahead[key])}
        if len(after) > 1:
            each = [bootstrap.figures([one])[key].value for one in after]
            known = [value for value in each if value is not None]
            entry["seeds"] = asdict(mean[key]) | {
                "deviation": stdev(known) if len(known) > 1 else None,
                "lowest": min(known, default=None),
                "highest": max(known, default=None),
            }
        found[key[1].value] = entry
    return found


def _sample(data: EvaluationSet, similarities: Floats) -> Sample:
    """Without its subtasks, whose figures nobody asked for."""
    sample = Scored(data, similarities).sample
    return replace(sample, subtask=("",) * len(sample.x))


def notes(report: Mapping[str, Any]) -> list[str]:
    """What to keep in mind about the figures of a report."""
    said = list(report["left_out"])
    if report["drawn"]:
        what = f", whole groups of {report['apart']}" if report["apart"] else ""
        said.append(f"drawn at random from the rows given{what}: {' and '.join(report['drawn'])}")
    if report["shared"]:
        said.append(
            f"{report['shared']:,} of {report['data']['test']['rows']:,} test rows share a text "
            "with a row that was learned from (whole pairs none): of what was learned, less may "
            "hold for texts that are new"
        )
    kept = next(one for one in report["seeds"] if one["seed"] == report["kept"])
    if "dev" not in report["data"]:
        said.append("no dev rows: the last weights were kept")
    elif kept["step"] == 0:
        said.append(
            "at no look during training was dev better than at the start: the start was kept. "
            "Another rate (--learning-rate), or more rows, may teach more"
        )
    if kept["ended"] < kept["steps"]:
        said.append(f"training ended early, at step {kept['ended']:,} of {kept['steps']:,}")
    said += [f"{name}: {note}" for name, one in report["data"].items() for note in one["notes"]]
    return said


def text(report: Mapping[str, Any]) -> str:
    """A report for a screen."""
    sizes = ", ".join(
        f"{_learned_from(report) if name == TRAIN else format(one['rows'], ',')} {name}"
        for name, one in report["data"].items()
    )
    lines = [f"{report['start']}: {report['kind']}, {report['objective']}; rows: {sizes}"]
    lines += [*_table(report), *_seeds(report)]
    if report["calibration_text"]:
        lines.append(report["calibration_text"])
    return "\n".join([*lines, *(f"({note})" for note in report["notes"])])


def _learned_from(report: Mapping[str, Any]) -> str:
    rows = next(one["rows"] for one in report["seeds"] if one["seed"] == report["kept"])
    whole = report["data"][TRAIN]["rows"]
    return f"{rows:,}" if rows == whole else f"{rows:,} of {whole:,}"


def _table(report: Mapping[str, Any]) -> list[str]:
    rows = [["", START, TUNED, "difference"]]
    if "dev" in report["data"]:
        kept = next(one for one in report["seeds"] if one["seed"] == report["kept"])
        shown = [_times(kept["looks"][0]["figure"]), _times(kept["dev"])]
        rows.append([f"dev {report['data']['dev']['metric']}", *shown, ""])
    for metric, one in _measured(report):
        figures = [str(Estimate(**one[name])) for name in (START, TUNED)]
        rows.append([f"test {metric}", *figures, _signed(Difference(**one["difference"]))])
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _measured(report: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The figures of test, in the usual order of metrics."""
    found = report["test"] or {}
    return [(metric.value, found[metric]) for metric in Metric if metric in found]


def _times(figure: float | None) -> str:
    return "undefined" if figure is None else f"{100 * figure:.1f}"


def _signed(one: Difference) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "undefined"
    return f"{one.value:+.1f} [{one.low:+.1f}, {one.high:+.1f}]"


def _seeds(report: Mapping[str, Any]) -> list[str]:
    if len(report["seeds"]) == 1:
        return []
    names = ", ".join(str(one["seed"]) for one in report["seeds"])
    best = ", the best by dev" if "dev" in report["data"] else ""
    lines = [f"seeds {names}; kept: {report['kept']}{best}"]
    for metric, one in _measured(report):
        seeds = one["seeds"]
        mean = Estimate(*(seeds[name] for name in ("value", "low", "high", "n", "reason")))
        if seeds["deviation"] is not None:
            lines.append(
                f"mean of seeds, test {metric}: {mean}, seeds ± {seeds['deviation']:.1f} "
                f"({seeds['lowest']:.1f} to {seeds['highest']:.1f})"
            )
    return lines


def calibration_text(found: Calibration | None) -> str:
    """What a cosine means, in a sentence."""
    if found is None:
        return ""
    if isinstance(found, Line):
        return found.text()
    return (
        f"P(match) = 1 / (1 + exp(-({found.slope:.2f} · cosine "
        f"{found.intercept:+.2f}))); squared error {found.brier:.3f} on dev (a constant: "
        f"{found.constant_brier:.3f})"
    )


def card(report: Mapping[str, Any]) -> str:
    """README.md of a fine-tuned model."""
    kept = next(one for one in report["seeds"] if one["seed"] == report["kept"])
    settings, several = report["settings"], len(report["seeds"]) > 1
    known = {
        "start": report["start"],
        "rows": _learned_from(report),
        "data": report["data"]["train"]["name"],
        "kind": report["kind"],
        "objective": report["objective"],
        "dimensions": report["model"]["dimensions"],
        "parameters": f"{report['model']['parameters']:,}",
        "table": "\n".join(["```text", *_table(report), *_seeds(report), "```"]),
        "notes": "\n\n".join(f"{note[0].upper()}{note[1:]}." for note in report["notes"]),
        "calibration": report["calibration_text"] or "Nothing: there were no rows to tell it.",
        "passes": "1 pass" if settings["epochs"] == 1 else f"{settings['epochs']} passes",
        "batch": settings["batch"],
        "rate": f"{kept['rate']:g}",
        "warmup": f"{settings['warmup']:.0%}",
        "seeds": ", ".join(str(one["seed"]) for one in report["seeds"]),
        "kept": report["kept"],
        "why": ", the best by dev" if several and "dev" in report["data"] else "",
        "looks": settings["looks"],
        "step": f"{kept['step']:,}",
        "steps": f"{kept['steps']:,}",
    }
    template = resources.files("firth.finetune").joinpath("card.md").read_text(encoding="utf-8")
    return Template(template).substitute(known)
