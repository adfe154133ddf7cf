"""Tables of Yuan & Zhang (CBOS) and of Abdalla et al. (STR-2021)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from firth.encoders.folder import PretrainedFiles
from firth.evaluation.baselines import Dice
from firth.evaluation.sets import EvaluationSet, load_set
from firth.ratings.design import design_tuples
from firth.ratings.features import measure_features, open_pipeline, vectors_of_run
from firth.ratings.models import CROSS_VALIDATED, LEFT_OUT, compare_in_bins, fine_tune, study_models
from firth.ratings.reliability import split_half
from firth.ratings.simulate import calibrate_noise, simulate_judgements
from firth.reproduce.averaged import glove
from firth.reproduce.baselines import BASELINES, build_baseline, load_baseline, stage_of
from firth.reproduce.result import (
    COUNT,
    PEARSON,
    Cell,
    Columns,
    Request,
    figure,
    opened,
    published,
)
from firth.reproduce.settings import NeighborSettings, ReproduceSettings
from firth.reproduce.sun import paper_models
from firth.run.errors import FirthError, InputError, first_line
from firth.run.stage import Stage
from firth.text.arrays import Floats, Ints
from firth.text.pairs import PairScorer
from firth.text.words import words

Findings = tuple[list[Cell], list[str]]
SYSTEMS = ("skip-gram", "cbow", "skip-thought", "siamese-cbow", "cbos")
_VALUES = ("1", "2", "3", "4", "5")
"""Of k and m in the figures of the CBOS paper."""
_STR = "str-2021"
_PARTS = {"Formality": "Formality_", "ParaNMT": "ParaNMT_", "Wikipedia": "Wiki_"}
_SHORTEST, _LONGEST = 5, 25
_ROUNDING = 6e-4
"""Published scores have three decimals."""
_HUB = {"BERT-base": "bert", "RoBERTa-base": "roberta"}


# --- CBOS --------------------------------------------------------------------------------------


def cbos_table1(request: Request) -> Findings:
    """Train five systems on the run's corpus, and measure Pearson on 20 sets of STS."""
    figures = published("cbos", "table1")
    data, notes = _sts_sets(request, {key.split()[0] for key in figures})
    cells, columns = [], {}
    for name in SYSTEMS:
        build_baseline(request.run, name)
        columns[name] = _by_subset(load_baseline(name, request.run.folder(stage_of(name))), data)
    there = [key for key in figures if key in columns[SYSTEMS[0]]]
    missing = [key for key in figures if key not in there]
    notes += [f"Missing: {', '.join(missing)}."] if missing else []
    for key in there:
        for name in SYSTEMS:
            value = figure(PEARSON, [columns[name][key]], request.seed, key)
            cells.append(Cell(key, name, value, figures[key][name]))
    for name in SYSTEMS:
        value = figure(PEARSON, [columns[name][key] for key in there], request.seed, "mean")
        paper = round(float(np.mean([figures[key][name] for key in there])), 2)
        cells.append(Cell(f"mean of {len(there)}", name, value, paper))
    return cells, [*notes, "The paper's systems learned from the Toronto Book Corpus."]


def cbos_k(request: Request) -> Findings:
    """Measure CBOS for k = 1 to 5 neighbors on each side, with m = 2 (Figure 3)."""
    return _sweep(request, "window", {"negatives": 2})


def cbos_m(request: Request) -> Findings:
    """Measure CBOS for m = 1 to 5 random sentences, with k = 1 (Figure 4)."""
    return _sweep(request, "negatives", {"window": 1})


def _sweep(request: Request, field: str, fixed: Mapping[str, int]) -> Findings:
    run, letter = request.run, request.table[-1]
    given_settings = run.wing("reproduce", ReproduceSettings).cbos.model_dump()
    data, notes = _sts_sets(request, {"sts14"})
    cells = []
    for value in request.sizes(_VALUES, 100):
        settings = NeighborSettings(**{**given_settings, **fixed, field: value})
        stage = Stage(f"reproduce/{request.table}/{value}", 1, "", "firth reproduce table")
        build_baseline(run, "cbos", settings, stage)
        columns = _by_subset(load_baseline("cbos", run.folder(stage)), data)
        for key, both in columns.items():
            cells.append(
                Cell(f"{letter} = {value}", key, figure(PEARSON, [both], request.seed, key))
            )
        mean = figure(PEARSON, list(columns.values()), request.seed, "mean")
        cells.append(Cell(f"{letter} = {value}", "mean", mean))
    return cells, [*notes, "The paper has curves without figures; it takes k = 1 and m = 2."]


