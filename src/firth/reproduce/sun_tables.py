"""Tables 1 to 4 of Sun et al.: what the Surrogate is worth as it is, and fine-tuned on labels.

Each cell is a result of its own: similarities and figures are kept in the folder of results,
trained models in the run, so that a call that was stopped, or asks for one more start, goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

from firth.evaluate.figures import Aggregate
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Estimate, Metric
from firth.evaluate.task import find_task
from firth.finetune.data import FEWEST
from firth.finetune.finetune import Finetuned
from firth.finetune.folds import OVER_FOLDS, cross_validate
from firth.finetune.recipe import Kind, Objective
from firth.finetune.report import TUNED
from firth.finetune.start import Start
from firth.reproduce.entries import RESAMPLES, Entry, Peer, Trial, unavailable
from firth.reproduce.options import Request
from firth.reproduce.published import (
    SUN_TABLE1,
    SUN_TABLE1_SETS,
    SUN_TABLE2,
    SUN_TABLE3,
    SUN_TABLE4,
)
from firth.reproduce.report import (
    STSB,
    UNKNOWN,
    Figure,
    Lines,
    Report,
    Row,
    Values,
    intervals,
    mean,
    row,
)
from firth.run.errors import FirthError

P = TypeVar("P")
_TASKS1 = [f"{name} or {name}:train" if name == "sick-r" else name for name in SUN_TABLE1_SETS]
"""Nothing here learns from SICK, so that its training rows can stand in for its test."""
BASE, BASE_NLI = "Surrogate base", "Surrogate-NLI base"
_HUB = "sentence-transformers"
_SIZE = Peer(why="a start has one size, which stands beside base; another: --start NAME --out DIR")
_CROSS = Peer(why="a cross-encoder trained on these labels, which no start here is")
_SBERT, _SROBERTA, _SBERT_LARGE, _SROBERTA_LARGE = (
    Peer(why=f"its weights were not published; --start {base} trains the like")
    for base in ("bert-base-uncased", "roberta-base", "bert-large-uncased", "roberta-large")
)
_GLOVE = Peer("baseline:glove", fronts=tuple(
    f"baseline:{name}{how}" for name in ("glove", "vectors") for how in ("", "+mean")
))  # fmt: skip
_PEERS1: Mapping[str, Peer] = {
    "Avg. GloVe embeddings": _GLOVE,
    "Avg. BERT embeddings": Peer("baseline:bert", fronts=("baseline:bert", "baseline:bert+mean")),
    "BERT CLS-vector": Peer("baseline:bert+cls", fronts=("baseline:bert+cls",)),
    "Universal Sentence Encoder": Peer(
        why="its lite version, of a package, can stand beside it: --peer baseline:use-lite@FILE",
        fronts=("baseline:use", "baseline:use+distilled", "baseline:use-lite"),
    ),
    "Surrogate large": _SIZE,
    "SBERT-NLI base": Peer(f"{_HUB}/bert-base-nli-mean-tokens"),
    "SRoBERTa-NLI base": Peer(f"{_HUB}/roberta-base-nli-mean-tokens"),
    "SBERT-NLI large": Peer(f"{_HUB}/bert-large-nli-mean-tokens"),
    "SRoBERTa-NLI large": Peer(f"{_HUB}/roberta-large-nli-mean-tokens"),
    "Surrogate-NLI large": _SIZE,
}
_PEERS2: Mapping[str, Peer] = {
    "BERT base": _CROSS, "SBERT base": _SBERT, "SRoBERTa base": _SROBERTA,
    "BERT-NLI base": _CROSS,
    "SBERT-NLI base": Peer(f"{_HUB}/bert-base-nli-stsb-mean-tokens"),
    "SRoBERTa-NLI base": Peer(f"{_HUB}/roberta-base-nli-stsb-mean-tokens"),
    "BERT large": _CROSS, "SBERT large": _SBERT_LARGE, "SRoBERTa large": _SROBERTA_LARGE,
    "Surrogate large": _SIZE, "BERT-NLI large": _CROSS,
    "SBERT-NLI large": Peer(f"{_HUB}/bert-large-nli-stsb-mean-tokens"),
    "SRoBERTa-NLI large": Peer(f"{_HUB}/roberta-large-nli-stsb-mean-tokens"),
    "Surrogate-NLI large": _SIZE,
}  # fmt: skip
_PEERS3: Mapping[str, Peer] = {
    "Avg. GloVe embeddings": _GLOVE, "Surrogate large": _SIZE,
    "BERT base, 10-fold": _CROSS, "SBERT base, 10-fold": _SBERT,
    "BERT large, 10-fold": _CROSS, "SBERT large, 10-fold": _SBERT_LARGE,
    "Surrogate large, 10-fold": _SIZE,
}  # fmt: skip
_PEERS4: Mapping[str, Peer] = {
    "Surrogate large": _SIZE,
    "SBERT base, trained": Peer(f"{_HUB}/bert-base-wikipedia-sections-mean-tokens"),
    "SRoBERTa base, trained": _SROBERTA, "SBERT large, trained": _SBERT_LARGE,
    "SRoBERTa large, trained": _SROBERTA_LARGE, "Surrogate large, trained": _SIZE,
}  # fmt: skip
_STARTS = (
    "The paper's Surrogate is RoBERTa that learned from 100 million pairs, scored by an Origin "
    "over 100 billion tokens; ours is what each --start names. Models, corpora and, where a note "
    "says so, sets differ from the paper's."
)


def table1(request: Request) -> Report:
    """Spearman on STS12 to 16, STSb and SICK-R, of models as they are, and of the starts after
    natural language inference, by the paper's objective and by in-batch; errors as of `Trial`."""
    trial = Trial(request, _TASKS1, _PEERS1)
    entries = [*trial.peers(), trial.origin(), trial.tfidf(), *trial.untrained()]
    plain = {entry.name: entry for entry in entries}
    notes = []
    for start in trial.starts:
        beside = trial.beside(start, BASE_NLI)
        learned = [_after_nli(trial, start, beside), _after_nli_in_batch(trial, start)]
        entries += learned
        for entry, other in product(learned, (plain[start.shown], plain["tf-idf"])):
            if entry.found and other.found:
                said = trial.ahead(entry, other).sentence(entry.name, other.name)
                notes.append(f"mean over sets: {said}")
    columns = ("Spearman (%)", *SUN_TABLE1_SETS.values(), "Avg", "Avg of 7")
    shown = [entry for entry in entries if entry.figures]
    printed = {name: _printed1(figures, trial) for name, figures in SUN_TABLE1.items()}
    rows: list[Row] = []
    for name, figures in printed.items():
        for entry in shown:
            rows += _wide(entry, trial) if entry.beside == name else []
        rows.append(row(f"{name}, printed", *figures))
    for entry in shown:
        rows += _wide(entry, trial) if entry.beside not in SUN_TABLE1 else []
    averages = {entry.name: trial.average(entry) for entry in shown}
    plot = Lines.compared("model", "Spearman (%), mean over the sets here", [
        (entry.name, averages[entry.name],
         printed[entry.beside][-2] if entry.beside in printed else None) for entry in shown
    ])  # fmt: skip
    notes = [
        "±: half of the 95 % bootstrap interval, whose ends are in results.json. Avg: over the "
        f"sets measured here ({len(trial.sets)} of 7), of printed figures too.",
        _STARTS, *notes, *trial.remarks(entries),
    ]  # fmt: skip
    details = _details(trial, entries) | {"averages": intervals(averages)}
    title = "Sun et al., Table 1: unsupervised, and after NLI (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


