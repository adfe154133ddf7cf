"""Every rule about which answers count, alone and together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.relatedness.bws.answers import Fault, sort_answers
from firth.relatedness.bws.records import Annotation, Gold, Tuple
from firth.run.errors import InputError

TUPLES = [Tuple(f"t{n}", tuple("abcd")) for n in range(12)]
GOLD = [Gold(f"t{n}", "a", "d") for n in range(10)]
GOOD = Annotation("t11", "ann", "a", "b", line=9)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Annotation("t99", "bob", "a", "b"), Fault.UNKNOWN_TUPLE),
        (Annotation("t1", "bob", "", ""), Fault.EMPTY),
        (Annotation("t1", "bob", "a", ""), Fault.INCOMPLETE),
        (Annotation("t1", "bob", "", "a"), Fault.INCOMPLETE),
        (Annotation("t1", "bob", "a", "q"), Fault.STRANGE_ITEM),
        (Annotation("t1", "bob", "q", ""), Fault.STRANGE_ITEM),
        (Annotation("t1", "bob", "c", "c"), Fault.SAME),
    ],
)
def test_an_answer_that_cannot_be_used(answer: Annotation, fault: Fault) -> None:
    """It is left out with its reason; the others stay."""
    found = sort_answers(TUPLES, [answer, GOOD])
    assert found.kept == (GOOD,)
    assert found.left_out == ((answer, fault),)
    assert found.faults == {fault: 1}
    assert str(fault) in found.text()


def test_contradictions_and_repetitions() -> None:
    """Different answers of one annotator to a tuple all go; of equal ones the first stays; two
    annotators may differ, and an unusable answer contradicts nothing."""
    answers = [
        Annotation("t0", "ann", "a", "b"),
        Annotation("t0", "ann", "a", "c"),
        Annotation("t0", "ann", "a", "b"),
        Annotation("t1", "ann", "a", "b", line=5),
        Annotation("t1", "ann", "a", "b", line=6),
        Annotation("t1", "bob", "b", "a"),
        Annotation("t2", "ann", "a", ""),
        Annotation("t2", "ann", "a", "b"),
    ]
    found = sort_answers(TUPLES, answers)
    assert [answers.index(one) for one in found.kept] == [3, 5, 7]
    assert found.kept[0].line == 5
    assert found.faults == {Fault.INCOMPLETE: 1, Fault.CONTRADICTORY: 3, Fault.REPEATED: 1}


def gold_answers(name: str, right: int, of: int) -> list[Annotation]:
    return [Annotation(f"t{n}", name, "a", "d" if n < right else "c") for n in range(of)]


@pytest.mark.parametrize(("right", "passes"), [(7, True), (6, False), (10, True)])
def test_the_bar_is_seventy_per_cent(right: int, passes: bool) -> None:
    """Exactly 70 % passes; below it all answers go, and the annotator is listed."""
    answers = [*gold_answers("bob", right, 10), Annotation("t11", "bob", "b", "c"), GOOD]
    found = sort_answers(TUPLES, answers, GOLD)
    bob = next(one for one in found.annotators if one.name == "bob")
    assert (bob.gold_right, bob.accuracy, bob.passed) == (right, right / 10, passes)
    assert [one.annotator for one in found.kept] == (["bob", "ann"] if passes else ["ann"])
    assert found.faults == ({Fault.GOLD: 10} if passes else {Fault.FAILED: 11})
    assert ("bob (6 of 10 right, 60 %)" in found.text()) is not passes


def test_who_saw_no_gold_question_passes() -> None:
    """And has no accuracy. Half an answer to a gold question is no answer."""
    half = Annotation("t0", "ann", "", "d")
    found = sort_answers(TUPLES, [half, GOOD], GOLD)
    assert [(one.gold_answered, one.accuracy) for one in found.annotators] == [(0, None)]
    assert found.kept == (GOOD,)


def test_only_the_first_answer_to_a_gold_question_is_checked() -> None:
    """After it the annotator may have been shown the right one."""
    wrong, right = Annotation("t0", "bob", "b", "c"), Annotation("t0", "bob", "a", "d")
    found = sort_answers(TUPLES, [wrong, right, GOOD], GOLD)
    assert [one.name for one in found.failed] == ["bob"]
    assert sort_answers(TUPLES, [right, wrong, GOOD], GOLD).failed == ()


def test_gold_answers_can_be_scored() -> None:
    """If asked for."""
    answers = gold_answers("bob", 9, 10)
    assert len(sort_answers(TUPLES, answers, GOLD, score_gold=True).kept) == 10
    with pytest.raises(InputError, match=r"no answer is left(.|\n)*left out 10: gold question"):
        sort_answers(TUPLES, answers, GOLD)


def test_thresholds_are_shares() -> None:
    """A percentage is refused."""
    with pytest.raises(InputError, match="share from 0 to 1"):
        sort_answers(TUPLES, [GOOD], GOLD, threshold=70)


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            Annotation,
            st.sampled_from(["t0", "t1", "t11", "zz"]),
            st.sampled_from(["ann", "bob"]),
            st.sampled_from(["", "a", "b", "q"]),
            st.sampled_from(["", "a", "b", "q"]),
        )
    )
)
def test_nothing_is_lost(answers: list[Annotation]) -> None:
    """Every answer is kept or left out; what is kept is complete, in its tuple, and single."""
    sure = Annotation("t11", "eve", "c", "d")
    found = sort_answers(TUPLES, [*answers, sure])
    assert len(found.kept) + len(found.left_out) == len(answers) + 1
    assert sum(found.faults.values()) == len(found.left_out)
    assert all({one.best, one.worst} < set("abcd") for one in found.kept)
    assert all(one.best != one.worst for one in found.kept)
    assert len({(one.tuple, one.annotator) for one in found.kept}) == len(found.kept)
