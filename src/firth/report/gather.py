"""Ask a run what its report shows, and name what it lacks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from firth.check import CHECK
from firth.check.items import Kind as Question
from firth.check.report import CheckReport
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs
from firth.corpus.statistics import evenly_spaced, fit_idf_on_run
from firth.curves import training_curves
from firth.evaluate import EVALUATION
from firth.evaluate.load import find_named
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import Kind
from firth.index import INDEX
from firth.lexical.scorer import Explainer, Scorer
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.pipeline import STEPS
from firth.report.beside import Beside, beside
from firth.report.page import Level, Report, Searched
from firth.report.recorded import labels_of
from firth.run.errors import FirthError, InputError
from firth.run.files import read_json
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.scale import SCALE
from firth.scale.scale import Scale
from firth.scale.scale import Scorer as Scored
from firth.search.search import By, Hit, Search
from firth.searchable import checked, verdict
from firth.summaries import sentences_of
from firth.surrogate import SURROGATE, TEACHER
from firth.surrogate.matrices import NEAR, RANDOM, HeldOut
from firth.surrogate.teacher import Teacher

_HITS = 3
_PROPOSED = 100
"""Hits of either way of searching that are looked through, and that do not count as found by the
other way alone."""
_BESIDE = 3
"""Pairs that are shown of each kind, where one of Origin and tf-idf is right."""
_PAIRS = 2_000
"""Held-out pairs that are shown."""
_FACTS = ("documents", "sentences", "words", "chunks", "positions")
_DRAWN = 4
"""Sentences of the corpus that are searched for, where nobody says what to search for."""
_LENGTHS = (6, 20)
"""Words of such a sentence."""
_RATES = (0.1, 0.01, 0.001)
_COLUMNS = ("model", "task", "subtask", "split", "metric", "value", "low", "high", "n")
_LACKING = (
    (SURROGATE, "A model that encodes sentences, and how well it repeats Origin"),
    (INDEX, "Search, by meaning beside words"),
    (SCALE, "What a score means"),
)


@dataclass(frozen=True)
class Asked:
    """What a run is asked for its report.

    Attributes:
        pairs: Pairs to compare.
        explained: Which of them to explain.
        queries: What to search the corpus for.
    """

    pairs: Sequence[tuple[str, str]]
    explained: Sequence[int]
    queries: Sequence[str]


def gather_report(
    run: Run, title: str, lead: str, asked: Asked | None = None, *,
    evaluation: Path | None = None, seed: int | None = None,
) -> Report:  # fmt: skip
    """Score, explain and search with a run's models, and read what its stages recorded.

    Args:
        run: A run with a corpus; whatever else it has is asked.
        title: Of the page.
        lead: What the page is, in a sentence.
        asked: None: sentences that are drawn from the corpus by the run's seed, each beside the
            nearest by meaning that words do not find, or without an index beside the next one.
        evaluation: Folder that `firth evaluate --out` wrote, or its `results.json`; None takes the
            run's own, if it has one.
        seed: Of what is drawn; None takes the run's.

    Raises:
        MissingStageError: There is no corpus.
        InputError: `evaluation` cannot be read, or is none.
    """
    counts = run.manifest(CORPUS).summary
    results, remarks = _evaluated(run, evaluation)
    has_origin = all(run.has(stage) for stage in Origin.reads(run))
    origin = Origin.open(run) if has_origin else None
    surrogate = open_encoder(str(run.folder(SURROGATE))) if run.has(SURROGATE) else None
    seed = run.config.seed if seed is None else seed
    drawn = asked.queries if asked else _drawn(run, seed)
    searches = _searched(run, drawn) if run.has(INDEX) else []
    if asked is None:
        pairs = _nearest(searches) or _following(run, seed)
        asked = Asked(pairs, range(min(2, len(pairs))), drawn)
    check = _check(run)
    compared = _beside(run, origin) if origin else []
    held, told = _held_out(run) if run.has(TEACHER) else ([], [])
    return Report(
        title=title,
        lead=lead,
        verdicts=[*_verdicts(run, check), *(_rated(each) for each in compared)],
        check=_rows(check),
        facts={name: f"{counts[name]:,}" for name in _FACTS} | {"seed": str(run.config.seed)},
        left_out=counts["skipped"],
        stages=_stages(run),
        levels=_levels(run),
        labels=labels_of(run),
        curves=training_curves(run),
        scores=_by_kind(told),
        distilled=([score for _, score in told], _cosines(surrogate, held))
        if surrogate and held
        else None,
        pairs=_scored(asked.pairs, origin, surrogate),
        explanations=[origin.explain(*asked.pairs[i]) for i in asked.explained] if origin else [],
        searches=searches,
        beside=compared,
        results=results,
        notes=[*_notes(run, bool(results) and has_origin), *remarks],
        lacking=[*_lacking(run, has_origin, bool(results))],
        settings=run.config.to_yaml(),
    )


def _evaluated(run: Run, given: Path | None) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Figures over whole sets, and the notes below them."""
    if given is None and not run.has(EVALUATION):
        return [], []
    path = given or run.folder(EVALUATION)
    path = path / "results.json" if path.is_dir() else path
    found = read_json(path)
    results = found.get("results") if isinstance(found, dict) else None
    known = isinstance(results, list) and all(
        isinstance(one, dict) and {*_COLUMNS} <= {*one} for one in results
    )
    if not known or results is None:
        raise InputError(
            f"{path}: no results of an evaluation; expected what firth evaluate --out FOLDER writes"
        )
    # The run's own notes are of sets that firth knows, and stand in its folder.
    remarks = found.get("notes", []) if given else []
    return [one for one in results if one["subtask"] == "all"], [str(one) for one in remarks]