def table2(request: Request) -> Report:
    """Spearman on STSb test of the starts, trained on so many of STSb's training pairs, with and
    without natural language inference before.

    Raises:
        ConfigError: A size below 8 or above the training pairs; others as of `Trial`.
        InputError: As of `Trial`; STSb has no training pairs here.
    """
    task = find_task("sts-b")[0]
    whole = len(load_set(task, request.data_dir, "train").rows)
    sizes = list(dict.fromkeys(request.sizes(["100%"], whole, FEWEST).values()))
    trial = Trial(request, ["sts-b:test"], _PEERS2)
    entries = [*trial.peers(), trial.tfidf()]
    cells: dict[tuple[str, int, str], Entry] = {}
    untrained = trial.untrained()
    for after, what in (("", "sts"), ("-NLI", "nli-sts")):
        for start, as_it_is in zip(trial.starts, untrained, strict=True):
            plain = _after_nli(trial, start) if after else as_it_is
            cells[after, 0, start.shown] = replace(plain, beside="")
            for size in sizes:
                limit = None if size == whole else size
                row_name = f"Surrogate{after} base" if limit is None else ""
                cells[after, size, start.shown] = trial.trained(
                    f"{start.shown}{after}", trial.beside(start, row_name),
                    partial(_on_stsb, trial, start, bool(after), what, limit),
                )  # fmt: skip
    first = trial.starts[0].shown

    def figures(entry: Entry, labels: int, after: str, name: str) -> list[Figure]:
        rival = cells[after, labels, first]
        ahead: Figure = trial.ahead(entry, rival) if name != first else UNKNOWN
        return [labels, entry.figure("sts-b", Metric.SPEARMAN), ahead, SUN_TABLE2.get(entry.beside)]

    rows = [
        row(entry.name, *figures(entry, labels, after, name))
        for (after, labels, name), entry in cells.items()
        if entry.figures
    ]
    rows += [row(f"{entry.name}{_beside(entry)}", None, entry.figure("sts-b", Metric.SPEARMAN),
                 UNKNOWN, SUN_TABLE2.get(entry.beside))
             for entry in entries if entry.figures]  # fmt: skip
    met = {entry.beside for entry in (*cells.values(), *entries) if entry.figures}
    rows += [row(name, *[None] * 7, value) for name, value in SUN_TABLE2.items() if name not in met]
    values: Values = {
        f"{start.shown}{after}": [
            cells[after, labels, start.shown].figure("sts-b", Metric.SPEARMAN)
            for labels in (0, *sizes)
        ]
        for after in ("", "-NLI")
        for start in trial.starts
    }
    last = [None] * len(sizes)
    values |= {f"{name}, printed": [*last, SUN_TABLE2[name]] for name in (BASE, BASE_NLI)}
    plot = Lines("labels of STSb", STSB, [f"{labels:,}" for labels in (0, *sizes)], values)
    every = [*entries, *cells.values()]
    notes = [
        "Learned by L2, as in the paper; the best step by STSb dev is kept, whatever the number "
        f"of labels. Pairs of a smaller number are among those of a larger; all are {whole:,}.",
        f"Minus: less {first} with as many labels, on the same resamples.",
        _STARTS, *trial.remarks(every),
    ]  # fmt: skip
    columns = ("STSb test, Spearman (%)", "labels", "ours", "low", "high", f"minus {first}", "low",
               "high", "printed")  # fmt: skip
    title = "Sun et al., Table 2: trained on STSb (Spearman, %)"
    details = _details(trial, every) | {"sizes": sizes}
    return Report(request.name, title, columns, rows, plot, notes, details)


