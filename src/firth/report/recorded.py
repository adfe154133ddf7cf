"""What the stages of a run wrote down of themselves, as it is shown."""

from typing import Any

from firth.run.files import read_json
from firth.run.run import Run
from firth.surrogate import SURROGATE
from firth.surrogate.report import REPORT

_KEPT = ("pairs", "histogram", "components", "tfidf", "warnings")


def labels_of(run: Run) -> dict[str, Any] | None:
    """What the Surrogate's labels are worth (`firth.harvest.labels.label_report`)."""
    if not run.has(SURROGATE):
        return None
    found = read_json(run.folder(SURROGATE) / REPORT)["labels"]
    return {**{name: found[name] for name in _KEPT}, "length": found["length"]["explained"]}
