"""Find a task's rows: the evaluation folder first, then the hub; and check them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from firth.evaluate.hub import read_hub
from firth.evaluate.lee import gensim_files, read_lee
from firth.evaluate.oddities import oddities
from firth.evaluate.original import read_original
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import LEE, Kind, Task, find_task
from firth.evaluate.tsv import read_table
from firth.run.errors import FirthError, InputError
from firth.run.progress import note

_NAMED = 10
"""Broken rows named in full; the rest are counted."""


def load_set(
    task: Task, data_dir: str | Path | None = None, split: str | None = None
) -> EvaluationSet:
    """Load one split of a task.

    Args:
        task: What to load.
        data_dir: Evaluation folder, tried first; None goes straight to the hub.
        split: Which split; None takes the task's default.

    Raises:
        InputError: `data_dir` is no folder, a file in it is broken, or no source has the split;
            the message lists where it was looked for.
        MissingExtraError: Never by itself: a missing `datasets` is one of the reasons listed.
    """
    if data_dir is not None and not Path(data_dir).is_dir():
        raise InputError(f"{data_dir}: no such folder; expected one with {task.title} in it")
    if task is LEE:
        return _bundled(split)
    if task.parts:
        return _joined(task, data_dir, task.check_split(split) if split else task.default[0])
    wanted = (task.check_split(split),) if split else task.default
    looked: list[str] = []
    if data_dir is not None:
        for name in wanted:
            if found := _from_folder(task, Path(data_dir), name, looked):
                return found
    for name in wanted:
        if found := _from_hub(task, name, looked):
            return found
    reasons = "".join(f"\n  - {reason}" for reason in looked)
    expected = " or ".join(file.path for file in task.files)
    hub = ", a connection to the hub" if task.hub else ""
    other = ", or another split (--split NAME)" if len(task.splits) > 1 else ""
    raise InputError(
        f"{task.name}: nowhere to be found (split {' or '.join(wanted)}). Looked at:{reasons}\n"
        f"Give a folder that holds {expected} (--data-dir DIR){hub}{other}."
    )


def _bundled(split: str | None) -> EvaluationSet:
    if split:
        LEE.check_split(split)
    folder = gensim_files()
    if folder is None:
        raise InputError(
            "lee: its texts come with gensim, which is not installed: pip install gensim"
        )
    return _checked(read_lee(folder), ())


def _from_folder(task: Task, folder: Path, split: str, looked: list[str]) -> EvaluationSet | None:
    for file in task.files:
        path = folder / file.path
        if not path.is_file():
            looked.append(f"{path}: no such file")
            continue
        table = read_table(path, task)
        if split not in table.splits:
            has = ", ".join(f"{name} ({len(rows)})" for name, rows in table.splits.items())
            looked.append(f"{path}: no split {split}; it has {has}")
            continue
        rows = tuple(table.splits[split])
        notes = (file.note,) if file.note else ()
        return _checked(EvaluationSet(task, split, rows, str(path), notes), table.broken)
    if task.original is None:
        return None
    found = read_original(task, folder)
    if found is None:
        places = " or ".join(task.original.folders)
        looked.append(f"{folder}: no {task.original.form} in {places}")
        return None
    where, table = found
    if split not in table.splits:
        looked.append(f"{where}: no split {split} among the organisers' files")
        return None
    rows = tuple(table.splits[split])
    return _checked(
        EvaluationSet(task, split, rows, f"the organisers' files in {where}"), table.broken
    )


def _joined(task: Task, data_dir: str | Path | None, split: str) -> EvaluationSet:
    """The rows of other tasks under subtasks `YEAR NAME`; parts that cannot be found are noted."""
    rows: list[Row] = []
    notes, sources, missing, skipped = [], [], [], 0
    for names in task.parts:
        found = None
        for name in names:
            try:
                found = load_set(find_task(name)[0], data_dir, find_task(name)[1])
                break
            except FirthError as error:
                reason = str(error)
        if found is None:
            missing.append(f"{names[-1]} is missing: {reason.splitlines()[0].split(' Looked')[0]}")
            continue
        year = f"20{found.task.name[3:5]}"
        rows += [Row(row.texts, row.score, f"{year} {row.subtask}".strip()) for row in found.rows]
        notes += [f"{year}: {note}" for note in found.notes]
        sources.append(found.source)
        skipped += found.skipped
    if not rows:
        raise InputError(f"{task.name}: none of its parts can be found:\n  " + "\n  ".join(missing))
    counts = compare_with_published(task, split, rows)
    return EvaluationSet(
        task, split, tuple(rows), ", ".join(sources), (*missing, *notes, *counts), skipped
    )


def _from_hub(task: Task, split: str, looked: list[str]) -> EvaluationSet | None:
    try:
        rows, broken = read_hub(task, split)
    except FirthError as error:
        looked.append(str(error))
        return None
    assert task.hub is not None
    source = f"{task.hub.name} on the hub"
    return _checked(EvaluationSet(task, split, tuple(rows), source), broken)


def _checked(found: EvaluationSet, broken: Sequence[str]) -> EvaluationSet:
    """Add what differs from the published set, what is odd about it, and the broken rows."""
    whole, found = found, _without_left_out(found)
    there = {row.subtask for row in whole.rows}
    notes = [*found.notes, *compare_with_published(found.task, found.split, found.rows, there)]
    if found.task.kind is Kind.PAIRS:
        notes += oddities(found.rows)
    if broken:
        for line in broken[:_NAMED]:
            note(f"Skipped: {line}")
        if len(broken) > _NAMED:
            note(f"Skipped: {len(broken) - _NAMED} more rows of {found.source}")
        notes.append(f"{len(broken)} broken rows skipped, such as: {broken[0]}")
    return replace(found, notes=tuple(notes), skipped=len(broken))


def _without_left_out(found: EvaluationSet) -> EvaluationSet:
    """Drop the rows that the task does not count; refuse a set without those that it must have."""
    task = found.task
    counts = Counter(row.subtask for row in found.rows)
    if absent := [name for name in task.needed if not counts[name]]:
        raise InputError(
            f"{task.name}: {found.source} has no {', '.join(absent)}. Use the task without it, or "
            "add the organisers' files"
        )
    extra = {name: counts[name] for name in task.left_out if counts[name]}
    if not extra:
        return found
    rows = tuple(row for row in found.rows if row.subtask not in extra)
    notes = [
        f"{name}: its {count} rows are there and left out, as SentEval does"
        for name, count in extra.items()
    ]
    return replace(found, rows=rows, notes=(*found.notes, *notes))


def compare_with_published(
    task: Task, split: str, rows: Sequence[Row], there: Collection[str] = ()
) -> list[str]:
    """What the rows lack, or have too many of, against the published counts; a line each.

    `there` names subtasks that the source has, whether they are among the rows or not.
    """
    published = task.splits[split]
    notes = [
        f"{name} is missing ({count} of {published.rows} published rows): {reason}"
        for name, (count, reason) in published.absent.items()
        if name not in there
    ]
    counts = Counter(row.subtask for row in rows)
    if not any(counts.keys() - {""}):
        expected = published.rows - sum(count for count, _ in published.absent.values())
        if len(rows) != expected:
            notes.append(f"{len(rows)} rows, published with {expected}")
        if published.subtasks:
            notes.append("this source does not say which subtask a row belongs to: only `all`")
        return notes
    for name in sorted(published.subtasks.keys() | counts.keys()):
        expected, got = published.subtasks.get(name, 0), counts.get(name, 0)
        if got != expected:
            notes.append(f"{name or 'no subtask'}: {got} rows, published with {expected}")
    return notes
