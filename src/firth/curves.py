"""How the models of a run were learned: their losses, step by step."""

from collections.abc import Mapping, Sequence
from typing import Any

from firth.context import CONTEXT
from firth.context.build import HISTORY
from firth.run.files import read_json
from firth.run.run import Run
from firth.surrogate import SURROGATE

Curve = Sequence[tuple[float, float]]
"""Points of a line: (step, value)."""


def training_curves(run: Run) -> dict[str, tuple[str, dict[str, Curve]]]:
    """Title → (label of the values, lines by name), of the models that were trained."""
    recorded = []
    if run.has(CONTEXT):
        learned: Mapping[str, Any] = read_json(run.folder(CONTEXT) / HISTORY)
        recorded.append(("Context fit: training loss", "nats", learned))
    if run.has(SURROGATE):
        report = read_json(run.folder(SURROGATE) / "report.json")
        distilled = {"distillation": report["history"]["distillation"]}
        recorded.append(("Surrogate: training loss", "divergence from Origin", distilled))
    return {
        title: (
            label,
            {
                name: [(entry["step"], entry["loss"]) for entry in entries if "loss" in entry]
                for name, entries in histories.items()
            },
        )
        for title, label, histories in recorded
        if any(histories.values())
    }
