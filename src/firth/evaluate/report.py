"""Several models on the same tasks: what is shown, and the folder that keeps it.

`similarities.parquet` keeps the similarities behind a table, without any text, so that results of
any set may be published: a row for each row of each set and model, with `model`, `task`, `split`,
`row` (its number among those evaluated), `subtask`, `x` and `y` (what the metric compares: gold
score and similarity, or the similarities of (anchor, positive) and (anchor, negative)), `unit1` and
`unit2` (the texts compared, where rows share them). `manifest.json` lists what firth wrote.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluate.load import LeftOut, summary
from firth.evaluate.metrics import Metric
from firth.evaluate.results import (
    SCHEMA,
    Comparison,
    Evaluation,
    GroupResult,
    document,
    tabulate,
    write_document,
)
from firth.evaluate.rows import Sample
from firth.evaluate.tables import Layout, lay_out, to_latex, to_markdown, to_text
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import fingerprint_file, read_json, write_atomically, write_json, write_text
from firth.run.progress import note
from firth.run.results import publish

RESULTS, SIMILARITIES = "results.json", "similarities.parquet"
MARKDOWN, LATEX, PLOTS = "table.md", "table.tex", "plots"
WRITTEN = (RESULTS, SIMILARITIES, MARKDOWN, LATEX,
           *(f"{PLOTS}/{name}" for name in ("bars.*", "heat.*", "scatter-*")))  # fmt: skip
"""What `Report.write` may write."""
COMMAND = "firth evaluate"
_SIDE_BY_SIDE = 4
"""Models that a screen has room for side by side."""


@dataclass(frozen=True)
class Report:
    """What several models scored on the same tasks, all with one seed and number of resamples.

    `groups` are of models that differ in their seed only, `differences` are to the model asked
    against, `left_out` is what `all` would have taken.
    """

    evaluations: tuple[Evaluation, ...]
    groups: tuple[GroupResult, ...] = ()
    differences: tuple[Comparison, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    command: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values (see `firth.evaluate.results.document`)."""
        return document(
            self.evaluations, self.groups, self.differences, self.left_out, self.command
        )

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, atomically; raise `InputError` if that cannot be done."""
        write_document(Path(path), self.to_dict())

    def layout(self) -> Layout:
        """The figures as a table of systems × sets."""
        return lay_out(self.evaluations, self.groups, self.differences, self.left_out)

    def text(self, *, subtasks: bool = False) -> str:
        """The figures for a screen, with groups, differences and notes below.

        A few models have a column each and every figure; more have a line each, and one figure a
        set.
        """
        if len(self.evaluations) > _SIDE_BY_SIDE and not subtasks:
            notes = dict.fromkeys(note for one in self.evaluations for note in one.notes)
            lines = [to_text(self.layout()), *(f"({text})" for text in notes)]
        else:
            lines = [tabulate(self.evaluations, subtasks=subtasks)]
        lines += [str(group) for group in self.groups if subtasks or group.subtask == "all"]
        lines += [str(difference) for difference in self.differences]
        lines += [f"({line})" for line in summary(self.left_out)]
        return "\n".join(lines)

    def write(self, folder: str | Path, *, force: bool = False) -> None:
        """Write `results.json`, `similarities.parquet`, `table.md`, `table.tex` and `plots/`.

        Without matplotlib there are no plots, and a note says so. What an earlier report left in
        the folder is replaced; files that firth did not write are left alone.

        Raises:
            InputError: The folder cannot be written, or holds a file of a name that is needed and
                that firth did not write (without `force`).
        """
        first = self.evaluations[0]
        models = [one.model for one in self.evaluations]
        config = {"models": models, "seed": first.seed, "resamples": first.resamples}
        publish(Path(folder), self._write, config, command=COMMAND, force=force)

    def _write(self, folder: Path) -> None:
        fingerprint = _write_similarities(folder / SIMILARITIES, self.evaluations)
        kept = {"file": SIMILARITIES, "fingerprint": fingerprint}
        write_json(folder / RESULTS, self.to_dict() | {"similarities": kept})
        layout = self.layout()
        write_text(folder / MARKDOWN, to_markdown(layout))
        write_text(folder / LATEX, to_latex(layout))
        try:
            from firth.evaluate.plots import write_plots
        except MissingExtraError as error:
            note(str(error))
        else:
            write_plots(folder / PLOTS, layout, self.evaluations)


@dataclass(frozen=True)
class Saved:
    """What the JSON of results at `path` and the file of similarities beside it hold; `samples` is
    model → its samples."""

    path: Path
    seed: int
    resamples: int
    samples: dict[str, list[Sample]]


def read_saved(path: str | Path) -> Saved:
    """Read a folder that `firth evaluate --out` wrote, or the `results.json` in it.

    Raises:
        InputError: It is not such a file, or the similarities beside it are missing or not the
            ones it was written with.
    """
    path = Path(path)
    file = path / RESULTS if path.is_dir() else path
    again = "firth evaluate MODEL... --task NAME... --out DIR"
    if path.is_dir() and not file.is_file():
        raise InputError(
            f"{path}: no results of an evaluation in it (no {RESULTS}). Write them: {again}"
        )
    try:
        values = read_json(file)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        found = values.get("schema") if isinstance(values, dict) else type(values).__name__
        raise InputError(
            f"{file}: schema {found}; expected results of schema {SCHEMA}. Evaluate again: {again}"
        )
    if not values.get("similarities"):
        raise InputError(
            f"{file}: written without similarities, which a comparison needs. "
            "Evaluate again with --out DIR"
        )
    try:
        beside = file.parent / Path(str(values["similarities"]["file"])).name
        if not beside.is_file():
            raise InputError(f"{beside}: no such file; {file} needs the similarities in it")
        if fingerprint_file(beside) != values["similarities"]["fingerprint"]:
            raise InputError(f"{beside}: not the similarities that {file} was written with")
        seed, resamples = (int(values["settings"][name]) for name in ("seed", "resamples"))
        return Saved(file, seed, resamples, _read_similarities(beside, values))
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise InputError(f"{file}: not results as firth writes them ({error!r})") from error


def _schema() -> Any:
    import pyarrow as pa

    name, number, figure = pa.dictionary(pa.int32(), pa.string()), pa.int32(), pa.float64()
    types = {"model": name, "task": name, "split": name, "row": number, "subtask": name,
             "x": figure, "y": figure, "unit1": number, "unit2": number}  # fmt: skip
    return pa.schema(list(types.items()))


def _write_similarities(path: Path, evaluations: Sequence[Evaluation]) -> str:
    """Write the similarities of some evaluations, atomically; return the file's fingerprint."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [] for name in _schema().names}
    every = [(one.model, item.sample) for one in evaluations for item in one.scored]
    for model, sample in every:
        n = len(sample.x)
        units = np.full((2, n), None) if sample.units is None else sample.units.T
        for name, values in {
            "model": [model] * n,
            "task": [sample.task] * n,
            "split": [sample.split] * n,
            "row": sample.rows.tolist(),
            "subtask": sample.subtask,
            "x": sample.x.tolist(),
            "y": sample.y.tolist(),
            "unit1": units[0].tolist(),
            "unit2": units[1].tolist(),
        }.items():
            columns[name] += values
    with write_atomically(path) as partial:
        pq.write_table(pa.table(columns, schema=_schema()), partial, compression="zstd")
    return fingerprint_file(path)


def _read_similarities(path: Path, values: dict[str, Any]) -> dict[str, list[Sample]]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    samples: dict[str, list[Sample]] = {model["spec"]: [] for model in values["models"]}
    for model, data in product(samples, values["data"]):
        task, split = data["task"], data["split"]
        found = table.filter(
            (pc.field("model") == model) & (pc.field("task") == task) & (pc.field("split") == split)
        )
        if not len(found):
            continue
        of_set = [r for r in values["results"] if (r["task"], r["split"]) == (task, split)]
        units = [found.column(name).to_pylist() for name in ("unit1", "unit2")]
        samples[model].append(
            Sample(
                task=task,
                split=split,
                metrics=tuple(map(Metric, dict.fromkeys(r["metric"] for r in of_set))),
                data=data["fingerprint"],
                x=found.column("x").to_numpy(),
                y=found.column("y").to_numpy(),
                subtask=tuple(found.column("subtask").to_pylist()),
                rows=found.column("row").to_numpy().astype(np.int64),
                units=None if None in units[0] else np.array(units, dtype=np.int64).T,
            )
        )
    if sum(len(one.x) for some in samples.values() for one in some) != len(table):
        raise ValueError("similarities of other models or sets")
    return samples
