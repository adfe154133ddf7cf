"""Evaluation sets: the public ones, folders of `pairs.tsv`, and a user's files.

A public set is read from `DATA_DIR/FOLDER/pairs.tsv` (or `triplets.tsv`). Any other folder of the
same form is a set too, so that a language needs no code. The rows of a set are sorted by their
content: the order of a file decides nothing.
"""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path

import numpy as np

from firth.corpus.files import PACKINGS, Problems, listed
from firth.evaluation.files import Content, PairFile, Row, read_pair_file
from firth.evaluation.metrics import BINARY, CORRELATIONS, Columns, Metric
from firth.run.errors import InputError
from firth.run.settings import derive_seed
from firth.text.types import Floats, Ints, TextPair
from firth.text.words import normal_form

_PUBLIC = Path(__file__).with_name("data") / "sets.toml"
_SCALE = 0, 5
"""Scores of a public set, where it has no other scale."""
ALL = "all"
"""The split that holds all rows, and the subset that holds all rows of a split."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationSet:
    """The rows of one split of a set, and the metrics that are reported, the usual one first.

    Labels have become scores: 1 for similar texts, else 0. The fingerprint is a digest of texts,
    scores and subsets. `notes` are remarks that a reader of the results needs.
    """

    name: str
    split: str
    rows: tuple[Row, ...]
    metrics: tuple[Metric, ...]
    fingerprint: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Name and split, such as `sts-b:dev`."""
        return f"{self.name}:{self.split}"

    @property
    def is_triplets(self) -> bool:
        """Whether rows are triplets, which are measured by accuracy; else they are pairs."""
        return self.metrics == (Metric.ACCURACY,)

    @property
    def pairs(self) -> list[TextPair]:
        """The pairs to score; for triplets (anchor, positive) of all rows, then the negatives."""
        pairs = [(row.texts[0], row.texts[1]) for row in self.rows]
        return pairs + [(row.texts[0], row.texts[2]) for row in self.rows if self.is_triplets]

    @property
    def scores(self) -> Floats:
        """The human scores, (n,)."""
        return np.array([row.score for row in self.rows], dtype=np.float64)

    @cached_property
    def subsets(self) -> dict[str, Ints]:
        """Row numbers of each subset, sorted by name; empty where there is only one subset."""
        names = np.array([row.subset for row in self.rows])
        distinct = np.unique(names).tolist()
        if len(distinct) < 2:
            return {}
        return {name or "(none)": np.flatnonzero(names == name) for name in distinct}

    def columns(self, similarities: Floats) -> Columns:
        """Return what a metric compares, from the similarities of `pairs`."""
        n = len(self.rows)
        if self.is_triplets:
            return similarities[:n], similarities[n:]
        return self.scores, similarities

    def sampled(self, size: int, seed: int) -> "EvaluationSet":
        """Return at most `size` random rows; a smaller sample is part of a larger one."""
        n = len(self.rows)
        if size >= n:
            return self
        rng = np.random.default_rng(derive_seed(seed, "reproduce", "pairs"))
        chosen = [self.rows[i] for i in rng.permutation(n)[:size].tolist()]
        return self.with_rows(chosen, f"{size:,} random rows of {n:,}, seed {seed}")

    def without(self, other: "EvaluationSet") -> "EvaluationSet":
        """Return the rows whose texts, in any order, are not those of a row of another set.

        Texts are equal if their normal forms are.
        """
        theirs = {_forms(row) for row in other.rows}
        rows = [row for row in self.rows if _forms(row) not in theirs]
        n = len(self.rows)
        if not rows:
            raise InputError(
                f"{self.id}: no row is left, because {other.id} has the texts of all {n:,} rows. "
                "Do not evaluate this set, or exclude another one"
            )
        remark = f"{n - len(rows):,} of {n:,} rows left out, whose texts are in {other.id}"
        return self.with_rows(rows, remark)

    def with_rows(self, rows: Sequence[Row], note: str) -> "EvaluationSet":
        """Return the set with some of its rows, and a further note."""
        notes = (*self.notes, note)
        return evaluation_set(self.name, self.split, rows, self.metrics, self.source, notes)


