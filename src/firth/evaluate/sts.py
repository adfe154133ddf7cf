"""Semantic textual similarity: the SemEval sets by year, the benchmark, SICK-R, CBOS's 20 sets."""

from collections.abc import Mapping
from dataclasses import replace

from firth.evaluate.definition import (
    ALL,
    HubSet,
    Kind,
    LocalFile,
    Original,
    OriginalFiles,
    Published,
    Task,
)
from firth.evaluate.metrics import Metric

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
        original=OriginalFiles(
            Original.STS_YEAR,
            (f"STS{year}", f"STS20{year}", f"STS{year}-en-test", f"STS/STS{year}-en-test"),
        ),
    )


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
_STS12 = {"train": Published.of(_STS12_TRAIN), "test": Published.of(_STS12_TEST)}
_STS13 = {"FNWN": 189, "headlines": 750, "OnWN": 561}
_WITHOUT_SMT = _sts(13, {"test": Published.of(_STS13, SMT=_SMT)})

STS_BENCHMARK = Task(
    name="sts-b",
    title="STS benchmark",
    kind=Kind.PAIRS,
    metrics=_CORRELATIONS,
    splits={
        "train": Published.of({"captions": 2000, "forums": 450, "news": 3299}),
        "dev": Published.of({"captions": 625, "forums": 375, "news": 500}),
        "test": Published.of({"captions": 625, "forums": 254, "news": 500}),
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
    original=OriginalFiles(
        Original.STS_BENCHMARK, ("STSb", "stsbenchmark", "STS/STSBenchmark", "STSBenchmark")
    ),
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
    original=OriginalFiles(Original.SICK, ("SICK",)),
)

_CBOS_PARTS = {
    "2012": (("sts12:test",), _STS12_TEST),
    "2013": (("sts13-smt:test", "sts13:test"), {**_STS13, "SMT": 750}),
    "2014": (("sts14:test",), _STS14),
    "2015": (("sts15:test",), _STS15),
}

CBOS_20 = Task(
    name="cbos-20",
    title="the 20 sets of STS 2012 to 2015",
    kind=Kind.PAIRS,
    metrics=(Metric.PEARSON,),
    splits={
        "test": Published.of(
            {
                f"{year} {subtask}": rows
                for year, (_, subtasks) in _CBOS_PARTS.items()
                for subtask, rows in subtasks.items()
            }
        )
    },
    default=("test",),
    files=(),
    hub=None,
    score_range=(0, 5),
    licence=_SEMEVAL,
    source="Agirre et al., SemEval 2012 to 2015; chosen by Yuan & Zhang, Table I",
    parts=tuple(names for names, _ in _CBOS_PARTS.values()),
    derived=True,
)

STS_TASKS = (
    _sts(12, _STS12),
    replace(_WITHOUT_SMT, title="STS 2013 without SMT", left_out=("SMT",)),
    _sts(14, {"test": Published.of(_STS14)}),
    _sts(15, {"test": Published.of(_STS15)}),
    _sts(16, {"test": Published.of(_STS16)}),
    STS_BENCHMARK,
    SICK,
)
"""The sets by year, the benchmark and SICK-R, in the order in which they are reported."""

DERIVED_STS_TASKS = (
    replace(
        _WITHOUT_SMT,
        name="sts13-smt",
        title="STS 2013 with SMT",
        splits={"test": Published.of({**_STS13, "SMT": 750})},
        needed=("SMT",),
        hub=None,
        derived=True,
    ),
    CBOS_20,
)
"""Other ways to count the same rows."""
