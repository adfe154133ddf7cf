"""The similarities behind a table, kept beside it: no text, so that any set may be published.

One Parquet file, a row for each row of each set and model: `model`, `task`, `split`, `row` (its
number in the source), `subtask`, `x` and `y` (what the metric compares: gold score and similarity,
or the similarities of (anchor, positive) and (anchor, negative)), `unit1` and `unit2` (the texts
compared, where rows share them).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluate.document import SCHEMA
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.metrics import Metric
from firth.evaluate.report import RESULTS
from firth.evaluate.sample import Sample, sample_of
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, read_json, write_atomically


@dataclass(frozen=True)
class Saved:
    """What a JSON of results and the file of similarities beside it hold.

    Attributes:
        path: The JSON.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        samples: Model → its samples.
    """

    path: Path
    seed: int
    resamples: int
    samples: dict[str, list[Sample]]


def write_similarities(path: Path, evaluations: Sequence[Evaluation]) -> str:
    """Write the similarities of some evaluations, atomically; return the file's fingerprint."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [] for name in _schema().names}
    for one in evaluations:
        for sample in map(sample_of, one.scored):
            n = len(sample.x)
            units = [[None, None]] * n if sample.units is None else sample.units.tolist()
            columns["model"] += [one.model] * n
            columns["task"] += [sample.task] * n
            columns["split"] += [sample.split] * n
            columns["row"] += sample.rows.tolist()
            columns["subtask"] += sample.subtask
            columns["x"] += sample.x.tolist()
            columns["y"] += sample.y.tolist()
            columns["unit1"] += [unit[0] for unit in units]
            columns["unit2"] += [unit[1] for unit in units]
    table = pa.table(columns, schema=_schema())
    with write_atomically(path) as partial:
        pq.write_table(table, partial, compression="zstd")
    return fingerprint_file(path)


def read_saved(path: str | Path) -> Saved:
    """Read results and their similarities.

    Args:
        path: A folder that `firth evaluate --out` wrote, or the `results.json` in it.

    Raises:
        InputError: It is not such a file, or the similarities beside it are missing or not the
            ones it was written with.
    """
    path = Path(path)
    file = path / RESULTS if path.is_dir() else path
    values = read_json(file)
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        found = values.get("schema") if isinstance(values, dict) else type(values).__name__
        raise InputError(
            f"{file}: schema {found}; expected results of schema {SCHEMA}. "
            "Evaluate again: firth evaluate MODEL... --task NAME... --out DIR"
        )
    if not values.get("similarities"):
        raise InputError(
            f"{file}: written without similarities, which a comparison needs. "
            "Evaluate again with --out DIR"
        )
    try:
        return _read_beside(file, values)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file}: not results as firth writes them ({error!r})") from error


def _read_beside(file: Path, values: dict[str, Any]) -> Saved:
    import pyarrow.parquet as pq

    beside = file.parent / str(values["similarities"]["file"])
    if not beside.is_file():
        raise InputError(f"{beside}: no such file; {file} needs the similarities in it")
    if fingerprint_file(beside) != values["similarities"]["fingerprint"]:
        raise InputError(f"{beside}: not the similarities that {file} was written with")
    table = pq.read_table(beside)
    settings = values["settings"]
    return Saved(file, settings["seed"], settings["resamples"], _samples(values, table))


def _samples(values: dict[str, Any], table: Any) -> dict[str, list[Sample]]:
    fingerprints = {(data["task"], data["split"]): data["fingerprint"] for data in values["data"]}
    metrics: dict[tuple[str, str], dict[Metric, None]] = {}
    for result in values["results"]:
        found = metrics.setdefault((result["task"], result["split"]), {})
        found[Metric(result["metric"])] = None
    frame = {name: table.column(name).to_numpy() for name in ("x", "y", "row")}
    names = {name: table.column(name).to_pylist() for name in ("model", "task", "split", "subtask")}
    units = np.stack([_integers(table, "unit1"), _integers(table, "unit2")], axis=1)
    places: dict[tuple[str, str, str], list[int]] = {}
    keys = zip(names["model"], names["task"], names["split"], strict=True)
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    samples: dict[str, list[Sample]] = {model["spec"]: [] for model in values["models"]}
    for (model, task, split), rows in places.items():
        chosen = np.array(rows)
        shared = units[chosen]
        samples[model].append(
            Sample(
                task=task,
                split=split,
                metrics=tuple(metrics[task, split]),
                data=fingerprints[task, split],
                x=frame["x"][chosen],
                y=frame["y"][chosen],
                subtask=tuple(names["subtask"][row] for row in rows),
                rows=frame["row"][chosen].astype(np.int64),
                units=None if (shared < 0).any() else shared,
            )
        )
    return samples


def _integers(table: Any, name: str) -> Any:
    """A nullable column as integers, −1 for null."""
    import pyarrow.compute as pc

    return pc.fill_null(table.column(name), -1).to_numpy().astype(np.int64)


def _schema() -> Any:
    import pyarrow as pa

    name = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("model", name),
            ("task", name),
            ("split", name),
            ("row", pa.int32()),
            ("subtask", name),
            ("x", pa.float64()),
            ("y", pa.float64()),
            ("unit1", pa.int32()),
            ("unit2", pa.int32()),
        ]
    )
