"""What a run is: its stages in sentences, what of it is there, and pairs to try it with."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from firth.corpus import CORPUS
from firth.corpus.library import Library
from firth.curves import training_curves
from firth.evaluate import EVALUATION
from firth.pipeline import STEPS
from firth.report.recorded import labels_of
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.stage import Stage
from firth.serve.opened import Opened
from firth.summaries import sentences_of

_EXAMPLES = 6
_LENGTHS = (6, 20)
"""Words of a sentence that is an example."""
_POINTS = 300
"""Of a curve, at most about."""
_LOOKED_AT = 200
"""Documents among which examples are looked for."""


def about(opened: Opened) -> dict[str, Any]:
    """See `firth.serve.schemas.About`; raise `MissingStageError` if there is no corpus."""
    run = opened.run
    corpus = run.manifest(CORPUS).summary
    built = [step.stage for step in STEPS if run.has(step.stage)]
    evaluated = run.path / EVALUATION.name / "results.json"
    return {
        "name": run.path.resolve().name,
        "has": opened.has,
        **{name: corpus[name] for name in ("documents", "held_out", "sentences", "words")},
        "skipped": dict(corpus["skipped"]),
        "stages": [_told(run, stage) for stage in built],
        "evaluation": read_json(evaluated) if evaluated.is_file() else None,
        "components": list(opened.reasons.weights) if opened.has["reasons"] else [],
        "fields": list(opened.library.fields),
        "examples": [list(pair) for pair in islice(_pairs(opened.library), _EXAMPLES)],
        "curves": {
            title: {
                "label": label,
                "lines": {
                    name: [*map(list, line[:: 1 + len(line) // _POINTS])]
                    for name, line in lines.items()
                },
            }
            for title, (label, lines) in training_curves(run).items()
        },
        "labels": labels_of(run),
    }


def _told(run: Run, stage: Stage) -> dict[str, Any]:
    summary = dict(run.manifest(stage).summary)
    return {
        "name": stage.name,
        "summary": [sentences_of(stage.name, summary)],
        "figures": summary,
        "stale": _is_stale(run, stage),
    }


def _is_stale(run: Run, stage: Stage) -> bool:
    """Whether a stage was made of another stage than there is now, or with another setting."""
    manifest = run.manifest(stage)
    stages = {step.stage.name: step.stage for step in STEPS}
    read = (stages[name] for name in manifest.inputs if name in stages)
    if any(not run.has(one) or run.manifest(one).digest != manifest.inputs[one.name]
           for one in read):  # fmt: skip
        return True
    return run.config.values([*manifest.config]) != dict(manifest.config)


def _pairs(library: Library) -> Iterator[tuple[str, str]]:
    """Two sentences that follow one another, of documents from all over the library."""
    low, high = _LENGTHS
    counts = library.word_counts
    looked_at = np.linspace(0, library.n_documents - 1, min(_LOOKED_AT, library.n_documents))
    for document in np.unique(looked_at.astype(int)).tolist():
        start, end = library.document_bounds[document : document + 2].tolist()
        good = (low <= counts[start:end]) & (counts[start:end] <= high)
        if len(found := (good[:-1] & good[1:]).nonzero()[0]):
            at = start + found[len(found) // 2]  # documents begin with salutations, or headings
            one, two = library.texts([at, at + 1])
            yield one, two
