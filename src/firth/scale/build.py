"""The scale stage: draw pairs of corpus sentences, and have them scored."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw
from firth.index import INDEX
from firth.index.index import Index
from firth.lexical.arrays import Floats, Ints
from firth.lexical.levels import Levels
from firth.lexical.scorer import TextPair
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome
from firth.scale import SCALE
from firth.scale.scale import FILE, Probability, Scale, Scorer
from firth.surrogate import SURROGATE

_ROWS = 8_192
_OTHERS = 4
"""Pairs of the other kinds are one to so many random ones."""
_FOLDS = 10
_YES, _NO = frozenset({"1", "1.0", "true", "yes"}), frozenset({"0", "0.0", "false", "no"})
Score = Callable[[Ints, Ints], Floats]


def build_scale(run: Run) -> Outcome:
    """Draw the scale of a run's vectors, where it has an index, and of its Origin.

    Origin as printed (`origin.method: paper`) is too slow to be asked about thousands of pairs, and
    is left out.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: There are fewer than two sentences, or the file of labels cannot be used.
    """
    reads, inputs = [CORPUS], {}
    settings = ["seed", "origin.method", "scale.pairs", "scale.origin_pairs"]
    if run.has(INDEX):
        reads.append(INDEX)
        if SURROGATE.name in run.manifest(INDEX).inputs:
            reads.append(SURROGATE)
    if _asks_origin(run):
        reads += [stage for stage in Origin.reads(run) if stage not in reads]
        settings += [name for name in Origin.settings(run) if name not in settings]
    if run.config.scale.labels is not None:
        path = Path(run.config.scale.labels)
        read_labels(path)
        inputs["labels"] = fingerprint_file(path)
    return run.build(
        SCALE, _build, reads=reads, settings=settings, places=["scale.labels"], inputs=inputs
    )


def _asks_origin(run: Run) -> bool:
    built = all(run.has(stage) for stage in Origin.reads(run))
    return run.config.origin.method is Method.ENSEMBLE and built


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus = Corpus.open(run)
    if len(corpus) < 2:
        raise InputError(f"{run.path}: one sentence; expected two at least, to be compared")
    config, seed = run.config.scale, derive_seed(run.config.seed, "scale")
    labelled = read_labels(Path(config.labels)) if config.labels is not None else None
    scorers: dict[str, Scale] = {}
    if run.has(INDEX):
        index = Index.open(run)

        def cosines(one: Ints, two: Ints) -> Floats:
            return pair_cosines(index, one, two)

        def encoded(pairs: list[TextPair]) -> Floats:
            sides = [index.encode([pair[side] for pair in pairs]) for side in (0, 1)]
            found: Floats = np.einsum("nd,nd->n", *sides).astype(np.float64)
            return found

        scorers[Scorer.VECTORS] = _scale(corpus, config.pairs, seed, cosines, encoded, labelled)
    if _asks_origin(run):
        origin = Origin.open(run)

        def similarities(one: Ints, two: Ints) -> Floats:
            pairs = list(zip(corpus.texts(one), corpus.texts(two), strict=True))
            return origin.similarities(pairs, "Scale: Origin")

        scorers[Scorer.ORIGIN] = _scale(
            corpus, config.origin_pairs, seed, similarities, origin.similarities, labelled
        )
    if not scorers:
        raise InputError(
            f"{run.path}: has neither an index nor an Origin that scores many pairs. Build one: "
            f"{INDEX.command} {run.path}"
        )
    found = {name: scale.as_dict() for name, scale in scorers.items()}
    write_json(workspace / FILE, {"scorers": found})
    return {
        name: {
            "pairs": {kind.value: levels.n for kind, levels in scale.levels.items()},
            "rate": _rates(scale),
            "judged": scale.probability.n if scale.probability else 0,
        }
        for name, scale in scorers.items()
    }


def _rates(scale: Scale) -> dict[str, float]:
    """The thresholds of some false-match rates, in per cent, that the pairs can tell."""
    n = scale.levels[Pairs.RANDOM].n
    return {
        f"{100 * rate:g} %": scale.threshold(rate)
        for rate in (0.1, 0.01, 0.001, 0.0001)
        if rate * (n + 1) >= 1
    }


def _scale(
    corpus: Corpus,
    most: int,
    seed: int,
    score: Score,
    score_texts: Callable[[list[TextPair]], Floats],
    labelled: "tuple[list[TextPair], Ints] | None",
) -> Scale:
    levels = {}
    for kind in Pairs:
        one, two = draw(corpus, kind, most if kind is Pairs.RANDOM else most // _OTHERS, seed)
        if len(one):
            levels[kind] = Levels.of(score(one, two))
    probability = None
    if labelled is not None:
        pairs, labels = labelled
        probability = fit_probability(score_texts(pairs), labels, seed)
    return Scale(levels, probability)


def pair_cosines(index: Index, one: Ints, two: Ints) -> Floats:
    """Cosines of stored sentences, pair by pair."""
    scores = np.empty(len(one))
    for start in range(0, len(one), _ROWS):
        at = slice(start, start + _ROWS)
        left, right = (index.vectors[side[at]].astype(np.float32) for side in (one, two))
        scores[at] = np.einsum("nd,nd->n", left, right)
    return np.clip(scores, -1.0, 1.0)


def read_labels(path: Path) -> tuple[list[TextPair], Ints]:
    """Pairs and what people said of them, from a TSV file: two sentences, and 1 or 0.

    Raises:
        InputError: The file cannot be read, all its broken lines at once, or one label is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    pairs, labels, problems = [], [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        label = cells[2].lower() if len(cells) > 2 else ""
        if label not in _YES | _NO or not all(cells[:2]):
            problems.append(f"line {number}: expected two sentences and 1 or 0, got {line!r:.80}")
            continue
        pairs.append((cells[0], cells[1]))
        labels.append(int(label in _YES))
    if problems:
        more = [f"and {len(problems) - 10} more"] if len(problems) > 10 else []
        raise InputError(f"{path}:\n  " + "\n  ".join([*problems[:10], *more]))
    few = min(labels.count(1), labels.count(0)) if labels else 0
    if few < 2:
        raise InputError(f"{path}: {few} pairs of one label; expected 2 of either at least")
    return pairs, np.array(labels, np.int64)


def fit_probability(scores: Floats, labels: Ints, seed: int) -> Probability:
    """The logistic curve of a match by its score (Platt 1999), and how well it does left-out pairs.

    Raises:
        InputError: The pairs that match do not score higher than the others.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = min(_FOLDS, int(labels.sum()), int((1 - labels).sum()))
    rows = scores[:, None]
    curve = LogisticRegression(C=100.0)  # all but unregularised, yet finite where labels separate
    curve.fit(rows, labels)
    slope, intercept = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    if slope <= 0:
        raise InputError(
            "the labels: pairs that match score no higher than the others. Expected 1 for a match"
        )
    shuffled = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
    guesses = cross_val_predict(curve, rows, labels, cv=shuffled, method="predict_proba")[:, 1]
    share = labels.mean()
    return Probability(
        round(slope, 6),
        round(intercept, 6),
        len(labels),
        int(labels.sum()),
        round(float(np.mean((guesses - labels) ** 2)), 6),
        round(float(share * (1 - share)), 6),
    )
