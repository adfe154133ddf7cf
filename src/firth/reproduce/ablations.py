"""Tables 5 to 8 and sections 5.4 and 5.6 of Sun et al., by the method as printed (`firth.paper`).

Tables 6, 8 and section 5.4 are cut from one computation of the terms of Eq. 3. All figures are rank
correlations with the human scores of STSb.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.metrics import Metric, measure, measure_difference
from firth.evaluation.sets import EvaluationSet, load_set
from firth.paper.contexts import choose
from firth.paper.fits import EQUAL, TERMS, ContextSet, PairProfile
from firth.paper.harvest import HARVEST
from firth.paper.origin import Origin, build_origin
from firth.paper.settings import Measure, PaperSettings, SurrogateSettings, Weights
from firth.paper.surrogate import start_of, train_surrogate
from firth.reproduce.result import Cell, Findings, Request, VariedRun, published
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import Stage
from firth.text.types import Floats, Ints, TextPair

STSB, CHANGE, CENTERED = "STSb", "change", "centered"
_MEASURES: tuple[Measure, Measure] = ("cosine", "centered")
_SIZES6 = ("4", "8", "16", "20", "32", "64", "100")
_SIZES5 = ("1%", "10%", "100%")
_FEWEST_PAIRS = 30
_NAMES = dict(
    zip(TERMS, ("discriminative", "sentence", "left-context", "right-context"), strict=True)
)
FULL = "Full"
_BATCH = 16
"""Pairs whose terms are computed together."""
Kept = tuple[Ints, Ints]
"""The indices of both shortlists of a pair that make C_{s1} and C_{s2}, best first."""


@dataclass(frozen=True, eq=False)
class Rated:
    """The rated pairs of an ablation: STSb test, or a sample. The seed decides the resamples."""

    data: EvaluationSet
    seed: int

    @classmethod
    def of(cls, request: Request) -> "Rated":
        """Load the pairs; raise `InputError` where they are missing."""
        return cls(request.sampled(load_set("sts-b", request.data_dir)), request.seed)

    def spearman(self, similarities: Floats) -> Estimate:
        """Return the rank correlation with the human scores."""
        return measure(Metric.SPEARMAN, self.data.scores, similarities, seed=self.seed)

    def change(
        self, row: str, base: str, results: Mapping[str, Floats], figures: Mapping[str, float]
    ) -> Cell:
        """Return the figure of a row minus that of another on the same pairs, also as published."""
        first, second = ((self.data.scores, results[name]) for name in (row, base))
        value = measure_difference(Metric.SPEARMAN, first, second, seed=self.seed)
        both = {row, base} <= figures.keys()
        return Cell(row, CHANGE, value, round(figures[row] - figures[base], 2) if both else None)

    def overlap(self, run: Run) -> list[Cell]:
        """Return the figures of word overlap, with the counts of a run's corpus."""
        scorers = {"tf-idf": open_baseline("tfidf", run), "Dice": Dice()}
        return [
            Cell(name, STSB, self.spearman(scorer.similarities(self.data.pairs)))
            for name, scorer in scorers.items()
        ]


def shortlist_profiles(origin: Origin, pairs: Sequence[TextPair]) -> list[PairProfile]:
    """Compute the terms of each pair over both whole shortlists."""
    profiles = []
    for start in progress(range(0, len(pairs), _BATCH), "Terms of Eq. 3"):
        batch = pairs[start : start + _BATCH]
        sentences = sorted({sentence for pair in batch for sentence in pair})
        lists = dict(zip(sentences, origin.candidates.shortlists(sentences), strict=True))
        crossed = [(s, lists[of]) for a, b in batch for s, of in ((a, a), (b, b), (a, b), (b, a))]
        terms = iter(origin.terms(crossed))
        for a, b in batch:
            sets = [ContextSet(s, lists[s], next(terms)) for s in (a, b)]
            profiles.append(PairProfile(sets[0], sets[1], next(terms), next(terms)))
    return profiles