def table3(request: Request) -> Report:
    """Pearson and Spearman on AFS: models as they are, and the starts trained on its pairs, by ten
    folds and on all topics but the measured one; errors as of `Trial`."""
    trial = Trial(request, ["afs"], _PEERS3, Aggregate.FOLDS)
    entries = [*trial.peers(), trial.tfidf(), trial.origin(), *trial.untrained()]
    for scheme, by in (("10-fold", None), ("cross-topic", "subtask")):
        for start in trial.starts:
            beside = "" if by else trial.beside(start, f"{BASE}, {scheme}")
            entries.append(_folded(trial, start, scheme, by, beside))
    metrics = (Metric.PEARSON, Metric.SPEARMAN)

    def cells(entry: Entry | None, printed: tuple[float, float] | None) -> list[Figure]:
        found: list[Figure] = []
        for place, metric in enumerate(metrics):
            ours = entry.figure("afs", metric) if entry else UNKNOWN
            found += [ours, printed[place] if printed else None]
        return found

    rows = _listed(entries, SUN_TABLE3, cells)
    plot = Lines.compared("model", "Spearman (%), AFS", [
        (entry.name, entry.figure("afs", Metric.SPEARMAN),
         SUN_TABLE3[entry.beside][1] if entry.beside in SUN_TABLE3 else None)
        for entry in entries if entry.figures
    ])  # fmt: skip
    notes = [
        "Means over the same ten folds, for models that learned nothing too; cross-topic: over the "
        "topics, each measured by a model that learned from the other two, for which the paper has "
        "no figure. 95 % intervals: rows are resampled within folds.",
        _STARTS, *trial.remarks(entries),
    ]  # fmt: skip
    columns = ("AFS (%)", "Pearson", "low", "high", "printed", "Spearman", "low", "high", "printed")
    title = "Sun et al., Table 3: Argument Facet Similarity"
    return Report(request.name, title, columns, rows, plot, notes, _details(trial, entries))