def _check(run: Run) -> CheckReport | None:
    if not (run.has(CHECK) and run.has(SURROGATE)):
        return None
    return checked(run, run.config.check.items)


def _verdicts(run: Run, check: CheckReport | None) -> list[str]:
    """What the check without labels says; nothing where it was not made."""
    if not (run.has(CHECK) and run.has(SURROGATE)):
        return ["Nothing says yet how good this run's model is."]
    told = verdict(check)
    return [f"{told[0].upper()}{told[1:]}"]


def _rated(each: Beside) -> str:
    return f"{each.task}, {each.n:,} pairs that people rated: {each.verdict}."


def _rows(check: CheckReport | None) -> list[dict[str, Any]]:
    systems = zip(("Surrogate", "tf-idf"), check.systems, strict=True) if check else ()
    return [
        {"model": name, "value": at.value, "low": at.low, "high": at.high}
        for name, one in systems
        if (at := one.accuracy.get(Question.NEXT))
    ]


def _stages(run: Run) -> list[tuple[str, str]]:
    built = [step.stage.name for step in STEPS if run.has(step.stage)]
    summaries = {step.stage.name: step.stage for step in STEPS}
    return [
        (name, sentences_of(name, dict(run.manifest(summaries[name]).summary))) for name in built
    ]


def _levels(run: Run) -> list[Level]:
    """Scores that few random pairs reach, of each scorer that the run's scale is of."""
    found = []
    for name, scorer in (("Origin", Scored.ORIGIN), ("Vectors of the index", Scored.VECTORS)):
        try:
            scale = Scale.current(run, scorer)
        except FirthError:  # Origin is not built any more
            scale = None
        if scale is None:
            continue
        for rate in _RATES:
            with suppress(InputError):  # too few pairs were drawn to tell
                score = scale.threshold(rate)
                near = scale.levels.get(Pairs.NEIGHBOURS)
                share = None if near is None else 1 - float(near.share_below(score))
                found.append(Level(name, rate, score, share))
    return found


def _scored(
    pairs: Sequence[tuple[str, str]], origin: Scorer | None, model: SentenceTransformer | None
) -> list[tuple[str, str, float | None, float | None]]:
    nothing = [None] * len(pairs)
    if not pairs or (origin is None and model is None):
        return []
    scores = origin.similarities(pairs).tolist() if origin else nothing
    cosines = _cosines(model, pairs) if model else nothing
    return [(*pair, one, two) for pair, one, two in zip(pairs, scores, cosines, strict=True)]


def _drawn(run: Run, seed: int) -> list[str]:
    """Sentences of the corpus, none short or long, drawn at random."""
    corpus = Corpus.open(run)
    return [corpus.text(number) for number in _chosen(corpus, seed, _good(corpus))]


def _following(run: Run, seed: int) -> list[tuple[str, str]]:
    """Sentences that follow one another in a document, drawn at random."""
    corpus = Corpus.open(run)
    good = _good(corpus)
    document = corpus.document_of(np.arange(len(good)))
    first = good[:-1] & good[1:] & (document[:-1] == document[1:])
    numbers = _chosen(corpus, seed, np.append(first, False))
    return [(corpus.text(number), corpus.text(number + 1)) for number in numbers]


def _good(corpus: Corpus) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    low, high = _LENGTHS
    return (low <= corpus.word_counts) & (corpus.word_counts <= high)


def _chosen(corpus: Corpus, seed: int, good: "np.ndarray[Any, np.dtype[np.bool_]]") -> list[int]:
    """Numbers of sentences with different texts, in the order of the corpus."""
    able = good.nonzero()[0]
    chance = np.random.default_rng(derive_seed(seed, "report"))
    numbers = chance.choice(able, min(len(able), 2 * _DRAWN), replace=False).tolist()
    distinct = {corpus.text(number): number for number in numbers}
    return sorted([*distinct.values()][:_DRAWN])


