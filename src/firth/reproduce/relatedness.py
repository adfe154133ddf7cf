"""Tables of Abdalla et al. (STR-2021), measured on their pairs or on others (`tables.pairs`)."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.evaluation.baselines import Dice
from firth.evaluation.bootstrap import Estimate, bootstrap_seed
from firth.evaluation.files import read_pair_file
from firth.evaluation.metrics import Metric, measure
from firth.evaluation.sets import ALL, TASKS, EvaluationSet, evaluation_set, load_set, make_folds
from firth.reproduce.averaged import glove, read_vectors
from firth.reproduce.features import measure_features, open_pipeline, parse
from firth.reproduce.result import COUNT, Cell, Findings, Request, figure, loaded, opened, published
from firth.reproduce.sun import cross_validated, paper_models
from firth.run.errors import FirthError, InputError, first_line
from firth.text.types import Floats, Ints, PairScorer
from firth.text.words import normal_form, words

CROSS_VALIDATED, LEFT_OUT = "cross-validated", "leave-one-domain-out"
FOLDS = 5
_PAPER = "str-2021"
_PARTS = {"Formality": "Formality_", "ParaNMT": "ParaNMT_", "Wikipedia": "Wiki_"}
_HUB = {"BERT-base": "bert", "RoBERTa-base": "roberta"}


def table2(request: Request) -> Findings:
    """Count the pairs by source, with their length and word overlap."""
    data, figures = _pairs(request), published(_PAPER, "table2")
    groups: dict[str, Ints] = {"ALL": np.arange(len(data.rows)), **data.subsets}
    for name, start in _PARTS.items():
        parts = [rows for part, rows in groups.items() if part.startswith(start)]
        if name not in groups and parts:
            groups[name] = np.sort(np.concatenate(parts))
    pairs, cells = data.pairs, list[Cell]()
    dice = Dice().similarities(pairs)
    for name in dict.fromkeys([*figures, *groups]):
        rows, count = groups.get(name), figures.get(name)
        cells.append(Cell(name, COUNT, None if rows is None else len(rows), count))
        if rows is not None:
            texts = [text for row in rows.tolist() for text in pairs[row]]
            lengths = np.array([len(words(text)) for text in texts])
            cells += [
                Cell(name, "words", float(lengths.mean())),
                Cell(name, "Dice", float(100 * dice[rows].mean())),
                Cell(name, "mean score", float(100 * data.scores[rows].mean())),
            ]
    return cells, list(data.notes)


def table4(request: Request) -> Findings:
    """Correlate what may make sentences related with the scores."""
    data, figures, cells = _pairs(request), published(_PAPER, "table4"), []
    file = request.settings.vectors
    look_up, _ = read_vectors(file) if file else glove()
    tokens = parse(open_pipeline(), data)
    for name, line in measure_features(data, tokens, look_up, seed=request.seed).items():
        rho, pairs = figures.get(name, (None, None))
        cells += [Cell(name, "Spearman", line, rho), Cell(name, COUNT, line.n, pairs)]
    note = (
        f"Vectors: {file or 'GloVe, 6B, 50-d'}; the paper: word2vec of Google News. Its subjects "
        "and objects are those of an extractor of triples."
    )
    return cells, [note, *data.notes]


def table5(request: Request) -> Findings:
    """Measure models over five folds, and an encoder that was fine-tuned on the other folds."""
    figures, run, data = published(_PAPER, "table5"), request.given, _pairs(request)
    models: dict[str, str | PairScorer] = {"Lexical overlap (Dice)": "baseline:dice"}
    models |= {f"GloVe ({pool}, 6B 50d)": f"baseline:glove+{pool}" for pool in ("mean", "max")}
    if file := request.settings.vectors:
        for pool in ("mean", "max"):
            models[f"{Path(file).name} ({pool})"] = f"baseline:vectors={file}+{pool}"
    for title, name in _HUB.items():
        models |= {f"{title} ({p})": f"baseline:{name}+{p}" for p in ("mean", "max", "cls")}
    if run is not None:
        models |= {"firth's scorer": str(run.path), **paper_models(run)}
    scorers, notes = opened(models)
    base, tuned = _tuned(request, data, notes)
    folds = list(make_folds(data, FOLDS, request.seed).values())
    similarities = {name: scorer.similarities(data.pairs) for name, scorer in scorers.items()}
    if CROSS_VALIDATED in tuned:
        similarities[f"{base}, fine-tuned"] = tuned[CROSS_VALIDATED]
    shown = {
        row: by_domain(data, values, folds, request.seed)[ALL]
        for row, values in similarities.items()
    }
    rows = dict.fromkeys([*shown, *figures])
    cells = [Cell(row, "Spearman", shown.get(row), figures.get(row)) for row in rows]
    return cells, [*notes, *data.notes]


def table6(request: Request) -> Findings:
    """Measure Dice and a fine-tuned encoder by domain, with and without pairs of that domain."""
    figures, notes, data = published(_PAPER, "table6"), list[str](), _pairs(request)
    base, tuned = _tuned(request, data, notes)
    folds = list(make_folds(data, FOLDS, request.seed).values())
    columns = {"Dice": Dice().similarities(data.pairs), **tuned}
    measured = {}
    for name, values in columns.items():
        tests = [*data.subsets.values()] if name == LEFT_OUT else folds
        measured[name] = by_domain(data, values, tests, request.seed)
    cells = []
    for domain in dict.fromkeys([*figures, *data.subsets]):
        for place, name in enumerate(("Dice", CROSS_VALIDATED, LEFT_OUT)):
            paper = figures[domain][place] if domain in figures else None
            cells.append(Cell(domain, name, measured.get(name, {}).get(domain), paper))
    tuned_is = f"Fine-tuned: {base or 'nothing'}; in the paper RoBERTa-base."
    return cells, [tuned_is, *notes, *data.notes]


def bins(request: Request) -> Findings:
    """Correlate relatedness and similarity in each bin of similarity of STSb (section 4)."""
    data = _pairs(request)
    if "STS" in data.subsets:
        rows = [row for row in data.rows if row.subset == "STS"]
        data = evaluation_set(data.name, data.split, rows, data.metrics, data.source)
    rivals, notes = loaded(request, [f"sts-b:{split}" for split in ("train", "dev", "test")])
    paper = published(_PAPER, "bins")
    figures = compare_in_bins(data, rivals, len(paper), seed=request.seed)
    cells = [Cell(name, "Spearman", figure, paper.get(name)) for name, figure in figures.items()]
    shared = f"{figures[ALL].n} of {len(data.rows)} pairs are in STSb, too."
    return cells, [shared, "A pair without any similarity (0) is in no bin, as printed.", *notes]


def _pairs(request: Request) -> EvaluationSet:
    return load_set(request.settings.pairs, request.data_dir)


def by_domain(
    data: EvaluationSet, similarities: Floats, tests: Sequence[Ints], seed: int
) -> dict[str, Estimate]:
    """Return the mean rank correlation over folds, of all rows and of those of each domain.

    Models that learn nothing from the pairs are measured over the same folds (§6).
    """
    figures = {}
    for name, rows in {ALL: np.arange(len(data.rows)), **data.subsets}.items():
        parts = [part for test in tests if len(part := np.intersect1d(test, rows))]
        groups = [(data.scores[part], similarities[part]) for part in parts]
        figures[name] = figure(Metric.SPEARMAN, groups, seed, "relatedness", name)
    return figures


def compare_in_bins(
    first: EvaluationSet, rivals: Sequence[EvaluationSet], count: int = 5, *, seed: int = 13
) -> dict[str, Estimate]:
    """Correlate two scores of the same pairs within bins (0, 1], (1, 2] and so on of the second.

    Pairs are the same where their texts are, in any order, whatever the case and punctuation. Bins
    have equal width over the range of the second scores, published or that of the data. A pair
    with several second scores has their mean.
    """
    second: dict[tuple[str, ...], list[float]] = {}
    for row in (row for other in rivals for row in other.rows):
        second.setdefault(_key(row.texts), []).append(row.score)
    both = [(row.score, second[key]) for row in first.rows if (key := _key(row.texts)) in second]
    if len(both) < 2:
        raise InputError(
            f"{len(both)} of {len(first.rows)} pairs of {first.id} are in "
            f"{', '.join(other.id for other in rivals)}; expected the same pairs in both"
        )
    firsts = np.array([score for score, _ in both])
    seconds = np.array([float(np.mean(scores)) for _, scores in both])
    scales = [
        TASKS[rival.name].scale if rival.name in TASKS else (rival.scores.min(), rival.scores.max())
        for rival in rivals
    ]
    edges = np.linspace(min(s[0] for s in scales), max(s[1] for s in scales), count + 1)
    masks = {ALL: np.full(len(seconds), True)}
    masks |= {f"({a:g}, {b:g}]": (seconds > a) & (seconds <= b) for a, b in pairwise(edges)}
    figures = {}
    for name, mask in masks.items():
        drawn = bootstrap_seed(seed, "relatedness", "bins", name)
        figures[name] = measure(Metric.SPEARMAN, firsts[mask], seconds[mask], seed=drawn)
    return figures


def _key(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(map(normal_form, texts)))


def _tuned(
    request: Request, data: EvaluationSet, notes: list[str]
) -> tuple[str, dict[str, Floats]]:
    """Fine-tune an encoder on other rows, and return its name and similarities (§6.2).

    The similarities are by kind of folds: over random rows, and over domains. Notes say why there
    are none.
    """
    of_paper = paper_models(request.given) if request.given else {}
    names = [value for value in of_paper.values() if isinstance(value, str)]
    base = (*request.settings.start, *names, "roberta-base")[0]
    name, pairs = "/".join(Path(base).parts[-2:]), request.settings.pairs
    plans: dict[str, dict[str, Any]] = {CROSS_VALIDATED: {"folds": FOLDS}}
    if data.subsets:
        is_file = Path(pairs).is_file()
        column = read_pair_file(pairs).columns["subset"] if is_file else "subset"
        plans[LEFT_OUT] = {"leave_out": column}
    tuned = {}
    try:
        for kind, plan in plans.items():
            what = f"{data.name}/{kind}"
            tuned[kind] = cross_validated(request, name, base, what, pairs, **plan)
    except FirthError as error:
        notes.append(f"Nothing was fine-tuned: {first_line(error)}.")
        return "", {}
    return name, tuned
