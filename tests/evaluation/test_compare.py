"""Accuracies, intervals over documents, paired differences, and the rule of decision."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from firth.evaluation.compare import (
    FEWEST_DOCUMENTS,
    FEWEST_QUESTIONS,
    MEAN,
    Answers,
    accuracies_of,
    answer,
    compare_answers,
    compare_models,
    decide,
    pairs_of,
)
from firth.evaluation.questions import Question, QuestionType
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.types import Floats, TextPair

NEXT, SPAN, TITLE = QuestionType.NEXT, QuestionType.DOCUMENT, QuestionType.TITLE
KINDS = (NEXT, SPAN, TITLE)


class Scores:
    """A model that is a function of a pair, and remembers what it was asked."""

    def __init__(self, name: str, function: Callable[[str, str], float]) -> None:
        self.name, self._function = name, function
        self.asked: list[list[TextPair]] = []

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        self.asked.append(list(pairs))
        return np.array([self._function(*pair) for pair in pairs])


def questions(count: int = 120, documents: int = 15) -> list[Question]:
    """So many of each of three types; documents have unequal numbers of them."""
    return [
        Question(
            type=kind,
            document=f"d{min(n % (documents + 5), documents - 1)}",
            text=f"{kind} {n}",
            answer=f"right {n}",
            distractors=tuple(f"wrong {n} {k}" for k in range(1 if kind is TITLE else 9)),
        )
        for kind in KINDS
        for n in range(count)
    ]


def random_scores(seed: int, lead: float = 0.0) -> Scores:
    def score(a: str, b: str) -> float:
        key = [seed, *f"{a}|{b}".encode()]
        return float(np.random.default_rng(key).normal()) + lead * b.startswith("right")

    return Scores(f"random {seed}", score)


def answers(
    asked: Sequence[Question], changes: Mapping[Any, float], base: float = 0.6, seed: int = 4
) -> Answers:
    """Accuracies of `base` and a change for each type, with noise of each question."""
    noise = np.random.default_rng(seed).uniform(-0.1, 0.1, len(asked))
    return Answers(asked, np.array([base + changes.get(q.type, 0.0) for q in asked]) + noise)


def test_the_truth_has_100_and_a_constant_50() -> None:
    """And the opposite of the truth 0; with intervals of no width."""
    asked = questions()
    for value, function in ((100.0, 1.0), (50.0, 0.0), (0.0, -1.0)):
        model = Scores("m", lambda _, b, f=function: f * b.startswith("right"))  # type: ignore[misc]
        compared = compare_answers({"m": answer(model, asked)})
        assert set(compared.accuracies["m"]) == {MEAN, *KINDS}
        for kind, estimate in compared.accuracies["m"].items():
            assert (estimate.value, estimate.low, estimate.high) == (value, value, value)
            assert estimate.n == (360 if kind == MEAN else 120)


def test_accuracy_is_the_share_of_distractors_below() -> None:
    """Ties count one half; each question alone."""
    some = [
        Question(type=NEXT, document="d", text="s", answer="r", distractors=("a", "b", "c", "d")),
        Question(type=TITLE, document="d", text="s", answer="r", distractors=("a",)),
    ]
    assert pairs_of(some) == [("s", t) for t in ("r", "a", "b", "c", "d", "r", "a")]
    assert accuracies_of(some, np.array([2.0, 1, 2, 3, 0, 1, 5])).tolist() == [2.5 / 4, 0.0]


def test_each_type_is_scored_once_and_each_pair_once() -> None:
    """Repeated pairs are asked once, and the answers are those of each question alone."""
    some = questions(8)
    some += some[:10]
    model = random_scores(3)
    found = answer(model, some).accuracies
    assert len(model.asked) == len(KINDS)
    assert all(len(set(pairs)) == len(pairs) for pairs in model.asked)
    assert found.tolist() == [float(answer(model, [q]).accuracies[0]) for q in some]


@pytest.mark.parametrize("scores", [[1.0, float("nan")], [1.0], [[1.0], [2.0]]])
def test_odd_scores_are_refused(scores: list[float]) -> None:
    class Odd:
        name = "odd"

        def similarities(self, pairs: Sequence[TextPair]) -> Floats:
            return np.array(scores)

    with pytest.raises(InputError, match="odd gave similarities of shape"):
        answer(
            Odd(), [Question(type=TITLE, document="d", text="s", answer="r", distractors=("a",))]
        )


# --- Comparison --------------------------------------------------------------------------------


def test_intervals_resample_documents() -> None:
    """Questions that are repeated within their documents leave the interval as wide as it was;
    independent documents give the interval of a mean."""
    asked = [
        Question(type=NEXT, document=f"d{n}", text=f"s{n}", answer="r", distractors=("x",))
        for n in range(400)
    ]
    values = np.random.default_rng(0).random(400)
    (one, again) = (
        compare_answers({"m": Answers(asked * times, np.tile(values, times))}).accuracies["m"][NEXT]
        for times in (1, 4)
    )
    assert (again.low, again.high) == pytest.approx((one.low, one.high))
    assert (one.n, again.n) == (400, 1600)
    assert (one.high or 0.0) - (one.low or 0.0) == pytest.approx(
        2 * 1.96 * 100 * values.std() / 20, rel=0.1
    )
    other = compare_answers({"m": Answers(asked, values)}, seed=6).accuracies["m"][NEXT]
    assert other.value == one.value
    assert other.low != one.low


@pytest.mark.parametrize("against", ["good", "bad"])
def test_verdicts_name_the_better_model(against: str) -> None:
    """Whichever is the reference; the difference has the sign that belongs to it."""
    asked = questions()
    models = {"good": random_scores(1, 2.0), "bad": random_scores(2)}
    order = sorted(models, key=lambda name: name != against)
    compared = compare_answers({name: answer(models[name], asked) for name in order})
    (verdict,) = compared.verdicts()
    assert verdict.startswith("mean: good is better than bad by ")
    assert compared.differences[against][NEXT].value == 0
    text = compared.text()
    assert f"minus {against}" in text
    assert "next-sentence 120 questions about 15 documents" in text
    assert verdict in text
    assert compared.as_dict()["verdicts"] == [verdict]
    assert compared.as_dict()["accuracies"]["good"]["title"]["n"] == 120


def test_no_figure_of_few_questions_and_no_interval_of_few_documents() -> None:
    """The text says so, and what to do."""
    few = compare_answers({"m": answer(random_scores(1), questions(FEWEST_QUESTIONS - 1))})
    assert few.accuracies["m"][NEXT].value is None
    assert "99 questions; 100 are needed" in few.accuracies["m"][NEXT].reason
    assert "Fewer than 100 questions give no figure" in few.text()
    given = {name: answer(random_scores(1, lead), questions(120, FEWEST_DOCUMENTS - 1))
             for name, lead in (("m", 0.0), ("n", 3.0))}  # fmt: skip
    narrow = compare_answers(given)
    estimate = narrow.differences["n"][NEXT]
    assert estimate.value is not None
    assert estimate.low is None
    assert "Fewer than 10 documents give no interval" in narrow.text()
    assert "no significant difference" in narrow.text()


def test_models_are_compared_on_the_given_questions(empty_run: Run) -> None:
    """In the order in which they are given; the first is the reference."""
    models = {"a": random_scores(1), "b": random_scores(2, 2.0)}
    compared = compare_models(models, empty_run, questions())
    assert compared.against == "a"
    assert list(compared.accuracies) == ["a", "b"]


# --- Decision ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({SPAN: 0.1, TITLE: -0.05}, True),
        ({SPAN: -0.3, TITLE: 0.1}, False),
        ({NEXT: -0.05, SPAN: -0.05, TITLE: 0.3}, False),
        ({}, True),
    ],
)
def test_a_model_that_lost_is_rejected(changes: dict[str, float], accepted: bool) -> None:
    """On the mean of all types, or of those that ask what belongs together."""
    asked = questions()
    decision = decide(answers(asked, {}), answers(asked, changes))
    assert decision.accepted is accepted
    assert ("fell" in decision.reason) is not accepted


def test_the_change_is_the_mean_over_types() -> None:
    """Each type weighs the same, however many questions it has."""
    asked = [q for q in questions(240, 20) if q.type is not NEXT or int(q.text.split()[-1]) < 120]
    gains = {NEXT: 0.1, SPAN: 0.2, TITLE: 0.3}
    assert "+20.0" in decide(answers(asked, {}), answers(asked, gains)).reason


@pytest.mark.parametrize(("count", "documents"), [(120, 9), (99, 15)])
def test_little_text_rejects_nothing(count: int, documents: int) -> None:
    asked = questions(count, documents)
    decision = decide(answers(asked, {}), answers(asked, {SPAN: -0.3}))
    assert decision.accepted
    assert "too little held-out text" in decision.reason
