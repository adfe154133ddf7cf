"""Readers of evaluation sets: tab-separated files, the organisers' own, the hub, gensim's Lee.

All are strict about the shape of a file and forgiving about single rows: a broken row is named and
left out. Sentences are kept as they are: no cell is stripped, unquoted or normalised.
"""

import csv
import importlib.util
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL, LEE, Kind, Original, Task
from firth.run.errors import InputError, first_line
from firth.run.hub import hub_is_reachable

COLUMNS = {
    Kind.PAIRS: ("sentence1", "sentence2", "score"),
    Kind.TRIPLETS: ("anchor", "positive", "negative"),
}
Cells = Mapping[str, str]
Record = tuple[object, tuple[str, ...], Cells | str]
"""Its place (line or row), the splits it belongs to, and named cells or what is wrong with it."""


@dataclass(frozen=True)
class Table:
    """The rows of a source: split → rows; and a line for each row left out."""

    splits: dict[str, list[Row]]
    broken: tuple[str, ...]


def row_of(record: Cells, task: Task) -> Row:
    """Turn named cells into a row; raise `ValueError` saying what is wrong with them."""
    columns = [name for name in COLUMNS[task.kind] if name != "score"]
    if empty := [name for name in columns if not record[name].strip()]:
        raise ValueError(f"{empty[0]} is empty")
    score = 0.0
    if task.kind is Kind.PAIRS:
        low, high = task.score_range
        try:
            score = float(record["score"])
        except ValueError:
            raise ValueError(f"score {record['score']!r} is not a number") from None
        if not low <= score <= high:
            raise ValueError(f"score {score:g} is outside {low:g} to {high:g}")
    subtask = task.subtask(record.get("subtask", ""))
    texts = tuple(record[name] for name in columns)
    return Row(texts, score, "" if subtask == ALL else subtask)


def _table(records: Iterable[tuple[str, Record]], task: Task) -> Table:
    """The rows of records, each with what its place is a number of."""
    splits: dict[str, list[Row]] = {}
    broken = []
    for where, (place, names, cells) in records:
        try:
            if isinstance(cells, str):
                raise ValueError(cells)
            row = row_of(cells, task)
            for name in names:
                splits.setdefault(name, []).append(row)
        except ValueError as error:
            broken.append(f"{where} {place}: {error}")
    return Table(splits, tuple(broken))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


# Files in firth's own layout.


def read_table(path: Path, task: Task) -> Table:
    """Read a tab-separated file of the task's kind, all splits of it.

    Needed columns: `sentence1 sentence2 score`, or `anchor positive negative`; and `split`, unless
    the task has one split only. `subtask` is used where there is one; others are ignored. There is
    no quoting, and only tab and line feed separate; a byte order mark, CRLF and blank lines are
    accepted.

    Raises:
        InputError: The file cannot be read, a column is missing, or no row is good.
    """
    lines = _bytes(path).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    header = lines[0].removesuffix(b"\r").decode("utf-8", "replace").split("\t")
    needed = [*COLUMNS[task.kind], *(["split"] if len(task.splits) > 1 else [])]
    if missing := [name for name in needed if name not in header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {', '.join(header)}. Expected "
            f"a tab-separated header with {', '.join(needed)} (for {task.title})"
        )

    def records() -> Iterator[Record]:
        for number, line in enumerate(lines[1:], start=2):
            if not (line := line.removesuffix(b"\r")):
                continue
            try:
                cells = line.decode("utf-8").split("\t")
            except UnicodeDecodeError as error:
                yield number, (), f"not UTF-8 (byte {error.start} of the line)"
                continue
            if len(cells) != len(header):
                yield number, (), f"{len(cells)} cells, the header has {len(header)}"
                continue
            record = dict(zip(header, cells, strict=True))
            only = next(iter(task.splits))
            yield number, (record["split"] if len(task.splits) > 1 else only,), record

    found = _table(((f"{path}, line", record) for record in records()), task)
    if not found.splits:
        why = found.broken[0] if found.broken else "It has only a header."
        raise InputError(f"{path}: no usable row. {why}")
    return found


# Files as the organisers published them.

_TOPICS = {"GC": "gun_control", "GM": "gay_marriage", "DP": "death_penalty"}
_SICK_FILES = {"SICK_train.txt": "train", "SICK_trial.txt": "trial",
               "SICK_test_annotated.txt": "test"}  # fmt: skip


def read_original(task: Task, data_dir: Path) -> tuple[Path, Table] | None:
    """Read the organisers' files of a task: the folder they were found in, and the rows; None where
    no folder of the evaluation folder `data_dir` holds any of them.

    Rows without a gold score (of 2015 and 2016 most) are not rows of the set.

    Raises:
        InputError: A file cannot be read, lacks a column, or has no good row.
    """
    if task.original is None:
        return None
    find, read = _FORMS[task.original]
    for folder in (data_dir / name for name in task.folders):
        if folder.is_dir() and (paths := find(folder)):
            records = ((f"{path}, line", record) for path in paths for record in read(path))
            found = _table(records, task)
            if not found.splits:
                first = found.broken[0] if found.broken else "the files are empty"
                raise InputError(f"{folder}: no usable row of {task.title}: {first}")
            return folder, found
    return None


