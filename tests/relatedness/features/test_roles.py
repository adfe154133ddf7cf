"""Subjects, objects and triples in parses set by hand."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from firth.relatedness.features.parse import parsed
from firth.relatedness.features.roles import Role, triples_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

Tokens = list[tuple[str, str, str, int]]
ACTIVE: Tokens = [
    ("dogs", "NOUN", "nsubj", 3), ("and", "CCONJ", "cc", 0), ("cats", "NOUN", "conj", 0),
    ("chase", "VERB", "ROOT", 3), ("mice", "NOUN", "dobj", 3), (".", "PUNCT", "punct", 3),
]  # fmt: skip
PASSIVE: Tokens = [
    ("mice", "NOUN", "nsubjpass", 2), ("are", "AUX", "auxpass", 2), ("chased", "VERB", "ROOT", 2),
    ("by", "ADP", "agent", 2), ("dogs", "NOUN", "pobj", 3), ("and", "CCONJ", "cc", 4),
    ("cats", "NOUN", "conj", 4),
]  # fmt: skip
SHARED: Tokens = [
    ("she", "PRON", "nsubj", 1), ("wants", "VERB", "ROOT", 1), ("to", "PART", "aux", 3),
    ("eat", "VERB", "xcomp", 1), ("bread", "NOUN", "dobj", 3),
]  # fmt: skip
SLEEP: Tokens = [("dogs", "NOUN", "nsubj", 1), ("sleep", "VERB", "ROOT", 1)]
OPEN: Tokens = [("mice", "NOUN", "nsubjpass", 2), ("are", "AUX", "auxpass", 2),
                ("chased", "VERB", "ROOT", 2)]  # fmt: skip
COPULA: Tokens = [("dogs", "NOUN", "nsubj", 1), ("are", "AUX", "ROOT", 1),
                  ("animals", "NOUN", "attr", 1)]  # fmt: skip


def named(doc: "Doc") -> set[tuple[str, str, str]]:
    return {(doc[a].text, doc[b].text, doc[c].text) for a, b, c in triples_of(doc)}


def test_active_and_passive_say_the_same(annotate: "Callable[[Tokens], Doc]") -> None:
    """Who does what to whom does not depend on the voice; joined words count each."""
    active, passive = named(annotate(ACTIVE)), named(annotate(PASSIVE))
    assert active == {("dogs", "chase", "mice"), ("cats", "chase", "mice")}
    assert {(a, c) for a, _, c in passive} == {(a, c) for a, _, c in active}


def test_a_complement_shares_the_subject(annotate: "Callable[[Tokens], Doc]") -> None:
    """`She wants to eat bread`: she eats it."""
    assert named(annotate(SHARED)) == {("she", "eat", "bread")}


@pytest.mark.parametrize("tokens", [SLEEP, OPEN], ids=["no object", "nobody does it"])
def test_no_triple_without_both(
    annotate: "Callable[[Tokens], Doc]", tokens: list[tuple[str, str, str, int]]
) -> None:
    """The labels still count for the plain roles."""
    doc = annotate(tokens)
    assert named(doc) == set()
    sentence = parsed(doc)
    assert sentence.in_role(Role.SUBJECT) == [tokens[0][0]]
    assert sentence.in_role(Role.TRIPLE_SUBJECT) == []


def test_predicates_count_as_objects(annotate: "Callable[[Tokens], Doc]") -> None:
    """`Dogs are animals`: the main verb is an auxiliary by its part of speech."""
    assert named(annotate(COPULA)) == {("dogs", "are", "animals")}


def test_places_hold_after_punctuation_is_left_out(annotate: "Callable[[Tokens], Doc]") -> None:
    """Roles name words, not places in the text with its commas."""
    quoted = [("“", "PUNCT", "punct", 4), *((w, p, d, h + 1) for w, p, d, h in ACTIVE)]
    one, two = parsed(annotate(ACTIVE)), parsed(annotate(quoted))
    assert "." not in one.words
    assert one == two
    assert one.in_role(Role.TRIPLE_OBJECT) == ["mice"]
    assert one.tagged(frozenset({"NOUN"})) == ["dogs", "cats", "mice"]