def table4(request: Request) -> Report:
    """Accuracy on the triplets of Wikipedia Sections, of models as they are and of the starts
    trained on its training triplets; errors as of `Trial`."""
    trial = Trial(request, ["wiki-sections:test"], _PEERS4)
    entries = [*trial.peers(), trial.tfidf(), *trial.untrained()]
    options = request.options
    data = options.learn_from or ("wiki-sections:train",)
    for start in trial.starts:
        train = partial(trial.tune, Kind.TRIPLETS, start, "triplets", data, options.train_pairs,
                        test="wiki-sections:test")  # fmt: skip
        beside = trial.beside(start, f"{BASE}, trained")
        entries.append(trial.trained(f"{start.shown}, trained", beside, train))

    def cells(entry: Entry | None, printed: float | None) -> list[Figure]:
        ours = entry.figure("wiki-sections", Metric.ACCURACY) if entry else UNKNOWN
        return [ours, printed]

    rows = _listed(entries, SUN_TABLE4, cells)
    plot = Lines.compared("model", "accuracy (%)", [
        (entry.name, entry.figure("wiki-sections", Metric.ACCURACY), SUN_TABLE4.get(entry.beside))
        for entry in entries if entry.figures
    ])  # fmt: skip
    said = [] if options.learn_from else ["Other triplets to learn from: --learn-from FILE:SPLIT."]
    notes = ["Chance: 50. Learned by the triplet objective, as in the paper.", _STARTS, *said,
             *trial.remarks(entries)]  # fmt: skip
    columns = ("Wikipedia Sections, accuracy (%)", "ours", "low", "high", "printed")
    title = "Sun et al., Table 4: Wikipedia Sections"
    return Report(request.name, title, columns, rows, plot, notes, _details(trial, entries))


# What is trained.


def _after_nli(trial: Trial, start: Start, beside: str = "") -> Entry:
    learn = partial(trial.after_nli, start, Objective.SOFTMAX)
    return trial.trained(f"{start.shown}-NLI", beside, learn)


def _after_nli_in_batch(trial: Trial, start: Start) -> Entry:
    learn = partial(trial.after_nli, start, Objective.IN_BATCH)
    return trial.trained(f"{start.shown}-NLI, in-batch", "", learn)


