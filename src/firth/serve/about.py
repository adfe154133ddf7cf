"""What a run is: its stages in sentences, what of it is there, and pairs to try it with."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from firth.corpus import CORPUS
from firth.corpus.library import Library
from firth.report.recorded import evaluation_of, labels_of, stages_of, training_curves
from firth.serve.opened import Opened

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
    return {
        "name": run.path.resolve().name,
        "has": opened.has,
        **{name: corpus[name] for name in ("documents", "held_out", "sentences", "words")},
        "skipped": dict(corpus["skipped"]),
        "stages": stages_of(run),
        "evaluation": evaluation_of(run),
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
