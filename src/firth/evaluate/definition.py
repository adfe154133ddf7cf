"""What an evaluation set is, as data: its size when published, and where it may be found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from firth.evaluate.metrics import Metric
from firth.run.errors import InputError

ALL = "all"
"""The subtask that holds every row of a split: one figure over all of them, as in SentEval."""


class Kind(StrEnum):
    """What a row of a set is."""

    PAIRS = "pairs"
    """Two texts and a human score."""
    TRIPLETS = "triplets"
    """An anchor, a text of its own section, and a text of another section."""


@dataclass(frozen=True)
class Published:
    """What a split held when it was published.

    Attributes:
        rows: Number of rows.
        subtasks: Subtask → rows; empty where the split has none, or they are not to be had.
        absent: Subtask → rows and reason, of what was published without its text.
    """

    rows: int
    subtasks: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, subtasks: Mapping[str, int], **absent: tuple[int, str]) -> "Published":
        """A split whose rows are those of its subtasks, absent ones included."""
        rows = sum(subtasks.values()) + sum(count for count, _ in absent.values())
        return cls(rows, subtasks, absent)


@dataclass(frozen=True)
class LocalFile:
    """A file in the evaluation folder, relative to it; `note` says what to mind about it."""

    path: str
    note: str | None = None


class Original(StrEnum):
    """Files as the organisers of a set published them; `firth.evaluate.original` reads them."""

    STS_YEAR = "STS.input.NAME.txt and STS.gs.NAME.txt"
    STS_BENCHMARK = "sts-train.csv, sts-dev.csv, sts-test.csv"
    SICK = "SICK.txt"
    STR = "sem_text_rel_ranked.csv"
    AFS = "ArgPairs_GC.csv, ArgPairs_GM.csv, ArgPairs_DP.csv"


@dataclass(frozen=True)
class OriginalFiles:
    """Where the organisers' own files may lie.

    Attributes:
        form: How they are written.
        folders: Folders inside the evaluation folder, best first; the files may lie deeper.
    """

    form: Original
    folders: tuple[str, ...]


@dataclass(frozen=True)
class HubSet:
    """Where the hub keeps a set.

    Attributes:
        name: Data set name for `datasets.load_dataset`.
        splits: Our split → the hub's.
        config: Configuration of the data set, where it has several.
        columns: Our column (`sentence1`, …, `score`, `subtask`) → the hub's, where they differ.
    """

    name: str
    splits: Mapping[str, str]
    config: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One evaluation set.

    Attributes:
        name: What `--task` takes.
        title: Its name in the literature.
        kind: Pairs or triplets.
        metrics: What is reported, the first one being the usual figure.
        splits: Split → what was published.
        default: Splits to report when none is asked for: the first one that can be loaded.
        files: Places in the evaluation folder, best first.
        hub: Its home on the hub, if any.
        score_range: Lowest and highest human score (pairs only).
        licence: What may be done with it.
        source: Who made it.
        subtask_names: Subtask in the files → the name reported. The longest name that the file's
            subtask starts with is taken; empty takes the file's as it is.
        original: The organisers' own files, looked for after `files`.
        left_out: Subtasks whose rows are not counted even where they are there.
        needed: Subtasks without which the set is not what its name says.
        parts: Names of the tasks (`sts12:test`) this one is put together from; a tuple of names
            means the first that can be loaded. It then has no files of its own.
        derived: Whether its rows are those of other tasks, so that `all` need not name it.
    """

    name: str
    title: str
    kind: Kind
    metrics: tuple[Metric, ...]
    splits: Mapping[str, Published]
    default: tuple[str, ...]
    files: tuple[LocalFile, ...]
    hub: HubSet | None
    score_range: tuple[float, float]
    licence: str
    source: str
    subtask_names: Mapping[str, str] = field(default_factory=dict)
    original: OriginalFiles | None = None
    left_out: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    derived: bool = False

    def subtask(self, in_file: str) -> str:
        """The reported name of a subtask as a file calls it."""
        for start in sorted(self.subtask_names, key=len, reverse=True):
            if in_file.startswith(start):
                return self.subtask_names[start]
        return in_file

    def check_split(self, split: str) -> str:
        """Return `split`; raise `InputError` if the set never had it."""
        if split not in self.splits:
            raise InputError(f"{self.name}: no split {split!r}. It has: {', '.join(self.splits)}")
        return split
