"""Accuracy, intervals over documents, and paired differences."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.check.items import Item, Kind
from firth.check.measure import (
    CHANCE,
    accuracies,
    accuracies_of,
    cosine_accuracies,
    figures,
    mean_ahead,
    pairs_of,
    texts_of,
)
from firth.check.report import check_scorer, compare
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError


class Scores:
    """A scorer that is a function of a pair, and remembers what it was asked."""

    def __init__(self, name: str, function: Callable[[str, str], float]) -> None:
        self.name = name
        self._function = function
        self.asked: list[list[TextPair]] = []

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        self.asked.append(list(pairs))
        return np.array([self._function(*pair) for pair in pairs])


def items(count: int = 60, documents: int = 7) -> list[Item]:
    """Two kinds, documents of unequal numbers of items."""
    return [
        Item(
            Kind.NEXT if n % 3 else Kind.ORDER, min(n % 10, documents - 1), f"s{n}", f"right {n}",
            tuple(f"wrong {n} {k}" for k in range(9 if n % 3 else 1)),
        )
        for n in range(count)
    ]  # fmt: skip


def random_scores(seed: int, lead: float = 0.0) -> Scores:
    """Scores that follow from the texts and a seed; right candidates have a lead."""

    def score(a: str, b: str) -> float:
        key = [seed, *f"{a}|{b}".encode()]
        return float(np.random.default_rng(key).normal()) + lead * b.startswith("right")

    return Scores(f"random {seed}", score)


TRUTH = Scores("truth", lambda _, b: float(b.startswith("right")))
CONSTANT = Scores("constant", lambda *_: 0.3)


def test_the_truth_has_100_and_a_constant_50() -> None:
    """And the opposite of the truth 0; with intervals of no width."""
    opposite = Scores("opposite", lambda _, b: -float(b.startswith("right")))
    for scorer, value in ((TRUTH, 100.0), (CONSTANT, 50.0), (opposite, 0.0)):
        report = check_scorer(scorer, items())
        assert set(report.systems[0].accuracy) == {Kind.NEXT, Kind.ORDER}
        for figure in report.systems[0].accuracy.values():
            assert (figure.value, figure.low, figure.high) == (value, value, value)


@given(st.integers(0, 50), st.floats(0.1, 5), st.floats(-3, 3))
def test_only_the_order_of_scores_counts(seed: int, scale: float, shift: float) -> None:
    """Accuracies are the same under a rising transform of the scores."""
    some = items(12)
    scores = random_scores(seed).similarities(pairs_of(some))
    moved = np.exp(scores * scale) + shift
    assert len({*scores.tolist()}) == len({*moved.tolist()})  # the premise: no new ties
    assert accuracies_of(some, scores).tolist() == accuracies_of(some, moved).tolist()


def test_accuracy_is_the_share_of_others_below() -> None:
    """Ties count one half; each item by itself."""
    some = [
        Item(Kind.NEXT, 0, "s", "r", ("a", "b", "c", "d")),
        Item(Kind.NAME, 0, "s", "r", ("a",)),
    ]
    assert pairs_of(some) == [("s", t) for t in ("r", "a", "b", "c", "d", "r", "a")]
    assert accuracies_of(some, np.array([2.0, 1, 2, 3, 0, 1, 5])).tolist() == [2.5 / 4, 0.0]


def test_each_kind_is_scored_once_and_each_pair_once() -> None:
    """Repeated pairs are asked for once, and the figures are those of scoring each item alone."""
    some = items()
    some += some[:10]
    scorer = random_scores(3)
    found = accuracies(scorer, some)
    assert len(scorer.asked) == 2
    assert all(len(set(pairs)) == len(pairs) for pairs in scorer.asked)
    assert found.tolist() == [float(accuracies(scorer, [item])[0]) for item in some]


def test_intervals_follow_from_the_seed_and_resample_documents() -> None:
    """Equal seeds give equal figures. An item repeated within its document leaves the interval as
    wide as it was; as a new document it would not."""
    some = [Item(Kind.NEXT, n, f"s{n}", "r", ("x",)) for n in range(40)]
    measured = np.random.default_rng(0).random(40)
    one = figures(some, [measured], seed=5)
    assert one == figures(some, [measured], seed=5)
    assert one != figures(some, [measured], seed=6)
    again = figures(some * 4, [np.tile(measured, 4)], seed=5)
    assert again[0][0].value == pytest.approx(one[0][0].value)
    assert again[0][0].low == pytest.approx(one[0][0].low)
    assert again[0][0].high == pytest.approx(one[0][0].high)


def test_the_interval_is_that_of_independent_documents() -> None:
    """With one item a document it has the width of a mean's normal interval."""
    some = [Item(Kind.NEXT, n, f"s{n}", "r", ("x",)) for n in range(400)]
    measured = np.random.default_rng(0).random(400)
    figure = figures(some, [measured], resamples=2_000)[0][0]
    assert figure.low is not None
    assert figure.high is not None
    expected = 2 * 1.96 * 100 * measured.std() / 20
    assert figure.high - figure.low == pytest.approx(expected, rel=0.1)
    assert figure.low < figure.value < figure.high