def _lines(path: Path) -> list[str]:
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # some of the older files are
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def _there(folder: Path, *names: str) -> list[Path]:
    return [folder / name for name in names if (folder / name).is_file()]


def _read_year(path: Path) -> Iterator[Record]:
    split = "train" if "train" in path.parent.name.lower() else "test"
    gold = path.with_name(path.name.replace(".input.", ".gs."))
    if not gold.is_file():
        raise InputError(f"{path}: its gold scores are missing; expected {gold.name} beside it")
    pairs, scores = _lines(path), _lines(gold)
    if len(pairs) != len(scores):
        raise InputError(
            f"{path}: {len(pairs)} lines, but {gold.name} has {len(scores)}; they must be from "
            "one release"
        )
    for number, (pair, score) in enumerate(zip(pairs, scores, strict=True), start=1):
        cells = pair.split("\t")
        if score.strip():
            problem = "" if len(cells) > 1 else "expected two sentences with a tab between them"
            named = zip(("sentence1", "sentence2"), cells, strict=False)
            more = {"score": score.strip(), "subtask": path.name.split(".")[2]}
            yield number, (split,), problem or dict(named) | more


def _read_benchmark(path: Path) -> Iterator[Record]:
    for number, line in enumerate(_lines(path), start=1):
        cells = line.split("\t")
        names = ("subtask", "", "", "", "score", "sentence1", "sentence2")
        few = f"{len(cells)} tab-separated cells, expected at least 7" if len(cells) < 7 else ""
        split = path.stem.removeprefix("sts-")
        yield number, (split,), few or dict(zip(names, cells, strict=False))


def _read_sick(path: Path) -> Iterator[Record]:
    lines = _lines(path)
    header = lines[0].split("\t") if lines else []
    names = {"sentence1": "sentence_A", "sentence2": "sentence_B", "score": "relatedness_score"}
    of_file = _SICK_FILES.get(path.name, "")
    _need(path, header, [*names.values(), *([] if of_file else ["SemEval_set"])])
    for number, line in enumerate(lines[1:], start=2):
        cells = dict(zip(header, line.split("\t"), strict=False))
        if len(cells) < len(header):
            yield number, (), f"{len(cells)} cells, the header has {len(header)}"
        elif (split := of_file or cells["SemEval_set"].strip().lower()) in _SICK_FILES.values():
            # The whole set counts as a split too.
            yield number, (split, ALL), {ours: cells[theirs] for ours, theirs in names.items()}
        else:
            yield number, (), f"SemEval_set {cells['SemEval_set']!r} is unknown"


def _read_relatedness(path: Path) -> Iterator[Record]:
    header, rows = _csv(path)
    _need(path, header, ["PairID", "Text", "Score"])
    for number, cells in rows:
        both = cells["Text"].split("\n")
        subtask = cells["PairID"].split("_")[0].replace("Wiki", "Wikipedia")
        odd = "" if len(both) == 2 else f"Text holds {len(both)} lines, expected the two sentences"
        named = dict(zip(("sentence1", "sentence2"), both, strict=False))
        yield number, (ALL,), odd or named | {"score": cells["Score"], "subtask": subtask}


def _read_arguments(path: Path) -> Iterator[Record]:
    header, rows = _csv(path)
    names = {
        "sentence1": _column(path, header, "sentence_1", "sentence1"),
        "sentence2": _column(path, header, "sentence_2", "sentence2"),
        "score": _column(path, header, "regression_label", "score"),
    }
    topic = {"subtask": _TOPICS[path.stem.removeprefix("ArgPairs_")]}
    for number, cells in rows:
        record = topic | {ours: cells[theirs] for ours, theirs in names.items()}
        yield number, (ALL,), record


