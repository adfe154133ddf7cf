"""The JSON of an evaluation: one schema, whether it is about one model or many."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import firth
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.metrics import CONFIDENCE

if TYPE_CHECKING:
    from firth.evaluate.comparison import Comparison
    from firth.evaluate.groups import GroupResult
    from firth.evaluate.selection import LeftOut

SCHEMA = 2
"""Version of the JSON; it changes when a key changes its meaning or goes."""

_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "transformers",
    "sentence-transformers",
    "datasets",
    "gensim",
)


def document(
    evaluations: Sequence[Evaluation],
    *,
    groups: "Sequence[GroupResult]" = (),
    differences: "Sequence[Comparison]" = (),
    left_out: "Sequence[LeftOut]" = (),
    command: str | None = None,
) -> dict[str, Any]:
    """Everything an evaluation found, as plain values.

    Args:
        evaluations: One a model, all with one seed and one number of resamples.
        groups: Figures of models that differ in their seed only.
        differences: Paired differences between models.
        left_out: Tasks and models that were asked for with `all` and could not be had.
        command: The command line.
    """
    sets = {
        (item.data.task.name, item.data.split, item.data.fingerprint): item.data
        for one in evaluations
        for item in one.scored
    }
    return {
        "schema": SCHEMA,
        "results": [asdict(result) for one in evaluations for result in one.results],
        "notes": list(dict.fromkeys(note for one in evaluations for note in one.notes)),
        "models": [
            {
                "spec": one.model,
                "name": one.name,
                "fingerprint": one.fingerprint,
                "leakage": None
                if one.leakage is None
                else [found.to_dict() for found in one.leakage],
            }
            for one in evaluations
        ],
        "data": [
            {
                "task": data.task.name,
                "split": data.split,
                "source": data.source,
                "rows": len(data.rows),
                "skipped": data.skipped,
                "fingerprint": data.fingerprint,
                "licence": data.task.licence,
            }
            for data in sets.values()
        ],
        "groups": [asdict(group) for group in groups],
        "differences": [difference.to_dict() for difference in differences],
        "left_out": [asdict(item) for item in left_out],
        "settings": {
            "seed": evaluations[0].seed,
            "resamples": evaluations[0].resamples,
            "confidence": CONFIDENCE,
        },
        "firth": firth.__version__,
        "libraries": _versions(),
        "command": command,
    }


def _versions() -> Mapping[str, str]:
    versions = {}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
