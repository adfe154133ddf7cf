"""The features of Table 4: which words of a sentence each of them looks at."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from firth.relatedness.features.parse import Parsed
from firth.relatedness.features.roles import Role

UPOS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "SCONJ", "VERB",
)  # fmt: skip
"""Universal parts of speech of words; punctuation, symbols and `X` are none."""


class Question(StrEnum):
    """The blocks of Table 4."""

    OVERLAP = "Q1. Lexical overlap"
    WORDS = "Q2. Related words"
    POS = "Q3a. Related words, per part of speech"
    GROUP = "Q3b. Related words, per group"
    ROLE = "Q4. Related subjects and objects"


@dataclass(frozen=True)
class Feature:
    """Relatedness of one kind of words.

    Attributes:
        name: As in Table 4.
        question: Its block.
        words: The words of a sentence that it looks at.
    """

    name: str
    question: Question
    words: Callable[[Parsed], list[str]]


def _tagged(*tags: str) -> Callable[[Parsed], list[str]]:
    wanted = frozenset(tags)
    return lambda sentence: sentence.tagged(wanted)


def _in_role(role: Role) -> Callable[[Parsed], list[str]]:
    return lambda sentence: sentence.in_role(role)


ALL_WORDS = Feature("All", Question.WORDS, lambda sentence: list(sentence.words))
FEATURES: tuple[Feature, ...] = (
    ALL_WORDS,
    *(Feature(tag, Question.POS, _tagged(tag)) for tag in UPOS),
    Feature("Noun group", Question.GROUP, _tagged("NOUN", "PRON", "PROPN")),
    Feature("Verb group", Question.GROUP, _tagged("VERB", "AUX")),
    Feature("Adjective group", Question.GROUP, _tagged("ADJ", "ADP", "ADV")),
    *(Feature(role.value, Question.ROLE, _in_role(role)) for role in Role),
)
"""All but Dice, which needs no vectors (§5)."""
OVERLAP = "Dice"
