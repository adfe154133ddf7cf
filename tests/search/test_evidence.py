"""`firth.search.evidence`: kinds, and differences that vectors hardly see."""

import pytest

from firth.search.evidence import Reader
from firth.text.near import Kind


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("He saw 10 ships.", "He saw ten ships.", ()),
        ("He saw 10 ships.", "He saw 11 ships.", ("number: 10 / 11",)),
        ("It will improve.", "It will not improve.", ("negation: – / not",)),  # noqa: RUF001
    ],
)
def test_differences_are_what_vectors_hardly_see(a: str, b: str, differ: tuple[str, ...]) -> None:
    """Both sides must have what differs, and the second side sees the same."""
    assert Reader().differing(a, b) == differ
    assert [each.split()[0] for each in Reader().differing(b, a)] == [x.split()[0] for x in differ]
    assert (Reader().kind(a, b) is Kind.RELATED) == bool(differ)


def test_kinds_of_pairs() -> None:
    """The words say how near two texts are."""
    long = "one two three four five six seven eight nine ten"
    kind = Reader().kind
    assert kind("A ship!", "a ship") is Kind.EXACT
    assert kind(long, f"{long} eleven") is Kind.NEAR
    assert kind(long, "ten nine eight") is Kind.SIMILAR
    assert kind("ship", "boat") is Kind.SIMILAR


def test_german_nouns_are_no_names() -> None:
    """A capital says nothing in German."""
    pair = "Wir sahen das Boot.", "Wir sahen das Schiff."
    assert not any(reason.startswith("name") for reason in Reader("de").differing(*pair))
    assert Reader("en").differing(*pair) == ("name: Boot / Schiff",)


def test_evidence_has_shared_words_and_clauses() -> None:
    """Words are compared by stem; only long runs are clauses."""
    found = Reader().compare(
        "The captain sails.",
        "Captains sailed, although huge waves broke several wooden masts yesterday evening.",
    )
    assert found.shared == ("captain", "sails")
    assert len(found.added) == 1
    assert "wooden masts yesterday evening" in found.added[0]
    assert found.left_out == ()
