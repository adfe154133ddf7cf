"""Pairs and triplets in a user's own file: scored, labelled, or plain; every row is checked.

Unlike the reader of published sets, this one leaves nothing out: whoever wrote the file can mend
it, so that all that is wrong with it is said at once.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from firth.corpus.formats import Format, format_of
from firth.lexical.labels import NLI, alike
from firth.run.errors import InputError
from firth.run.rows import Problems, listed, read_rows, read_text


class Content(StrEnum):
    """What the rows of a file are."""

    TRIPLETS = "triplets"
    """An anchor, a text like it, and one that is less so."""
    SCORED = "scored pairs"
    """Two texts and a number: the higher, the more alike."""
    LABELLED = "labelled pairs"
    """Two texts and one of a few words or whole numbers."""
    PAIRS = "pairs"
    """Two texts that belong together."""


COLUMNS: Mapping[Content, tuple[str, ...]] = {
    Content.TRIPLETS: ("anchor", "positive", "negative"),
    Content.SCORED: ("sentence1", "sentence2", "score"),
    Content.LABELLED: ("sentence1", "sentence2", "label"),
    Content.PAIRS: ("sentence1", "sentence2"),
}
"""What each content needs; the first that a file has all columns of is taken."""
OPTIONAL = ("split", "group")

_USUAL = {
    "sentence1": "sentence1 text1 sentencea texta s1 question1 premise anchor query question first",
    "sentence2": "sentence2 text2 sentenceb textb s2 question2 hypothesis positive passage answer "
    "second",
    "score": "score similarity similarityscore relatedness relatednessscore goldscore gold rating",
    "label": "label goldlabel entailmentlabel class isduplicate",
    "anchor": "anchor query",
    "positive": "positive pos",
    "negative": "negative neg",
    "split": "split",
    "group": "group subtask topic domain",
}
"""Ours → how such a column is usually called: in lower case, without blanks and signs."""
_DEV = ("validation", "valid", "val")
_UNLABELLED = ("-", "-1")
_CLASSES = 3
"""Whole numbers in a column `label` are labels if they are no more than these; else scores."""


@dataclass(frozen=True)
class OwnRow:
    """A row: its texts as they stand in the file, and what is said of them.

    `score` is 0 and `label` empty where the content has none; so are `split` (train, dev, test or
    what the file says) and `group`. `line` (row of a Parquet file) is counted from 1.
    """

    texts: tuple[str, ...]
    line: int
    score: float = 0.0
    label: str = ""
    split: str = ""
    group: str = ""


@dataclass(frozen=True)
class OwnFile:
    """All rows of a file, which are good.

    Attributes:
        columns: Ours → the file's name of it.
        unlabelled: Number of rows left out since their label is that of SNLI and GLUE for rows
            without one: `-` or `-1`, beside two others.
    """

    path: Path
    content: Content
    rows: tuple[OwnRow, ...]
    columns: Mapping[str, str]
    unlabelled: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The different labels, sorted; those of inference in SNLI's order."""
        found = {row.label for row in self.rows} - {""}
        return NLI if found == set(NLI) else tuple(sorted(found))

    @cached_property
    def alike(self) -> str | None:
        """The label that says that two texts are alike (`firth.lexical.labels.alike`), or None."""
        return alike(self.labels)


def read_own(
    path: str | Path, columns: Mapping[str, str] | None = None, content: Content | None = None
) -> OwnFile:
    """Read a file of one's own: `.csv`, `.jsonl` (both also `.gz`, `.zst`), `.parquet`; any other
    is tab-separated without quoting.

    Args:
        path: The file. Its first line names the columns (JSON: the keys of each object).
        columns: Ours (`sentence1`, `sentence2`, `score`, `label`, `anchor`, `positive`,
            `negative`, `split`, `group`) → the file's, for those that are not called as usual.
        content: What is wanted; None takes the first of `COLUMNS` that the file has all columns of.

    Raises:
        InputError: No such file, one that cannot be read, no or several columns for what is needed,
            no row, or rows that are broken (empty texts, scores that are no finite numbers): all of
            them named by line.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
        >>> _ = path.write_text("text_a,text_b,score\\nA ship sailed.,The ship left.,4.5\\n")
        >>> read_own(path).rows[0].score
        4.5
    """
    path, given = Path(path), dict(columns or {})
    if unknown := [name for name in given if name not in _USUAL]:
        raise InputError(
            f"columns: no {', '.join(unknown)}. Expected OURS=YOURS, ours being one of "
            f"{', '.join(_USUAL)}"
        )
    if not path.exists():
        raise InputError(f"{path}: no such file")
    header, records, problems, unit = _read(path)
    if missing := [name for name in given.values() if name not in header]:
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}. Got: {listed(header)}")
    found = {name: there for name in _USUAL if (there := _called(name, header, given))}
    if "score" not in found and "label" in found and "label" not in given:
        labels = [cells.get(found["label"][0], "") for _, cells in records]
        if content is Content.SCORED or (content is None and _are_scores(labels)):
            found["score"] = found.pop("label")
    chosen = _choose(path, header, found, given, content)
    used = {name: one[0] for name in (*COLUMNS[chosen], *OPTIONAL) if (one := found.get(name))}
    for name in used:
        if len(found[name]) > 1:
            several = ", ".join(found[name])
            problems.add(1, f"{several}: each could be {name}. Choose: {name}={found[name][0]}")
    problems.check()
    rows = []
    for line, cells in records:
        record = {ours: cells.get(theirs, "") for ours, theirs in used.items()}
        try:
            rows.append(_row(record, chosen, line))
        except ValueError as error:
            problems.found.append(f"{unit} {line}: {error}")
    problems.check()
    if not rows:
        raise InputError(f"{path}: no row in it; expected {chosen}")
    kept = [row for row in rows if row.label not in _UNLABELLED]
    if len({row.label for row in kept}) < 2:  # -1 and 1 are two labels
        kept = rows
    return OwnFile(path, chosen, tuple(kept), used, len(rows) - len(kept))


