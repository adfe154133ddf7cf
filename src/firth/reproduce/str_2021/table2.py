"""Table 2: the kinds of pairs in STR-2021, counted, and what else the released pairs tell."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from firth.baselines.dice import Dice
from firth.evaluate.rows import EvaluationSet
from firth.lexical.words import words
from firth.reproduce.report import Lines, Report, Row
from firth.reproduce.str_2021.published import TABLE2
from firth.reproduce.str_2021.request import StrRequest

_PARTS = {"Formality": "Formality_", "ParaNMT": "ParaNMT_", "Wikipedia": "Wiki_"}
_SHORTEST, _LONGEST = 5, 25
_BINS = 20


def str_table2(request: StrRequest) -> Report:
    """Count pairs by source; raise `InputError` where STR-2021 cannot be had."""
    data = request.parts()
    groups = _groups(data)
    rows = [_row(name, data, groups.get(name)) for name in TABLE2]
    edges = np.linspace(0, 1, _BINS + 1)
    scores = np.array([row.score for row in data.rows])
    domains = [name for name in TABLE2 if not name.endswith(("_pp", "_r")) and name in groups]
    counts = {
        name: tuple(np.histogram(scores[groups[name]], edges)[0].astype(float).tolist())
        for name in domains
    }
    plot = Lines("score", "pairs (Figure 1)", [f"{edge:.2f}" for edge in edges[:-1]], counts)
    columns = ("kind of pairs", "pairs", "pairs, printed", "words a sentence", "Dice (%)",
               "mean score (%)", "5 to 25 words (%)")  # fmt: skip
    notes = (
        "Words are runs of letters and digits; the paper counts tokens, so that some sentences lie "
        "outside its 5 to 25.",
        "The plot is Figure 1: a histogram of the scores.",
        *(f"missing: {name}, not named in {data.source}" for name in TABLE2 if name not in groups),
        *data.notes,
    )
    details = {"source": data.source, "fingerprint": data.fingerprint, "histogram": counts}
    return Report("str-table2", "STR-2021, Table 2", columns, tuple(rows), plot, notes, details)


def _groups(data: EvaluationSet) -> dict[str, npt.NDArray[np.int64]]:
    """Kind → rows: the parts of a source together are the source."""
    found = {("ALL" if name == "all" else name): rows for name, rows in data.subtasks.items()}
    for name, start in _PARTS.items():
        parts = [rows for part, rows in found.items() if part.startswith(start)]
        if name not in found and parts:
            found[name] = np.sort(np.concatenate(parts))
    return found


def _row(name: str, data: EvaluationSet, rows: npt.NDArray[np.int64] | None) -> Row:
    if rows is None:
        return Row(name, (None, TABLE2[name], None, None, None, None))
    pairs = [data.pairs[row] for row in rows]
    lengths = np.array([len(words(text)) for pair in pairs for text in pair])
    within = (lengths >= _SHORTEST) & (lengths <= _LONGEST)
    means: Sequence[float] = (
        float(lengths.mean()),
        float(100 * Dice().similarities(pairs).mean()),
        float(100 * np.mean([data.rows[row].score for row in rows])),
        float(100 * within.mean()),
    )
    return Row(name, (len(rows), TABLE2[name], *means))