def _sts_sets(request: Request, names: set[str]) -> tuple[list[EvaluationSet], list[str]]:
    there, notes = [], []
    for name in sorted(names):
        try:
            there.append(load_set(name, request.data_dir))
        except FirthError as error:
            notes.append(f"Missing: {first_line(error)}.")
    if not there:
        raise InputError(f"{request.table}: no set of the table is there. {notes[0]}")
    return there, notes


def _by_subset(scorer: PairScorer, sets: list[EvaluationSet]) -> dict[str, Columns]:
    """Return `sts12 MSRpar` → human scores and similarities."""
    results: dict[str, Columns] = {}
    for data in sets:
        similarities = scorer.similarities(data.pairs)
        for subset, rows in data.subsets.items():
            results[f"{data.name} {subset}"] = data.scores[rows], similarities[rows]
    return results


# --- STR-2021 ----------------------------------------------------------------------------------


def str_table2(request: Request) -> Findings:
    """Count the pairs of STR-2021 by source, with their length and word overlap."""
    data, figures = load_set(_STR, request.data_dir), published(_STR, "table2")
    groups: dict[str, Ints] = {"ALL": np.arange(len(data.rows)), **data.subsets}
    for name, start in _PARTS.items():
        parts = [rows for part, rows in groups.items() if part.startswith(start)]
        if name not in groups and parts:
            groups[name] = np.sort(np.concatenate(parts))
    dice, cells = Dice().similarities(data.pairs), []
    for name, count in figures.items():
        rows = groups.get(name)
        if rows is None:
            cells.append(Cell(name, COUNT, None, count))
            continue
        texts = [text for row in rows.tolist() for text in data.pairs[row]]
        lengths = np.array([len(words(text)) for text in texts])
        within = (lengths >= _SHORTEST) & (lengths <= _LONGEST)
        cells += [
            Cell(name, COUNT, len(rows), count),
            Cell(name, "words", float(lengths.mean())),
            Cell(name, "Dice", float(100 * dice[rows].mean())),
            Cell(name, "mean score", float(100 * data.scores[rows].mean())),
            Cell(name, "5 to 25 words", float(100 * within.mean())),
        ]
    return cells, ["The paper counts tokens: some sentences are outside its 5 to 25.", *data.notes]


