"""Tables of Yuan & Zhang (CBOS): five systems that learn from neighboring sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluation.metrics import Columns, Metric
from firth.evaluation.sets import EvaluationSet
from firth.reproduce.averaged import WordBag
from firth.reproduce.baselines import build_baseline, stage_of
from firth.reproduce.result import Cell, Findings, Request, figure, loaded, published
from firth.reproduce.settings import ReproduceSettings
from firth.run.stage import Stage

SYSTEMS = ("skip-gram", "cbow", "skip-thought", "siamese-cbow", "cbos")
TRAINED = ("skip-gram", "cbow", "siamese-cbow", "cbos")
_VALUES = ("1", "2", "3", "4", "5")
"""Of k and m in the figures of the paper."""
_ROUNDED = 0.6
"""Printed means have two to four digits; one that is further off is named."""


def table1(request: Request) -> Findings:
    """Train systems on the run's corpus, and measure Pearson on 20 sets of STS."""
    figures = published("cbos", "table1")
    data, notes = loaded(request, sorted({key.split()[0] for key in figures}))
    cells, columns = [], {}
    for name in TRAINED:
        build_baseline(request.run, name)
        columns[name] = _by_subset(request.run.folder(stage_of(name)), data)
    present = [key for key in figures if key in columns[TRAINED[0]]]
    missing = [key for key in figures if key not in present]
    notes += [f"Missing: {', '.join(missing)}."] if missing else []

    def add(row: str, keys: Sequence[str], paper: Mapping[str, float]) -> None:
        for name in SYSTEMS:
            both = [columns[name][key] for key in keys] if name in columns else []
            value = figure(Metric.PEARSON, both, request.seed, row) if both else None
            cells.append(Cell(row, name, value, paper[name]))

    for year, printed in published("cbos", "averages").items():
        keys = [key for key in present if key.startswith(year)]
        means = _means(figures, [key for key in figures if key.startswith(year)])
        for key in keys:
            add(key, [key], figures[key])
        if keys:
            add(f"mean of {year}", keys, printed)
        notes += [
            f"{year}, {name}: the paper prints a mean of {printed[name]:g}; that of its rows is "
            f"{means[name]:g}."
            for name in SYSTEMS
            if abs(printed[name] - means[name]) > _ROUNDED
        ]
    add(f"mean of {len(present)}", present, _means(figures, present))
    return cells, [
        *notes,
        "The paper's systems learned from the Toronto Book Corpus. Skip-thought is not trained "
        "here: at a size that deserves the name it takes weeks.",
    ]


def _means(figures: Mapping[str, Mapping[str, float]], keys: Sequence[str]) -> dict[str, float]:
    """Return the mean of published figures of each system, to two decimals."""
    return {name: round(float(np.mean([figures[k][name] for k in keys])), 2) for name in SYSTEMS}


def sweep_k(request: Request) -> Findings:
    """Measure CBOS for k = 1 to 5 neighbors on each side, with m = 2 (Figure 3)."""
    return _sweep(request, "window", {"negatives": 2})


def sweep_m(request: Request) -> Findings:
    """Measure CBOS for m = 1 to 5 random sentences, with k = 1 (Figure 4)."""
    return _sweep(request, "negatives", {"window": 1})


def _sweep(request: Request, field: str, fixed: Mapping[str, Any]) -> Findings:
    run, letter = request.run, request.table[-1]
    recipe = run.wing("reproduce", ReproduceSettings).baselines.recipe("cbos")
    data, notes = loaded(request, ["sts14"])
    cells = []
    for value in request.sizes(_VALUES, 100):
        varied = replace(recipe, **{**fixed, field: value})
        stage = Stage(f"reproduce/{request.table}/{value}", 1, "", "firth reproduce table")
        build_baseline(run, "cbos", varied, stage)
        columns = _by_subset(run.folder(stage), data)
        for key, both in columns.items():
            cells.append(
                Cell(f"{letter} = {value}", key, figure(Metric.PEARSON, [both], request.seed, key))
            )
        mean = figure(Metric.PEARSON, list(columns.values()), request.seed, "mean")
        cells.append(Cell(f"{letter} = {value}", "mean", mean))
    return cells, [*notes, "The paper has curves without figures; it takes k = 1 and m = 2."]


def _by_subset(folder: Path, sets: list[EvaluationSet]) -> dict[str, Columns]:
    """Return `sts12 MSRpar` → human scores and similarities of a trained baseline."""
    scorer = WordBag.load(folder).scorer()
    results: dict[str, Columns] = {}
    for data in sets:
        similarities = scorer.similarities(data.pairs)
        for subset, rows in data.subsets.items():
            results[f"{data.name} {subset}"] = data.scores[rows], similarities[rows]
    return results
