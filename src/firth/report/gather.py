"""Ask a run what its report shows, and name what it lacks."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sentence_transformers import SentenceTransformer

from firth.check import CHECK
from firth.check.report import CheckReport
from firth.corpus import CORPUS
from firth.corpus.drawn import Pairs
from firth.corpus.statistics import evenly_spaced, fit_idf_on_run
from firth.evaluate import EVALUATION
from firth.evaluate.load import find_named
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import Kind
from firth.index import INDEX
from firth.lexical.scorer import Explainer, Scorer
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.report.beside import Beside, beside
from firth.report.drawn import drawn_pairs, drawn_sentences, nearest, searched
from firth.report.page import Level, Report
from firth.report.recorded import evaluation_of, labels_of, stages_of, training_curves
from firth.run.errors import FirthError, InputError
from firth.run.files import read_json
from firth.run.pretrained import open_encoder
from firth.run.progress import note
from firth.run.run import Run
from firth.scale import SCALE
from firth.scale.scale import Scale
from firth.scale.scale import Scorer as Scored
from firth.searchable import accuracies, checked, verdict
from firth.surrogate import SURROGATE, TEACHER
from firth.surrogate.matrices import HeldOut
from firth.surrogate.report import REPORT
from firth.surrogate.teacher import Teacher

_BESIDE = 3
"""Pairs that are shown of each kind, where one of Origin and tf-idf is right."""
_PAIRS = 2_000
"""Held-out pairs that are shown."""
_FACTS = {
    "documents": "documents", "sentences": "sentences", "words": "words",
    "held_out": "documents kept apart",
}  # fmt: skip
"""Figure of the corpus → what it is called."""
_RATES = (0.1, 0.01, 0.001)
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
    evaluated = evaluation_of(run, evaluation)
    results = [one for one in evaluated["results"] if one["subtask"] == "all"] if evaluated else []
    has_origin = all(run.has(stage) for stage in Origin.reads(run))
    origin = Origin.open(run) if has_origin else None
    surrogate = open_encoder(str(run.folder(SURROGATE))) if run.has(SURROGATE) else None
    seed = run.config.seed if seed is None else seed
    queries = asked.queries if asked else drawn_sentences(run, seed)
    searches = searched(run, queries) if run.has(INDEX) else []
    if asked is None:
        pairs = nearest(searches) or drawn_pairs(run, seed)
        asked = Asked(pairs, range(min(2, len(pairs))), queries)
    check = _check(run)
    compared = _beside(run, origin) if origin else []
    return Report(
        title=title,
        lead=lead,
        verdicts=[*_verdicts(run, check), *(_rated(each) for each in compared)],
        check=accuracies(check),
        facts={called: f"{counts[name]:,}" for name, called in _FACTS.items()}
        | {"seed": str(run.config.seed)},
        left_out=counts["skipped"],
        stages=stages_of(run),
        levels=_levels(run),
        labels=labels_of(run),
        curves=training_curves(run),
        distilled=_distilled(run, surrogate) if surrogate and run.has(TEACHER) else (),
        pairs=_scored(asked.pairs, origin, surrogate),
        explanations=[origin.explain(*asked.pairs[i]) for i in asked.explained] if origin else [],
        searches=searches,
        beside=compared,
        results=results,
        remarks=evaluated["notes"] if evaluated else [],
        notes=_notes(run, bool(results) and has_origin),
        lacking=[*_lacking(run, has_origin, bool(results))],
        settings=run.config.to_yaml(),
    )


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


def _distilled(run: Run, surrogate: SentenceTransformer) -> list[tuple[float, float]]:
    """Of pairs of sentences that the Surrogate did not learn from: its teacher's similarity, and
    its own."""
    teacher = Teacher.open(run)
    held = HeldOut.of(teacher, teacher.parts(None)["test"], run.config.seed)
    chosen = evenly_spaced(len(held.scores), _PAIRS)
    if not len(chosen):
        return []
    pairs = [(held.texts[one], held.texts[two]) for one, two in held.rows[:, chosen].T.tolist()]
    return list(zip(held.scores[chosen].tolist(), _cosines(surrogate, pairs), strict=True))


def _cosines(model: SentenceTransformer, pairs: Sequence[tuple[str, str]]) -> list[float]:
    first, second = (
        model.encode(list(texts), show_progress_bar=False, convert_to_tensor=True)
        for texts in zip(*pairs, strict=True)
    )
    cosines: list[float] = model.similarity_pairwise(first, second).tolist()
    return cosines


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
        "Origin and the Surrogate learned from this run's text alone. Overlap of words (Dice, "
        "tf-idf) costs nothing: a model is worth its trouble where it is above that by more than "
        "the intervals."
    ]
    if not evaluated or run.config.context.model is not None:
        notes = []
    if not run.has(SURROGATE):
        return notes
    recorded = read_json(run.folder(SURROGATE) / REPORT)
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
