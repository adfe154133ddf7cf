"""Evaluate pair scorers on sets with human scores.

Every pair is scored once. Every figure has a 95 % bootstrap interval, and differences of two models
are paired: both are measured on the same resamples of the same rows. Saved results hold the scores
and no text, so that they can be published.
"""

import importlib.metadata
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.evaluation.bootstrap import RESAMPLES, Estimate, Sample, bootstrap_seed, estimate
from firth.evaluation.metrics import Metric, metric_sample
from firth.evaluation.sets import ALL, EvaluationSet, load_set, load_sets
from firth.run.console import progress, table
from firth.run.errors import InputError
from firth.run.results import Result, plain
from firth.run.run import CONFIG, Run
from firth.text.sentences import split_sentences
from firth.text.types import Floats, PairScorer, scored_as_set
from firth.text.words import language_of_texts, normal_form

MEAN = "mean"
"""The name of the unweighted mean over all subsets of a set."""
SCHEMA = 3
"""Version of the JSON of results; it changes when a key changes its meaning or goes."""
MIN_WORDS = 6
"""Shorter texts occur in any large corpus by chance."""


@dataclass(frozen=True)
class Figure:
    """One figure of one model, times 100, on a set and split such as `sts-b:test`.

    The subset is `all`, `mean` (over subsets), or the name of a subset.
    """

    model: str
    set: str
    subset: str
    metric: str
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A set and the similarities of its pairs by each model."""

    data: EvaluationSet
    scores: dict[str, Floats]

    def sample(self, models: Sequence[str], metric: Metric, seed: int, subset: str = ALL) -> Sample:
        """Return a metric of one model, or of one minus another, on all rows or on a subset."""
        data = self.data
        columns = [data.columns(self.scores[model]) for model in models]
        if subset != ALL:
            rows = data.subsets[subset]
            columns = [(x[rows], y[rows]) for x, y in columns]
        drawn = bootstrap_seed(seed, data.name, data.split, subset, metric.value)
        name = data.id if subset == ALL else subset
        return metric_sample(metric, columns, drawn, name=name)

    def figures(self, model: str, seed: int) -> Iterator[Figure]:
        """Yield the figures of a model: all rows, mean over subsets, each subset."""
        data, subsets = self.data, list(self.data.subsets)
        groups = {ALL: [ALL], **({MEAN: subsets} if subsets else {}), **{n: [n] for n in subsets}}
        for group, members in groups.items():
            for metric in data.metrics:
                samples = [self.sample([model], metric, seed, name) for name in members]
                yield Figure(model, data.id, group, metric.value, estimate(samples))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, without the texts."""
        data = self.data
        return {
            "name": data.name,
            "split": data.split,
            "fingerprint": data.fingerprint,
            "metrics": [metric.value for metric in data.metrics],
            "source": data.source,
            "gold": data.scores.tolist(),
            "subsets": [row.subset for row in data.rows],
            "scores": {
                model: [value if np.isfinite(value) else None for value in scores.tolist()]
                for model, scores in self.scores.items()
            },
        }


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The results of models on sets, with remarks that a reader of the figures needs."""

    sets: tuple[ScoredSet, ...]
    notes: tuple[str, ...]
    seed: int

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(model for scored in self.sets for model in scored.scores))

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of each set and model: all rows, mean over subsets, each subset."""
        return tuple(
            figure
            for scored in self.sets
            for model in scored.scores
            for figure in scored.figures(model, self.seed)
        )

    @cached_property
    def differences(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Set → model → its figure minus that of the first model, by the usual metric, paired."""
        first = self.models[0]
        return {
            scored.data.id: {
                model: estimate(scored.sample([model, first], scored.data.metrics[0], self.seed))
                for model in scored.scores
                if model != first
            }
            for scored in self.sets
        }

    def find(self, model: str, set: str, metric: str | None = None, subset: str = ALL) -> Estimate:
        """Return one figure, by default of the set's usual metric; the set may lack its split.

        An `InputError` says that there is none.
        """
        for figure in self.figures:
            named = (figure.model, figure.subset) == (model, subset)
            if metric not in (None, figure.metric):
                continue
            if named and set in (figure.set, figure.set.rpartition(":")[0]):
                return figure.estimate
        raise InputError(f"no figure of {model} on {set} ({subset}, {metric or 'any metric'})")

    def summary(self) -> str:
        """Return the names of models and sets."""
        sets = ", ".join(scored.data.id for scored in self.sets)
        return f"{', '.join(self.models)} on {sets}"

    def lines(self, top: int) -> Iterator[str]:
        """Yield a table for each set, models beside the first one, and the notes."""
        for scored in self.sets:
            yield from (self._table(scored), "")
        yield f"Times 100; brackets are 95 % intervals over {RESAMPLES:,} resamples."
        yield from self.notes

    def records(self) -> list[dict[str, Any]]:
        """Return the figures, one a row."""
        return [
            {"model": figure.model, "set": figure.set, "subset": figure.subset,
             "metric": figure.metric, **asdict(figure.estimate)}
            for figure in self.figures
        ]  # fmt: skip

    def _table(self, scored: ScoredSet) -> str:
        """Return the figures of a set: a line for each model."""
        data, (usual, *further) = scored.data, scored.data.metrics
        differences = self.differences[data.id]
        header = [f"{data.id} ({len(data.rows):,} rows)", usual.value]
        header += [f"minus {self.models[0]}"] if differences else []
        header += ["mean of subsets"] if data.subsets else []
        rows = [[*header, *(metric.value for metric in further)]]
        for model in scored.scores:
            row = [model, str(self.find(model, data.id, usual))]
            if differences:
                row.append(differences[model].signed if model in differences else "")
            more = [self.find(model, data.id, usual, MEAN)] if data.subsets else []
            more += [self.find(model, data.id, metric) for metric in further]
            shown = ("-" if figure.value is None else f"{figure.value:.1f}" for figure in more)
            rows.append([*row, *shown])
        return table(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "firth": importlib.metadata.version("firth"),
            "seed": self.seed,
            "resamples": RESAMPLES,
            "figures": plain(self.figures),
            "differences": plain(self.differences),
            "notes": list(self.notes),
            "sets": [scored.as_dict() for scored in self.sets],
        }


def evaluate(
    scorers: Mapping[str, PairScorer],
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    exclude_overlap: Sequence[str | Path | Run] = (),
    alone: bool = False,
    seed: int = 13,
) -> Evaluation:
    """Score every pair of some sets with models, and compare with the human scores.

    Args:
        scorers: Name of each model, and the model. Add `open_baseline("ngrams")` and
            `open_baseline("tfidf")`: what does not exceed them has learned nothing of use.
        tasks: Sets, as `firth.evaluation.sets.load_set` names them, or files; or `all`.
        data_dir: Folder with the evaluation sets.
        exclude_overlap: Sets, such as `sts-b:dev`: rows that they have are left out. Runs: rows
            with a text of their corpus are left out.
        alone: Whether a run scores each pair alone, as `Model.similarity` does. By default it also
            counts how frequent words are in the set, as `firth similarity --pairs-file` does.
        seed: Seed of the resamples.

    Raises:
        InputError: A set cannot be loaded, no row of a set is left, or a model does not give one
            number for each pair.
        MissingStageError: A run of `exclude_overlap` has no corpus.
    """
    if not scorers:
        raise InputError("got no model to evaluate; expected at least one")
    sets = load_sets(tasks, data_dir)
    for seen in exclude_overlap:
        if isinstance(seen, Run) or (Path(seen) / CONFIG).is_file():
            sets = without_copies(sets, Run.open(seen))
        else:
            other = load_set(str(seen), data_dir)
            sets = [data.without(other) for data in sets]
    scored = [ScoredSet(data, {}) for data in sets]
    for scored_set, name in progress(
        [(scored_set, name) for scored_set in scored for name in scorers], "Evaluating"
    ):
        pairs = scored_set.data.pairs
        score = scorers[name].similarities if alone else partial(scored_as_set, scorers[name])
        scores = np.asarray(score(pairs), dtype=np.float64)
        if scores.shape != (len(pairs),):
            raise InputError(
                f"{name}: got similarities of shape {scores.shape} for {len(pairs):,} pairs of "
                f"{scored_set.data.id}; expected one number for each pair"
            )
        scored_set.scores[name] = scores
    notes = [f"{data.id}: {note}" for data in sets for note in data.notes]
    results = Evaluation(tuple(scored), (), seed)
    notes += [
        f"{figure.model} on {figure.set} ({figure.subset}), {figure.metric}: "
        f"{figure.estimate.reason}"
        for figure in results.figures
        if figure.estimate.reason
    ]
    return replace(results, notes=tuple(notes))


# --- Overlap with a corpus ---------------------------------------------------------------------


def without_copies(sets: Sequence[EvaluationSet], run: Run) -> list[EvaluationSet]:
    """Return sets without the rows of which a text, or a sentence of a text, is in a run's corpus.

    The documents that models learn from are read. An `InputError` names a set without any row left.
    """
    forms = [_forms(data) for data in sets]
    texts = {form for by_text in forms for of_text in by_text.values() for form in of_text}
    long_texts = {form for form in texts if len(form.split()) >= MIN_WORDS}
    sentences = chain.from_iterable(Corpus.open(run).batches())
    copies = long_texts.intersection(map(normal_form, sentences))
    cleared = []
    for data, by_text in zip(sets, forms, strict=True):
        copied = {text for text, own in by_text.items() if not own.isdisjoint(copies)}
        rows = [row for row in data.rows if copied.isdisjoint(row.texts)]
        if not rows:
            raise InputError(f"{data.id}: no row is left without the texts of {run.path}")
        n = len(data.rows)
        remark = f"{n - len(rows):,} of {n:,} rows left out, with texts in {run.path}"
        cleared.append(data.with_rows(rows, remark))
    return cleared


def _forms(data: EvaluationSet) -> dict[str, set[str]]:
    """Return each text of a set with the normal forms of it and of its sentences."""
    texts = dict.fromkeys(text for row in data.rows for text in row.texts)
    language = language_of_texts(texts)
    # Splitting is slow, and most texts are one sentence.
    several = re.compile(r"[.!?\u0589\u061f\u0964\u1362]\s|[\u3002\uff01\uff1f]|\n")
    return {
        text: set(map(normal_form, (text, *sentences)))
        for text in texts
        for sentences in [split_sentences(text, language) if several.search(text) else ()]
    }
