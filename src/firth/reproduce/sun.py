"""Tables 1 to 4 of Sun et al.: models as they are, and encoders that were fine-tuned on labels.

firth's scorer and encoder are rows without a published figure. *Origin* and *Surrogate* are the
paper's, built by `firth.paper`. What is fine-tuned is kept in the run and reused.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.encoders.static import STATIC
from firth.evaluation.metrics import Metric
from firth.evaluation.sets import load_set, make_folds
from firth.reproduce.result import Cell, Findings, Request, figure, loaded, opened, published
from firth.run.errors import FirthError, InputError, first_line
from firth.run.run import Run
from firth.text.types import Floats, PairScorer

ORIGIN, SURROGATE, DISTILLED = "Origin", "Surrogate base", "Surrogate"
SCORER, OWN_ENCODER = "firth's scorer", "firth's encoder"
_PAPER_BASE = "roberta-base"
_MEAN, _TRIPLETS = "mean", "wiki-sections"
_REMARK = (
    "The paper's Surrogate is RoBERTa that learned from 100 million pairs, scored by Origin over "
    "100 billion tokens. Models, corpora and some sets differ here. firth's scorer and encoder are "
    "other methods, and have no published figure."
)


def models(request: Request, paper: Mapping[str, str]) -> dict[str, str | PairScorer]:
    """Return row → model: those that the paper compares with (`paper`), and those of the run."""
    rows: dict[str, str | PairScorer] = dict(paper)
    rows |= {"tf-idf": "baseline:tfidf", "Dice": "baseline:dice"}
    run = request.given
    if run is None:
        return rows
    rows["tf-idf"] = f"baseline:tfidf@{run.path}"
    rows[SCORER] = str(run.path)
    if run.has(STATIC):
        rows[OWN_ENCODER] = str(run.folder(STATIC))
    return rows | paper_models(run)


def paper_models(run: Run) -> dict[str, str | PairScorer]:
    """Return the paper's Origin and Surrogate of a run, as far as they are built."""
    from firth.paper.origin import READS, Origin
    from firth.paper.surrogate import SURROGATE as STAGE

    rows: dict[str, str | PairScorer] = {}
    if all(run.has(stage) for stage in READS):
        rows[ORIGIN] = Origin.open(run)
    if run.has(STAGE):
        rows[surrogate_row(run)] = str(run.folder(STAGE))
    return rows


def surrogate_row(run: Run) -> str:
    """Return the paper's name of a Surrogate from the paper's base, else one that says the base."""
    from firth.paper.settings import PaperSettings

    base = Path(run.wing("paper", PaperSettings).surrogate.base).name
    return SURROGATE if base == _PAPER_BASE else f"{DISTILLED} ({base})"


def starts(request: Request) -> dict[str, str]:
    """Return name → encoder to fine-tune: the settings', else the run's Surrogate or encoder.

    Only what was distilled from this Origin into the paper's base is named `DISTILLED`, and
    compared with the paper's Surrogate. Where there is none, it is an `InputError`.
    """
    if names := request.settings.start:
        return {"/".join(Path(name).parts[-2:]): name for name in names}
    run = request.given
    from firth.paper.surrogate import SURROGATE as STAGE

    if run is not None and run.has(STAGE):
        row = surrogate_row(run)
        return {DISTILLED if row == SURROGATE else row: str(run.folder(STAGE))}
    if run is not None and run.has(STATIC):
        return {OWN_ENCODER: str(run.folder(STATIC))}
    raise InputError(
        f"{request.table}: no encoder to fine-tune. Give a run with one, or any run and a name: "
        "--run FOLDER --set reproduce.tables.start=ENCODER"
    )


def tuned(request: Request, start: str, encoder: str, what: str, data: str, **given: Any) -> str:
    """Fine-tune an encoder, or reuse it, and return the folder, which the run keeps.

    `start` and `what` name the folder; `data` is a set or a file, and `given` has the objective.
    """
    from firth.train.finetune import finetune

    return str(finetune(encoder, data, **_options(request, start, what), **given).path)


def cross_validated(
    request: Request, start: str, encoder: str, what: str, data: str, **plan: Any
) -> Floats:
    """Fine-tune an encoder on the other folds of each row, or reuse that; return the cosines."""
    from firth.train.folds import cross_validate

    made = cross_validate(encoder, data, **_options(request, start, what), **plan)
    return np.array(made.report["cosines"]["fine-tuned"], np.float64)


def _options(request: Request, start: str, what: str) -> dict[str, Any]:
    settings = {"data_dir": request.data_dir, "epochs": request.settings.epochs}
    out = request.models / start.replace("/", "-") / what
    return {"out": out, "seed": request.seed, "force": True, **settings}


