"""Tables 2, 3, 4 and §4 of Abdalla et al. (2021): what STR-2021 is made of; none needs a run."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.baselines.dice import Dice
from firth.evaluate.metrics import Estimate
from firth.evaluate.rows import EvaluationSet
from firth.lexical.words import words
from firth.relatedness.bins import compare_in_bins
from firth.relatedness.bws.design import design_tuples, measure_balance
from firth.relatedness.bws.reliability import split_half
from firth.relatedness.bws.simulate import Crowd, calibrate_noise, simulate_judgements
from firth.relatedness.features import DEFAULT_VECTORS, measure_features
from firth.relatedness.scored import load_pairs
from firth.reproduce.options import Request, need_extras
from firth.reproduce.published import STR_BINS, STR_TABLE2, STR_TABLE3, STR_TABLE4
from firth.reproduce.report import Lines, Report, Row, row
from firth.run.errors import FirthError, InputError

NAME = "str-2021"
RESAMPLES = 1_000
"""Bootstrap resamples of an interval."""
_FILE = Path("STR-2021") / "pairs.tsv"
_PARTS = {"Formality": "Formality_", "ParaNMT": "ParaNMT_", "Wikipedia": "Wiki_"}
_SHORTEST, _LONGEST = 5, 25
_HISTOGRAM = 20
_ROUNDING = 6e-4
"""Released scores have three decimals."""
_SPLITS = ("sts-b:train", "sts-b:dev", "sts-b:test")


def str_table2(request: Request) -> Report:
    """Count pairs by source; raise `InputError` where STR-2021 cannot be had."""
    data = _with_parts(request)
    groups = _groups(data)
    rows = [_kind(name, data, groups.get(name)) for name in STR_TABLE2]
    edges = np.linspace(0, 1, _HISTOGRAM + 1)
    scores = np.array([one.score for one in data.rows])
    whole = [name for name in STR_TABLE2 if name in groups and not name.endswith(("_pp", "_r"))]
    counts = {name: np.histogram(scores[groups[name]], edges)[0].astype(float).tolist()
              for name in whole}  # fmt: skip
    plot = Lines("score", "pairs (Figure 1)", [f"{edge:.2f}" for edge in edges[:-1]], counts)
    columns = ("kind of pairs", "pairs", "pairs, printed", "words a sentence", "Dice (%)",
               "mean score (%)", "5 to 25 words (%)")  # fmt: skip
    missing = [name for name in STR_TABLE2 if name not in groups]
    notes = (
        "Words are runs of letters and digits; the paper counts tokens, so that some sentences lie "
        "outside its 5 to 25.",
        "The plot is Figure 1: a histogram of the scores.",
        *(f"missing: {name}, not named in {data.source}" for name in missing),
        *data.notes,
    )
    details = _known(data) | {"histogram": counts}
    return Report(request.name, "STR-2021, Table 2", columns, rows, plot, notes, details)


def str_table3(request: Request) -> Report:
    """The annotations, which were not released: design the tuples anew, read what the scores tell,
    and simulate the rest.

    Raises:
        InputError: STR-2021 cannot be had.
    """
    data, printed, seed = pairs_of(request), STR_TABLE3, request.seed
    scores = np.array([one.score for one in data.rows])
    tuples, answers = design_tuples(len(scores), seed=seed), printed.answers_a_tuple
    steps = 2 * printed.tuples_a_pair * answers
    crowd = Crowd(noise=0.0, annotators=printed.annotators)
    noise = calibrate_noise(scores, tuples, answers, crowd, printed.reliability / 100, seed=seed)
    judged, _ = simulate_judgements(
        scores, tuples, answers, Crowd(noise, annotators=printed.annotators), seed=seed
    )
    halves = split_half(judged, seed=seed)
    whole = float(np.mean(np.abs(scores * steps - np.round(scores * steps)) < steps * _ROUNDING))
    rows = (
        row("sentence pairs", len(scores), printed.pairs),
        row("tuples, 2 a pair, designed anew", len(tuples), printed.tuples),
        row("tuples a pair stands in, mean", 4 * len(tuples) / len(scores), printed.tuples_a_pair),
        row(f"scores that are multiples of 1/{steps} (%)", 100 * whole, None),
        row("annotations, two a tuple", answers * len(tuples), printed.annotations),
        row("annotators", None, printed.annotators),
        row("split-half reliability, simulated to be the printed one",
            100 * float(np.mean(halves.spearman)), printed.reliability),
    )  # fmt: skip
    plot = Lines.compared("", "count", [
        ("pairs", float(len(scores)), float(printed.pairs)),
        ("tuples", float(len(tuples)), float(printed.tuples)),
        ("annotations", float(answers * len(tuples)), float(printed.annotations)),
    ])  # fmt: skip
    notes = (
        "The annotations were not released: who answered what, and so reliability, cannot be "
        "computed. Tuples are ours, by the same rules.",
        f"A score by counting of {steps // 2} judgements is a multiple of 1/{steps}: that so many "
        "scores are shows two answers to each of eight tuples, the 8 under annotations per tuple "
        "being tuples a pair.",
        "The reliability is circular: simulated annotators see the released scores with normal "
        f"noise of {noise:.3f}, chosen so that it is the printed one. It shows what noise that is, "
        "and confirms nothing.",
        *data.notes,
    )
    details = _known(data) | {
        "seed": seed,
        "noise": noise,
        "balance": measure_balance(tuples, len(scores)).to_dict(),
        "split_half": {"splits": len(halves.spearman)}
        | {name: [float(np.mean(values)), float(np.std(values))]
           for name, values in (("spearman", halves.spearman), ("pearson", halves.pearson))},
    }  # fmt: skip
    columns = ("annotation statistics", "ours", "printed")
    return Report(request.name, "STR-2021, Table 3", columns, rows, plot, notes, details)


def str_table4(request: Request) -> Report:
    """Correlate what may make sentences related with the scores.

    Raises:
        InputError: STR-2021, the vectors or an English spaCy pipeline cannot be had.
        MissingExtraError: spaCy, or the GloVe vectors where no others are named, is not installed.
    """
    vectors = request.options.vectors
    need_extras(f"firth reproduce {request.name}", "relatedness", *([] if vectors else ["glove"]))
    found = measure_features(
        pairs_of(request), vectors or DEFAULT_VECTORS, seed=request.seed, resamples=RESAMPLES
    )
    shown = [line for line in found.lines if line.shown or line.name in STR_TABLE4]
    printed = [STR_TABLE4.get(line.name, (None, None)) for line in shown]
    rows = [
        row(line.name, line.figure.value, rho, line.figure.n, n)
        for line, (rho, n) in zip(shown, printed, strict=True)
    ]
    lines = [(line.name, line.figure, rho) for line, (rho, _) in zip(shown, printed, strict=True)]
    plot = Lines.compared("feature", "Spearman (%)", lines)
    notes = (
        f"Ours: {found.settings['vectors_name']}, spaCy pipeline {found.settings['spacy']}. The "
        "paper: word2vec of Google News, a spaCy of 2020 whose pipeline it does not name.",
        "Only words with a vector count. Google News has none for a, and, of, to: that fits the "
        "paper's fewer pairs of ADP and its lack of CCONJ and PART. spaCy before its version 3 "
        "tagged my and his as DET, which fits its fewer pairs of PRON.",
        "The paper's subjects and objects are from an extractor of subject-verb-object triples: "
        "compare those of a triple. Subject and Object are all words so labelled.",
        *found.data.notes,
    )
    details = _known(found.data) | {
        "settings": dict(found.settings),
        "features": {line.name: asdict(line.figure) for line in found.lines},
    }
    columns = ("Spearman (%)", "ours", "printed", "pairs", "pairs, printed")
    return Report(request.name, "STR-2021, Table 4", columns, rows, plot, notes, details)


def str_bins(request: Request) -> Report:
    """Find the pairs from STS in the STS benchmark, and correlate both scores in each of its bins.

    Raises:
        InputError: STR-2021 or the STS benchmark cannot be had.
    """
    data = pairs_of(request)
    similar: list[EvaluationSet] = []
    for name in _SPLITS:
        with suppress(FirthError):
            similar.append(load_pairs(name, request.data_dir))
    if not similar:
        raise InputError(
            "the STS benchmark is nowhere to be found. Give a folder that holds STSb/pairs.tsv "
            "(--data-dir DIR), or a connection to the hub"
        )
    found = compare_in_bins(
        data, similar, len(STR_BINS), only="STS", seed=request.seed, resamples=RESAMPLES
    )
    figures: Mapping[str, Estimate] = dict(found.figures)
    rows = [row(name, one.value, STR_BINS.get(name), one.n) for name, one in figures.items()]
    both = zip(STR_BINS.items(), found.figures[1:], strict=True)
    lines = [(name, ours, printed) for (name, printed), (_, ours) in both]
    plot = Lines.compared("bin of similarity", "Spearman (%)", lines)
    notes = (
        f"{found.shared} of {found.asked} pairs were found in the STS benchmark by their texts.",
        "missing: the paper gives no figure over all bins.",
        *data.notes,
    )
    details = _known(data) | {"bins": {name: asdict(one) for name, one in figures.items()}}
    columns = ("STS score", "Spearman (%)", "printed", "pairs")
    title = "STR-2021, §4: relatedness and similarity"
    return Report(request.name, title, columns, rows, plot, notes, details)


def pairs_of(request: Request) -> EvaluationSet:
    """STR-2021, its domains as subtasks; raise `InputError` where it cannot be had."""
    return load_pairs(NAME, request.data_dir)


def _with_parts(request: Request) -> EvaluationSet:
    """STR-2021 with parts of domains (`Wiki_pp`) as subtasks, where the file names them."""
    path = (request.data_dir or Path()) / _FILE
    if request.data_dir is not None and path.is_file():
        with path.open(encoding="utf-8") as file:
            if "subset" in file.readline().rstrip("\r\n").split("\t"):
                return load_pairs(path, domain="subset")
    return pairs_of(request)


def _groups(data: EvaluationSet) -> dict[str, npt.NDArray[np.int64]]:
    """Kind → rows: the parts of a source together are the source."""
    found = {("ALL" if name == "all" else name): rows for name, rows in data.subtasks.items()}
    for name, start in _PARTS.items():
        parts = [rows for part, rows in found.items() if part.startswith(start)]
        if name not in found and parts:
            found[name] = np.sort(np.concatenate(parts))
    return found


def _kind(name: str, data: EvaluationSet, rows: npt.NDArray[np.int64] | None) -> Row:
    if rows is None:
        return row(name, None, STR_TABLE2[name])
    pairs = [data.pairs[number] for number in rows]
    lengths = np.array([len(words(text)) for pair in pairs for text in pair])
    within = (lengths >= _SHORTEST) & (lengths <= _LONGEST)
    dice, score = Dice().similarities(pairs), [data.rows[number].score for number in rows]
    return row(name, len(rows), STR_TABLE2[name], float(lengths.mean()), float(100 * dice.mean()),
               float(100 * np.mean(score)), float(100 * within.mean()))  # fmt: skip


def _known(data: EvaluationSet) -> dict[str, Any]:
    return {"source": data.source, "fingerprint": data.fingerprint}
