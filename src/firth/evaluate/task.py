"""Every evaluation set there is, as data: its size when published, and where it may be found."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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


class Original(StrEnum):
    """Files as the organisers of a set published them; `firth.evaluate.readers` reads them."""

    STS_YEAR = "STS.input.NAME.txt and STS.gs.NAME.txt"
    STS_BENCHMARK = "sts-train.csv, sts-dev.csv, sts-test.csv"
    SICK = "SICK.txt"
    STR = "sem_text_rel_ranked.csv"
    AFS = "ArgPairs_GC.csv, ArgPairs_GM.csv, ArgPairs_DP.csv"


@dataclass(frozen=True)
class HubSet:
    """Where the hub keeps a set, as `datasets.load_dataset` takes `name` and `config`.

    `splits` and `columns` (`sentence1`, …, `score`, `subtask`) are ours → the hub's, the latter
    where they differ.
    """

    name: str
    splits: Mapping[str, str]
    config: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """One evaluation set.

    Attributes:
        name: What `--task` takes; `title` is its name in the literature.
        metrics: What is reported, the first one being the usual figure.
        splits: Split → what was published.
        default: Splits to report when none is asked for: the first one that can be loaded.
        score_range: Lowest and highest human score (pairs only).
        files: Files in the evaluation folder, best first; each with what to mind about it, or "".
        original: How the organisers' own files are written, which are looked for after `files`.
        folders: Where those may lie in the evaluation folder, or deeper; best first.
        hub: Its home on the hub, if any.
        subtask_names: Subtask in the files → the name reported. The longest name that the file's
            subtask starts with is taken; empty takes the file's as it is.
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
    score_range: tuple[float, float]
    licence: str
    source: str
    files: tuple[tuple[str, str], ...] = ()
    original: Original | None = None
    folders: tuple[str, ...] = ()
    hub: HubSet | None = None
    subtask_names: Mapping[str, str] = field(default_factory=dict)
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


def find_task(name: str) -> tuple[Task, str | None]:
    """The task called `NAME` or `NAME:SPLIT`, and the split if one is named.

    Raises:
        InputError: No such task, or it has no such split.
    """
    base, colon, split = name.partition(":")
    if base not in TASKS:
        raise InputError(
            f"{name}: no such task. Known: {', '.join(TASKS)}; or a file of your own (TSV, CSV, "
            "JSON lines, Parquet)"
        )
    task = TASKS[base]
    return task, task.check_split(split) if colon else None


_SEMEVAL = "by source of the texts; see the page of the SemEval task"
_CORRELATIONS = (Metric.SPEARMAN, Metric.PEARSON)
_12 = {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "OnWN": 750, "SMTnews": 399}
_13 = {"FNWN": 189, "headlines": 750, "OnWN": 561}
_14 = {"deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "OnWN": 750,
       "tweet-news": 750}  # fmt: skip
_15 = {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750,
       "images": 750}  # fmt: skip
_16 = {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244,
       "question-question": 209}  # fmt: skip


def _sts(year: int, test: Published, **more: Published) -> Task:
    splits, name = {**more, "test": test}, f"STS{year}"
    return Task(
        name.lower(), f"STS 20{year}", Kind.PAIRS, _CORRELATIONS, splits, ("test",), (0, 5),
        _SEMEVAL, f"Agirre et al., SemEval 20{year}",
        files=((f"{name}/pairs.tsv", ""),),
        original=Original.STS_YEAR,
        folders=(name, f"STS20{year}", f"{name}-en-test", f"STS/{name}-en-test"),
        hub=HubSet(f"mteb/sts{year}-sts", {split: split for split in splits}),
    )  # fmt: skip