def _on_stsb(trial: Trial, start: Start, after: bool, what: str, limit: int | None) -> Finetuned:
    begin = trial.after_nli(start, Objective.SOFTMAX).path if after else None
    return trial.tune(Kind.STS, start, what, ["sts-b:train"], limit, begin,
                      dev="sts-b:dev", test="sts-b:test")  # fmt: skip


def _folded(trial: Trial, start: Start, scheme: str, by: str | None, beside: str) -> Entry:
    request, name = trial.request, f"{start.shown}, {scheme}"
    limit = request.options.train_pairs
    try:
        found = cross_validate(
            Kind.STS, start.name, trial.place(start, f"afs-{scheme}", limit), data=["afs"], by=by,
            run=trial.run_of(start), data_dir=request.data_dir, share=0, seed=request.seed,
            limit=limit, resamples=RESAMPLES, force=True,
        )  # fmt: skip
    except FirthError as error:
        return unavailable(name, beside, error)
    report = found.report
    figures = {
        ("afs", Metric(metric)): Estimate(**one[OVER_FOLDS][TUNED])
        for metric, one in report["figures"].items()
    }
    sizes = [one["train"] for one in report["folds"]]
    shared = sum(one["shared"] for one in report["folds"])
    says = (
        f"learned from {min(sizes):,} to {max(sizes):,} pairs a fold; {shared:,} measured pairs "
        "share a text with a pair that was learned from"
    )
    return Entry(name, beside, figures=figures, says=says)


# What is shown.


def _listed(
    entries: Sequence[Entry], printed: Mapping[str, P],
    cells: Callable[[Entry | None, P | None], Sequence[Figure]],
) -> list[Row]:  # fmt: skip
    """The rows of the paper, ours in their place, then those that the paper does not have."""
    shown = [entry for entry in entries if entry.figures]
    rows: list[Row] = []
    for name, value in printed.items():
        beside = [entry for entry in shown if entry.beside == name]
        rows += [row(f"{entry.name}{_beside(entry)}", *cells(entry, value)) for entry in beside]
        if not beside:
            rows.append(row(name, *cells(None, value)))
    others = [entry for entry in shown if entry.beside not in printed]
    return rows + [row(entry.name, *cells(entry, None)) for entry in others]


def _beside(entry: Entry) -> str:
    return f" ({entry.beside})" if entry.beside not in ("", entry.name) else ""


def _wide(entry: Entry, trial: Trial) -> list[Row]:
    """Two rows of Table 1: figures, and half of their intervals."""
    figures = _of_sets(entry, trial)
    values = [one.value for one in figures]
    halves = [None if one.low is None or one.high is None else (one.high - one.low) / 2
              for one in figures]  # fmt: skip
    return [Row(entry.name, tuple(values)), Row(f"{entry.name}, ±", tuple(halves))]


def _of_sets(entry: Entry, trial: Trial) -> list[Estimate]:
    average = trial.average(entry)
    whole = average if len(trial.sets) == len(SUN_TABLE1_SETS) else UNKNOWN
    return [*(entry.figure(task, Metric.SPEARMAN) for task in SUN_TABLE1_SETS), average, whole]


def _printed1(figures: Sequence[float], trial: Trial) -> list[float | None]:
    *sets, whole = figures
    here = [one for task, one in zip(SUN_TABLE1_SETS, sets, strict=True) if task in trial.sets]
    return [*sets, mean(here), whole]


def _details(trial: Trial, entries: Sequence[Entry]) -> dict[str, Any]:
    options = trial.request.options
    return {
        "seed": trial.request.seed,
        "resamples": RESAMPLES,
        "sets": {name: {"split": one.split, "rows": len(one.rows), "fingerprint": one.fingerprint}
                 for name, one in trial.sets.items()},
        "starts": {start.shown: start.identity() for start in trial.starts},
        "pairs": options.pairs,
        "train_pairs": options.train_pairs,
        "entries": [entry.details() for entry in entries],
    }  # fmt: skip