class Fits:
    """The terms of Eq. 3 of rated pairs, over shortlists of contexts, and what is cut from them.

    `contexts` is the largest |C_s|. Shortlists are twice as long; random ones are not.
    """

    def __init__(self, rated: Rated, run: Run, contexts: int, selection: str = "two-step") -> None:
        length = contexts if selection == "random" else 2 * contexts
        changes = {"size": contexts, "shortlist": length, "selection": selection}
        varied = VariedRun.of(run, {"paper": {"contexts": changes}})
        # All terms, whatever weights the run has.
        every_term = varied.changed({"paper": {"fits": {"weights": EQUAL.model_dump()}}})
        self.profiles = shortlist_profiles(Origin.open(every_term), rated.data.pairs)
        self.rated, self.origin, self.size = rated, Origin.open(varied), contexts
        self.weights: Weights = self.origin.weights

    def chosen_sets(self, weights: Weights | None = None, *, diverse: bool = True) -> list[Kept]:
        """Return the indices of both shortlists of each pair that make C_{s1} and C_{s2}."""
        contexts = self.origin.settings.contexts.model_copy(update={"diverse": diverse})
        chosen: dict[str, Ints] = {}
        for side in (side for pair in self.profiles for side in (pair.set1, pair.set2)):
            if side.sentence not in chosen:
                chosen[side.sentence] = choose(
                    self.origin.corpus,
                    self.origin.index,
                    side.positions,
                    side.terms,
                    contexts,
                    weights or self.weights,
                )
        return [(chosen[pair.set1.sentence], chosen[pair.set2.sentence]) for pair in self.profiles]

    def similarities(
        self,
        chosen_sets: Sequence[Kept],
        measure: Measure = "cosine",
        size: int | None = None,
        weights: Weights | None = None,
    ) -> Floats:
        """Return Eq. 4 over the first `size` contexts of each sentence."""
        size, weights = size or self.size, weights or self.weights
        cut = (
            pair.cut(first[:size], second[:size])
            for pair, (first, second) in zip(self.profiles, chosen_sets, strict=True)
        )
        return np.array([profile.similarity(weights, measure) for profile in cut])

    def cells(
        self,
        row: str,
        chosen_sets: Sequence[Kept],
        paper: float | None = None,
        *,
        size: int | None = None,
        weights: Weights | None = None,
    ) -> list[Cell]:
        """Return the figures of a row: Eq. 4 as printed, and centered."""
        printed, centered = (
            self.rated.spearman(self.similarities(chosen_sets, measure, size, weights))
            for measure in _MEASURES
        )
        return [Cell(row, STSB, printed, paper), Cell(row, CENTERED, centered)]


def table5(request: Request) -> Findings:
    """Measure Origin for growing corpora; each size has a run with models of its size.

    The runs are in `RUN/reproduce/sizes`. Each has held-out documents of its own, as the whole run
    has: its models make as many passes at most, and stop at their best held-out loss.
    """
    rated, contexts = Rated.of(request), request.settings.contexts
    corpus = Corpus.open(request.run)
    whole = int(corpus.word_counts.sum(dtype=np.int64))
    cells, notes = [], _notes(request, contexts)
    for words in request.sizes(_SIZES5, whole):
        documents, _ = documents_of_size(corpus, words, request.seed)
        run = request.run
        if len(documents) < corpus.n_documents:
            run = _run_of(request, corpus, documents)
        row = f"{int(Corpus.open(run).word_counts.sum(dtype=np.int64)):,} words"
        try:
            fits = Fits(rated, run, contexts)
            cells += fits.cells(row, fits.chosen_sets())
        except InputError as error:  # The models of a small corpus may learn nothing.
            notes.append(f"{row}: {error}")
        tfidf = open_baseline("tfidf", run).similarities(rated.data.pairs)
        cells.append(Cell(row, "tf-idf", rated.spearman(tfidf)))
    return cells + _published("table5", "tokens"), notes


def _published(table: str, things: str) -> list[Cell]:
    return [
        Cell(f"{int(size):,} {things}, published", STSB, None, value)
        for size, value in published("sun", table).items()
    ]


