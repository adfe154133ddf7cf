"""Find the sets that are asked for: in the evaluation folder, then on the hub; and check them."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from firth.corpus.formats import format_of
from firth.evaluate.oddities import oddities
from firth.evaluate.own_files import OwnFile, read_own
from firth.evaluate.own_sets import own_set, stem
from firth.evaluate.readers import gensim_files, read_hub, read_lee, read_original, read_table
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, LEE, TASKS, Kind, Task, find_task
from firth.run.errors import FirthError, InputError
from firth.run.progress import note

EVERYTHING = "all"
_NAMED = 10
"""Broken rows named in full; the rest are counted."""


@dataclass(frozen=True)
class LeftOut:
    """A `task` or `model` (`kind`) that `all` would have taken, and why it is not there.

    `brief` is the reason in a few words, or "" where `reason` is short itself.
    """

    kind: str
    name: str
    reason: str
    brief: str = ""

    @classmethod
    def because(cls, kind: str, name: str, error: FirthError) -> "LeftOut":
        """By an error: its message without line breaks, list marks and closing advice."""
        lines = [line.strip().removeprefix("- ") for line in str(error).splitlines()]
        reason = "; ".join(line for line in lines if not line.startswith("Give "))
        brief = error.brief if isinstance(error, _NowhereError) else ""
        return cls(kind, name, reason.replace(":; ", ": "), brief)


def summary(left_out: Sequence[LeftOut]) -> list[str]:
    """A line a reason, with the names of all that were left out for it."""
    groups: dict[tuple[str, str], list[LeftOut]] = {}
    for item in left_out:
        base = item.name.partition(":")[2].partition("@")[0] if item.kind == "model" else item.name
        alike = (item.brief or item.reason).replace(item.name, "NAME")
        alike = re.sub(rf"\b{re.escape(base)}\b", "NAME", alike) if base else alike
        groups.setdefault((item.kind, alike), []).append(item)
    return [
        f"{len(items)} {kind}s left out ({', '.join(item.name for item in items)}): {alike}"
        if len(items) > 1
        else f"{kind} {items[0].name} left out: {items[0].brief or items[0].reason}"
        for (kind, alike), items in groups.items()
    ]


class _NowhereError(InputError):
    """A set that no source has; `brief` is the reason in a few words."""

    def __init__(self, message: str, brief: str) -> None:
        super().__init__(message)
        self.brief = brief


@dataclass(frozen=True)
class Named:
    """What a name stands for: a task, or a file of one's own; and the split, if one is named."""

    what: Task | OwnFile
    split: str | None

    @property
    def name(self) -> str:
        """What the set is called."""
        return self.what.name if isinstance(self.what, Task) else stem(self.what.path)

    def load(self, data_dir: str | Path | None, split: str | None = None) -> EvaluationSet:
        """The set, as `load_set` and `own_set` load it; `split` is for a name without one."""
        wanted = self.split or split
        if isinstance(self.what, OwnFile):
            return own_set(self.what, wanted)
        return load_set(self.what, data_dir, wanted)


def find_named(name: str, columns: Mapping[str, str] | None = None) -> Named:
    """What `TASK`, `TASK:SPLIT`, or `FILE`, `FILE:SPLIT` of one's own stands for.

    `columns` are those of `read_own`.

    Raises:
        InputError: No such task, split or file; a file that cannot be used, or is called as a task.
    """
    base, _, split = name.rpartition(":")
    own = next((one for one in ((name, ""), (base, split)) if Path(one[0]).is_file()), None)
    if own is None or name.partition(":")[0] in TASKS:
        if "/" in name or format_of(Path(base or name)):
            raise InputError(f"{name}: no such file")
        return Named(*find_task(name))
    file = read_own(own[0], columns)
    if (called := stem(file.path)) in (*TASKS, EVERYTHING):
        raise InputError(
            f"{file.path}: its figures would be called {called}, as those of the set of that name. "
            "Call the file otherwise"
        )
    return Named(file, own[1] or None)