def str_table3(request: Request) -> Findings:
    """Design the tuples again, read off the scores what they say, and simulate the rest."""
    data, paper = load_set(_STR, request.data_dir), published(_STR, "table3")
    scores, seed = data.scores, request.seed
    tuples, answers = design_tuples(len(scores), seed=seed), int(paper["answers_a_tuple"])
    steps = 2 * int(paper["tuples_a_pair"]) * answers
    noise = calibrate_noise(scores, tuples, answers, paper["reliability"] / 100, seed=seed)
    judged = simulate_judgements(scores, tuples, answers, noise, seed=seed)
    halves, _ = split_half(judged, seed=seed)
    whole = float(np.mean(np.abs(scores * steps - np.round(scores * steps)) < steps * _ROUNDING))
    counts = {
        "pairs": (len(scores), paper["pairs"]),
        "tuples": (len(tuples), paper["tuples"]),
        "tuples a pair": (4 * len(tuples) // len(scores), paper["tuples_a_pair"]),
        "annotations": (answers * len(tuples), paper["annotations"]),
        "annotators": (None, paper["annotators"]),
    }
    cells = [Cell(row, COUNT, ours, theirs) for row, (ours, theirs) in counts.items()]
    cells += [
        Cell(f"scores that are multiples of 1/{steps}", "share", 100 * whole),
        Cell("reliability", "share", 100 * float(np.mean(halves)), paper["reliability"]),
    ]
    notes = [
        "The annotations are not public. The tuples are designed by the same rules, and simulated "
        f"annotators see the scores with noise of {noise:.3f}, chosen to give the reliability.",
    ]
    return cells, [*notes, *data.notes]


def str_table4(request: Request) -> Findings:
    """Correlate what may make sentences related with the scores."""
    data, figures = load_set(_STR, request.data_dir), published(_STR, "table4")
    if request.settings.vectors == "run":
        vectors = vectors_of_run(request.run)
    else:
        look_up, _ = glove()

        def vectors(word: str) -> Floats | None:
            vector = look_up(word)
            vector = look_up(word.lower()) if vector is None else vector
            return None if vector is None else np.asarray(vector, np.float64)

    cells = []
    for line in measure_features(data, vectors, open_pipeline(), seed=request.seed).lines:
        rho, pairs = figures.get(line.name, (None, None))
        cells += [Cell(line.name, "Spearman", line.spearman, rho),
                  Cell(line.name, COUNT, line.spearman.n, pairs)]  # fmt: skip
    notes = [
        f"Vectors: {request.settings.vectors}; the paper: word2vec of Google News. Its subjects "
        "and objects are those of an extractor of triples.",
    ]
    return cells, [*notes, *data.notes]


def str_bins(request: Request) -> Findings:
    """Correlate relatedness and similarity in each bin of similarity of STSb (section 4)."""
    data, others, notes = load_set(_STR, request.data_dir), [], []
    for split in ("train", "dev", "test"):
        try:
            others.append(load_set(f"sts-b:{split}", request.data_dir))
        except FirthError as error:
            notes.append(f"Missing: {first_line(error)}.")
    if not others:
        raise InputError(f"{request.table}: no split of STSb is there. {notes[0]}")
    figures = published(_STR, "bins")
    bins = compare_in_bins(data, others, len(figures), domain="STS", seed=request.seed)
    cells = [Cell(name, "Spearman", one, figures.get(name)) for name, one in bins.figures.items()]
    return cells, [f"{bins.shared} of {bins.total} pairs are in STSb.", *notes]


def str_table5(request: Request) -> Findings:
    """Measure models over five folds, and an encoder that was fine-tuned on the other folds."""
    figures, run = published(_STR, "table5"), request.given
    models: dict[str, str | PairScorer] = {"Lexical overlap (Dice)": "baseline:dice"}
    models |= {f"GloVe ({pool}, 6B 50d)": f"baseline:glove+{pool}" for pool in ("mean", "max")}
    models |= {f"{title} ({pool})": f"baseline:{name}+{pool}"
               for title, name in _HUB.items() for pool in ("mean", "max", "cls")}  # fmt: skip
    if run is not None:
        models |= {f"{name} of the run": f"baseline:{name}@{run.path}"
                   for name, one in BASELINES.items()
                   if one.trained and run.has(stage_of(name))}  # fmt: skip
        models |= {"firth's scorer": str(run.path), **paper_models(run)}
    scorers, notes = opened(models)
    base, tuned, data = _tuned(request, notes)
    study = study_models(data, scorers, {name: tuned[name] for name in tuned if name != LEFT_OUT},
                         seed=request.seed)  # fmt: skip
    shown = {model: one["all"] for model, one in study.figures.items()}
    if CROSS_VALIDATED in shown:
        shown[f"{base}, fine-tuned"] = shown.pop(CROSS_VALIDATED)
    cells = [Cell(row, "Spearman", one, figures.get(row)) for row, one in shown.items()]
    cells += [Cell(row, "Spearman", None, rho) for row, rho in figures.items() if row not in shown]
    return cells, [*notes, *data.notes]


def str_table6(request: Request) -> Findings:
    """Measure Dice and a fine-tuned encoder by domain, with and without pairs of that domain."""
    figures, notes = published(_STR, "table6"), list[str]()
    base, tuned, data = _tuned(request, notes)
    study = study_models(data, {"Dice": Dice()}, tuned, seed=request.seed)
    cells = [
        Cell(domain, name, study.figures.get(name, {}).get(domain), figures[domain][place])
        for domain in figures
        for place, name in enumerate(("Dice", CROSS_VALIDATED, LEFT_OUT))
    ]
    tuned_is = f"Fine-tuned: {base or 'nothing'}; in the paper RoBERTa-base."
    return cells, [tuned_is, *notes, *data.notes]


def _tuned(request: Request, notes: list[str]) -> tuple[str, dict[str, Floats], EvaluationSet]:
    """Return a base, and its similarities after fine-tuning on other rows; none where it fails."""
    data = load_set(_STR, request.data_dir)
    named = request.settings.start[:1] or tuple(
        str(one) for one in (paper_models(request.given) if request.given else {}).values()
        if isinstance(one, str)
    ) or ("roberta-base",)  # fmt: skip
    base = named[0]
    name = "/".join(Path(base).parts[-2:])
    try:
        PretrainedFiles.find(base)
        out = request.models / name.replace("/", "-") / "str-2021"
        data, tuned = fine_tune(base, _STR, out, data_dir=request.data_dir, seed=request.seed)
    except FirthError as error:
        notes.append(f"Nothing was fine-tuned: {first_line(error)}.")
        return "", {}, data
    return name, tuned, data
