"""Evaluate pair scorers on sets with human scores, save the results, and compare saved ones.

Every pair is scored once. Every figure has a 95 % bootstrap interval, and differences of two models
are paired: both are measured on the same resamples of the same rows. Saved results hold the scores
and no text, so that they can be compared later and published.
"""

import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluation.bootstrap import RESAMPLES, Estimate, Sample, bootstrap_seed, estimate
from firth.evaluation.files import Row
from firth.evaluation.leakage import without_copies
from firth.evaluation.metrics import Metric, metric_sample
from firth.evaluation.sets import ALL, EvaluationSet, load_set, load_sets
from firth.run.console import progress, table, wrapped
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.outputs import write_file
from firth.run.run import CONFIG, Run
from firth.text.types import Floats, PairScorer, scored_as_set

MEAN = "mean"
"""The name of the unweighted mean over all subsets of a set."""
SCHEMA = 3
"""Version of the JSON of results; it changes when a key changes its meaning or goes."""


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


@dataclass(frozen=True)
class Difference:
    """The first model's figure minus the second's on one set, or on the mean over several."""

    first: str
    second: str
    set: str
    metric: str
    estimate: Estimate

    def __str__(self) -> str:
        """Return text such as `sts-b:test spearman: A is better than B by 1.3 [0.4, 2.2]`."""
        return f"{self.set} {self.metric}: {self.estimate.verdict(self.first, self.second)}"


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A set and the similarities of its pairs by each model.

    The rows of the set have no texts where it was read from saved results.
    """

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

    def figures(self, model: str, seed: int, resamples: int) -> Iterator[Figure]:
        """Yield the figures of a model: all rows, mean over subsets, each subset."""
        data, subsets = self.data, list(self.data.subsets)
        groups = {ALL: [ALL], **({MEAN: subsets} if subsets else {}), **{n: [n] for n in subsets}}
        for group, members in groups.items():
            for metric in data.metrics:
                samples = [self.sample([model], metric, seed, name) for name in members]
                figure = estimate(samples, resamples)
                yield Figure(model, data.id, group, metric.value, figure)

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

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ScoredSet":
        """Return a set from plain values; raise `ValueError` where they do not fit each other."""
        rows = tuple(
            Row(texts=(), score=float(score), subset=str(subset))
            for score, subset in zip(values["gold"], values["subsets"], strict=True)
        )
        data = EvaluationSet(
            name=str(values["name"]),
            split=str(values["split"]),
            rows=rows,
            metrics=tuple(map(Metric, values["metrics"])),
            fingerprint=str(values["fingerprint"]),
            source=str(values["source"]),
        )
        scores = {str(k): np.array(v, np.float64) for k, v in values["scores"].items()}
        n = 2 * len(rows) if data.is_triplets else len(rows)
        if any(array.shape != (n,) for array in scores.values()):
            raise ValueError(f"{data.id}: scores of other rows")
        return cls(data, scores)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of models on sets, with remarks that a reader of the figures needs."""

    sets: tuple[ScoredSet, ...]
    notes: tuple[str, ...]
    seed: int
    resamples: int

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
            for figure in scored.figures(model, self.seed, self.resamples)
        )

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

    def compare(self, against: str, mean_of: Sequence[str] = ()) -> "ResultComparison":
        """Compare all other models with one, on every set that both have, by its usual metric.

        With `mean_of`, two or more sets such as `sts12`, the means over them are compared, too. An
        `InputError` names what is not there.
        """
        models = self.models
        if against not in models:
            raise InputError(f"{against}: no such model. Expected one of {', '.join(models)}")
        groups = [(scored.data.id, [scored], scored.data.metrics[0]) for scored in self.sets]
        means: list[Figure] = []
        if mean_of:
            label, chosen, metric = self._mean_of(mean_of)
            groups.append((label, chosen, metric))
            for model in models:
                if all(model in scored.scores for scored in chosen):
                    samples = [scored.sample([model], metric, self.seed) for scored in chosen]
                    mean = estimate(samples, self.resamples)
                    means.append(Figure(model, label, ALL, metric.value, mean))
        differences = [
            Difference(
                model, against, label, metric.value,
                estimate(
                    [scored.sample([model, against], metric, self.seed) for scored in sets],
                    self.resamples,
                ),
            )
            for model in models
            for label, sets, metric in groups
            if model != against and all({model, against} <= scored.scores.keys() for scored in sets)
        ]  # fmt: skip
        if not differences:
            raise InputError(f"{against}: expected another model that shares a set with it")
        return ResultComparison(tuple(differences), tuple(means))

    def _mean_of(self, names: Sequence[str]) -> tuple[str, list[ScoredSet], Metric]:
        """Return a label of some sets, the sets, and the usual metric that they share."""
        label, chosen = f"mean of {', '.join(names)}", []
        for name in names:
            named = [scored for scored in self.sets if name in (scored.data.id, scored.data.name)]
            if len(named) != 1:
                there = ", ".join(scored.data.id for scored in self.sets)
                raise InputError(f"{name}: {len(named)} sets of that name here. Choose of {there}")
            chosen += named
        shared = [m for m in Metric if all(m in scored.data.metrics for scored in chosen)]
        if not shared:
            raise InputError(f"{label}: expected sets with a common metric")
        return label, chosen, shared[0]

    def text(self, against: str | None = None) -> str:
        """Return the figures as tables of at most 80 columns, with the notes.

        The models are compared with one of them, by default the first.
        """
        against = self.models[0] if against is None else against
        tables = [self._table(scored, against) for scored in self.sets]
        remark = f"Times 100; brackets are 95 % intervals over {self.resamples:,} resamples."
        return "\n\n".join([*tables, "\n".join(map(wrapped, [remark, *self.notes]))])

    def _table(self, scored: ScoredSet, against: str) -> str:
        """Return the figures of a set: a line for each model."""
        data, (first, *others) = scored.data, scored.data.metrics
        compared = against in scored.scores and len(scored.scores) > 1
        header = [f"{data.id} ({len(data.rows):,} rows)", first.value]
        header += [f"minus {against}"] if compared else []
        header += ["mean of subsets"] if data.subsets else []
        rows = [[*header, *(metric.value for metric in others)]]
        for model in scored.scores:
            row = [model, str(self.find(model, data.id, first))]
            if compared:
                both = scored.sample([model, against], first, self.seed)
                row.append("" if model == against else estimate(both, self.resamples).signed)
            more = [self.find(model, data.id, first, MEAN)] if data.subsets else []
            more += [self.find(model, data.id, metric) for metric in others]
            rows.append([*row, *map(_plain, more)])
        return table(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "schema": SCHEMA,
            "firth": importlib.metadata.version("firth"),
            "seed": self.seed,
            "resamples": self.resamples,
            "figures": [asdict(figure) for figure in self.figures],
            "notes": list(self.notes),
            "sets": [scored.as_dict() for scored in self.sets],
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the results with all scores as one JSON file; errors as of `write_file`."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)
        write_file(path, text + "\n", force)

    @classmethod
    def load(cls, path: str | Path) -> "Evaluation":
        """Read a file that `save` wrote; an `InputError` says why it cannot be used."""
        values = read_json(Path(path))
        schema = values.get("schema") if isinstance(values, dict) else None
        if schema != SCHEMA:
            raise InputError(
                f"{path}: got schema {schema}; expected results of schema {SCHEMA}. Evaluate "
                "again: firth evaluate MODEL... --task NAME... --out FILE"
            )
        try:
            sets = tuple(ScoredSet.from_dict(stored) for stored in values["sets"])
            notes = tuple(map(str, values["notes"]))
            return cls(sets, notes, int(values["seed"]), int(values["resamples"]))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{path}: the results are damaged ({error!r})") from error


def _plain(figure: Estimate) -> str:
    return "-" if figure.value is None else f"{figure.value:.1f}"


def evaluate(
    scorers: Mapping[str, PairScorer],
    tasks: Sequence[str],
    data_dir: str | Path | None = None,
    *,
    exclude_overlap: Sequence[str | Path | Run] = (),
    sample: int | None = None,
    alone: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 13,
) -> Evaluation:
    """Score every pair of some sets with models, and compare with the human scores.

    Args:
        scorers: Name of each model, and the model. Add `open_baseline("ngrams")` and
            `open_baseline("tfidf")`: what does not exceed them has learned nothing of use.
        tasks: Sets, as `firth.evaluation.sets.load_set` names them, or files; or `all`.
        data_dir: Folder with the evaluation sets.
        exclude_overlap: Sets, such as `sts-b:dev`: rows that they have are left out. Runs: rows
            with a text, or a near copy, in their corpus are left out.
        sample: Random rows of each set, at least 2; by default all rows.
        alone: Whether a run scores each pair alone, as `Model.similarity` does. By default it also
            counts how frequent words are in the set, as `firth similarity --pairs-file` does.
        resamples: Number of resamples behind each interval.
        seed: Seed of random rows and resamples.

    Raises:
        InputError: A set cannot be loaded, no row of a set is left, or a model does not give one
            number for each pair.
        MissingStageError: A run of `exclude_overlap` has no corpus.
    """
    if not scorers:
        raise InputError("got no model to evaluate; expected at least one")
    if sample is not None and sample < 2:
        raise InputError(f"sample: got {sample}; expected at least 2 rows")
    sets = load_sets(tasks, data_dir)
    for seen in exclude_overlap:
        if isinstance(seen, Run) or (Path(seen) / CONFIG).is_file():
            sets = without_copies(sets, Run.open(seen))
        else:
            other = load_set(str(seen), data_dir)
            sets = [data.without(other) for data in sets]
    if sample is not None:
        sets = [data.sampled(sample, seed) for data in sets]
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
    results = Evaluation(tuple(scored), (), seed, resamples)
    notes += [
        f"{figure.model} on {figure.set} ({figure.subset}), {figure.metric}: "
        f"{figure.estimate.reason}"
        for figure in results.figures
        if figure.estimate.reason
    ]
    return replace(results, notes=tuple(notes))


@dataclass(frozen=True)
class ResultComparison:
    """Differences of models in pairs, and the mean of each model over some sets."""

    differences: tuple[Difference, ...]
    means: tuple[Figure, ...] = ()

    def text(self) -> str:
        """Return the means and differences, one line each, wrapped at 80 columns."""
        means = [f"{mean.set} {mean.metric}: {mean.model} {mean.estimate}" for mean in self.means]
        return "\n".join(map(wrapped, [*means, *map(str, self.differences)]))


def compare_results(
    paths: Sequence[str | Path], against: str, mean_of: Sequence[str] = ()
) -> ResultComparison:
    """Compare the models of files that `Evaluation.save` wrote, as `Evaluation.compare` does.

    All must have the same rows of a set, and the same scores of a model.
    """
    loaded = [Evaluation.load(path) for path in paths]
    if not loaded:
        raise InputError("got no results to compare; expected files")
    sets: dict[str, ScoredSet] = {}
    for path, evaluation in zip(paths, loaded, strict=True):
        for scored in evaluation.sets:
            known = sets.setdefault(scored.data.id, replace(scored, scores={}))
            if known.data.fingerprint != scored.data.fingerprint:
                raise InputError(
                    f"{path}: {scored.data.id} has other rows than in {paths[0]}. Evaluate all "
                    "models on the same files, and leave out the same rows"
                )
            for model, scores in scored.scores.items():
                if not np.array_equal(
                    known.scores.setdefault(model, scores), scores, equal_nan=True
                ):
                    raise InputError(
                        f"{path}: {model} has other scores on {scored.data.id} than in another file"
                        ". Evaluate it under another name"
                    )
    merged = Evaluation(tuple(sets.values()), (), loaded[0].seed, loaded[0].resamples)
    return merged.compare(against, mean_of)