def select_sets(
    tasks: Sequence[str],
    data_dir: str | Path | None,
    split: str | None,
    without: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> tuple[list[EvaluationSet], list[LeftOut]]:
    """Load the sets behind some names: `TASK`, `TASK:SPLIT`, `all`, or a file of one's own.

    `all` is every task whose data can be found, each row once; those without the split `split`,
    which is that of all tasks that name none, are left out. Rows whose texts stand in a row of a
    set `without` (`TASK:SPLIT`, or `TASK` for its default split; or a file) are left out of every
    set. `columns` (see `read_own`) are those of the files among `tasks`.

    Raises:
        InputError: No name, an unknown one, data of a named task that cannot be found, a file that
            cannot be used, two of one name, `columns` and no file, a named task of which no row is
            left, or `all` finds nothing.
    """
    if isinstance(tasks, str) or not tasks:
        raise InputError(
            f"tasks: got {tasks!r}; expected a list of names, such as ['sts-b', 'lee'], or ['all']"
        )
    if isinstance(without, str):
        raise InputError(
            f"without: got {without!r}; expected a list of names, such as ['sts-b:dev']"
        )
    excluded = [find_named(name) for name in dict.fromkeys(without)]
    names = dict.fromkeys(name for name in tasks if name != EVERYTHING)
    wanted = [find_named(name, columns) for name in names]
    files = {one.what.path: one.name for one in wanted if isinstance(one.what, OwnFile)}
    if len(set(files.values())) < len(files):
        listed = ", ".join(map(str, files))
        raise InputError(f"{listed}: two have one name without its endings. Call one otherwise")
    if columns and not files:
        raise InputError("columns: for files of one's own, and none is among the tasks")
    for one in wanted:
        if isinstance(one.what, Task):
            one.what.check_split(one.split or split or one.what.default[0])
    others = [one.load(data_dir) for one in excluded]

    def load(one: Named) -> EvaluationSet:
        return reduce(EvaluationSet.without, others, one.load(data_dir, split))

    sets = [load(one) for one in wanted]
    left_out = []
    if EVERYTHING in tasks:
        for task in TASKS.values():
            if task.name in names or task.derived:
                continue
            try:
                sets.append(load(Named(task, task.check_split(split) if split else None)))
            except FirthError as error:
                left_out.append(LeftOut.because("task", task.name, error))
        order = {name: place for place, name in enumerate(TASKS)}
        sets.sort(key=lambda data: order.get(data.task.name, len(order)))
    _need_one(sets, left_out, EVERYTHING)
    return list({(data.task.name, data.split): data for data in sets}.values()), left_out


def select_every_split(
    tasks: Sequence[str],
    data_dir: str | Path | None,
    columns: Mapping[str, str] | None = None,
) -> tuple[list[EvaluationSet], list[LeftOut]]:
    """As `select_sets`, but every split that can be found of a task that names none, and all rows
    of a file."""
    names: dict[str, None] = {}
    for name in tasks:
        every = [task for task in TASKS.values() if not task.derived]
        if name != EVERYTHING:
            one = find_named(name, columns)
            if isinstance(one.what, OwnFile):
                names[name if one.split else f"{name}:{ALL}"] = None
                continue
            every = [] if one.split else [one.what]
        named = [f"{task.name}:{split}" for task in every for split in task.splits]
        names |= dict.fromkeys(named or [name])
    sets: list[EvaluationSet] = []
    left_out = []
    for name in names:
        try:
            sets += [find_named(name, columns).load(data_dir)]
        except FirthError as error:
            if name in tasks or name.removesuffix(f":{ALL}") in tasks:
                raise
            left_out.append(LeftOut.because("task", name, error))
    _need_one(sets, left_out, ", ".join(tasks))
    return sets, left_out


def _need_one(sets: Sequence[EvaluationSet], left_out: Sequence[LeftOut], asked: str) -> None:
    if not sets:
        reasons = "".join(f"\n  - {line}" for line in summary(left_out))
        raise InputError(f"{asked}: no evaluation set can be found:{reasons}")


def load_set(
    task: Task, data_dir: str | Path | None = None, split: str | None = None
) -> EvaluationSet:
    """Load one split of a task, or its default.

    `data_dir` is the evaluation folder, tried first; None goes straight to the hub.

    Raises:
        InputError: `data_dir` is no folder, a file in it is broken, or no source has the split;
            the message lists where it was looked for.
    """
    if data_dir is not None and not Path(data_dir).is_dir():
        raise InputError(f"{data_dir}: no such folder; expected one with {task.title} in it")
    wanted = (task.check_split(split),) if split else task.default
    if task is LEE:
        if (bundled := gensim_files()) is None:
            raise InputError(
                "lee: its texts come with gensim, which is not installed: pip install gensim"
            )
        return _checked(read_lee(bundled), ())
    if task.parts:
        return _joined(task, data_dir, wanted[0])
    looked: list[str] = []
    if data_dir is not None:
        for name in wanted:
            if found := _from_folder(task, Path(data_dir), name, looked):
                return found
    for name in wanted:
        try:
            table = read_hub(task, name)
        except FirthError as error:
            looked.append(str(error))
            continue
        assert task.hub is not None
        source, rows = f"{task.hub.name} on the hub", tuple(table.splits.get(name, ()))
        return _checked(EvaluationSet(task, name, rows, source), table.broken)
    reasons = "".join(f"\n  - {reason}" for reason in looked)
    expected = " or ".join(path for path, _ in task.files)
    hub = ", a connection to the hub" if task.hub else ""
    other = ", or another split (--split NAME)" if len(task.splits) > 1 else ""
    of_hub = looked[-1].removeprefix(f"{task.hub.name}: ") if task.hub else "not on the hub"
    of_folder = "no --data-dir" if data_dir is None else f"not in {data_dir}"
    raise _NowhereError(
        f"{task.name}: nowhere to be found (split {' or '.join(wanted)}). Looked at:{reasons}\n"
        f"Give a folder that holds {expected} (--data-dir DIR){hub}{other}.",
        f"{of_folder}; {of_hub}",
    )


def _from_folder(task: Task, folder: Path, split: str, looked: list[str]) -> EvaluationSet | None:
    for name, mind in task.files:
        path = folder / name
        if not path.is_file():
            looked.append(f"{path}: no such file")
            continue
        table = read_table(path, task)
        if split in table.splits:
            notes = (mind,) if mind else ()
            found = EvaluationSet(task, split, tuple(table.splits[split]), str(path), notes)
            return _checked(found, table.broken)
        has = ", ".join(f"{name} ({len(rows)})" for name, rows in table.splits.items())
        looked.append(f"{path}: no split {split}; it has {has}")
    if task.original is None:
        return None
    if (original := read_original(task, folder)) is None:
        looked.append(f"{folder}: no {task.original} in {' or '.join(task.folders)}")
        return None
    where, table = original
    if split in table.splits:
        source, rows = f"the organisers' files in {where}", tuple(table.splits[split])
        return _checked(EvaluationSet(task, split, rows, source), table.broken)
    looked.append(f"{where}: no split {split} among the organisers' files")
    return None


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
    notes = [*missing, *notes, *compare_with_published(task, split, rows)]
    return EvaluationSet(task, split, tuple(rows), ", ".join(sources), tuple(notes), skipped)


def _checked(found: EvaluationSet, broken: Sequence[str]) -> EvaluationSet:
    """Add what differs from the published set, what is odd about it, and the broken rows."""
    task, rows, notes = found.task, found.rows, list(found.notes)
    there = Counter(row.subtask for row in rows)
    if absent := [name for name in task.needed if not there[name]]:
        raise InputError(
            f"{task.name}: {found.source} has no {', '.join(absent)}. Use the task without it, or "
            "add the organisers' files"
        )
    if extra := {name: there[name] for name in task.left_out if there[name]}:
        rows = tuple(row for row in rows if row.subtask not in extra)
        notes += [
            f"{name}: its {count} rows are there and left out, as SentEval does"
            for name, count in extra.items()
        ]
    notes += compare_with_published(task, found.split, rows, there)
    if task.kind is Kind.PAIRS:
        notes += oddities(rows)
    if broken:
        for line in broken[:_NAMED]:
            note(f"Skipped: {line}")
        if len(broken) > _NAMED:
            note(f"Skipped: {len(broken) - _NAMED} more rows of {found.source}")
        notes.append(f"{len(broken)} broken rows skipped, such as: {broken[0]}")
    return replace(found, rows=rows, notes=tuple(notes), skipped=len(broken))


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
    counts: Mapping[str, int] = Counter(row.subtask for row in rows)
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