_STS12 = _sts(
    12, Published.of(_12),
    train=Published.of({"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734}),
)  # fmt: skip
_STS13 = _sts(
    13, Published.of(_13, SMT=(750, "its text is not public; SentEval leaves it out too"))
)
_WITH_SMT = {**_13, "SMT": 750}
_CBOS_PARTS = {
    2012: (("sts12:test",), _12),
    2013: (("sts13-smt:test", "sts13:test"), _WITH_SMT),
    2014: (("sts14:test",), _14),
    2015: (("sts15:test",), _15),
}

LEE = Task(
    "lee", "Lee & Pincombe news texts", Kind.PAIRS, (Metric.PEARSON, Metric.SPEARMAN),
    {ALL: Published(1225)}, (ALL,), (0, 1), "bundled with gensim, for research",
    "Lee, Pincombe & Welsh, CogSci 2005",
)  # fmt: skip

_EVERY_TASK = (
    _STS12,
    replace(_STS13, title="STS 2013 without SMT", left_out=("SMT",)),
    _sts(14, Published.of(_14)),
    _sts(15, Published.of(_15)),
    _sts(16, Published.of(_16)),
    Task(
        "sts-b", "STS benchmark", Kind.PAIRS, _CORRELATIONS,
        {
            "train": Published.of({"captions": 2000, "forums": 450, "news": 3299}),
            "dev": Published.of({"captions": 625, "forums": 375, "news": 500}),
            "test": Published.of({"captions": 625, "forums": 254, "news": 500}),
        },
        ("test",), (0, 5), "by source of the texts; see the page of the STS benchmark",
        "Cer et al., SemEval 2017",
        files=(("STSb/pairs.tsv", ""),),
        original=Original.STS_BENCHMARK,
        folders=("STSb", "stsbenchmark", "STS/STSBenchmark", "STSBenchmark"),
        hub=HubSet(
            "mteb/stsbenchmark-sts", {"train": "train", "dev": "validation", "test": "test"},
            columns={"subtask": "genre"},
        ),
        subtask_names={"main-captions": "captions", "main-forum": "forums", "main-news": "news"},
    ),
    Task(
        "sick-r", "SICK-R", Kind.PAIRS, _CORRELATIONS,
        {"train": Published(4500), "trial": Published(500), "test": Published(4927),
         ALL: Published(9927)},
        ("test", ALL), (1, 5), "CC BY-NC-SA 3.0", "Marelli et al., LREC 2014",
        files=(("SICK/pairs.tsv", ""),),
        original=Original.SICK,
        folders=("SICK",),
        hub=HubSet("mteb/sickr-sts", {ALL: "test"}),
    ),
    Task(
        "str-2021", "STR-2021", Kind.PAIRS, (Metric.SPEARMAN,),
        {ALL: Published.of({"Formality": 1000, "Goodreads": 1000, "ParaNMT": 750, "SNLI": 750,
                            "STS": 250, "Stance": 750, "Wikipedia": 1000})},
        (ALL,), (0, 1), "research only, not to be redistributed",
        "Abdalla, Vishnubhotla & Mohammad 2021",
        files=(("STR-2021/pairs.tsv", ""),),
        original=Original.STR,
        folders=("STR-2021", "STR"),
        hub=HubSet("SemRel/SemRel2024", {ALL: "train"}, config="eng", columns={"score": "label"}),
    ),
    Task(
        "afs", "Argument Facet Similarity", Kind.PAIRS, _CORRELATIONS,
        {ALL: Published.of({"death_penalty": 2000, "gay_marriage": 2000, "gun_control": 2000})},
        (ALL,), (0, 5), "see the page of its authors", "Misra, Ecker & Walker, SIGDIAL 2016",
        files=(("AFS/pairs.tsv", ""),),
        original=Original.AFS,
        folders=("AFS", "ArgumentFacetSimilarity"),
    ),
    Task(
        "wiki-sections", "Wikipedia Sections", Kind.TRIPLETS, (Metric.ACCURACY,),
        {"train": Published(1_779_417), "dev": Published(220_400), "test": Published(222_957)},
        ("test",), (0, 1), "CC BY-SA 3.0", "Ein Dor et al., ACL 2018",
        files=(
            ("WikiSections/triplets.tsv", ""),
            ("WikiSections-substitute/triplets.tsv", "a substitute made by the same recipe from "
             "other articles: not comparable with published figures"),
        ),
        hub=HubSet(
            "sentence-transformers/wikipedia-sections",
            {"train": "train", "dev": "validation", "test": "test"}, config="triplet",
        ),
    ),
    LEE,
    # Other ways to count the same rows.
    replace(
        _STS13, name="sts13-smt", title="STS 2013 with SMT",
        splits={"test": Published.of(_WITH_SMT)}, needed=("SMT",), hub=None, derived=True,
    ),
    Task(
        "cbos-20", "the 20 sets of STS 2012 to 2015", Kind.PAIRS, (Metric.PEARSON,),
        {"test": Published.of({f"{year} {subtask}": rows
                               for year, (_, subtasks) in _CBOS_PARTS.items()
                               for subtask, rows in subtasks.items()})},
        ("test",), (0, 5), _SEMEVAL,
        "Agirre et al., SemEval 2012 to 2015; chosen by Yuan & Zhang, Table I",
        parts=tuple(names for names, _ in _CBOS_PARTS.values()), derived=True,
    ),
)  # fmt: skip

TASKS: Mapping[str, Task] = {task.name: task for task in _EVERY_TASK}
"""Every task, by the name that `--task` takes, in the order in which they are reported."""
