"""Pairs and triplets in files: scored, labelled or plain; every row is checked.

A file is a table of any format that documents have (`firth.corpus.files`). All its problems are
reported together with their lines, and no row is skipped silently.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from firth.corpus.files import Problems, listed, read_table
from firth.run.errors import InputError

NLI = ("entailment", "neutral", "contradiction")
"""The labels of natural language inference, in the order in which SNLI numbers them."""
_SIMILAR = (
    "1", "true", "yes", "entailment", "duplicate", "paraphrase", "equivalent", "similar", "same",
    "match",
)  # fmt: skip
_UNLABELLED = "-"
"""Label of SNLI for rows without a label."""
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

    The extension gives the format; a file of an unknown one is tab-separated. The first row names
    the columns, or the keys of each object do.
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
    labelled = [row for row in rows if row.label != _UNLABELLED]
    return PairFile(path, kind, tuple(labelled), used, len(rows) - len(labelled))


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