def evaluation_set(
    name: str,
    split: str,
    rows: Iterable[Row],
    metrics: tuple[Metric, ...],
    source: str,
    notes: Sequence[str] = (),
) -> EvaluationSet:
    """Return a set whose rows are sorted by their content."""
    digests = [(_digest((*row.texts, repr(row.score), row.subset)), row) for row in rows]
    digests.sort(key=itemgetter(0))
    fingerprint = _digest(digest.hex() for digest, _ in digests).hex()
    ordered = tuple(row for _, row in digests)
    return EvaluationSet(
        name=name,
        split=split,
        rows=ordered,
        metrics=metrics,
        fingerprint=fingerprint,
        source=source,
        notes=tuple(notes),
    )


def make_folds(data: EvaluationSet, folds: int, seed: int) -> dict[str, Ints]:
    """Return the row numbers of random folds of equal size, by name."""
    n = len(data.rows)
    if not 2 <= folds <= n:
        raise InputError(f"{data.id}: {n} rows cannot make {folds} folds")
    order = np.random.default_rng(derive_seed(seed, "folds", data.name, ALL)).permutation(n)
    return {f"fold {k + 1}": np.sort(order[k::folds]) for k in range(folds)}


def _forms(row: Row) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, row.texts)))


def _digest(fields: Iterable[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for text in fields:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


# Loading.


def load_set(name: str, data_dir: str | Path | None = None) -> EvaluationSet:
    """Load a public set, a folder with `pairs.tsv` or `triplets.tsv` in `data_dir`, or a file.

    `NAME:SPLIT` takes a split. By default it is `test`, or all rows where there is no `test`.
    """
    base, _, split = (name, "", "") if Path(name).is_file() else name.partition(":")
    if Path(base).is_file():
        return set_of_file(read_pair_file(base), split or None)
    if not base or "/" in base or Path(base).suffix:
        raise InputError(f"{name}: no such file")
    if data_dir is None or not Path(data_dir).is_dir():
        problem = "give the folder" if data_dir is None else f"{data_dir}: no such folder; give one"
        raise InputError(f"{name}: {problem} that holds the evaluation sets: --data-dir DIR")
    if base in TASKS:
        return TASKS[base].load(Path(data_dir), split or None)
    for folder in sorted(Path(data_dir).iterdir()):
        for file in ("pairs.tsv", "triplets.tsv"):
            if folder.name.lower() == base.lower() and (folder / file).is_file():
                return set_of_file(read_pair_file(folder / file), split or None, base)
    raise InputError(
        f"{name}: no such set. {data_dir} has no {base}/pairs.tsv, and the public sets are "
        f"{', '.join(TASKS)}"
    )


def load_sets(names: Sequence[str], data_dir: str | Path | None = None) -> list[EvaluationSet]:
    """Load several sets, each once; `all` means the public ones."""
    if isinstance(names, str) or not names:
        raise InputError(f"got the sets {names!r}; expected a list of names, such as ['sts-b']")
    if ALL in names:
        present = [name for name, task in TASKS.items() if data_dir and task.path(Path(data_dir))]
        if not present:
            raise InputError(f"{ALL}: {data_dir} has no public set: {', '.join(TASKS)}")
        names = [*present, *(name for name in names if name != ALL)]
    return list({data.id: data for data in (load_set(name, data_dir) for name in names)}.values())


def set_of_file(file: PairFile, split: str | None = None, name: str = "") -> EvaluationSet:
    """Return the rows of a file as a set, named after the file.

    Scored pairs are measured by Spearman and Pearson correlation, triplets by accuracy, and labels
    or scores 0 and 1 by average precision.
    """
    if file.content is Content.PAIRS:
        raise InputError(
            f"{file.path}: pairs without scores cannot be evaluated. Expected a third column: "
            "score, label, or a negative for each anchor"
        )
    if file.content is Content.LABELLED and file.similar_label is None:
        raise InputError(
            f"{file.path}: got the labels {listed(file.labels)}. Expected two labels, of which one "
            "means similar (1 and 0, X and not_X), or entailment, neutral, contradiction"
        )
    chosen = _split_of(file.rows, split, str(file.path))
    rows = [row for row in file.rows if chosen in (ALL, row.split)]
    notes = []
    if file.unlabelled:
        notes.append(f"{file.unlabelled:,} rows without a label left out")
    if file.content is Content.LABELLED:
        rows = [replace(row, score=float(row.label == file.similar_label)) for row in rows]
        share = 100 * sum(row.score for row in rows) / len(rows)
        notes.append(f"label {file.similar_label} means similar: {share:.1f} % of the rows")
    metrics: tuple[Metric, ...] = CORRELATIONS
    if file.content is Content.TRIPLETS:
        metrics = (Metric.ACCURACY,)
    elif {row.score for row in rows} <= {0.0, 1.0}:
        metrics = BINARY
    path = file.path.with_suffix("") if file.path.suffix in PACKINGS else file.path
    return evaluation_set(name or path.stem, chosen, rows, metrics, str(file.path), notes)


# The public sets.


@dataclass(frozen=True, kw_only=True)
class Task:
    """A public set.

    Attributes:
        folder: Folder of `data_dir` that holds its `pairs.tsv` or `triplets.tsv`, or those of a
            substitute with `-substitute` behind its name.
        published: Number of rows of each split, as published.
        subset_names: Reported name of subsets by how their names in the files start.
        left_out: Subsets that are not counted, by common practice.
    """

    name: str
    folder: str
    published: Mapping[str, int]
    metrics: tuple[Metric, ...]
    scale: tuple[float, float]
    subset_names: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    note: str = ""

    def row(self, row: Row) -> Row:
        """Return a row with its subset's reported name; raise `ValueError` off the scale."""
        low, high = self.scale
        if not low <= row.score <= high:
            raise ValueError(f"score {row.score:g} is not in {low:g} to {high:g}")
        subset = "" if row.subset == ALL else row.subset
        for start, name in self.subset_names.items():
            subset = name if row.subset.startswith(start) else subset
        return replace(row, subset=subset)

    @property
    def form(self) -> str:
        """Name of the file of its rows."""
        return "triplets.tsv" if self.metrics == (Metric.ACCURACY,) else "pairs.tsv"

    def path(self, data_dir: Path) -> Path | None:
        """Return the file of its rows, where there is one."""
        folders = self.folder, f"{self.folder}-substitute"
        paths = [data_dir / folder / self.form for folder in folders]
        return next((path for path in paths if path.is_file()), None)

    def load(self, data_dir: Path, split: str | None = None) -> EvaluationSet:
        """Load a split; by default `test`, or all rows where there is no `test`."""
        path = self.path(data_dir)
        if path is None:
            raise InputError(f"{self.name}: {data_dir} has no {self.folder}/{self.form}")
        problems, rows = Problems(path), []
        for row in read_pair_file(path).rows:
            try:
                rows.append(self.row(row))
            except ValueError as error:
                problems.add(row.line, str(error))
        problems.check()
        chosen = _split_of(rows, split, f"{self.name}: {path}")
        chosen_rows = [
            row for row in rows if chosen in (ALL, row.split) and row.subset not in self.left_out
        ]
        notes = [self.note] if self.note else []
        if path.parent.name.endswith("-substitute"):
            notes.append("a substitute for the published set: its figures are not comparable")
        if len(chosen_rows) != (published := self.published.get(chosen, len(chosen_rows))):
            notes.append(f"{len(chosen_rows):,} rows; {published:,} were published")
        return evaluation_set(self.name, chosen, chosen_rows, self.metrics, str(path), notes)


def _split_of(rows: Sequence[Row], split: str | None, where: str) -> str:
    """Return the split to take; by default `test`, or all rows where there is no `test`."""
    counts = Counter(row.split for row in rows)
    chosen = split or ("test" if counts["test"] else ALL)
    if chosen != ALL and not counts[chosen]:
        has = ", ".join(f"{split} ({n})" for split, n in counts.items() if split) or "no splits"
        raise InputError(f"{where}: no split {chosen!r}. It has: {has}")
    return chosen


def _read_tasks() -> dict[str, Task]:
    tables = tomllib.loads(_PUBLIC.read_text(encoding="utf-8"))
    for values in tables.values():
        values["metrics"] = tuple(map(Metric, values.get("metrics", CORRELATIONS)))
        values["scale"] = tuple(values.get("scale", _SCALE))
    return {name: Task(name=name, **values) for name, values in tables.items()}


TASKS: Mapping[str, Task] = _read_tasks()
"""The public sets by name, in the order in which they are reported."""
