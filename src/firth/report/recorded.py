"""What the stages of a run wrote down of themselves, as it is shown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.context import CONTEXT
from firth.context.build import HISTORY
from firth.evaluate import EVALUATION
from firth.pipeline import STEPS
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.stage import Stage
from firth.summaries import sentences_of
from firth.surrogate import SURROGATE
from firth.surrogate.report import REPORT

Curve = Sequence[tuple[float, float]]
"""Points of a line: (step, value)."""
_KEPT = ("pairs", "histogram", "components", "tfidf", "warnings")
_COLUMNS = {"model", "task", "subtask", "split", "metric", "value", "low", "high", "n"}


def stages_of(run: Run) -> list[dict[str, Any]]:
    """Of each finished stage its `name`; what it did, as sentences (`summary`) and by keys
    (`figures`); and whether what it was made of has changed since (`stale`).
    """
    found = []
    for stage in (step.stage for step in STEPS if run.has(step.stage)):
        figures = dict(run.manifest(stage).summary)
        summary = sentences_of(stage.name, figures)
        told = {"name": stage.name, "summary": summary, "figures": figures}
        found.append(told | {"stale": _is_stale(run, stage)})
    return found


def _is_stale(run: Run, stage: Stage) -> bool:
    """Whether a stage was made of another stage than there is now, or with another setting."""
    manifest = run.manifest(stage)
    stages = {step.stage.name: step.stage for step in STEPS}
    read = (stages[name] for name in manifest.inputs if name in stages)
    if any(not run.has(one) or run.manifest(one).digest != manifest.inputs[one.name]
           for one in read):  # fmt: skip
        return True
    return run.config.values([*manifest.config]) != dict(manifest.config)


def labels_of(run: Run) -> dict[str, Any] | None:
    """What the Surrogate's labels are worth (`firth.harvest.labels.label_report`)."""
    if not run.has(SURROGATE):
        return None
    found = read_json(run.folder(SURROGATE) / REPORT)["labels"]
    return {**{name: found[name] for name in _KEPT}, "length": found["length"]["explained"]}


def evaluation_of(run: Run, given: Path | None = None) -> dict[str, Any] | None:
    """What `firth evaluate` wrote, the run's own or in the folder or file that is given: `results`
    and `notes` at least.

    Raises:
        InputError: What is given cannot be read, or is no evaluation.
    """
    path = given or run.path / EVALUATION.name
    path = path / "results.json" if given is None or path.is_dir() else path
    if given is None and not path.is_file():
        return None
    found = read_json(path)
    results = found.get("results") if isinstance(found, dict) else None
    if isinstance(results, list) and all(isinstance(one, dict) and {*one} >= _COLUMNS
                                         for one in results):  # fmt: skip
        return {"notes": [], **found}
    raise InputError(
        f"{path}: no results of an evaluation; expected what firth evaluate --out FOLDER writes"
    )


def training_curves(run: Run) -> dict[str, tuple[str, dict[str, Curve]]]:
    """Title → (label of the values, lines by name), of the models that were trained."""
    recorded = []
    if run.has(CONTEXT):
        learned: Mapping[str, Any] = read_json(run.folder(CONTEXT) / HISTORY)
        recorded.append(("Context fit: training loss", "nats", learned))
    if run.has(SURROGATE):
        report = read_json(run.folder(SURROGATE) / REPORT)
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
