"""Tab-separated evaluation files: strict about their shape, forgiving about single rows.

No quoting: a quotation mark is a character like any other, and only tab and line feed separate. A
byte order mark, CRLF line ends and blank lines are accepted. A broken row is named and left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.evaluate.rows import Row
from firth.evaluate.task import ALL, Kind, Task
from firth.run.errors import InputError

COLUMNS = {
    Kind.PAIRS: ("sentence1", "sentence2", "score"),
    Kind.TRIPLETS: ("anchor", "positive", "negative"),
}


@dataclass(frozen=True)
class Table:
    """The rows of a file: split → rows; and a line for each row left out."""

    splits: dict[str, list[Row]]
    broken: tuple[str, ...]


def read_table(path: Path, task: Task) -> Table:
    """Read a file of the task's kind, all splits of it.

    Needed columns: `sentence1 sentence2 score`, or `anchor positive negative`; and `split`, unless
    the task has one split only. `subtask` is used where there is one; others are ignored.

    Raises:
        InputError: The file cannot be read, a column is missing, or no row is good.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    header = lines[0].removesuffix(b"\r").decode("utf-8", "replace").split("\t")
    needed = [*COLUMNS[task.kind], *(["split"] if len(task.splits) > 1 else [])]
    if missing := [name for name in needed if name not in header]:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. Got: {', '.join(header)}. Expected "
            f"a tab-separated header with {', '.join(needed)} (for {task.title})"
        )
    splits: dict[str, list[Row]] = {}
    broken = []
    for number, cells, problem in _records(lines[1:], len(header)):
        if not problem:
            record = dict(zip(header, cells, strict=True))
            try:
                split = record["split"] if len(task.splits) > 1 else next(iter(task.splits))
                row = row_of(record, task)
                splits.setdefault(split, []).append(row)
            except ValueError as error:
                problem = str(error)
        if problem:
            broken.append(f"{path}, line {number}: {problem}")
    if not splits:
        raise InputError(
            f"{path}: no usable row. " + (broken[0] if broken else "It has only a header.")
        )
    return Table(splits, tuple(broken))


def _records(lines: Sequence[bytes], width: int) -> Iterator[tuple[int, list[str], str]]:
    """Line number, cells, and what is wrong with them (or "")."""
    for number, line in enumerate(lines, start=2):
        line = line.removesuffix(b"\r")
        if not line:
            continue
        try:
            cells = line.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            yield number, [], f"not UTF-8 (byte {error.start} of the line)"
            continue
        wrong = f"{len(cells)} cells, the header has {width}" if len(cells) != width else ""
        yield number, cells, wrong


def row_of(record: dict[str, str], task: Task) -> Row:
    """Turn named cells into a row; raise `ValueError` saying what is wrong with them.

    Sentences are kept as they are: no cell is stripped, unquoted or normalised.
    """
    columns = COLUMNS[task.kind]
    texts = tuple(record[name] for name in columns if name != "score")
    for name, text in zip(columns, texts, strict=False):
        if not text.strip():
            raise ValueError(f"{name} is empty")
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
    return Row(texts, score, "" if subtask == ALL else subtask)
