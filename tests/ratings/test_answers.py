"""Which answers count."""

import pytest

from firth.ratings.answers import Fault, sort_answers
from firth.ratings.records import Annotation, Gold, Tuple

TUPLES = [Tuple("t", tuple("abcd")), Tuple("u", tuple("abce")), Tuple("g", tuple("abcd"))]
GOLD = [Gold("g", "a", "d")]


def test_each_fault_has_its_reason() -> None:
    answers = [
        Annotation("x", "ann", "a", "b"),
        Annotation("t", "ann", "", ""),
        Annotation("t", "ann", "e", "a"),
        Annotation("t", "ann", "a", ""),
        Annotation("t", "ann", "a", "a"),
        Annotation("t", "ann", "a", "b"),
        Annotation("t", "ann", "a", "b"),
        Annotation("u", "ann", "a", "b"),
        Annotation("u", "ann", "b", "a"),
        Annotation("g", "ann", "a", "d"),
        Annotation("g", "bob", "d", "a"),
        Annotation("t", "bob", "c", "d", line=12),
    ]
    found = sort_answers(TUPLES, answers, GOLD)
    assert found.kept == (answers[5],)
    assert [why for _, why in found.left_out] == [
        Fault.UNKNOWN_TUPLE, Fault.EMPTY, Fault.STRANGE_ITEM, Fault.INCOMPLETE, Fault.SAME,
        Fault.REPEATED, Fault.CONTRADICTORY, Fault.CONTRADICTORY, Fault.GOLD, Fault.FAILED,
        Fault.FAILED,
    ]  # fmt: skip
    assert [one.name for one in found.failed] == ["bob"]
    assert "bob (0 of 1 right)" in found.text()


@pytest.mark.parametrize(("right", "passed"), [(6, False), (7, True), (10, True)])
def test_seven_of_ten_gold_answers_are_enough(right: int, passed: bool) -> None:
    tuples = [Tuple(f"g{n}", tuple("abcd")) for n in range(10)] + TUPLES[:1]
    gold = [Gold(f"g{n}", "a", "d") for n in range(10)]
    answers = [Annotation(f"g{n}", "ann", "a" if n < right else "b", "d") for n in range(10)]
    answers += [Annotation("t", who, "a", "b") for who in ("ann", "unchecked")]
    found = sort_answers(tuples, answers, gold)
    assert ("ann" in {one.annotator for one in found.kept}) == passed
    assert "unchecked" in {one.annotator for one in found.kept}


def test_the_first_answer_to_a_gold_question_is_checked() -> None:
    answers = [
        Annotation("g", "ann", "b", "c"),
        Annotation("g", "ann", "a", "d"),
        Annotation("t", "bob", "a", "b"),
    ]
    assert [one.gold_right for one in sort_answers(TUPLES, answers, GOLD).annotators] == [0, 0]