def _csv(path: Path) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Header and (line, cells) of a quoted, comma-separated file."""
    reader = csv.reader(io.StringIO("\n".join(_lines(path)), newline=""))

    def read() -> Iterator[list[str]]:
        try:
            yield from reader
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: {error}") from error

    lines = read()
    header = [name.strip() for name in next(lines, [])]
    padding = [""] * len(header)
    rows = ((reader.line_num, dict(zip(header, [*cells, *padding], strict=False)))
            for cells in lines)  # fmt: skip
    return header, rows


def _column(path: Path, header: Sequence[str], *choices: str) -> str:
    for name in header:
        if name.lower() in choices:
            return name
    raise InputError(f"{path}, line 1: no column {' or '.join(choices)}. Got: {', '.join(header)}")


def _need(path: Path, header: Sequence[str], names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in header]:
        got = ", ".join(header)
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}. Got: {got}")


_FORMS: Mapping[
    Original, tuple[Callable[[Path], list[Path]], Callable[[Path], Iterator[Record]]]
] = {
    Original.STS_YEAR: (
        lambda folder: [path for path in sorted(folder.rglob("STS*.input.*.txt"))
                        if path.name.split(".")[2] != "ALL"],
        _read_year,
    ),
    Original.STS_BENCHMARK: (
        lambda folder: _there(folder, *(f"sts-{one}.csv" for one in ("train", "dev", "test"))),
        _read_benchmark,
    ),
    Original.SICK: (
        lambda folder: _there(folder, "SICK.txt") or _there(folder, *_SICK_FILES), _read_sick,
    ),
    Original.STR: (lambda folder: sorted(folder.rglob("*.csv"))[:1], _read_relatedness),
    Original.AFS: (
        lambda folder: [path for topic in _TOPICS
                        for path in sorted(folder.rglob(f"ArgPairs_{topic}.csv"))[:1]],
        _read_arguments,
    ),
}  # fmt: skip
"""How the organisers' files are found in a folder, and read."""


# The hub, through `datasets`.


def read_hub(task: Task, split: str) -> Table:
    """Load a split by name.

    Raises:
        InputError: The hub does not offer the split, lacks a column, or cannot be reached.
    """
    home = task.hub
    if home is None:
        raise InputError(f"the hub has no {task.title}")
    if split not in home.splits:
        raise InputError(f"{home.name} on the hub has no split {split}")
    if not hub_is_reachable():
        raise InputError(
            f"{home.name}: the hub cannot be reached (HF_HUB_OFFLINE=1 uses what is cached)"
        )
    import datasets

    try:
        records = datasets.load_dataset(home.name, home.config, split=home.splits[split])
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{home.name} on the hub: {first_line(error)}") from error
    return hub_table(records, task, split)


def hub_table(records: Iterable[Mapping[str, Any]], task: Task, split: str) -> Table:
    """Hub records as rows, with the checks that files get; raise `InputError` without a column."""
    assert task.hub is not None
    home, needed = task.hub, COLUMNS[task.kind]
    names = {name: home.columns.get(name, name) for name in (*needed, "subtask")}

    def found() -> Iterator[Record]:
        for number, record in enumerate(records):
            if missing := [names[name] for name in needed if names[name] not in record]:
                raise InputError(
                    f"{home.name} on the hub: no column {', '.join(missing)}; "
                    f"got {', '.join(record)}"
                )
            values = {ours: record.get(theirs) for ours, theirs in names.items()}
            cells = {name: "" if value is None else str(value) for name, value in values.items()}
            yield number, (split,), cells

    return _table(((f"{home.name}, row", record) for record in found()), task)


# Lee & Pincombe's ratings, from the files that gensim ships; gensim itself is not imported.

_TEXTS, _RATINGS = "lee.cor", "similarities0-1.txt"


def gensim_files() -> Path | None:
    """The folder of gensim's bundled data; None when gensim (or its data) is not installed."""
    found = importlib.util.find_spec("gensim")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "test" / "test_data"
    return folder if len(_there(folder, _TEXTS, _RATINGS)) == 2 else None


def read_lee(folder: Path) -> EvaluationSet:
    """The 50 news texts of Lee, Pincombe & Welsh (2005), and the ratings of their 1,225 pairs.

    83 students compared them; each pair has the mean of its 8 to 12 ratings, scaled to [0, 1].

    `folder` holds `lee.cor`, a text a line (Latin-1), and `similarities0-1.txt`, as many rows of as
    many tab-separated numbers, of which the upper triangle counts.

    Raises:
        InputError: The two files do not fit each other.
    """
    texts = (folder / _TEXTS).read_text(encoding="latin-1").removesuffix("\n").split("\n")
    try:
        ratings = np.loadtxt(folder / _RATINGS, delimiter="\t", ndmin=2)
    except ValueError as error:
        raise InputError(f"{folder / _RATINGS}: not a matrix of numbers ({error})") from error
    n = len(texts)
    if ratings.shape != (n, n):
        raise InputError(
            f"{folder}: {_TEXTS} has {n} texts, so {_RATINGS} should have shape {(n, n)}; "
            f"got {ratings.shape}"
        )
    units = np.stack(np.triu_indices(n, k=1), axis=1).astype(np.int64)
    return EvaluationSet(
        task=LEE,
        split=ALL,
        rows=tuple(Row((texts[i], texts[j]), float(ratings[i, j])) for i, j in units.tolist()),
        source="the files bundled with gensim",
        notes=(f"intervals resample the {n} texts, since the pairs share them",),
        units=units,
    )
