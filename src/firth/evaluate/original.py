"""The organisers' own files of evaluation sets, in the layouts in which they were published."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firth.evaluate.definition import ALL, Original, Task
from firth.evaluate.rows import Row
from firth.evaluate.tsv import Table, row_of
from firth.run.errors import InputError

Record = tuple[Path, int, str, dict[str, str] | str]
"""File, line, split, and named cells or what is wrong with the line."""

_TOPICS = {"GC": "gun_control", "GM": "gay_marriage", "DP": "death_penalty"}
_SICK_SPLITS = {"TRAIN": "train", "TRIAL": "trial", "TEST": "test"}
_SICK_FILES = {
    "SICK_train.txt": "train",
    "SICK_trial.txt": "trial",
    "SICK_test_annotated.txt": "test",
}


@dataclass
class _Read:
    splits: dict[str, list[Row]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def read_original(task: Task, data_dir: Path) -> tuple[Path, Table] | None:
    """Read the organisers' files of a task: the folder they were found in, and the rows.

    Rows without a gold score (of 2015 and 2016 most) are not rows of the set.

    Args:
        task: Whose files.
        data_dir: Evaluation folder.

    Returns:
        None when no folder holds any of the files.

    Raises:
        InputError: A file cannot be read, lacks a column, or has no good row.
    """
    if task.original is None:
        return None
    for name in task.original.folders:
        folder = data_dir / name
        if folder.is_dir() and (records := _READERS[task.original.form](folder)) is not None:
            return folder, _table(records, task, folder)
    return None


def _table(records: Iterator[Record], task: Task, folder: Path) -> Table:
    read = _Read()
    for path, line, split, cells in records:
        problem = cells if isinstance(cells, str) else ""
        if not isinstance(cells, str):
            try:
                row = row_of(cells, task)
                # AFS and STR-2021 are not split; of SICK the whole set counts as a split too.
                for one in {split, ALL} & task.splits.keys() or {split}:
                    read.splits.setdefault(one, []).append(row)
            except ValueError as error:
                problem = str(error)
        if problem:
            read.broken.append(f"{path}, line {line}: {problem}")
    if not read.splits:
        first = read.broken[0] if read.broken else "the files are empty"
        raise InputError(f"{folder}: no usable row of {task.title}: {first}")
    return Table(read.splits, tuple(read.broken))


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # some of the older files are
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def _sts_year(folder: Path) -> Iterator[Record] | None:
    inputs = sorted(folder.rglob("STS*.input.*.txt"))
    inputs = [path for path in inputs if path.name.split(".")[2] != "ALL"]
    return _sts_records(inputs) if inputs else None


def _sts_records(inputs: Sequence[Path]) -> Iterator[Record]:
    for path in inputs:
        split = "train" if "train" in path.parent.name.lower() else "test"
        gold = path.with_name(path.name.replace(".input.", ".gs."))
        if not gold.is_file():
            raise InputError(f"{path}: its gold scores are missing; expected {gold.name} beside it")
        pairs, scores = _lines(path), _lines(gold)
        if len(pairs) != len(scores):
            raise InputError(
                f"{path}: {len(pairs)} lines, but {gold.name} has {len(scores)}; they must be "
                "from one release"
            )
        subtask = path.name.split(".")[2]
        for number, (pair, score) in enumerate(zip(pairs, scores, strict=True), start=1):
            if not score.strip():
                continue
            cells = pair.split("\t")
            if len(cells) < 2:
                yield path, number, split, "expected two sentences with a tab between them"
                continue
            record = {"sentence1": cells[0], "sentence2": cells[1], "score": score.strip()}
            yield path, number, split, {**record, "subtask": subtask}


def _benchmark(folder: Path) -> Iterator[Record] | None:
    files = {split: folder / f"sts-{split}.csv" for split in ("train", "dev", "test")}
    found = {split: path for split, path in files.items() if path.is_file()}
    return _benchmark_records(found) if found else None


def _benchmark_records(files: Mapping[str, Path]) -> Iterator[Record]:
    for split, path in files.items():
        for number, line in enumerate(_lines(path), start=1):
            cells = line.split("\t")
            if len(cells) < 7:
                yield path, number, split, f"{len(cells)} tab-separated cells, expected at least 7"
                continue
            yield (
                path,
                number,
                split,
                {
                    "subtask": cells[0],
                    "score": cells[4],
                    "sentence1": cells[5],
                    "sentence2": cells[6],
                },
            )


def _sick(folder: Path) -> Iterator[Record] | None:
    whole = folder / "SICK.txt"
    if whole.is_file():
        return _sick_records({whole: ""})
    parts = {folder / name: split for name, split in _SICK_FILES.items()}
    found = {path: split for path, split in parts.items() if path.is_file()}
    return _sick_records(found) if found else None


def _sick_records(files: Mapping[Path, str]) -> Iterator[Record]:
    for path, split in files.items():
        lines = _lines(path)
        header = lines[0].split("\t") if lines else []
        needed = ["sentence_A", "sentence_B", "relatedness_score"]
        _need(path, header, needed if split else [*needed, "SemEval_set"])
        for number, line in enumerate(lines[1:], start=2):
            cells = dict(zip(header, line.split("\t"), strict=False))
            if len(cells) < len(header):
                yield path, number, split, f"{len(cells)} cells, the header has {len(header)}"
                continue
            named = split or _SICK_SPLITS.get(cells["SemEval_set"].strip().upper(), "")
            if not named:
                yield path, number, "", f"SemEval_set {cells['SemEval_set']!r} is unknown"
                continue
            yield (
                path,
                number,
                named,
                {
                    "sentence1": cells["sentence_A"],
                    "sentence2": cells["sentence_B"],
                    "score": cells["relatedness_score"],
                },
            )


def _relatedness(folder: Path) -> Iterator[Record] | None:
    found = sorted(folder.rglob("*.csv"))
    return _relatedness_records(found[0]) if found else None


def _relatedness_records(path: Path) -> Iterator[Record]:
    header, rows = _csv(path)
    _need(path, header, ["PairID", "Text", "Score"])
    for number, cells in rows:
        both = cells["Text"].split("\n")
        if len(both) != 2:
            wrong = f"Text holds {len(both)} lines, expected the two sentences"
            yield path, number, ALL, wrong
            continue
        yield (
            path,
            number,
            ALL,
            {
                "sentence1": both[0],
                "sentence2": both[1],
                "score": cells["Score"],
                "subtask": cells["PairID"].split("_")[0].replace("Wiki", "Wikipedia"),
            },
        )


def _arguments(folder: Path) -> Iterator[Record] | None:
    files = {topic: sorted(folder.rglob(f"ArgPairs_{topic}.csv")) for topic in _TOPICS}
    found = {topic: paths[0] for topic, paths in files.items() if paths}
    return _argument_records(found) if found else None


def _argument_records(files: Mapping[str, Path]) -> Iterator[Record]:
    for topic, path in files.items():
        header, rows = _csv(path)
        first, second, score = (
            _column(path, header, choices)
            for choices in (
                ("sentence_1", "sentence1"),
                ("sentence_2", "sentence2"),
                ("regression_label", "score"),
            )
        )
        for number, cells in rows:
            yield (
                path,
                number,
                ALL,
                {
                    "sentence1": cells[first],
                    "sentence2": cells[second],
                    "score": cells[score],
                    "subtask": _TOPICS[topic],
                },
            )


def _csv(path: Path) -> tuple[list[str], Iterator[tuple[int, dict[str, str]]]]:
    """Header and (line, cells) of a quoted, comma-separated file."""
    reader = csv.reader(io.StringIO("\n".join(_lines(path))))
    header = [name.strip() for name in next(reader, [])]

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        for cells in reader:
            padded = [*cells, *[""] * (len(header) - len(cells))]
            yield reader.line_num, dict(zip(header, padded, strict=False))

    return header, rows()


def _column(path: Path, header: Sequence[str], choices: Sequence[str]) -> str:
    for name in header:
        if name.lower() in choices:
            return name
    raise InputError(f"{path}, line 1: no column {' or '.join(choices)}. Got: {', '.join(header)}")


def _need(path: Path, header: Sequence[str], names: Sequence[str]) -> None:
    if missing := [name for name in names if name not in header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {', '.join(header)}"
        )


_READERS: Mapping[Original, Callable[[Path], Iterator[Record] | None]] = {
    Original.STS_YEAR: _sts_year,
    Original.STS_BENCHMARK: _benchmark,
    Original.SICK: _sick,
    Original.STR: _relatedness,
    Original.AFS: _arguments,
}
