"""Subjects and objects in a dependency parse: by their labels, and as parts of triples.

Labels are those of spaCy's English pipelines and of Universal Dependencies. The paper names an
extractor of subject-verb-object triples beside spaCy and does not say how its answers become words;
`TRIPLE_*` are the heads of such triples by rules of our own.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
OBJECTS = frozenset({"dobj", "obj", "iobj", "dative", "attr", "oprd"})
_PASSIVE = frozenset({"nsubjpass", "nsubj:pass", "csubjpass", "csubj:pass"})
_AUXILIARY = frozenset({"aux", "auxpass", "aux:pass"})
_SHARING = frozenset({"conj", "xcomp"})
"""A verb with one of these labels and no subject of its own has that of the verb above it."""


class Role(StrEnum):
    """What a word is in its sentence."""

    SUBJECT = "Subject"
    """It is labelled as a subject of any kind."""
    OBJECT = "Object"
    """It is labelled as an object of a verb, direct, indirect or predicative."""
    TRIPLE_SUBJECT = "Subject of a triple"
    """It does what a verb says, and the verb has an object too."""
    TRIPLE_OBJECT = "Object of a triple"
    """What a verb says is done to it, and the verb has a subject too."""


def roles_of(doc: "Doc") -> dict[Role, tuple[int, ...]]:
    """Role → places of its tokens in `doc`, ascending, each once."""
    triples = list(triples_of(doc))
    found = {
        Role.SUBJECT: {token.i for token in doc if token.dep_ in SUBJECTS},
        Role.OBJECT: {token.i for token in doc if token.dep_ in OBJECTS},
        Role.TRIPLE_SUBJECT: {subject for subject, _, _ in triples},
        Role.TRIPLE_OBJECT: {thing for _, _, thing in triples},
    }
    return {role: tuple(sorted(places)) for role, places in found.items()}


def triples_of(doc: "Doc") -> Iterator[tuple[int, int, int]]:
    """Places of (subject, verb, object), each combination of a verb that has both.

    Words joined to a subject or object by a conjunction count too. In a passive clause who does it
    (`by …`) is the subject, and the grammatical subject the object. A verb that is joined to
    another (`sat and ate`) or is its open complement (`wants to eat`) shares its subject.
    """
    for verb in doc:
        if verb.pos_ not in ("VERB", "AUX") or verb.dep_ in _AUXILIARY:
            continue
        own = _dependants(verb, SUBJECTS)
        passive = any(subject.dep_ in _PASSIVE for subject in own)
        subjects = _agents(verb) if passive else own or _shared(verb)
        objects = own if passive else _dependants(verb, OBJECTS)
        for subject in subjects:
            for thing in objects:
                yield subject.i, verb.i, thing.i


def _dependants(verb: "Token", labels: frozenset[str]) -> "list[Token]":
    return _joined([child for child in verb.children if child.dep_ in labels])


def _joined(tokens: "list[Token]") -> "list[Token]":
    found = list(tokens)
    for token in found:  # grows while it is read: conjunctions may hang in a chain
        found += [
            child for child in token.children if child.dep_ == "conj" and child.pos_ != "VERB"
        ]
    return found


def _shared(verb: "Token") -> "list[Token]":
    """Subjects of the nearest verb above that this one depends on without a subject of its own."""
    while verb.dep_ in _SHARING:
        verb = verb.head
        if found := _dependants(verb, SUBJECTS):
            return [] if any(subject.dep_ in _PASSIVE for subject in found) else found
    return []


def _agents(verb: "Token") -> "list[Token]":
    by = [child for child in verb.children if child.dep_ == "agent"]
    within = [child for preposition in by for child in preposition.children]
    direct = [child for child in verb.children if child.dep_ == "obl:agent"]
    return _joined([child for child in within if child.dep_ == "pobj"] + direct)