# Columns.


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _called(name: str, header: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """The columns of a file that one of ours may be: what is given, or is called exactly so; else
    by its usual names."""
    if name in given:
        return [given[name]]
    free = [column for column in header if column not in given.values()]
    if name in free:
        return [name]
    usual = _USUAL[name].split()
    return [column for column in free if _plain(column) in usual]


def _choose(
    path: Path, header: Sequence[str], found: Mapping[str, Sequence[str]],
    given: Mapping[str, str], content: Content | None,
) -> Content:  # fmt: skip
    wanted = [content] if content else list(COLUMNS)
    named = set(given) - set(OPTIONAL)
    for one in wanted:
        if named <= set(COLUMNS[one]) and all(found.get(name) for name in COLUMNS[one]):
            return one
    expected = "; or ".join(f"{', '.join(COLUMNS[one])} ({one})" for one in wanted)
    hint = "sentence1=NAME" if wanted[0] is not Content.TRIPLETS or not content else "anchor=NAME"
    raise InputError(
        f"{path}, line 1: got the columns {listed(header)}. Expected {expected}. Say which is "
        f"which, as in --columns {hint}"
    )


def _are_scores(values: Sequence[str]) -> bool:
    """Whether what stands in a column called `label` are numbers on a scale, not classes."""
    try:
        numbers = {float(value) for value in values if value.strip()}
    except ValueError:
        return False
    whole = all(number.is_integer() for number in numbers)
    return bool(numbers) and not (whole and len(numbers) <= _CLASSES)


# Rows.


def _row(record: Mapping[str, str], content: Content, line: int) -> OwnRow:
    """The row in named cells; raise `ValueError` with what is wrong with it."""
    names = [name for name in COLUMNS[content] if name not in ("score", "label")]
    if empty := [name for name in names if not record[name].strip()]:
        raise ValueError(f"no text in {', '.join(empty)}")
    texts = tuple(record[name] for name in names)
    score, label = 0.0, ""
    if content is Content.SCORED:
        score = _number(record["score"])
    elif content is Content.LABELLED:
        label = _label(record["label"])
    elif content is Content.TRIPLETS and texts[1] == texts[2]:
        raise ValueError("positive and negative are the same text")
    split = record.get("split", "").strip().lower()
    split = "dev" if split in _DEV else split
    return OwnRow(texts, line, score, label, split, record.get("group", "").strip())


def _number(cell: str) -> float:
    try:
        score = float(cell)
    except ValueError:
        raise ValueError(f"score {cell!r} is not a number") from None
    if not math.isfinite(score):
        raise ValueError(f"score {cell} is not a finite number")
    return score


def _label(cell: str) -> str:
    """A label in lower case; 1.0 and 1 are the same."""
    label = cell.strip().lower()
    if not label:
        raise ValueError("label is empty")
    return label.removesuffix(".0")


# Formats.

_Read = tuple[list[str], list[tuple[int, dict[str, str]]], Problems, str]
"""Names of the columns, (line, cells) of the rows, problems so far, and what a line is called."""


def _read(path: Path) -> _Read:
    kind = (format_of(path) or (Format.TSV,))[0]
    if kind is Format.PARQUET:
        return _read_parquet(path)
    if kind is Format.JSON_LINES:
        return _read_json(path)
    rows = read_rows(path, tabs=kind is not Format.CSV)
    return rows.header, list(rows.records()), rows.problems, "line"


def _read_json(path: Path) -> _Read:
    problems, records = Problems(path), list[tuple[int, dict[str, str]]]()
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError("not an object")
            records.append((number, dict(_cells(value))))
        except (ValueError, RecursionError) as error:
            problems.add(number, f"not a JSON object of texts and numbers ({error})")
    problems.check()
    header = dict.fromkeys(name for _, cells in records for name in cells)
    return list(header), records, problems, "line"


def _read_parquet(path: Path) -> _Read:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        header, values = list(table.schema.names), table.to_pylist()
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error})") from error
    rows = [(number, dict(_cells(value))) for number, value in enumerate(values, start=1)]
    return header, rows, Problems(path), "row"


def _cells(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Texts and numbers as they would stand in a table; what is neither is not a cell."""
    for name, value in values.items():
        if isinstance(value, bool):
            yield name, str(value).lower()
        elif value is None or isinstance(value, str | int | float):
            yield name, "" if value is None else str(value)
