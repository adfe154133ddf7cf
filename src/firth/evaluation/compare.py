"""Models compared without labels: how often each prefers the right candidate of a question.

The accuracy of a question is the share of its distractors that score below the right candidate;
ties count one half, so chance is 50 %. Intervals resample documents, because the questions about
one document depend on each other (Davison and Hinkley 1997, section 3.8). No accuracy is given of
fewer than 100 questions, and no interval of fewer than 10 documents.

One rule decides whether a model may take the place of another (`decide`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from firth.corpus.corpus import Corpus
from firth.evaluation.bootstrap import (
    RESAMPLES,
    Estimate,
    Sample,
    Statistic,
    bootstrap_seed,
    difference_of,
    estimate,
    mean_of,
)
from firth.evaluation.questions import (
    TOGETHER,
    Question,
    QuestionType,
    build_questions,
    open_questions,
)
from firth.run.console import plural, progress, table
from firth.run.errors import InputError
from firth.run.results import Result
from firth.run.run import Run
from firth.text.types import Floats, PairScorer, TextPair

MEAN = "mean"
"""Name of the mean accuracy over all types that have enough questions."""
FEWEST_QUESTIONS, FEWEST_DOCUMENTS = 100, 10


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of one model to n questions: the accuracy of each, in [0, 1], (n,)."""

    questions: Sequence[Question]
    accuracies: Floats


def pairs_of(questions: Sequence[Question]) -> list[TextPair]:
    """Return the pairs to score: each text with its right candidate, then its distractors."""
    return [(q.text, candidate) for q in questions for candidate in (q.answer, *q.distractors)]


def accuracies_of(questions: Sequence[Question], similarities: Floats) -> Floats:
    """Return the accuracy of each question, in [0, 1], from the similarities of `pairs_of`."""
    bounds = np.cumsum([0, *(1 + len(question.distractors) for question in questions)])
    accuracies = np.empty(len(questions))
    for place, (low, high) in enumerate(pairwise(bounds.tolist())):
        answer, distractors = similarities[low], similarities[low + 1 : high]
        accuracies[place] = np.mean((distractors < answer) + 0.5 * (distractors == answer))
    return accuracies


def answer(scorer: PairScorer, questions: Sequence[Question]) -> Answers:
    """Ask a model. The distinct pairs of each type are scored in one call."""
    accuracies = np.empty(len(questions))
    for places in _by_type(questions).values():
        group = [questions[place] for place in places]
        pairs = pairs_of(group)
        distinct = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        scores = np.asarray(scorer.similarities(list(distinct)), dtype=np.float64)
        if scores.shape != (len(distinct),) or not np.isfinite(scores).all():
            wrong = np.count_nonzero(~np.isfinite(scores))
            raise InputError(
                f"{scorer.name} gave similarities of shape {scores.shape}, {wrong} of them not "
                f"finite; expected one finite number for each of {len(distinct)} pairs"
            )
        accuracies[places] = accuracies_of(group, scores[[distinct[pair] for pair in pairs]])
    return Answers(questions, accuracies)


