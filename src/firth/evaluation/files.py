"""Pairs and triplets in files: scored, labelled or plain; every row is checked.

A file is CSV, tab-separated text without quoting, or JSON Lines. All its problems are reported
together with their lines, and no row is skipped silently.
"""

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from firth.run.console import plural
from firth.run.errors import InputError
from firth.run.files import require_ordinary

NLI = ("entailment", "neutral", "contradiction")
"""The labels of natural language inference, in the order in which SNLI numbers them."""
_SIMILAR = (
    "1", "true", "yes", "entailment", "duplicate", "paraphrase", "equivalent", "similar", "same",
    "match",
)  # fmt: skip
_UNLABELLED = "-"
"""Label of SNLI for rows without a label."""
_SHOWN = 20
_SPLITS = {"validation": "dev", "valid": "dev", "val": "dev"}


class Content(StrEnum):
    """What the rows of a file are."""

    TRIPLETS = "triplets"
    """An anchor, a text similar to it, and a text that is less similar."""
    SCORED = "scored pairs"
    """Two texts and a number that is higher for more similar texts."""
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
"""Columns of each content. A file has the first content of which it has all columns."""
_OPTIONAL = ("split", "subset")
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
    "subset": "subtask subset group topic domain",
}
"""Usual names of each column, in lower case without blanks and signs; the first counts."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a file or of an evaluation set.

    The texts are two, or anchor, positive and negative. The score is 0 where there is none, and the
    label in lower case. The line in the file counts from 1.
    """

    texts: tuple[str, ...]
    score: float = 0.0
    label: str = ""
    split: str = ""
    subset: str = ""
    line: int = 0


@dataclass(frozen=True)
class PairFile:
    """The rows of a file in its order, and the name in the file of each column that was read.

    `unlabelled` rows are left out: their label is `-`, as in SNLI.
    """

    path: Path
    content: Content
    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    unlabelled: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels, sorted; labels of inference in SNLI's order."""
        distinct = {row.label for row in self.rows} - {""}
        return NLI if distinct == set(NLI) else tuple(sorted(distinct))

    @cached_property
    def similar_label(self) -> str | None:
        """The label, of two labels or of inference, that says that two texts are similar.

        Of `not_X` and `X` it is `X`. It is None where no label says so.
        """
        if self.labels != NLI and len(self.labels) != 2:
            return None
        for label in self.labels:
            if not {f"not_{label}", f"not {label}"}.isdisjoint(self.labels):
                return label
        return next((label for label in _SIMILAR if label in self.labels), None)


def read_pair_file(path: str | Path, subset: str | None = None) -> PairFile:
    """Read a file of pairs or triplets.

    The extension gives the format: `.csv`, `.jsonl`, else tab-separated; `.gz` may follow. The
    first line names the columns; in JSON Lines, the keys of each object do.
    """
    path = Path(path)
    table = read_table(path)
    # Of several usual names, the first one counts.
    plain = {
        "".join(filter(str.isalnum, column.lower())): column for column in reversed(table.header)
    }
    names = {
        name: next(plain[alias] for alias in usual.split() if alias in plain)
        for name, usual in _USUAL.items()
        if not plain.keys().isdisjoint(usual.split())
    }
    if subset is not None:
        if subset not in table.header:
            raise InputError(f"{path}, line 1: no column {subset}. Got: {listed(table.header)}")
        names["subset"] = subset
    scores = {cells.get(names.get("score", ""), "").lower() for _, cells in table.records}
    if "label" not in names and scores and scores <= {*NLI, _UNLABELLED}:
        names["label"] = names.pop("score")  # labels of inference in a column `score`
    kind = next(
        (content_kind for content_kind in COLUMNS if names.keys() >= {*COLUMNS[content_kind]}), None
    )
    if kind is None:
        expected = "; or ".join(f"{', '.join(COLUMNS[content])} ({content})" for content in COLUMNS)
        raise InputError(
            f"{path}, line 1: got the columns {listed(table.header)}. Expected {expected}. Rename "
            "them in the file"
        )
    used = {name: names[name] for name in (*COLUMNS[kind], *_OPTIONAL) if name in names}
    problems, rows = Problems(path), []
    for line, cells in table.records:
        try:
            rows.append(_row({name: cells.get(used[name], "") for name in used}, kind, line))
        except ValueError as error:
            problems.add(line, str(error))
    problems.check()
    if not rows:
        raise InputError(f"{path}: the file has no rows; expected {kind}")
    kept = [row for row in rows if row.label != _UNLABELLED]
    return PairFile(path, kind, tuple(kept), used, len(rows) - len(kept))


