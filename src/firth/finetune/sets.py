"""Where rows with labels come from: known sets by name, and files of one's own, split by split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric
from firth.evaluate.own_files import Content, OwnFile, read_own
from firth.evaluate.own_sets import task_of
from firth.evaluate.readers import read_hub
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, TASKS, HubSet, Published, Task
from firth.evaluate.task import Kind as Shape
from firth.finetune.recipe import Kind
from firth.lexical.labels import NLI
from firth.run.errors import FirthError, InputError

TRAIN, DEV, TEST = "train", "dev", "test"
CLASSES: Mapping[float, str] = dict(zip((1.0, 0.5, 0.0), NLI, strict=True))
"""Score → label of natural language inference: the more the second text follows from the first,
the higher."""
_SCORES = {label: score for score, label in CLASSES.items()} | {
    str(number): score for number, score in enumerate(CLASSES)
}
"""Label, by word or by SNLI's number → score."""
_UNLABELLED = "{:,} rows without a label left out"
_CONTENTS = {
    Kind.NLI: Content.LABELLED,
    Kind.STS: Content.SCORED,
    Kind.PAIRS: Content.SCORED,
    Kind.TRIPLETS: Content.TRIPLETS,
}
_USUAL: Mapping[Kind, tuple[str, ...]] = {
    Kind.NLI: ("snli", "mnli"),
    Kind.STS: ("sts-b",),
    Kind.TRIPLETS: ("wiki-sections",),
    Kind.PAIRS: (),
}
"""Kind → the sets that are learned from where none is named."""


def _inference(name: str, title: str, hub: HubSet, source: str, *files: str) -> Task:
    return Task(
        name, title, Shape.PAIRS, (Metric.SPEARMAN,), {}, (), (0, 2),
        "see the page of its authors", source,
        files=tuple((file, "") for file in files), hub=hub,
    )  # fmt: skip


_PREMISES = {"sentence1": "premise", "sentence2": "hypothesis", "score": "label"}
INFERENCE: Mapping[str, Task] = {
    task.name: task
    for task in (
        _inference(
            "snli", "SNLI",
            HubSet("stanfordnlp/snli", {"train": "train", "dev": "validation", "test": "test"},
                   columns=_PREMISES),
            "Bowman et al., EMNLP 2015", "SNLI/pairs.tsv",
        ),
        _inference(
            "mnli", "MultiNLI",
            HubSet("nyu-mll/multi_nli", {"train": "train", "dev": "validation_matched"},
                   columns=_PREMISES),
            "Williams et al., NAACL 2018", "MNLI/pairs.tsv", "MNLI_sample/pairs.tsv",
        ),
    )
}  # fmt: skip
"""Sets of natural language inference; a row's score is that of `CLASSES`."""


@dataclass(frozen=True)
class Places:
    """Where and how sets are read.

    Attributes:
        data_dir: Folder of the known sets; those it lacks come from the hub.
        columns: Of one's own files: ours → the file's name of it.
        by: Column of the groups, of one's own files.
        score_range: Lowest and highest score there is, of one's own files; None: as found.
    """

    data_dir: str | Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    by: str | None = None
    score_range: tuple[float, float] | None = None


def usual_sets(kind: Kind, given: Sequence[str | Path]) -> list[str]:
    """The sets to learn from: those given, else the usual ones; raise `InputError` without any."""
    if isinstance(given, str):
        given = [given]
    if found := [str(name) for name in given] or list(_USUAL[kind]):
        return found
    raise InputError(f"{kind}: nothing to learn from. Expected DATA..., files of your own")


def read_sets(name: str, kind: Kind | None, places: Places) -> dict[str, EvaluationSet]:
    """The splits of a set, as far as they can be had.

    Args:
        name: A known set, or a file; either with `:SPLIT`, for that alone.
        kind: What it must be; None takes any.
        places: Where and how.

    Raises:
        InputError: No such set, file, split, or one of another kind; broken rows of a file, all of
            them named.
    """
    whole, split = _parted(name)
    expected = _CONTENTS[kind] if kind else None
    if Path(whole).is_file():
        found = _own(Path(whole), expected, places)
    elif whole in INFERENCE or whole in TASKS:
        content = _content(whole)
        if expected not in (None, content):
            raise InputError(f"{name}: {content}, from which {kind} cannot be learned; expected "
                             f"{expected}")  # fmt: skip
        if places.by not in (None, "subtask"):
            raise InputError(f"by: got {places.by} for {name}; expected subtask, a known set's own")
        known = _known_inference if whole in INFERENCE else _known
        found = known({**INFERENCE, **TASKS}[whole], split, places)
    else:
        raise InputError(
            f"{name}: no such file, and no such set. Known sets: {', '.join((*INFERENCE, *TASKS))}"
        )
    if split is not None and split not in found:
        raise InputError(f"{whole}: no split {split!r}. It has: {', '.join(found)}")
    return found if split is None else {split: found[split]}