# --- Comparison --------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Models on the same questions. Types are values of `QuestionType`, after their mean.

    Attributes:
        accuracies: Model → type → mean accuracy x 100, with its interval.
        differences: Model → type → its accuracy minus that of the reference.
        questions: Type → number of questions; types without questions are absent.
        documents: Type → number of documents that they are about.
    """

    derived: ClassVar = ("verdicts",)
    accuracies: Mapping[str, Mapping[str, Estimate]]
    differences: Mapping[str, Mapping[str, Estimate]]
    against: str
    questions: Mapping[str, int]
    documents: Mapping[str, int]

    def table(self) -> str:
        """Return a table: one line for each model, one column for each type."""
        mean, *kinds = self.questions
        rows = [["model", mean, f"minus {self.against}", *kinds]]
        for model, accuracies in self.accuracies.items():
            cells = [
                "-" if accuracy.value is None else str(accuracy) for accuracy in accuracies.values()
            ]
            has_difference = model != self.against and accuracies[mean].value is not None
            difference = self.differences[model][mean].signed if has_difference else "-"
            rows.append([model, cells[0], difference, *cells[1:]])
        return table(rows)

    def verdicts(self) -> list[str]:
        """Return one sentence for each model but the reference, about the mean over the types."""
        return [
            f"{MEAN}: {difference[MEAN].verdict(model, self.against)}"
            for model, difference in self.differences.items()
            if model != self.against
        ]

    def summary(self) -> str:
        """Return the verdicts."""
        return " ".join(f"{verdict}." for verdict in self.verdicts())

    def lines(self, top: int) -> Iterator[str]:
        """Yield the table, the numbers of questions, and the verdicts."""
        counts = "; ".join(
            f"{kind} {plural(n, 'question')} about {plural(self.documents[kind], 'document')}"
            for kind, n in self.questions.items()
            if kind != MEAN
        )
        yield from (self.table(), "")
        yield f"Held-out text: {counts}. Chance is 50. Brackets are 95 % intervals over documents."
        if any(n < FEWEST_QUESTIONS for n in self.questions.values()):
            yield (
                f"Fewer than {FEWEST_QUESTIONS} questions give no figure. Hold more documents out: "
                "corpus.held_out_fraction."
            )
        if any(n < FEWEST_DOCUMENTS for n in self.documents.values()):
            yield f"Fewer than {FEWEST_DOCUMENTS} documents give no interval."
        yield from (f"{verdict}." for verdict in self.verdicts())


def compare_models(
    scorers: Mapping[str, PairScorer], run: Run, questions: Sequence[Question] | None = None
) -> Comparison:
    """Compare models on questions about a run's held-out documents.

    Args:
        scorers: Name → model. The first is the reference.
        run: Its corpus is built. Its questions are made where they are missing.
        questions: Questions to ask. By default those of the run.

    Raises:
        InputError: The held-out documents give no question.
        MissingStageError: The run has no corpus.
    """
    if questions is None:
        build_questions(run)
        questions = open_questions(run)
    if not questions:
        documents = Corpus.open(run, "held-out").n_documents
        raise InputError(
            f"{run.path}: no questions in {plural(documents, 'held-out document')}. Add longer "
            "documents, or hold more of them out (--set corpus.held_out_fraction=0.1), and run "
            "firth build again"
        )
    names = progress(list(scorers), "Asking models")
    answers = {name: answer(scorers[name], questions) for name in names}
    return compare_answers(answers, run.settings.seed)


def compare_answers(answers: Mapping[str, Answers], seed: int = 13) -> Comparison:
    """Compare the answers of models to the same questions; the first model is the reference."""
    against = next(iter(answers))
    questions = answers[against].questions
    names = [kind.value for kind in _by_type(questions)]
    tables = {name: _Table.of(answered) for name, answered in answers.items()}
    first = tables[against]
    enough = [kind for kind in names if first.questions(kind) >= FEWEST_QUESTIONS] or names
    groups = {MEAN: enough, **{kind: [kind] for kind in names}}
    accuracies: dict[str, dict[str, Estimate]] = {name: {} for name in answers}
    differences: dict[str, dict[str, Estimate]] = {name: {} for name in answers}
    for group, kinds in groups.items():
        reference = first.mean(kinds)
        for name, own in tables.items():
            accuracies[name][group] = own.estimate(own.mean(kinds), kinds, seed)
            change = difference_of(own.mean(kinds), reference)
            differences[name][group] = own.estimate(change, kinds, seed)
    return Comparison(
        accuracies,
        differences,
        against,
        {group: sum(map(first.questions, kinds)) for group, kinds in groups.items()},
        {group: first.documents(kinds) for group, kinds in groups.items()},
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """Answers by document (row) and type (column); resamples draw documents.

    There are numbers of questions and sums of their accuracies, (documents, types).
    """

    kinds: Mapping[str, int]
    asked: Floats
    right: Floats

    @classmethod
    def of(cls, answers: Answers) -> "_Table":
        rows: dict[str, int] = {}
        kinds = {kind.value: column for column, kind in enumerate(QuestionType)}
        cells = (
            [rows.setdefault(question.document, len(rows)) for question in answers.questions],
            [kinds[question.type] for question in answers.questions],
        )
        asked, right = np.zeros((len(rows), len(kinds))), np.zeros((len(rows), len(kinds)))
        np.add.at(asked, cells, 1.0)
        np.add.at(right, cells, answers.accuracies)
        return cls(kinds, asked, right)

    def questions(self, kind: str) -> int:
        return int(self.asked[:, self.kinds[kind]].sum())

    def documents(self, kinds: Collection[str]) -> int:
        return int(self._rows(kinds).sum())

    def accuracy(self, kind: str, among: Collection[str] = ()) -> Statistic:
        """Return the accuracy of a type, of counts of the documents that `among` are about."""
        rows, column = self._rows(among or [kind]), self.kinds[kind]
        asked, right = self.asked[rows, column], self.right[rows, column]

        def accuracy(counts: Floats) -> Floats:
            with np.errstate(invalid="ignore"):
                ratio: Floats = (counts @ right) / (counts @ asked)
            return ratio

        return accuracy

    def mean(self, kinds: Collection[str]) -> Statistic:
        """Return the mean accuracy over types, each of equal weight."""
        return mean_of([self.accuracy(kind, kinds) for kind in kinds])

    def estimate(self, statistic: Statistic, kinds: Collection[str], seed: int) -> Estimate:
        """Return a statistic with its interval, as far as there are questions and documents."""
        n, documents = sum(map(self.questions, kinds)), self.documents(kinds)
        if n < FEWEST_QUESTIONS:
            reason = f"{plural(n, 'question')}; {FEWEST_QUESTIONS} are needed"
            return Estimate(None, None, None, n, reason)
        resamples = RESAMPLES if documents >= FEWEST_DOCUMENTS else 0
        sample = Sample(statistic, documents, bootstrap_seed(seed, "questions"))
        return replace(estimate(sample, resamples), n=n)

    def _rows(self, kinds: Collection[str]) -> Any:
        return self.asked[:, [self.kinds[kind] for kind in kinds]].any(axis=1)


def _by_type(questions: Sequence[Question]) -> dict[QuestionType, list[int]]:
    """Return the places of the questions of each type, in the order of `QuestionType`."""
    places: dict[QuestionType, list[int]] = {kind: [] for kind in QuestionType}
    for place, question in enumerate(questions):
        places[question.type].append(place)
    return {kind: rows for kind, rows in places.items() if rows}


# --- Decision ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """Whether a model may take the place of another, why, and its gain on the mean of all types."""

    accepted: bool
    reason: str
    gain: Estimate


def decide(reference: Answers, candidate: Answers, seed: int = 13) -> Decision:
    """Decide whether a model may take the place of the reference.

    It may, unless it lost on the mean of all types of questions, or on the mean of those that ask
    which texts belong together (`TOGETHER`). Types with 100 questions about 10 documents count.
    """
    before, after = _Table.of(reference), _Table.of(candidate)
    kinds = [
        kind
        for kind in QuestionType
        if before.questions(kind) >= FEWEST_QUESTIONS
        and before.documents([kind]) >= FEWEST_DOCUMENTS
    ]
    if not kinds:
        reason = (
            f"too little held-out text to decide by: {FEWEST_QUESTIONS} questions of a type about "
            f"{FEWEST_DOCUMENTS} documents are needed"
        )
        return Decision(True, reason, Estimate(None, None, None, 0, reason))

    def change(group: Sequence[str]) -> Estimate:
        return after.estimate(difference_of(after.mean(group), before.mean(group)), group, seed)

    gain = change(kinds)
    changes = {"all types": gain}
    if together := [kind for kind in TOGETHER if kind in kinds]:
        changes[" and ".join(TOGETHER)] = change(together)
    falls = [
        f"the mean of {name} fell ({estimated.signed})"
        for name, estimated in changes.items()
        if estimated.sign < 0
    ]
    unchanged = f"no significant loss ({gain.signed} on the mean)"
    return Decision(not falls, " and ".join(falls) or unchanged, gain)
