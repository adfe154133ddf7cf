"""How the words of two texts are aligned, and how far they stand in another order.

The k-th use of a word in one text is paired with the k-th in the other. Pairs in the same order in
both texts (a longest increasing run of them, as in patience sorting) align the texts. It takes time
n log n for n words, where a matrix of edits takes n².
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from firth.text.lexicon import Lexicon
from firth.text.tokens import Token

Pairs = list[tuple[int, int]]
"""Places in both texts of words that they share, in the order of the first."""
Run = tuple[int, int, int, int]
"""Start and end in the first text, and in the second, of a run in which they differ."""


def shared(a: Sequence[str], b: Sequence[str]) -> Pairs:
    """Return the places of the keys that both texts have, each used once.

    Example:
        >>> shared(["man", "bites", "dog"], ["dog", "bites", "man"])
        [(0, 2), (1, 1), (2, 0)]
    """
    free: dict[str, list[int]] = {}
    for place in range(len(b) - 1, -1, -1):
        free.setdefault(b[place], []).append(place)
    return [(place, free[key].pop()) for place, key in enumerate(a) if free.get(key)]


def in_order(pairs: Pairs) -> Pairs:
    """Return most of the pairs whose places ascend in both texts.

    Example:
        >>> in_order([(0, 2), (1, 0), (2, 1)])
        [(1, 0), (2, 1)]
    """
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        if at:
            before[number] = last[at - 1]
        if at == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[at], last[at] = place, number
    chain = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def differing_runs(a: Sequence[str], b: Sequence[str], pairs: Pairs) -> list[Run]:
    """Return the runs between aligned keys, without equal keys at their ends."""
    runs = []
    for (i1, j1), (i2, j2) in pairwise([(-1, -1), *in_order(pairs), (len(a), len(b))]):
        start_a, start_b, end_a, end_b = i1 + 1, j1 + 1, i2, j2
        while start_a < end_a and start_b < end_b and a[start_a] == b[start_b]:
            start_a, start_b = start_a + 1, start_b + 1
        while start_a < end_a and start_b < end_b and a[end_a - 1] == b[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
        if start_a < end_a or start_b < end_b:
            runs.append((start_a, end_a, start_b, end_b))
    return runs


# --- Another order -----------------------------------------------------------------------------

_CUT = 0.38
"""Disorder from which texts differ: chosen at 4 % of false alarms on half of PAWS-X."""
_EXCHANGED, _MOST = 0.1, 3
"""What a word in the frame of another one adds, and how many such words count."""
_BLOCKS = 3
"""Blocks of words that a moved clause or adverb leaves, at most."""
_MOVED, _CHARACTERS, _VOICE = 0.5, 0.75, 0.5
"""Factors of a moved clause, of a script whose words are single characters, and of a passive in one
text, which turns who acts."""
_COMMAS = ",\u3001\uff0c"
_LONGEST_GAP = 40
_BETWEEN = 3
"""Function words between two items of an enumeration, at most."""


class Words(NamedTuple):
    """A text as its tokens, their keys, and the places of words of meaning."""

    text: str
    tokens: Sequence[Token]
    keys: list[str]
    content: list[int]


def disorder(a: Words, b: Words, places: Pairs, lexicon: Lexicon) -> tuple[float, Pairs]:
    """Return how surely another order says something else, in [0, 1], and the pairs that moved.

    It is the share of shared words of meaning that stand in another order, and more where a word
    took the frame of another one: what stands before and after it. One clause that moved weighs
    half, and so does a passive in one of the texts. The items of an enumeration have no order.

    Args:
        a: A text.
        b: Another text.
        places: Pairs of places in the content of both.
        lexicon: The word lists of their language.
    """
    if len(places) < 2:
        return 0.0, []
    ranks_a, ranks_b = _ranks(a, lexicon), _ranks(b, lexicon)
    ranked = sorted((ranks_a[i], ranks_b[j], i, j) for i, j in places)
    ascending = _ascending([rank for _, rank, _, _ in ranked])
    turned = [(i, j) for n, (_, _, i, j) in enumerate(ranked) if n not in ascending]
    if not turned:
        return 0.0, []
    position = {j: n for n, j in enumerate(sorted(j for _, j in places))}
    blocks = 1 + sum(
        position[j2] != position[j1] + 1 and ranks_b[j1] != ranks_b[j2]
        for (_, j1), (_, j2) in pairwise(places)
    )
    exchanged, is_exchange = _exchanged(a, b, places, ranks_a)
    score = len(turned) / len(places) + _EXCHANGED * min(_MOST, exchanged)
    is_pair = len(a.tokens) == len(b.tokens) == len(turned) + 1
    score *= 1.0 if blocks > _BLOCKS or is_exchange or is_pair else _MOVED
    score *= (2 * len(places) / (len(a.content) + len(b.content))) ** 0.5
    if lexicon.by.isdisjoint(t.lower for t in a.tokens) != lexicon.by.isdisjoint(
        t.lower for t in b.tokens
    ):
        score *= _VOICE
    if any(a.tokens[a.content[i]].is_character for i, _ in turned):
        score *= _CHARACTERS
    return min(1.0, score / (2 * _CUT)), sorted(turned)


def _ascending(ranks: Sequence[int]) -> set[int]:
    """Return the places of a longest run of numbers that do not descend."""
    chain = in_order([(n, rank * len(ranks) + n) for n, rank in enumerate(ranks)])
    return {n for n, _ in chain}


def _ranks(words: Words, lexicon: Lexicon) -> list[int]:
    """Return the place of each word of meaning, or of the first item of its enumeration."""
    tokens, content = words.tokens, words.content
    ranks = list(range(len(content)))
    start, has_and = 0, False
    for n in range(1, len(content) + 1):
        joins = is_and = False
        if n < len(content):
            last, here = content[n - 1], content[n]
            between = tokens[last + 1 : here]
            gap = words.text[tokens[last].end : tokens[here].start][:_LONGEST_GAP]
            is_and = any(token.lower in lexicon.conjunctions for token in between)
            is_list = is_and or any(sign in gap for sign in _COMMAS)
            joins = (
                is_list
                and len(between) <= _BETWEEN
                and all(
                    t.lower in lexicon.stop and t.lower not in lexicon.prepositions for t in between
                )
            )
            is_one_name = tokens[last].is_name and tokens[here].is_name and gap.isspace()
            joins = joins or is_one_name
        if joins:
            has_and = has_and or is_and
            continue
        if has_and:
            ranks[start:n] = [start] * (n - start)
        start, has_and = n, False
    return ranks


def _exchanged(a: Words, b: Words, places: Pairs, ranks: Sequence[int]) -> tuple[int, bool]:
    """Return how many words stand in the frame of another one, and whether two exchanged theirs."""
    frames: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    before = {j: i for i, j in places}
    for _, j in places:
        frames[_frame(b, j)].append((j, b.keys[b.content[j]]))
    count, is_exchange = 0, False
    for i, j in places:
        frame, key = _frame(a, i), a.keys[a.content[i]]
        here = frames.get(frame, [])[:_BETWEEN]
        if not here or any(other == key for _, other in here):
            continue
        count += 1
        is_exchange = is_exchange or any(
            _frame(a, before[place]) == _frame(b, j) and ranks[before[place]] != ranks[i]
            for place, _ in here
        )
    return count + is_exchange, is_exchange


def _frame(words: Words, n: int) -> tuple[str, str]:
    """Return the words before and after a word of meaning; "" at the ends of the text."""
    at, keys = words.content[n], words.keys
    return keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""