def test_one_document_has_no_interval() -> None:
    """Nothing is known of how documents differ, so that nothing is said."""
    some = [Item(Kind.NEXT, 4, f"s{n}", f"right {n}", ("x",)) for n in range(30)]
    report = compare({"a": np.ones(30), "b": np.zeros(30)}, some)
    assert report.systems[1].ahead[Kind.NEXT].low is None
    assert report.verdicts() == ["b and a cannot be told apart with 30 items"]


def test_a_model_is_not_ahead_of_itself() -> None:
    """The paired difference to itself is exactly 0, and so is its interval."""
    some = items()
    measured = accuracies(random_scores(1), some)
    report = compare({"a": measured, "b": measured.copy()}, some)
    for system in report.systems:
        for ahead in system.ahead.values():
            assert (ahead.value, ahead.low, ahead.high) == (0.0, 0.0, 0.0)
    assert report.verdicts() == ["b and a cannot be told apart with 40 items"]


@pytest.mark.parametrize("against", ["good", "bad"])
def test_verdicts_name_the_better_one(against: str) -> None:
    """Whichever is the reference; the difference has the sign that belongs to it."""
    some = items(90)
    measured = {
        "good": accuracies(random_scores(1, lead=2.0), some),
        "bad": accuracies(random_scores(2), some),
    }
    report = compare(measured, some, against=against)
    assert report.verdicts() == ["good is better than bad here"]
    lead = {one.model: one.ahead[Kind.NEXT].value for one in report.systems}
    assert lead[against] == 0
    assert (lead["good"] - lead["bad"]) > 0
    lines = report.text().splitlines()
    assert lines[0].split()[:5] == ["model", "next", "ahead", "of", against]
    assert lines[-1] == "good is better than bad here."
    assert "next 60 of 7 documents, order 30 of 7 documents" in report.text()
    assert "Fewer than 10 documents" in report.text()


@pytest.mark.parametrize("scores", [[1.0, float("nan")], [1.0], [[1.0], [2.0]]])
def test_odd_scores_are_refused(scores: list[float]) -> None:
    """A score that is missing or not finite is no answer."""

    class Odd:
        name = "odd"

        def similarities(self, pairs: Sequence[TextPair]) -> Floats:
            return np.array(scores)

    with pytest.raises(InputError, match="odd gave similarities of shape"):
        accuracies(Odd(), [Item(Kind.NAME, 0, "s", "r", ("a",))])


def test_nothing_to_compare_is_refused() -> None:
    """No items, no systems, an unknown reference."""
    with pytest.raises(InputError, match="0 items"):
        compare({"a": np.ones(0)}, [])
    with pytest.raises(InputError, match="0 systems"):
        compare({}, items())
    with pytest.raises(InputError, match="--against c: expected one of a"):
        compare({"a": np.ones(60)}, items(), against="c")


def test_the_mean_is_that_of_the_kinds() -> None:
    """Each kind weighs the same, however many items it has; a system is level with itself; the lead
    of one kind is that of `figures`."""
    asked = items()
    one, other = (accuracies(random_scores(seed, seed / 2), asked) for seed in (4, 3))
    leads = {}
    for kind in (Kind.NEXT, Kind.ORDER):
        own = np.array([item.kind is kind for item in asked])
        some = [item for item in asked if item.kind is kind]
        (theirs, _), (mine, leads[kind]) = figures(some, [other[own], one[own]])
        assert min(theirs.value, mine.value) > CHANCE  # the premise: all of a lead counts
        assert mean_ahead(asked, one, other, [kind]).value == pytest.approx(leads[kind].value)
    found = mean_ahead(asked, one, other, list(leads))
    assert found.value == pytest.approx(np.mean([lead.value for lead in leads.values()]))
    assert (found.low or 0) < found.value < (found.high or 0)
    level = mean_ahead(asked, one, one, list(leads))
    assert (level.value, level.low, level.high) == (0, 0, 0)


@pytest.mark.parametrize(
    ("before", "after", "lead"),
    [(0.1, 0.4, 0), (0.1, 0.5, 0), (0.1, 0.7, 20), (0.4, 0.1, -30), (0.7, 0.4, -30)],
)
def test_a_rise_counts_from_chance_upwards(before: float, after: float, lead: float) -> None:
    """Who was wrong more often than by chance and now guesses has learned nothing; every fall
    counts."""
    asked = [Item(Kind.NEGATION, n // 2, f"s{n}", "r", ("a",)) for n in range(40)]
    found = mean_ahead(asked, np.full(40, after), np.full(40, before), [Kind.NEGATION])
    assert found.value == pytest.approx(lead)
    assert found.low == pytest.approx(lead)


def test_vectors_answer_as_their_cosines_do() -> None:
    """Each text encoded once gives the accuracies of a scorer that is asked pair by pair."""
    asked = items(20)
    texts = texts_of(asked)
    vectors = np.random.default_rng(5).normal(size=(len(texts), 4))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    place = {text: n for n, text in enumerate(texts)}
    plain = Scores("plain", lambda a, b: float(units[place[a]] @ units[place[b]]))
    np.testing.assert_allclose(cosine_accuracies("", asked, vectors), accuracies(plain, asked))
