"""A user's own file as an evaluation set, to be measured like any other."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from firth.evaluate.metrics import Metric
from firth.evaluate.oddities import oddities
from firth.evaluate.own_files import Content, OwnFile, OwnRow
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, Kind, Published, Task
from firth.lexical.labels import NLI
from firth.run.errors import InputError

_TEST = "test"
_BINARY = (Metric.AVERAGE_PRECISION, Metric.AUC, Metric.SPEARMAN)


def own_set(file: OwnFile, split: str | None = None) -> EvaluationSet:
    """The rows of a file as a set, called by the file's name without its endings.

    Scored pairs are measured by Spearman and Pearson, triplets by accuracy. Of labelled pairs the
    label that says that texts are alike counts 1, any other 0; they are, like scores that are all 0
    or 1, measured by average precision, area under the ROC curve and Spearman. `split` None takes
    `test` where the file has it, else all rows.

    Raises:
        InputError: Rows without score or label, labels that do not say which texts are alike, or no
            such split.
    """
    if file.content is Content.PAIRS:
        raise InputError(
            f"{file.path}: pairs without a score or a label say nothing about a model. Expected a "
            "third column: score or label, or a negative for each anchor; name it with --columns"
        )
    if file.content is Content.LABELLED and file.alike is None:
        raise InputError(
            f"{file.path}: labels {', '.join(file.labels)}; expected two, of which one says that "
            f"texts are alike (1 and 0, X and not_X, …), or {', '.join(NLI)}"
        )
    counts = Counter(row.split for row in file.rows)
    counts = Counter({name: counts[name] for name in counts if name and name != ALL})
    wanted = split or (_TEST if counts[_TEST] else ALL)
    task = task_of(file, {**counts, ALL: len(file.rows)})
    task.check_split(wanted)
    chosen = [row for row in file.rows if wanted in (ALL, row.split)]
    rows = tuple(
        Row(row.texts, _score(file, row), "" if row.group == ALL else row.group) for row in chosen
    )
    notes = _notes(file, rows, len(file.rows))
    return EvaluationSet(task, wanted, rows, str(file.path), tuple(notes), file.unlabelled)


def task_of(file: OwnFile, splits: dict[str, int]) -> Task:
    """The task that a file is; `splits` are the rows of each."""
    scores = [_score(file, row) for row in file.rows]
    triplets = file.content is Content.TRIPLETS
    return Task(
        name=stem(file.path),
        title=file.path.name,
        kind=Kind.TRIPLETS if triplets else Kind.PAIRS,
        metrics=_metrics(file, scores),
        splits={name: Published(count) for name, count in splits.items()},
        default=(_TEST, ALL) if _TEST in splits else (ALL,),
        score_range=(min(scores), max(scores)),
        licence="not known",
        source=file.path.name,
    )


def stem(path: Path) -> str:
    """The name of a file without its endings: `pairs` of `pairs.tsv.gz`."""
    packed = path.suffix in (".gz", ".zst")
    return path.with_suffix("").stem if packed else path.stem


def _score(file: OwnFile, row: OwnRow) -> float:
    return float(row.label == file.alike) if file.content is Content.LABELLED else row.score


def _metrics(file: OwnFile, scores: Sequence[float]) -> tuple[Metric, ...]:
    if file.content is Content.TRIPLETS:
        return (Metric.ACCURACY,)
    if set(scores) <= {0.0, 1.0}:
        return _BINARY
    return (Metric.SPEARMAN, Metric.PEARSON)


def _notes(file: OwnFile, rows: Sequence[Row], whole: int) -> list[str]:
    notes = [f"{len(rows):,} of the {whole:,} rows"] if len(rows) < whole else []
    if file.unlabelled:
        notes.append(f"{file.unlabelled:,} rows without a label left out")
    if file.content is Content.TRIPLETS:
        return notes
    if file.content is Content.LABELLED:
        alike = sum(row.score for row in rows)
        others = ", ".join(label for label in file.labels if label != file.alike)
        notes.append(
            f"{file.alike} counts 1 ({100 * alike / len(rows):.1f} % of the rows: the average "
            f"precision of chance), {others} 0"
        )
    return notes + oddities(rows)