def _nearest(searches: Sequence[Searched]) -> list[tuple[str, str]]:
    """Each query and the best of what only meaning finds."""
    return [(each.query, each.hits[0].text) for each in searches if each.hits]


def _held_out(run: Run) -> tuple[list[tuple[str, str]], list[tuple[str, float]]]:
    """Pairs of sentences that the Surrogate did not learn from; of each its kind and its teacher's
    score."""
    teacher = Teacher.open(run)
    held = HeldOut.of(teacher, teacher.parts(None)["test"], run.config.seed)
    chosen = evenly_spaced(np.arange(len(held.scores)), _PAIRS)
    pairs = [(held.texts[one], held.texts[two]) for one, two in held.rows[:, chosen].T.tolist()]
    kinds = [NEAR if number < held.near else RANDOM for number in chosen.tolist()]
    return pairs, list(zip(kinds, held.scores[chosen].tolist(), strict=True))


def _by_kind(told: Sequence[tuple[str, float]]) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for kind, score in told:
        scores.setdefault(kind, []).append(score)
    return dict(sorted(scores.items()))


def _cosines(model: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> list[float]:
    first, second = (
        model.encode(list(texts), show_progress_bar=False, convert_to_tensor=True)
        for texts in zip(*pairs, strict=True)
    )
    cosines: list[float] = model.similarity_pairwise(first, second).tolist()
    return cosines


def _searched(run: Run, queries: Sequence[str]) -> list[Searched]:
    """For each query the best hits by meaning that are not among the best by words, and the other
    way round."""
    search, found = Search.open(run), []
    for query in queries:
        by_words = search.search(query, top=_PROPOSED, by=By.WORDS)
        by_words = [hit for hit in by_words if hit.words > 0]
        by_meaning = search.search(query, top=_PROPOSED, by=By.VECTORS)
        # The query itself, where it is of the corpus, is no find of either.
        new = _only(by_meaning, [hit.text for hit in by_words] + [query])
        old = _only(by_words, [hit.text for hit in by_meaning] + [query])
        found.append(Searched(query, new, old, _PROPOSED))
    return found


def _only(hits: Sequence[Hit], others: Iterable[str]) -> tuple[Hit, ...]:
    """The best that the others have not; a sentence that stands more than once is one of them."""
    known = {*others}
    distinct = list({hit.text: hit for hit in reversed(hits)}.values())[::-1]
    return tuple([hit for hit in distinct if hit.text not in known][:_HITS])


def _beside(run: Run, origin: Explainer) -> list[Beside]:
    """Origin beside tf-idf on each set of pairs that the run was evaluated on."""
    if not run.has(EVALUATION):
        return []
    words = TfIdf(fit_idf_on_run(run.path))
    return [
        beside(data, origin, words, _BESIDE, run.config.seed)
        for data in _sets(run)
        if data.task.kind is Kind.PAIRS
    ]


def _sets(run: Run) -> Iterator[EvaluationSet]:
    """Those that the run was evaluated on and that are still there."""
    config = run.config.evaluate
    for name in config.tasks:
        try:
            yield find_named(name).load(config.data_dir)
        except FirthError as error:
            note(f"The report leaves the pairs of {name} out: {error}")


def _notes(run: Run, evaluated: bool) -> list[str]:
    """What the figures mean."""
    notes = [
        "Origin and the Surrogate learned from this run's text alone. Dice and tf-idf cost "
        "nothing: a model is worth its trouble where it is above them by more than the intervals."
    ]
    if not evaluated or run.config.context.model is not None:
        notes = []
    if not run.has(SURROGATE):
        return notes
    recorded = read_json(run.folder(SURROGATE) / "report.json")
    before, after = (recorded[when]["test"]["all"] for when in ("before", "after"))
    trained = recorded["chosen"]["steps"]
    learned = f" (before distillation: {_hundredfold(before['spearman'])})" if trained else ""
    return [
        *notes,
        f"On {after['n']:,} pairs of held-out sentences the Surrogate's rank correlation with "
        f"its teacher is {_hundredfold(after['spearman'])}{learned}.",
        *recorded["notes"],
    ]


def _lacking(run: Run, origin: bool, evaluated: bool) -> Iterator[tuple[str, str]]:
    """Parts that the run has not, and the command that adds each."""
    if not origin:
        command = next(one for one in Origin.reads(run) if not run.has(one)).command
        yield "Similarity and its reasons", f"{command} {run.path}"
    for stage, part in _LACKING:
        if not run.has(stage):
            yield part, f"{stage.command} {run.path}"
    if not evaluated:
        yield (
            "Agreement with people, on pairs that they rated",
            f"firth evaluate {run.path} baseline:tfidf --task FILE --out FOLDER; then firth report "
            "with --evaluation FOLDER",
        )


def _hundredfold(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.1f}"
