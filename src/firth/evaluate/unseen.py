"""What a model's training text shares with the sets, and figures without the rows in question."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firth.corpus import CORPUS
from firth.evaluate.cache import Cache
from firth.evaluate.evaluation import Evaluation, Result, Scored
from firth.evaluate.figures import figures_of
from firth.evaluate.leakage import Leakage, find_leakage
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.sample import sample_of
from firth.evaluate.training_text import training_of, training_runs
from firth.run.run import Run

UNSEEN = "unseen"
"""The subtask that holds every row of which the training text has no text."""


def with_leakage(found: Evaluation, sets: Sequence[EvaluationSet], cache: Cache) -> Evaluation:
    """An evaluation with what the corpora of the model's runs share with the sets.

    Args:
        found: Of a model named by a path or spec.
        sets: The sets it was evaluated on.
        cache: Looked at first.
    """
    runs = [run for run in training_runs(found.model) if Run.open(run).has(CORPUS)]
    return with_leaks(found, [find_leakage(training_of(run), sets, cache) for run in runs], cache)


def with_leaks(found: Evaluation, leaks: Sequence[Leakage], cache: Cache) -> Evaluation:
    """An evaluation with what its model's training texts share with the sets.

    A set that is touched gets its figures once more without the rows in question, as the subtask
    `unseen`, and a note that says what difference they make.

    Args:
        found: Of any model.
        leaks: Of the texts it was trained on; none leaves the evaluation as it is.
        cache: Looked at first.
    """
    if not leaks:
        return found
    results = list(found.results)
    notes = [text for leak in leaks for text in leak.notes()]
    for item in found.scored:
        if rows := _touched(item, leaks):
            unseen = _unseen(found, item, rows, cache)
            results += unseen
            notes += [_remark(found, one, len(rows)) for one in unseen[:1]]
    return replace(
        found, results=tuple(results), leakage=tuple(leaks), notes=(*found.notes, *notes)
    )


def _touched(item: Scored, leaks: Sequence[Leakage]) -> set[int]:
    name = (item.data.task.name, item.data.split)
    return {
        row
        for leak in leaks
        for one in leak.sets
        if (one.task, one.split) == name
        for row in one.touched
    }


def _unseen(found: Evaluation, item: Scored, rows: set[int], cache: Cache) -> list[Result]:
    """The figures of a set, rows left out; none if no row is left."""
    sample = sample_of(item)
    kept = np.flatnonzero(~np.isin(sample.rows, list(rows)))
    if not len(kept):
        return []
    rest = replace(
        sample,
        x=sample.x[kept],
        y=sample.y[kept],
        subtask=("",) * len(kept),
        rows=sample.rows[kept],
        units=None if sample.units is None else sample.units[kept],
    )
    figures = figures_of(rest, found.seed, found.resamples, cache)
    where = (found.model, sample.task, UNSEEN, sample.split)
    return [
        Result(*where, metric.value, one.value, one.low, one.high, one.n)
        for (_, metric), one in figures.items()
    ]


def _remark(found: Evaluation, one: Result, rows: int) -> str:
    whole = found.find(one.task, one.metric, split=one.split)
    shown = "that row" if rows == 1 else f"those {rows:,} rows"
    if whole.value is None or one.value is None:
        return f"{one.task} {one.split}: nothing to measure without {shown}"
    return (
        f"{found.model}: {one.task} {one.split} {one.metric} is {one.value:.1f} without "
        f"{shown}, {whole.value:.1f} with all"
    )