def _content(name: str) -> Content:
    if name in INFERENCE:
        return Content.LABELLED
    return Content.SCORED if TASKS[name].kind is Shape.PAIRS else Content.TRIPLETS


def _parted(name: str) -> tuple[str, str | None]:
    """Set or file, and split, of `NAME:SPLIT`."""
    whole, colon, split = name.rpartition(":")
    if Path(name).is_file() or not colon or not (Path(whole).is_file() or "/" not in split):
        return name, None
    return whole, split


def _known(task: Task, split: str | None, places: Places) -> dict[str, EvaluationSet]:
    found, problem = {}, None
    for one in [task.check_split(split)] if split else task.splits:
        try:
            found[one] = load_set(task, places.data_dir, one)
        except FirthError as error:
            problem = problem or error
    if problem and not found:
        raise problem
    if len(found) > 1:
        found.pop(ALL, None)  # the others together
    return found


def _known_inference(task: Task, split: str | None, places: Places) -> dict[str, EvaluationSet]:
    folder = None if places.data_dir is None else Path(places.data_dir)
    for file, _ in task.files:
        if folder is not None and (folder / file).is_file():
            label = {"label": "score"}
            return _sets(read_own(folder / file, label, Content.LABELLED), task.name)
    assert task.hub is not None
    found, problem = {}, None
    for one in [split] if split else task.hub.splits:
        try:
            table = read_hub(task, one)
        except FirthError as error:
            problem = problem or error
            continue
        rows = tuple(replace(row, score=1 - row.score / 2) for row in table.splits.get(one, ()))
        source = f"{task.hub.name} on the hub"
        notes = (_UNLABELLED.format(len(table.broken)),) if table.broken else ()
        found[one] = EvaluationSet(_task(task.name), one, rows, source, notes)
    if problem and not found:
        looked = ", ".join(str(folder / file) for file, _ in task.files) if folder else "no folder"
        raise InputError(
            f"{task.name}: nowhere to be found. Looked at {looked}; {problem}. Give a folder that "
            "holds it (--data-dir DIR), or a file of your own"
        )
    return found


def _own(path: Path, content: Content | None, places: Places) -> dict[str, EvaluationSet]:
    columns = dict(places.columns) | ({"group": places.by} if places.by else {})
    return _sets(read_own(path, columns, content), path.name, places.score_range)


def _sets(
    file: OwnFile, title: str, score_range: tuple[float, float] | None = None
) -> dict[str, EvaluationSet]:
    problems: list[str] = []
    scores, low, high = [row.score for row in file.rows], 0.0, 1.0
    if file.content is Content.LABELLED:
        wrong = [row for row in file.rows if row.label not in _SCORES]
        expected = f"{', '.join(NLI)} (or 0, 1, 2; - for none)"
        problems += [f"line {r.line}: label {r.label!r}; expected {expected}" for r in wrong]
        scores = [_SCORES.get(row.label, 0.0) for row in file.rows]
    elif file.content is Content.SCORED:
        if score_range and not score_range[0] < score_range[1]:
            low, high = score_range
            raise InputError(f"range: got {low:g} to {high:g}; expected the lower score first")
        low, high = score_range or (min(scores), max(scores))
        wrong = [row for row in file.rows if not low <= row.score <= high]
        outside = f"outside {low:g} to {high:g}"
        problems += [f"line {row.line}: score {row.score:g} is {outside}" for row in wrong]
        if low >= high:
            problems.append(f"all scores are {low:g}; expected different ones, to learn from")
    elif file.content is Content.PAIRS:
        raise InputError(f"{file.path}: pairs without a score or label; expected either")
    if problems:
        more = [f"and {len(problems) - 10:,} more"] if len(problems) > 10 else []
        raise InputError(f"{file.path}:" + "".join(f"\n  - {p}" for p in problems[:10] + more))
    if file.content is Content.LABELLED:
        task = _task(title)
    else:
        task = replace(task_of(file, {}), score_range=(low, high))
    rows: dict[str, list[Row]] = {}
    for row, score in zip(file.rows, scores, strict=True):
        rows.setdefault(row.split or ALL, []).append(Row(row.texts, score, row.group))
    notes = (_UNLABELLED.format(file.unlabelled),) if file.unlabelled else ()
    return {
        split: EvaluationSet(task, split, tuple(some), str(file.path), notes)
        for split, some in rows.items()
    }


def _task(name: str) -> Task:
    """Of rows of inference, whose scores are those of `CLASSES`."""
    metrics = (Metric.SPEARMAN, Metric.PEARSON)
    return Task(name, name, Shape.PAIRS, metrics, {ALL: Published(0)}, (ALL,), (0, 1), "", "")