def documents_of_size(corpus: Corpus, words: int, seed: int) -> tuple[list[int], int]:
    """Return the fewest documents of one shuffled order with so many words, and their words.

    A smaller part is in a larger one.
    """
    ends = np.concatenate(([0], np.cumsum(corpus.word_counts, dtype=np.int64)))
    lengths = np.diff(ends[corpus.document_bounds])
    rng = np.random.default_rng(derive_seed(seed, "reproduce", "documents"))
    order = rng.permutation(len(lengths))
    reached = np.cumsum(lengths[order])
    count = min(int(np.searchsorted(reached, words)) + 1, len(order))
    return np.sort(order[:count]).tolist(), int(reached[count - 1])


def _run_of(request: Request, corpus: Corpus, documents: list[int]) -> Run:
    """Return an up-to-date run over some documents of a corpus."""
    folder = request.run.path / "reproduce" / "sizes" / str(len(documents))
    settings = request.run.changed({"corpus": {"inputs": []}}).settings
    run = Run.create(folder, settings)
    build_corpus(run, _records(corpus, documents))
    build_origin(run)
    return run


def _records(corpus: Corpus, documents: list[int]) -> Iterator[dict[str, str]]:
    ids, titles, borders = corpus.document_ids(), corpus.document_titles(), corpus.paragraph_bounds
    for number in documents:
        begin, end = corpus.document_bounds[number : number + 2].tolist()
        inner = borders[(borders > begin) & (borders < end)].tolist()
        parts = pairwise([begin, *inner, end])
        text = "\n\n".join(" ".join(corpus.texts(np.arange(*part))) for part in parts)
        yield {"id": ids[number], "title": titles[number], "text": text}


def table6(request: Request) -> Findings:
    """Measure Origin for each |C_s|; a smaller set is a part of a larger one."""
    rated, figures = Rated.of(request), published("sun", "table6")
    sizes = request.sizes(_SIZES6, 10_000)
    fits = Fits(rated, request.run, sizes[-1])
    chosen_sets = fits.chosen_sets()
    results: dict[str, Floats] = {}
    cells = []
    for size in sorted({*sizes, *map(int, figures)}):
        row, paper = f"{size:,} contexts", figures.get(str(size))
        if size not in sizes:
            cells.append(Cell(row, STSB, None, paper))
            continue
        cells += fits.cells(row, chosen_sets, paper, size=size)
        before = [*results][-1:]
        results[row] = fits.similarities(chosen_sets, size=size)
        cells += [rated.change(row, metric, results, {}) for metric in before]
    short = np.mean([len(text) < sizes[-1] for pair in chosen_sets for text in pair])
    notes = [*_notes(request, sizes[-1]), "Change: minus the size before."]
    if short:
        notes.append(f"{100 * short:.0f} % of the sentences have fewer than {sizes[-1]} contexts.")
    return cells + rated.overlap(request.run), notes


def table8(request: Request) -> Findings:
    """Measure Origin with terms of Eq. 3 left out, also for the choice of contexts."""
    rated, figures = Rated.of(request), published("sun", "table8")
    fits = Fits(rated, request.run, request.settings.contexts)
    results, cells = dict[str, Floats](), list[Cell]()
    for row, weights in variants(fits.weights).items():
        chosen_sets = fits.chosen_sets(weights)
        results[row] = fits.similarities(chosen_sets, weights=weights)
        cells += fits.cells(row, chosen_sets, figures.get(row), weights=weights)
        if row != FULL:
            cells.append(rated.change(row, FULL, results, figures))
    notes = [*_notes(request, fits.size), "Change: minus Full."]
    return cells + rated.overlap(request.run), notes


def variants(full: Weights) -> dict[str, Weights]:
    """Return the weights of each row of Table 8; a row without any term is left out."""
    dropped: dict[str, tuple[str, ...]] = {f"w/o {name}": (term,) for term, name in _NAMES.items()}
    dropped["w/o both contexts"] = ("left", "right")
    values = full.model_dump()
    used = {name for name, value in values.items() if value}
    rows = {FULL: full}
    for name, terms in dropped.items():
        if used - set(terms) and used & set(terms):
            rows[name] = Weights(**{**values, **dict.fromkeys(terms, 0.0)})
    return rows


