"""What is read, checked one by one: sentences of a fitting length, or pairs of such sentences."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from firth.relatedness.pairs.bags import Bags, Ints, bags_of, close_in_length, tokens_of
from firth.relatedness.pairs.settings import Settings
from firth.relatedness.pairs.sources import LeftOut, Origin
from firth.relatedness.pairs.synonyms import Table, replacements


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences that may be used.

    Attributes:
        texts: n sentences, no two with the same words in the same order.
        places: Where each stands in the source.
        bags: Their words, synonyms replaced.
        groups: Number of the group of each, shape (n,), or None.
        read: Records read, broken ones not counted.
        left_out: Reason → how many.
        replaced: Words that a synonym stands for.
    """

    texts: list[str]
    places: list[int]
    bags: Bags
    groups: Ints | None
    read: int
    left_out: Counter[LeftOut]
    replaced: int = 0


@dataclass(frozen=True, eq=False)
class GivenPairs:
    """Pairs that may be used: pair k is sentences 2k and 2k + 1 of `sentences`.

    Attributes:
        sentences: Texts with repetitions, and their words.
        scores: Score of each pair as it was read; empty where none was asked for.
    """

    sentences: Sentences
    scores: list[str] = field(default_factory=list)


def collect_sentences(origin: Origin, settings: Settings, synonyms: Table | None) -> Sentences:
    """Read sentences; leave out those too short, too long, or there already.

    A group is the value of the source's one extra column, if it has any.
    """
    texts: list[str] = []
    places: list[int] = []
    tokens: list[list[str]] = []
    groups: list[int] = []
    numbers: dict[str, int] = {}
    words: dict[str, str] = {}  # one object a word, not one an occurrence
    seen: set[int] = set()
    read = 0
    left_out = origin.left_out
    for record in origin.read(settings.min_words, settings.max_words):
        read += 1
        found = tokens_of(record.texts[0])
        if reason := _length_problem(found, settings):
            left_out[reason] += 1
            continue
        key = _key(found)
        if key in seen:
            left_out[LeftOut.REPEATED] += 1
            continue
        seen.add(key)
        texts.append(record.texts[0])
        places.append(record.place)
        tokens.append([words.setdefault(word, word) for word in found])
        if record.extra:
            groups.append(numbers.setdefault(record.extra[0], len(numbers)))
    if origin.is_run:
        read += left_out[LeftOut.SHORT] + left_out[LeftOut.LONG]
    bags, replaced = _bags(tokens, synonyms)
    grouped = np.array(groups, np.int64) if origin.extra else None
    return Sentences(texts, places, bags, grouped, read, left_out, replaced)


def collect_pairs(origin: Origin, settings: Settings, synonyms: Table | None) -> GivenPairs:
    """Read pairs; leave out those with a sentence too short or long, equal or repeated ones."""
    texts: list[str] = []
    places: list[int] = []
    tokens: list[list[str]] = []
    scores: list[str] = []
    seen: set[tuple[int, int]] = set()
    read = 0
    left_out = origin.left_out
    for record in origin.read(settings.min_words, settings.max_words):
        read += 1
        found = [tokens_of(text) for text in record.texts]
        reasons = [reason for one in found if (reason := _length_problem(one, settings))]
        keys = sorted(map(_key, found))
        if not reasons and keys[0] == keys[1]:
            reasons.append(LeftOut.EQUAL)
        if not reasons and (keys[0], keys[1]) in seen:
            reasons.append(LeftOut.REPEATED)
        lengths = [len(one) for one in found]
        if not reasons and not close_in_length(lengths[0], lengths[1], settings.length_tolerance):
            reasons.append(LeftOut.LENGTHS)
        if reasons:
            left_out[reasons[0]] += 1
            continue
        seen.add((keys[0], keys[1]))
        texts += record.texts
        places += [record.place, record.place]
        tokens += found
        scores += record.extra
    bags, replaced = _bags(tokens, synonyms)
    return GivenPairs(Sentences(texts, places, bags, None, read, left_out, replaced), scores)


def _bags(tokens: list[list[str]], synonyms: Table | None) -> tuple[Bags, int]:
    if synonyms is None:
        return bags_of(tokens), 0
    frequencies = Counter(word for sentence in tokens for word in sentence)
    replace = replacements(synonyms, frequencies)
    return bags_of(tokens, replace), len(replace)


def _length_problem(tokens: list[str], settings: Settings) -> LeftOut | None:
    if not tokens:
        return LeftOut.EMPTY
    if len(tokens) < settings.min_words:
        return LeftOut.SHORT
    return LeftOut.LONG if len(tokens) > settings.max_words else None


def _key(tokens: list[str]) -> int:
    """64 bits for a sequence of words: a million sentences are held in little memory."""
    digest = hashlib.blake2b(" ".join(tokens).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
