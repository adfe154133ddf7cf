"""Words, parts of speech, subjects and objects; pipelines by name."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import firth.relatedness.parse as module
from firth.relatedness.parse import GrammaticalRole, open_pipeline, parse, parsed, triples_of
from firth.run.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from spacy.tokens import Doc

Tokens = list[tuple[str, str, str, int]]
"""Word, part of speech, dependency label, place of its head."""
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


@pytest.fixture(scope="session")
def annotate() -> "Callable[[Tokens], Doc]":
    """Makes a document of hand-set annotations."""
    import spacy
    from spacy.tokens import Doc

    vocabulary = spacy.blank("en").vocab

    def make(tokens: Tokens) -> Doc:
        words, tags, labels, heads = ([*column] for column in zip(*tokens, strict=True))
        return Doc(vocabulary, words=words, pos=tags, deps=labels, heads=heads)

    return make


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    """What lacks is named before any sentence is read."""
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="no tagger or morphologizer and no parser"):
        open_pipeline(str(tmp_path / "blank"))
    with pytest.raises(InputError, match="nowhere: cannot be loaded"):
        open_pipeline("nowhere")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """spaCy itself, or any English pipeline."""
    monkeypatch.setattr(module, "PIPELINES", ("xx_not_there",))
    with pytest.raises(InputError, match=r"looked for xx_not_there.*pip install"):
        open_pipeline()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"firth\[relatedness\]"):
        open_pipeline()


def test_the_installed_pipeline() -> None:
    """It tells nouns from verbs and subjects from objects; a text is parsed once, in any batch."""
    pipeline = open_pipeline()
    texts = ["The dog chased a red ball.", "Rain.", "The dog chased a red ball.", "!"]
    found = parse(pipeline, texts)
    assert list(found) == ["The dog chased a red ball.", "Rain.", "!"]
    first = found[texts[0]]
    assert first.tagged(frozenset({"NOUN"})) == ["dog", "ball"]
    assert first.in_role(GrammaticalRole.TRIPLE_SUBJECT) == ["dog"]
    assert first.in_role(GrammaticalRole.OBJECT) == ["ball"]
    assert found["!"].words == ()
    assert parse(pipeline, texts[:1]) == {texts[0]: first}


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
    assert sentence.in_role(GrammaticalRole.SUBJECT) == [tokens[0][0]]
    assert sentence.in_role(GrammaticalRole.TRIPLE_SUBJECT) == []


def test_predicates_count_as_objects(annotate: "Callable[[Tokens], Doc]") -> None:
    """`Dogs are animals`: the main verb is an auxiliary by its part of speech."""
    assert named(annotate(COPULA)) == {("dogs", "are", "animals")}


def test_places_hold_after_punctuation_is_left_out(annotate: "Callable[[Tokens], Doc]") -> None:
    """Roles name words, not places in the text with its commas."""
    quoted = [("“", "PUNCT", "punct", 4), *((w, p, d, h + 1) for w, p, d, h in ACTIVE)]
    one, two = parsed(annotate(ACTIVE)), parsed(annotate(quoted))
    assert "." not in one.words
    assert one == two
    assert one.in_role(GrammaticalRole.TRIPLE_OBJECT) == ["mice"]
    assert one.tagged(frozenset({"NOUN"})) == ["dogs", "cats", "mice"]
