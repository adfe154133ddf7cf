"""The evaluation sets as data: what each is, how large it was published, and where it is found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from firth.errors import InputError
from firth.evaluate.metrics import Metric

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


@dataclass(frozen=True)
class LocalFile:
    """A file in the evaluation folder, relative to it; `note` says what to mind about it."""

    path: str
    note: str | None = None


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


_SEMEVAL = "by source of the texts; see the page of the SemEval task"
_CORRELATIONS = (Metric.SPEARMAN, Metric.PEARSON)


def _sts(year: int, published: Mapping[str, Published]) -> Task:
    return Task(
        name=f"sts{year}",
        title=f"STS 20{year}",
        kind=Kind.PAIRS,
        metrics=_CORRELATIONS,
        splits=published,
        default=("test",),
        files=(LocalFile(f"STS{year}/pairs.tsv"),),
        hub=HubSet(f"mteb/sts{year}-sts", {split: split for split in published}),
        score_range=(0, 5),
        licence=_SEMEVAL,
        source=f"Agirre et al., SemEval 20{year}",
    )


def _total(subtasks: Mapping[str, int], **absent: tuple[int, str]) -> Published:
    rows = sum(subtasks.values()) + sum(count for count, _ in absent.values())
    return Published(rows, subtasks, absent)


_STS12_TRAIN = {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734}
_STS12_TEST = {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "OnWN": 750, "SMTnews": 399}
_STS14 = {
    "deft-forum": 450,
    "deft-news": 300,
    "headlines": 750,
    "images": 750,
    "OnWN": 750,
    "tweet-news": 750,
}
_STS15 = {
    "answers-forums": 375,
    "answers-students": 750,
    "belief": 375,
    "headlines": 750,
    "images": 750,
}
_STS16 = {
    "answer-answer": 254,
    "headlines": 249,
    "plagiarism": 230,
    "postediting": 244,
    "question-question": 209,
}
_SMT = (750, "its text is not public; SentEval leaves it out too")

STS_BENCHMARK = Task(
    name="sts-b",
    title="STS benchmark",
    kind=Kind.PAIRS,
    metrics=_CORRELATIONS,
    splits={
        "train": _total({"captions": 2000, "forums": 450, "news": 3299}),
        "dev": _total({"captions": 625, "forums": 375, "news": 500}),
        "test": _total({"captions": 625, "forums": 254, "news": 500}),
    },
    default=("test",),
    files=(LocalFile("STSb/pairs.tsv"),),
    hub=HubSet(
        "mteb/stsbenchmark-sts",
        {"train": "train", "dev": "validation", "test": "test"},
        columns={"subtask": "genre"},
    ),
    score_range=(0, 5),
    licence="by source of the texts; see the page of the STS benchmark",
    source="Cer et al., SemEval 2017",
    subtask_names={
        "main-captions": "captions",
        "main-forum": "forums",
        "main-news": "news",
    },
)

SICK = Task(
    name="sick-r",
    title="SICK-R",
    kind=Kind.PAIRS,
    metrics=_CORRELATIONS,
    splits={
        "train": Published(4500),
        "trial": Published(500),
        "test": Published(4927),
        ALL: Published(9927),
    },
    default=("test", ALL),
    files=(LocalFile("SICK/pairs.tsv"),),
    hub=HubSet("mteb/sickr-sts", {ALL: "test"}),
    score_range=(1, 5),
    licence="CC BY-NC-SA 3.0",
    source="Marelli et al., LREC 2014",
)

STR_2021 = Task(
    name="str-2021",
    title="STR-2021",
    kind=Kind.PAIRS,
    metrics=(Metric.SPEARMAN,),
    splits={
        ALL: _total(
            {
                "Formality": 1000,
                "Goodreads": 1000,
                "ParaNMT": 750,
                "SNLI": 750,
                "STS": 250,
                "Stance": 750,
                "Wikipedia": 1000,
            }
        )
    },
    default=(ALL,),
    files=(LocalFile("STR-2021/pairs.tsv"),),
    hub=HubSet("SemRel/SemRel2024", {ALL: "train"}, config="eng", columns={"score": "label"}),
    score_range=(0, 1),
    licence="research only, not to be redistributed",
    source="Abdalla, Vishnubhotla & Mohammad 2021",
)

AFS = Task(
    name="afs",
    title="Argument Facet Similarity",
    kind=Kind.PAIRS,
    metrics=_CORRELATIONS,
    splits={ALL: _total({"death_penalty": 2000, "gay_marriage": 2000, "gun_control": 2000})},
    default=(ALL,),
    files=(LocalFile("AFS/pairs.tsv"),),
    hub=None,
    score_range=(0, 5),
    licence="see the page of its authors",
    source="Misra, Ecker & Walker, SIGDIAL 2016",
)

WIKI_SECTIONS = Task(
    name="wiki-sections",
    title="Wikipedia Sections",
    kind=Kind.TRIPLETS,
    metrics=(Metric.ACCURACY,),
    splits={"train": Published(1_779_417), "dev": Published(220_400), "test": Published(222_957)},
    default=("test",),
    files=(
        LocalFile("WikiSections/triplets.tsv"),
        LocalFile(
            "WikiSections-substitute/triplets.tsv",
            note="a substitute made by the same recipe from other articles: "
            "not comparable with published figures",
        ),
    ),
    hub=HubSet(
        "sentence-transformers/wikipedia-sections",
        {"train": "train", "dev": "validation", "test": "test"},
        config="triplet",
    ),
    score_range=(0, 1),
    licence="CC BY-SA 3.0",
    source="Ein Dor et al., ACL 2018",
)

LEE = Task(
    name="lee",
    title="Lee & Pincombe news texts",
    kind=Kind.PAIRS,
    metrics=(Metric.PEARSON, Metric.SPEARMAN),
    splits={ALL: Published(1225)},
    default=(ALL,),
    files=(),
    hub=None,
    score_range=(0, 1),
    licence="bundled with gensim, for research",
    source="Lee, Pincombe & Welsh, CogSci 2005",
)

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        _sts(12, {"train": _total(_STS12_TRAIN), "test": _total(_STS12_TEST)}),
        _sts(13, {"test": _total({"FNWN": 189, "headlines": 750, "OnWN": 561}, SMT=_SMT)}),
        _sts(14, {"test": _total(_STS14)}),
        _sts(15, {"test": _total(_STS15)}),
        _sts(16, {"test": _total(_STS16)}),
        STS_BENCHMARK,
        SICK,
        STR_2021,
        AFS,
        WIKI_SECTIONS,
        LEE,
    )
}
"""Every task, by the name that `--task` takes."""


def find_task(name: str) -> tuple[Task, str | None]:
    """The task called `NAME` or `NAME:SPLIT`, and the split if one is named.

    Raises:
        InputError: No such task, or it has no such split.
    """
    base, colon, split = name.partition(":")
    if base not in TASKS:
        raise InputError(f"{name}: no such task. Known: {', '.join(TASKS)}")
    task = TASKS[base]
    return task, task.check_split(split) if colon else None