def _row(record: Mapping[str, str], content: Content, line: int) -> Row:
    """Return the row of named cells; raise `ValueError` with its problem."""
    names = [name for name in COLUMNS[content] if name not in ("score", "label")]
    if empty := [name for name in names if not record[name].strip()]:
        raise ValueError(f"no text in {', '.join(empty)}")
    texts = tuple(record[name] for name in names)
    score, label = 0.0, ""
    if content is Content.SCORED:
        score = parse_score(record["score"])
    elif content is Content.LABELLED:
        label = record["label"].strip().lower().removesuffix(".0")
        if not label:
            raise ValueError("the label is empty")
    elif content is Content.TRIPLETS and texts[1] == texts[2]:
        raise ValueError("positive and negative are the same text")
    split = record.get("split", "").strip().lower()
    subset = record.get("subset", "").strip()
    return Row(
        texts=texts,
        score=score,
        label=label,
        split=_SPLITS.get(split, split),
        subset=subset,
        line=line,
    )


def parse_score(cell: str) -> float:
    """Return the number in a cell; raise `ValueError` where it is not a finite number."""
    try:
        score = float(cell)
    except ValueError:
        raise ValueError(f"score {cell!r:.60} is not a number") from None
    if not math.isfinite(score):
        raise ValueError(f"score {cell} is not a finite number")
    return score


# Tables.


@dataclass
class Problems:
    """The problems of one file, collected to be raised together."""

    path: Path
    lines: list[str] = field(default_factory=list)

    def add(self, line: int, problem: str) -> None:
        """Add a problem of a line, counted from 1."""
        self.lines.append(f"line {line}: {problem}")

    def check(self) -> None:
        """Raise `InputError` with the problems added so far; it names up to 20 of them."""
        if not self.lines:
            return
        more = len(self.lines) - _SHOWN
        shown = [f"  - {problem}" for problem in self.lines[:_SHOWN]]
        shown += [f"  - and {more:,} more"] if more > 0 else []
        count = plural(len(self.lines), "problem")
        raise InputError("\n".join([f"{self.path}: {count}:", *shown]))


@dataclass(frozen=True)
class Table:
    """A table with a header: names of the columns, and line and named cells of each record."""

    header: list[str]
    records: list[tuple[int, dict[str, str]]]


def read_table(path: Path) -> Table:
    """Read a CSV, tab-separated or JSON Lines file, all of it.

    Blank lines, a byte order mark and CRLF are accepted. Cells are kept as they are.
    """
    text = read_text(path)
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _json_table(path, text)
    kept = [(n, row) for n, row in _split(path, text, commas=suffix == ".csv") if any(row)]
    if not kept:
        raise InputError(f"{path}: the file is empty; expected a line of column names")
    problems, header = Problems(path), [name.strip() for name in kept[0][1]]
    if len(set(header)) < len(header):
        problems.add(kept[0][0], f"a column name occurs twice: {listed(header)}")
    for number, cells in kept[1:]:
        if len(cells) != len(header):
            problems.add(number, f"{len(cells)} cells; the header has {len(header)}")
    problems.check()
    return Table(header, [(n, dict(zip(header, cells, strict=True))) for n, cells in kept[1:]])


def _split(path: Path, text: str, *, commas: bool) -> Iterator[tuple[int, list[str]]]:
    if not commas:
        for number, line in enumerate(text.split("\n"), start=1):
            yield number, line.removesuffix("\r").split("\t")
        return
    # The ends of lines stay as they are, so that a quoted cell may hold them.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not CSV ({error})") from error


def _json_table(path: Path, text: str) -> Table:
    problems, records = Problems(path), list[tuple[int, dict[str, str]]]()
    for number, line in enumerate(text.split("\n"), start=1):
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
    return Table(list(dict.fromkeys(name for _, cells in records for name in cells)), records)


def _cells(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield texts and numbers as a table would hold them; other values are not cells."""
    for name, value in values.items():
        if isinstance(value, str | int | float):
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark; `.gz` is unpacked."""
    require_ordinary(path)
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: cannot be unpacked ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Save it as UTF-8") from error


def listed(names: Sequence[str]) -> str:
    """Return names for a message, shortened where there are many or long ones."""
    few = [name[:60] for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(few) + more
