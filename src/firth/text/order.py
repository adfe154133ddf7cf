"""How the words of two texts are aligned, and how far they stand in another order.

The k-th use of a word in one text is paired with the k-th in the other. Pairs in the same order in
both texts (a longest increasing run of them, as in patience sorting) align the texts. It takes time
n log n for n words, where a matrix of edits takes n².
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from firth.text.lexicon import Lexicon
from firth.text.tokens import Words

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
    others = [place for _, place in pairs]
    if others == sorted(others):
        return pairs
    ends: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for number, place in enumerate(others):
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
_EXCHANGED = 0.1
"""What a word in the frame of another one adds."""
_BLOCKS = 3
"""Blocks of words that a moved clause or adverb leaves, at most."""
_MOVED, _CHARACTERS, _VOICE = 0.5, 0.75, 0.3
"""Factors of a moved clause, of a script whose words are single characters, and of a passive in one
text, which turns who acts."""
_COMMON = 0.6
"""Share of the words of meaning that texts have in common, from which their order tells."""
_NAMED = 4
"""Words that stand elsewhere, at most, where all are named, and not only those that moved."""
_COMMAS = frozenset(",\u3001\uff0c")
_LONGEST_GAP = 40
_ITEMS = 3
"""Items of an enumeration without *and*, at least."""
_BETWEEN = 3
"""Function words between two items of an enumeration, at most."""


def disorder(a: Words, b: Words, places: Pairs, lexicon: Lexicon) -> tuple[float, Pairs]:
    """Return how surely another order says something else, in [0, 1], and pairs that moved.

    It is the share of shared words of meaning that stand in another order, and more where a word
    took the frame of another one: what stands before and after it. One clause that moved weighs
    half, and so does a passive in one of the texts. The items of an enumeration have no order, nor
    have words and numbers of a label without function words: *Bosch drill 18V*, *18V drill Bosch*.

    Args:
        a: A text.
        b: Another text.
        places: Pairs of places in the content of both.
        lexicon: The word lists of their language.
    """
    common = 2 * len(places) / max(1, len(a.content) + len(b.content))
    if len(places) < 2 or common < _COMMON:
        return 0.0, []
    turned: Pairs = []
    others = [j for _, j in places]
    if others != sorted(others):
        ranks_a, ranks_b = _ranks(a, lexicon), _ranks(b, lexicon)
        ranked = sorted((ranks_a[i], ranks_b[j], i, j) for i, j in places)
        # Places of a longest run of ranks that do not descend.
        order = in_order([(n, rank * len(ranked) + n) for n, (_, rank, _, _) in enumerate(ranked)])
        ascending = {n for n, _ in order}
        turned = [(i, j) for n, (_, _, i, j) in enumerate(ranked) if n not in ascending]
    is_passive = [not lexicon.by.isdisjoint([t.lower for t in w.tokens]) for w in (a, b)]
    if not turned and not any(is_passive):
        return 0.0, []
    if not turned:
        back = [(j, i) for i, j in places]
        actors = _actors(a, b, places, lexicon)
        actors += [(i, j) for j, i in _actors(b, a, back, lexicon)]
        return (common**0.5 if actors else 0.0), actors
    position = {j: n for n, j in enumerate(sorted(others))}
    blocks = 1 + sum(
        position[j2] != position[j1] + 1 and ranks_b[j1] != ranks_b[j2]
        for (_, j1), (_, j2) in pairwise(places)
    )
    elsewhere = [(i, j) for n, (i, j) in enumerate(places) if position[j] != n]
    has_digit = {any(map(str.isdigit, a.tokens[a.content[i]].text)) for i, _ in elsewhere}
    has_function_word = any(not token.means for words in (a, b) for token in words.tokens)
    if len(has_digit) == 2 and not has_function_word and not lexicon.endings:
        return 0.0, []
    exchanged, is_exchange = _exchanged(a, b, places, ranks_a, lexicon)
    if lexicon.endings:  # what an ending says, such as *from* and *to*, is bound to its word
        turned_words = ((a.tokens[a.content[i]], b.tokens[b.content[j]]) for i, j in turned)
        bound = sum(x.lower != y.lower for x, y in turned_words)
        exchanged, is_exchange = exchanged + bound, is_exchange or bound > 0
    score = len(turned) / len(places) + _EXCHANGED * exchanged
    is_pair = len(a.tokens) == len(b.tokens) == len(turned) + 1
    score *= 1.0 if blocks > _BLOCKS or is_exchange or is_pair else _MOVED
    score *= common**0.5
    if is_passive[0] != is_passive[1]:
        score *= _VOICE
    if any(a.tokens[a.content[i]].is_character for i, _ in turned):
        score *= _CHARACTERS
    moved = elsewhere if len(elsewhere) <= _NAMED else sorted(turned)
    return min(1.0, score / (2 * _CUT)), moved


def _actors(passive: Words, active: Words, places: Pairs, lexicon: Lexicon) -> Pairs:
    """Return the place of who acts in a passive, and is acted on in the other text."""
    at = next((n for n, token in enumerate(passive.tokens) if token.lower in lexicon.by), 0)
    for (verb, other_verb), (actor, other) in pairwise(places):
        if passive.content[verb] + 1 != at or actor != verb + 1 or other != other_verb + 1:
            continue
        start, end = active.content[other_verb], active.content[other]
        helper = passive.tokens[at - 2]
        between = active.tokens[start + 1 : end]
        is_object = all(t.lower not in lexicon.prepositions for t in (helper, *between))
        if at > 1 and is_object and not helper.means and helper.key != active.keys[start - 1]:
            return [(actor, other)]
    return []


def _ranks(words: Words, lexicon: Lexicon) -> list[int]:
    """Return the place of each word of meaning, or of the first item of its enumeration."""
    tokens, content = words.tokens, words.content
    ranks = list(range(len(content)))
    start, has_and, commas = 0, False, 0
    for n in range(1, len(content) + 1):
        joins = is_and = False
        if n < len(content):
            last, here = content[n - 1], content[n]
            between = tokens[last + 1 : here]
            gap = words.text[words.spans[last][1] : words.spans[here][0]][:_LONGEST_GAP]
            is_and = not lexicon.conjunctions.isdisjoint([token.lower for token in between])
            is_list = is_and or not _COMMAS.isdisjoint(gap)
            joins = (
                is_list
                and len(between) <= _BETWEEN
                and all(
                    t.lower in lexicon.stop and t.lower not in lexicon.prepositions for t in between
                )
            )
            capitals = tokens[last].text[0].isupper() and tokens[here].text[0].isupper()
            single = tokens[last].is_character and tokens[here].is_character
            is_one_name = (capitals and gap.isspace()) or (single and gap in ("", "\u30fb"))
            joins = joins or is_one_name
        if joins:
            has_and, commas = has_and or is_and, commas + (is_list and not is_and)
            continue
        if has_and or commas >= _ITEMS - 1:
            ranks[start:n] = [start] * (n - start)
        start, has_and, commas = n, False, 0
    return ranks


def _exchanged(
    a: Words, b: Words, places: Pairs, ranks: Sequence[int], lexicon: Lexicon
) -> tuple[int, bool]:
    """Return how many blocks stand in the frame of another one, and whether two exchanged theirs.

    A block is words of meaning that stand next to one another in both texts, such as a name. One
    that keeps its preposition says the same elsewhere: *in Sweden in 1947*, *in 1947 in Sweden*.
    """
    blocks: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for i, j in places:
        ends = a.content[i], b.content[j]
        if blocks and (blocks[-1][1][0] + 1, blocks[-1][1][1] + 1) == ends:
            blocks[-1] = blocks[-1][0], ends
        else:
            blocks.append((ends, ends))
    frames_a = [_frame(a, first[0], last[0]) for first, last in blocks]
    frames_b = [_frame(b, first[1], last[1]) for first, last in blocks]
    in_frame: dict[tuple[str, str], list[int]] = defaultdict(list)
    for n, frame in enumerate(frames_b):
        in_frame[frame].append(n)
    rank = {at: ranks[i] for i, at in enumerate(a.content)}
    bound = {t.key for t in a.tokens if t.lower in lexicon.prepositions}
    count, is_exchange = 0, False
    for n, frame in enumerate(frames_a):
        if frame[0] == frames_b[n][0] in bound:
            continue
        here = in_frame.get(frame, [])[:_BETWEEN]
        apart = [m for m in here if rank[blocks[m][0][0]] != rank[blocks[n][0][0]]]
        if apart and n not in here:
            count += 1
            is_exchange = is_exchange or any(frames_a[m] == frames_b[n] for m in apart)
    return count + is_exchange, is_exchange


def _frame(words: Words, first: int, last: int) -> tuple[str, str]:
    """Return the words before and after a block; "" at the ends of the text."""
    keys = words.keys
    return keys[first - 1] if first else "", keys[last + 1] if last + 1 < len(keys) else ""
