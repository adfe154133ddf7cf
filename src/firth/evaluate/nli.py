"""Natural language inference: SNLI and MNLI, pairs with a label word, for training and reading."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from firth.run.errors import InputError, MissingExtraError
from firth.run.hub import hub_is_reachable

NO_GOLD = "-"
"""What stands for a label on which the annotators did not agree."""


class Label(StrEnum):
    """What a premise says about a hypothesis; the order is the hub's numbering."""

    ENTAILMENT = "entailment"
    NEUTRAL = "neutral"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True)
class NliPair:
    """A premise, a hypothesis, and the gold label."""

    premise: str
    hypothesis: str
    label: Label


@dataclass(frozen=True)
class NliSplit:
    """What a split held when it was published.

    Attributes:
        rows: Pairs with a gold label.
        without_gold: Pairs on which the annotators did not agree.
        stem: Name of the organisers' files without their ending.
        hub: The split's name on the hub.
    """

    rows: int
    without_gold: int
    stem: str
    hub: str


@dataclass(frozen=True)
class NliSet:
    """A set: where it lies, and its splits.

    Attributes:
        name: What `load_nli` takes.
        folders: Folders inside the evaluation folder, best first.
        hub: Data set name on the hub.
        splits: Split → what was published.
    """

    name: str
    folders: tuple[str, ...]
    hub: str
    splits: Mapping[str, NliSplit]


NLI: Mapping[str, NliSet] = {
    "snli": NliSet(
        "snli",
        ("SNLI", "snli_1.0"),
        "stanfordnlp/snli",
        {
            "train": NliSplit(549_367, 785, "snli_1.0_train", "train"),
            "dev": NliSplit(9_842, 158, "snli_1.0_dev", "validation"),
            "test": NliSplit(9_824, 176, "snli_1.0_test", "test"),
        },
    ),
    "mnli": NliSet(
        "mnli",
        ("MNLI", "multinli_1.0", "MNLI_sample"),
        "nyu-mll/multi_nli",
        {
            "train": NliSplit(392_702, 0, "multinli_1.0_train", "train"),
            "dev": NliSplit(9_815, 185, "multinli_1.0_dev_matched", "validation_matched"),
            "dev-mismatched": NliSplit(
                9_832, 168, "multinli_1.0_dev_mismatched", "validation_mismatched"
            ),
        },
    ),
}


@dataclass(frozen=True)
class NliPairs:
    """The labelled pairs of one split.

    Attributes:
        pairs: In the order of the source.
        source: Where they were read, in words.
        notes: What is missing or was left out.
    """

    pairs: tuple[NliPair, ...]
    source: str
    notes: tuple[str, ...]


def load_nli(name: str, data_dir: str | Path | None = None, split: str = "train") -> NliPairs:
    """Load one split of SNLI or MNLI: from `data_dir`, then from the hub.

    In a folder, it may lie as `pairs.tsv` (columns sentence1, sentence2, score: the label word,
    split) or as the organisers' `.jsonl` or `.txt`. Pairs without a gold label are left out and
    counted.

    Args:
        name: `snli` or `mnli`.
        data_dir: Evaluation folder; None goes straight to the hub.
        split: `train`, `dev`, `test` (SNLI) or `dev-mismatched` (MNLI).

    Raises:
        InputError: No such set or split, a broken file, or nowhere to be found.
    """
    if name not in NLI:
        raise InputError(f"{name}: no such set. Known: {', '.join(NLI)}")
    wanted = NLI[name]
    if split not in wanted.splits:
        raise InputError(f"{name}: no split {split!r}. It has: {', '.join(wanted.splits)}")
    published = wanted.splits[split]
    looked = []
    for folder in wanted.folders if data_dir is not None else ():
        for path in _files(Path(str(data_dir)) / folder, published):
            if path.is_file():
                labelled = _gather(_read(path, split))
                if any(labelled):
                    return _checked(labelled, published, str(path))
                looked.append(f"{path}: no split {split}")
            else:
                looked.append(f"{path}: no such file")
    try:
        labelled = _gather(_from_hub(wanted, published))
    except (InputError, MissingExtraError) as error:
        looked.append(str(error))
    else:
        return _checked(labelled, published, f"{wanted.hub} on the hub")
    raise InputError(f"{name} {split}: nowhere to be found. Looked at:\n  " + "\n  ".join(looked))


def _files(folder: Path, published: NliSplit) -> list[Path]:
    return [folder / "pairs.tsv", *(folder / f"{published.stem}.{end}" for end in ("jsonl", "txt"))]


_Cells = tuple[str, str, str]
"""Premise, hypothesis, label word."""


def _gather(cells: Iterator[_Cells]) -> tuple[list[NliPair], Counter[str]]:
    """The good pairs, and how many were left out for which reason; both empty without any row."""
    pairs, left_out = [], Counter[str]()
    for premise, hypothesis, label in cells:
        if label == NO_GOLD:
            left_out["without a gold label"] += 1
        elif label not in set(Label):
            left_out[f"with the unknown label {label!r}"] += 1
        elif not premise.strip() or not hypothesis.strip():
            left_out["with an empty sentence"] += 1
        else:
            pairs.append(NliPair(premise, hypothesis, Label(label)))
    return pairs, left_out


def _checked(
    found: tuple[list[NliPair], Counter[str]], published: NliSplit, source: str
) -> NliPairs:
    pairs, left_out = found
    notes = [f"{count} pairs {reason} left out" for reason, count in sorted(left_out.items())]
    if len(pairs) != published.rows:
        notes.append(f"{len(pairs)} labelled pairs, published with {published.rows}")
    return NliPairs(tuple(pairs), source, tuple(notes))


def _read(path: Path, split: str) -> Iterator[_Cells]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if path.suffix == ".jsonl":
        yield from _json_lines(path, lines)
        return
    header = lines[0].split("\t")
    label = "gold_label" if "gold_label" in header else "score"
    if missing := [name for name in ("sentence1", "sentence2", label) if name not in header]:
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}. Got: {lines[0]!r:.200}")
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        cells = dict(zip(header, line.split("\t"), strict=False))
        if label not in cells or "sentence2" not in cells:
            raise InputError(f"{path}, line {number}: {len(cells)} cells, expected {len(header)}")
        if "split" not in header or cells.get("split") == split:
            yield cells["sentence1"], cells["sentence2"], cells[label]


def _json_lines(path: Path, lines: list[str]) -> Iterator[_Cells]:
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            record: Any = json.loads(line)
            yield record["sentence1"], record["sentence2"], record["gold_label"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}, line {number}: not a record with sentence1, sentence2, gold_label "
                f"({error})"
            ) from error


def _from_hub(wanted: NliSet, published: NliSplit) -> Iterator[_Cells]:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError(f"{wanted.name} from the hub", "hub") from None
    if not hub_is_reachable():
        raise InputError(f"{wanted.hub}: the hub cannot be reached")
    try:
        records = datasets.load_dataset(wanted.hub, split=published.hub)
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{wanted.hub} on the hub: {first}") from error
    labels = list(Label)
    for record in records:
        number = record["label"]
        label = labels[number].value if 0 <= number < len(labels) else NO_GOLD
        yield record["premise"], record["hypothesis"], label
