"""Scored pairs from a file of one's own, or an evaluation set by its name."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from firth.evaluate.load import load_set, oddities
from firth.evaluate.metrics import Metric
from firth.evaluate.readers import COLUMNS, row_of
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, TASKS, Kind, Published, Task, find_task
from firth.run.errors import InputError
from firth.run.progress import note

DOMAIN = "subtask"
"""Column that says where a pair comes from."""
_NAMED = 10
_LARGEST = 1e300

_Record = tuple[int, dict[str, str], str]
"""Line, named cells, and what is wrong with them (or "")."""


def load_pairs(
    source: str | Path, data_dir: str | Path | None = None, domain: str = DOMAIN
) -> EvaluationSet:
    """Scored pairs: a file, or an evaluation set such as `str-2021` or `sts-b:dev`.

    A file has a header with `sentence1`, `sentence2` and `score`. `.csv` is read with quoting, any
    other ending is tab-separated without. Broken rows are named, counted and left out.

    Args:
        source: The file, or the name of a set.
        data_dir: Folder of evaluation sets, for a name.
        domain: Column of a file that names the domain of a pair; rows without it have none.

    Raises:
        InputError: Neither a file nor the name of a set of pairs, a missing column, or no good row.
    """
    path = Path(source)
    if not path.is_file():
        if str(source).partition(":")[0] not in TASKS:
            raise InputError(
                f"{source}: neither a file nor an evaluation set. Expected a table with the "
                f"columns {', '.join(COLUMNS[Kind.PAIRS])}, or one of: {', '.join(_names())}"
            )
        task, split = find_task(str(source))
        if task.kind is not Kind.PAIRS:
            raise InputError(f"{source}: a set of {task.kind}. Expected: {', '.join(_names())}")
        return load_set(task, data_dir, split)
    return read_pairs(path, domain)


def read_pairs(path: Path, domain: str = DOMAIN) -> EvaluationSet:
    """The scored pairs of a file; see `load_pairs`, errors included."""
    task = file_task(path)
    header, records = _read(path)
    needed = [*COLUMNS[Kind.PAIRS], *([domain] if domain != DOMAIN else [])]
    if missing := [name for name in needed if name not in header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {', '.join(header)}. Expected a "
            f"header with {', '.join(needed)}"
        )
    rows: list[Row] = []
    broken = []
    for line, cells, problem in records:
        if not problem:
            try:
                row = row_of({**cells, "subtask": cells.get(domain, "").strip()}, task)
                rows.append(row)
            except ValueError as error:
                problem = str(error).replace(f" is outside {-_LARGEST:g} to {_LARGEST:g}", _FINITE)
        if problem:
            broken.append(f"{path}, line {line}: {problem}")
    if not rows:
        raise InputError(
            f"{path}: no usable row. " + (broken[0] if broken else "It has only a header.")
        )
    for text in broken[:_NAMED]:
        note(f"Skipped: {text}")
    notes = oddities(rows)
    if broken:
        notes.append(f"{len(broken)} broken rows skipped, such as: {broken[0]}")
    task = file_task(path, [row.score for row in rows])
    return EvaluationSet(task, ALL, tuple(rows), str(path), tuple(notes), len(broken))


_FINITE = " is not a finite number"


def _read(path: Path) -> tuple[list[str], Iterator[_Record]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Save it as UTF-8") from error
    if path.suffix.lower() == ".csv":
        reader = csv.reader(text.splitlines(keepends=True))
        header = next(reader, [])
        return header, _named(header, ((reader.line_num, cells) for cells in reader))
    lines = text.split("\n")
    header = lines[0].removesuffix("\r").split("\t")
    cells = ((i, line.removesuffix("\r").split("\t")) for i, line in enumerate(lines[1:], 2))
    return header, _named(header, ((i, found) for i, found in cells if found != [""]))


def _named(header: list[str], lines: Iterator[tuple[int, list[str]]]) -> Iterator[_Record]:
    for line, cells in lines:
        if not cells:
            continue
        if len(cells) != len(header):
            yield line, {}, f"{len(cells)} cells, the header has {len(header)}"
        else:
            yield line, dict(zip(header, cells, strict=True)), ""


def file_task(path: Path, scores: Sequence[float] = ()) -> Task:
    """The task that a file of one's own is: its scores range from the lowest to the highest."""
    return Task(
        name=path.stem,
        title=path.name,
        kind=Kind.PAIRS,
        metrics=(Metric.SPEARMAN,),
        splits={ALL: Published(len(scores))},
        default=(ALL,),
        files=(),
        hub=None,
        score_range=(min(scores), max(scores)) if scores else (-_LARGEST, _LARGEST),
        licence="not known",
        source=path.name,
    )


def _names() -> list[str]:
    return [name for name, task in TASKS.items() if task.kind is Kind.PAIRS]