def construction(request: Request) -> Findings:
    """Measure Origin for three ways to build C_s (5.4)."""
    rated, figures = Rated.of(request), published("sun", "construction")
    contexts = request.settings.contexts
    chosen = Fits(rated, request.run, contexts)
    drawn = Fits(rated, request.run, contexts, "random")
    sets = {
        "two-step": (chosen, chosen.chosen_sets()),
        "without diversity": (chosen, chosen.chosen_sets(diverse=False)),
        "random": (drawn, drawn.chosen_sets()),
    }
    results = {name: fits.similarities(chosen_sets) for name, (fits, chosen_sets) in sets.items()}
    cells = []
    for row, (fits, chosen_sets) in sets.items():
        cells += fits.cells(row, chosen_sets, figures.get(row))
        if row != "two-step":
            cells.append(rated.change(row, "two-step", results, figures))
    notes = [*_notes(request, contexts), "Change: minus two-step."]
    return cells + rated.overlap(request.run), notes


def table7(request: Request) -> Findings:
    """Measure the Surrogate for growing numbers of harvested pairs; smaller ones are parts."""
    rated, run = Rated.of(request), request.run
    total = int(run.manifest(HARVEST).summary["pairs"]["train"])
    steps = {base * 10**power for base in (1, 3) for power in range(1, 10)}
    usual = [str(size) for size in sorted(steps) if _FEWEST_PAIRS <= size < total] + [str(total)]
    cells = []
    for size in request.sizes(usual, total, min(_FEWEST_PAIRS, total)):
        variant = {"structure": "siamese", "pairs": size}
        similarities, agreement = _surrogate(request, rated, variant, f"table7/{size}")
        cells.append(Cell(f"{size:,} pairs", STSB, rated.spearman(similarities)))
        cells.append(Cell(f"{size:,} pairs", "with Origin", agreement))
    cells += [*_published("table7", "pairs"), *rated.overlap(run)]
    return cells, _surrogate_notes(request)


def structures(request: Request) -> Findings:
    """Measure a Siamese Surrogate and a cross-encoder that learned from the same pairs (5.6)."""
    rated, cells, results = Rated.of(request), [], {}
    figures = published("sun", "structures")
    for row, structure in (("Siamese", "siamese"), ("cross-encoder", "cross-encoder")):
        variant, name = {"structure": structure}, f"structure/{structure}"
        results[row], agreement = _surrogate(request, rated, variant, name)
        cells.append(Cell(row, STSB, rated.spearman(results[row]), figures[row]))
        cells.append(Cell(row, "with Origin", agreement))
    cells.append(rated.change("cross-encoder", "Siamese", results, figures))
    return cells + rated.overlap(request.run), _surrogate_notes(request)


def _surrogate(
    request: Request, rated: Rated, variant: Mapping[str, Any], name: str
) -> tuple[Floats, float | None]:
    """Return the similarities of a Surrogate, and its rank correlation with Origin."""
    usual = request.run.wing("paper", PaperSettings).surrogate.model_dump()
    settings = SurrogateSettings(**{**usual, **variant})
    stage = Stage(f"reproduce/{name}", 1, "torch", "firth reproduce table")
    train_surrogate(request.run, settings, stage)
    folder = request.run.folder(stage)
    agreement = read_json(folder / "report.json")["after"]["test"]["spearman"]
    trained = settings.model_copy(update={"base": str(folder)})
    scored = start_of(request.run, trained, folder).similarities(rated.data.pairs)
    return scored, None if agreement is None else 100 * float(agreement)


def _notes(request: Request, contexts: int) -> list[str]:
    paper = request.run.wing("paper", PaperSettings)
    kind = "mutual information" if paper.fits.pmi else "likelihoods"
    return [
        f"Eq. 4 as printed (STSb: cosine), |C_s| = {contexts} (the paper: 500), learned terms of "
        f"equal deviation, {kind}. The paper's corpus has 100 billion tokens."
    ]


def _surrogate_notes(request: Request) -> list[str]:
    base = request.run.wing("paper", PaperSettings).surrogate.base
    return [
        f"Base {base}; the paper's is RoBERTa, with 100 million pairs. With Origin: rank "
        "correlation with the labels of held-out harvested pairs."
    ]