def measured(
    request: Request,
    rows: Mapping[str, str | PairScorer],
    sets: Sequence[str],
    figures: Mapping[str, Mapping[str, float]],
) -> Findings:
    """Measure models on sets, each by its usual metric; several sets have a mean too.

    `figures` are row → set → published figure; rows that are not measured are added. Sets that are
    missing become notes; where all are, it is an `InputError`.
    """
    whole, notes = loaded(request, sets)
    data_sets = [request.sampled(data) for data in whole]
    notes += [f"{data.id}: {note}." for data in data_sets for note in data.notes]
    scorers, missing = opened(rows)
    cells = []
    for row in dict.fromkeys([*scorers, *figures]):
        paper, columns = figures.get(row, {}), []
        for data in data_sets:
            value = None
            if row in scorers:
                columns.append(data.columns(scorers[row].similarities(data.pairs)))
                value = figure(data.metrics[0], columns[-1:], request.seed, data.id)
            cells.append(Cell(row, data.name, value, paper.get(data.name)))
        if len(data_sets) > 1:
            mean = (
                figure(data_sets[0].metrics[0], columns, request.seed, _MEAN) if columns else None
            )
            known = [paper[data.name] for data in data_sets if data.name in paper]
            both = round(sum(known) / len(known), 2) if len(known) == len(data_sets) else None
            cells.append(Cell(row, _MEAN, mean, both))
    return cells, [*notes, *missing, _REMARK]


def table1(request: Request) -> Findings:
    """Measure models without labels of similarity on seven sets, and starts after NLI."""
    sets = list(published("sun", "table1_sets"))
    rows = models(request, published("sun", "models1"))
    notes = []
    try:
        for start, encoder in starts(request).items():
            if start != DISTILLED:  # That is a row already, by the paper's name.
                rows.setdefault(start, encoder)
            row = f"{start}-NLI base" if start == DISTILLED else f"{start}-NLI"
            rows[row] = after_nli(request, start, encoder)
    except FirthError as error:
        notes.append(f"Nothing learned from NLI: {first_line(error)}.")
    figures = {
        row: dict(zip(sets, values, strict=False))
        for row, values in published("sun", "table1").items()
    }
    cells, more = measured(request, rows, sets, figures)
    return cells, [*notes, *more]


def after_nli(request: Request, start: str, encoder: str) -> str:
    """Return the folder of an encoder that learned from natural language inference."""
    return tuned(request, start, encoder, "nli", "nli:train", objective="softmax")


def table2(request: Request) -> Findings:
    """Measure starts that learned from STSb on its test."""
    rows = models(request, published("sun", "models2"))
    notes = []
    for start, encoder in starts(request).items():
        begins = {"": encoder}
        try:
            begins["-NLI"] = after_nli(request, start, encoder)
        except FirthError as error:
            notes.append(f"{start} did not learn from NLI: {first_line(error)}.")
        for after, begin in begins.items():
            row = f"Surrogate{after} base" if start == DISTILLED else f"{start}{after}, trained"
            rows[row] = tuned(request, start, begin, f"{'nli-' if after else ''}sts", "sts-b")
    figures = {row: {"sts-b": value} for row, value in published("sun", "table2").items()}
    # The paper's Surrogate is here the one that learned from STSb.
    cells, more = measured(request, rows, ["sts-b:test"], figures)
    return cells, [*notes, *more]


def table3(request: Request) -> Findings:
    """Measure models on AFS over ten folds, and starts that learned from the other folds."""
    whole = load_set("afs:all", request.data_dir)
    data = request.sampled(whole)
    drawn = set(map(id, data.rows))
    places = np.flatnonzero([id(row) in drawn for row in whole.rows])
    folds = list(make_folds(data, 10, request.seed).values())
    scorers, notes = opened(models(request, published("sun", "models3")))
    similarities = {row: scorer.similarities(data.pairs) for row, scorer in scorers.items()}
    for start, encoder in starts(request).items():
        for scheme, how in (("10-fold", {"folds": 10}), ("cross-topic", {"leave_out": "subset"})):
            name = SURROGATE if start == DISTILLED and scheme == "10-fold" else start
            try:
                similarities[f"{name}, {scheme}"] = cross_validated(
                    request, start, encoder, f"afs-{scheme}", "afs", **how
                )[places]
            except FirthError as error:
                notes.append(f"Missing: {start}, {scheme} ({first_line(error)}).")

    figures, cells = published("sun", "table3"), []
    for row in dict.fromkeys([*similarities, *figures]):
        groups = list(data.subsets.values()) if "cross-topic" in row else folds
        for place, metric in enumerate((Metric.PEARSON, Metric.SPEARMAN)):
            paper, value = figures[row][place] if row in figures else None, None
            if row in similarities:
                parts = [(data.scores[rows], similarities[row][rows]) for rows in groups]
                value = figure(metric, parts, request.seed, data.name)
            cells.append(Cell(row, f"AFS, {metric}", value, paper))
    notes.append("Means over ten folds, for all models; cross-topic: over the three topics.")
    return cells, [*notes, *data.notes, _REMARK]


def table4(request: Request) -> Findings:
    """Measure models on the triplets of Wikipedia Sections, and starts that learned from them."""
    rows = models(request, published("sun", "models4"))
    for start, encoder in starts(request).items():
        name = SURROGATE if start == DISTILLED else start
        row = f"{name}, trained"
        rows.setdefault(name, encoder)
        rows[row] = tuned(
            request, start, encoder, "triplets", _TRIPLETS, objective="triplet",
        )  # fmt: skip
    figures = {row: {_TRIPLETS: value} for row, value in published("sun", "table4").items()}
    return measured(request, rows, [_TRIPLETS], figures)
