"""A sentence said in other words, and one that nearly keeps its words and means something else.

A system that reads only words takes the second for the nearer; one that understands takes the first.
Edits are made by rules, for English, and only where a rule is safe: most sentences have none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from firth.check.synonyms import ALIKE, NUMBER_WORDS, OPPOSITES, PAST, REWORDINGS
from firth.lexical.words import normal_form, words

MAX_REWORDINGS = 3
MAX_WORDS = 40
POOL = 500
"""Sentences looked through for another name."""
HOLD = "\ue000"
"""First of the private characters that stand for what has to stay: no pattern matches one."""


@dataclass(frozen=True)
class Edit:
    """Two rewritings of one sentence.

    Attributes:
        kind: "order", "negation", "number" or "name": what `change` changes.
        keep: The sentence in other words; what `change` changes is as it was.
        change: The sentence with another meaning, in nearly the same words.
    """

    kind: str
    keep: str
    change: str


class Splice(NamedTuple):
    """Characters `start` to `end` of a text replaced by `text`."""

    start: int
    end: int
    text: str


Change = tuple[Splice, ...]
Rule = Callable[[str, Sequence[str], np.random.Generator], list[Change]]


def edits_of(sentence: str, others: Sequence[str], rng: np.random.Generator) -> list[Edit]:
    """At most one edit of each kind, in the order of `KINDS`; none where nothing safe applies.

    Args:
        sentence: An English sentence.
        others: Sentences of the same text, from which other names are taken.
        rng: Chooses among what applies; the same state chooses the same.

    Example:
        >>> [edit] = edits_of("He quickly sold the firm to Bell.", [], np.random.default_rng(0))
        >>> edit
        Edit(kind='negation', ...)
    """
    if not _suitable(sentence):
        return []
    found = []
    for kind, rule in KINDS.items():
        changes = rule(sentence, others, rng)
        if not changes:
            continue
        change = changes[int(rng.integers(len(changes)))]
        keep, changed = _reworded(sentence, change, rng), _capital(_spliced(sentence, change))
        if _in_common(sentence, keep) < _in_common(sentence, changed):
            found.append(Edit(kind, keep, changed))
    return found


def _in_common(a: str, b: str) -> float:
    """Dice of the words, repeated ones counted as often: 0 to 1."""
    left, right = Counter(words(a)), Counter(words(b))
    return 2 * (left & right).total() / (left.total() + right.total())


_ENGLISH = frozenset("the of and in to is a was for with on at by it he she they an that".split())
_LIST_MARK = re.compile(r"[|=<>{}\[\]\\_*…]|\.\.|http|www\.|\( |\(,|“ | ”| \.")


def _suitable(sentence: str) -> bool:
    """Whether it looks like one whole English sentence or caption without debris."""
    found = words(sentence)
    return (
        4 <= len(found) <= MAX_WORDS
        and len(_ENGLISH.intersection(found)) >= 1
        and sentence[:1].isupper()
        and not _LIST_MARK.search(sentence)
        and sentence.count('"') % 2 == 0
    )


# --- splices


def _spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text with all splices made, articles agreeing with what follows them."""
    for start, end, new in sorted(splices, reverse=True):
        before = text[:start]
        if new[:1] < HOLD and (article := re.search(r"\b([Aa])n?(?= $)", before)):
            before = f"{before[: article.start()]}{article[1]}{'n' * _takes_an(new)} "
        text = before + new + text[end:]
    return text


_AN = re.compile(
    r"(?!eu|one|uni(?!n)|us[aeiu]|ut[ei]|ub)[aeiou]|hour|hono|heir|8|1[18](?:\d\d)?(?!\d)", re.I
)


def _takes_an(word: str) -> bool:
    return _AN.match(word) is not None


def _overlap(splice: Splice, others: Sequence[Splice]) -> bool:
    return any(splice.start < other.end and other.start < splice.end for other in others)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lowered(text: str) -> str:
    """The text with its first letter small, unless its first word has to keep it."""
    return text if re.match(r"I\b|[A-Z]\w*[A-Z]", text) else text[:1].lower() + text[1:]


# --- the same in other words


def _reworded(sentence: str, change: Change, rng: np.random.Generator) -> str:
    """The sentence with up to `MAX_REWORDINGS` rewordings, none where it is changed or quoted."""
    kept = sorted(splice[:2] for splice in change)
    kept += [
        match.span()
        for match in re.finditer(r"\"[^\"]*\"|“[^”]*”", sentence)
        if not any(start < match.end() and match.start() < end for start, end in kept)
    ]
    text = _spliced(sentence, [Splice(*at, chr(ord(HOLD) + i)) for i, at in enumerate(kept)])
    candidates = [*_alike(text), *_dates(text), *_digits(text), *_pairs(text)]
    chosen: list[Splice] = []
    for index in rng.permutation(len(candidates)):
        if len(chosen) < MAX_REWORDINGS and not _overlap(candidates[index], chosen):
            chosen.append(candidates[index])
    text = _moved(_spliced(text, chosen))
    for i, (start, end) in enumerate(kept):
        text = text.replace(chr(ord(HOLD) + i), sentence[start:end])
    return _capital(text)


class _Table(NamedTuple):
    pattern: re.Pattern[str]
    rest: dict[str, tuple[str, ...]]


@cache
def _table(lines: str) -> _Table:
    """One pattern for all left sides, the longest first, and what may stand for each."""
    rest: dict[str, tuple[str, ...]] = {}
    for line in lines.strip().splitlines():
        if line.startswith("# "):
            continue
        sides = re.split(r" [=>] ", line)
        for side in sides[:1] if ">" in line else sides:
            rest[side] = (*rest.get(side, ()), *(other for other in sides if other != side))
    ordered = sorted(rest, key=len, reverse=True)
    pattern = "|".join(
        re.escape(side[:-1]) + r"(?=\$?\d)" if side[-1] == "#" else rf"{re.escape(side)}(?![\w'’-])"
        for side in ordered
    )
    values = {
        side.replace("#", ""): tuple(other.replace("#", "") for other in others)
        for side, others in rest.items()
    }
    return _Table(re.compile(rf"(?<![\w'’-])(?:{pattern})"), values)


def _substitutes(text: str, lines: str) -> Iterator[tuple[Splice, ...]]:
    """For each place of the text that the table knows, all that may stand there."""
    table, lowered = _table(lines), _lowered(text)
    for match in table.pattern.finditer(lowered):
        yield tuple(Splice(*match.span(), new) for new in table.rest[match[0]])


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"(?<![\w'’-])(?:{old})(?![\w'’-])"), new) for old, new in REWORDINGS]


def _alike(text: str) -> Iterator[Splice]:
    for substitutes in _substitutes(text, ALIKE):
        yield from substitutes
    lowered = _lowered(text)
    for pattern, new in _patterns():
        for match in pattern.finditer(lowered):
            yield Splice(*match.span(), match.expand(new))


_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE_LEFT = re.compile(
    r"(?:^|\b(?:on|until|from|since|by|of|before|after|for|dated|till|the) |[,(] ?)$", re.I
)


def _dates(text: str) -> Iterator[Splice]:
    """3 March for March 3, and the reverse."""
    for match in re.finditer(
        rf"\b(?:(\d\d?) ({_MONTH})( \d{{4}})?|({_MONTH}) (\d\d?)(, \d{{4}})?)"
        r"(?![\w–/-]| [–&-]| (?:and|or|to) \d|,? [\d\ue000-\ue0ff])",
        text,
    ):
        if not _DATE_LEFT.search(text[: match.start()]):
            continue
        day, month, year, month2, day2, year2 = match.groups()
        new = (
            f"{month} {day}" + (f",{year}" if year else "")
            if day
            else f"{day2} {month2}" + (year2 or "").replace(",", "")
        )
        yield Splice(*match.span(), new)


_COUNTED = re.compile(
    r"(?<=[a-z] )(\d|1[012]|" + "|".join(NUMBER_WORDS) + r")(?= (?!and|or|to|in|of|at|is|was|as|by"
    r"|hundred|thousand|mm|cm|km|am|pm|kg|mg|ml|points?\b|million)[a-z]{3,})"
)
_NO_COUNT = re.compile(
    r"\b(?:page|chapter|number|no|top|level|version|episode|season|grade|type|part|step|question|"
    r"figure|table|class|group|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|day|phase|category|channel|route|under|aged|section|volume) $",
    re.I,
)


def _digits(text: str) -> Iterator[Splice]:
    """3 for three and the reverse, before what is counted."""
    for match in _COUNTED.finditer(text):
        if not _NO_COUNT.search(text[: match.start()]):
            if not match[1].isdigit():
                yield Splice(*match.span(), str(NUMBER_WORDS.index(match[1]) + 2))
            elif int(match[1]) >= 2:
                yield Splice(*match.span(), NUMBER_WORDS[int(match[1]) - 2])


_TOKEN = r"[A-Z][a-z][\w’'-]*"
_NAME = rf"{_TOKEN}(?: (?:[A-Z]\. )?{_TOKEN})*"
_PAIR = re.compile(
    rf"(?<=\b)((?:in|with|by|from|for|between|both|against|including|near|featuring|as|to) )"
    rf"({_NAME}) (and|or) ({_NAME})(?=[.,;)]| [a-z])"
)
_BOTH = re.compile(r"\b(the [a-z]+) (and|or) (the [a-z]+)(?=[.,;])")


def _pairs(text: str) -> Iterator[Splice]:
    """B and A for A and B."""
    for match in _PAIR.finditer(text):
        a, joint, b = match.groups()[1:]
        if not re.search(r"['’]s\b", match[0]):
            yield Splice(match.end(1), match.end(), f"{b} {joint} {a}")
    for match in _BOTH.finditer(text):
        yield Splice(*match.span(), f"{match[3]} {match[2]} {match[1]}")


_SUBJECT = r"(?:He|She|It|They|We|I|You|This|These|There|The|His|Her|Its|Their|Our|My|A|An)"
_PLAIN = r"(?:(?! (?:and|but|or|that|which|who|when|while|where|because|if|to|said) )[^,;:\"“”()?])"
_ALSO = re.compile(
    r"(He|She|It|They|We|I|You|This|These|There)((?: (?:was|is|were|are|has|had|have|can|could))?) "
    r"also (.*)"
)
_WHEN = r"(?:When|While|If|Although|Because|After|Before|Once|Until|Since|As)"
_CLAUSE = re.compile(
    rf"({_WHEN} (?:he|she|it|they|we|I|you|the|a|his|her|this)\b[^,;:\"“”()]+), "
    r"((?:he|she|it|they|we|I|you|the|a|an|his|her|their|its|this|there)\b[^,;:\"“”()?]+)([.!])"
)
_CLAUSE_LAST = re.compile(
    rf"({_SUBJECT} {_PLAIN}{{8,70}}) ((?:when|because|although|if) "
    r"(?:he|she|it|they|we|I|you|the)\b[^,;:\"“”()?]+)([.!])"
)
_WHEN_FIRST = re.compile(
    rf"((?:In|On|At|During|By|Since|Until) (?:early |late |mid-)?(?:{_MONTH} ?)?[\d ]*(?:{_MONTH}|\d{{4}})"
    rf"(?: \d{{1,2}})?(?:, \d{{4}})?), ((?:he|she|it|they|we|I|the|a|an|his|her|{_TOKEN})\b"
    rf"{_PLAIN}{{8,80}})([.!])"
)
_WHEN_LAST = re.compile(
    r"((?:He|She|It|They|We|I|The [a-z]+(?: [a-z]+)?|The film|The building) (?:was|were|became|left|"
    rf"joined|moved|returned|won|died|received|graduated|retired|played) {_PLAIN}{{6,80}}[a-z](?<!ed)) "
    rf"((?:in|on) (?:(?:{_MONTH} |\d\d? {_MONTH} )?\d{{4}}|{_MONTH} \d\d?))([.!])"
)


def _moved(text: str) -> str:
    """The text with an adverbial at the other end, where that is safe."""
    for pattern, order in (
        (_ALSO, lambda m: f"In addition, {_lowered(m[1])}{m[2]} {m[3]}"),
        (_CLAUSE, lambda m: f"{_capital(m[2])} {_lowered(m[1])}{m[3]}"),
        (_WHEN_FIRST, lambda m: f"{_capital(m[2])} {_lowered(m[1])}{m[3]}"),
        (_CLAUSE_LAST, lambda m: f"{_capital(m[2])}, {_lowered(m[1])}{m[3]}"),
        (_WHEN_LAST, lambda m: f"{_capital(m[2])}, {_lowered(m[1])}{m[3]}"),
    ):
        if match := pattern.fullmatch(text):
            return order(match)
    return text


# --- another meaning


_PAST_VERB = (
    r"(?:(?:[a-z]+ly )?[a-z]{3,}ed|beat|won|led|left|taught|told|sold|bought|built|wrote|sent|fought|"
    r"overtook|shot|hit|drove|made|saw|found|took|lost|gave|brought|caught|held|paid|chose|struck|cut)"
)
_END = (
    r"(?=[,;)]|\.?$| (?:in|on|at|for|from|by|with|during|after|before|as|when|while|until|since)\b)"
    r"(?!, [A-Z]|,[^,]* (?:and|or)\b)"
)
_PARTY = rf"(?:[Tt]he )?{_NAME}"
_TWO_NAMES = re.compile(
    rf"(?:^|(?<=, )|(?<=that )|(?<=when ))({_PARTY}) "
    rf"((?:is|was|has|had|will|became|lies|{_PAST_VERB})(?: [a-z]+){{0,7}}) ({_PARTY}){_END}"
)
_SYMMETRIC = frozenset(
    """and or but with between met married marry versus vs same similar both twin twins cousin
    brother sister sibling friend friends neighbour adjacent near opposite equal named called known
    who which he she it they that border borders bordered bordering divorced resembles related close
    distance beside collaborated competed like unlike""".split()
)
_WORD = (
    r"(?!(?:outside|inside|outdoors|near|next|at|in|on|with|while|that|which|who|of|and|or|for|to|from|by|"
    r"as|is|was|are|were|has|had|during|after|before|under|over|then|there|lot|number|few|little|group|"
    r"couple|[a-z]+ing|[a-z]+ly|[a-z]+ed)\b)[a-z]+"
)
_NP = rf"(?:[Aa]n?|[Tt]he|[Hh]is|[Hh]er|[Mm]y) {_WORD}(?: {_WORD})?"
_NOUNS = re.compile(
    rf"^((?:An?|The) {_WORD}(?: {_WORD})?) ({_PAST_VERB}|was [a-z]+ed by|has been [a-z]+ed by) "
    rf"((?:an?|the) {_WORD}(?: {_WORD})?){_END}"
)
_THAN = re.compile(
    rf"(?:^|(?<=that )|(?<=, ))({_NP}|{_PARTY}) ((?:is|was|are|were|has|had|seems|looks|became)"
    rf"(?: [a-z]+){{0,3}} than) ({_NP}|{_PARTY})(?=[.,;!]|$)"
)
_FROM_TO = re.compile(
    rf"\bfrom ({_NAME}|the [a-z]+|an? [a-z]+) (to) ({_NAME}|the [a-z]+|an? [a-z]+)"
    rf"{_END}"
)
_NO_WAY = re.compile(
    r"\b(?:distance|rang\w+|road|route|line|rail\w*|highway|runs?|running|extend\w*|stretch\w*|"
    r"everything|between|miles|km|lasted|different|back)\b"
)
_CAPTION = re.compile(
    rf"^((?:An?|The) {_WORD}(?: {_WORD})?) ((?:(?:is|are) )?(?:(?:sitting|standing|lying|laying|parked|walking|"
    r"resting|sleeping|perched|placed) )?(?:on top of|in front of|behind|under|inside of|above|on|chasing|"
    r"feeding|following|watching|holding|carrying|pushing|pulling|riding|leading|biting|licking|towing|"
    r"eating|jumping over|looking at|flying over|covered in|full of|filled with|chases|rides|holds|watches))"
    rf" ((?:an?|the) {_WORD}(?: {_WORD})?)(?=[.,;]|$)"
)


def _order(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """The two parties of what is said change places."""
    patterns = (_TWO_NAMES, _THAN, _NOUNS, _CAPTION, *([] if _NO_WAY.search(text) else [_FROM_TO]))
    found = []
    for pattern in patterns:
        for match in pattern.finditer(text):
            a, b = match[1], match[3]
            if pattern is _TWO_NAMES and not _has_direction(text, match, others, rng):
                continue
            if any(_CALENDAR.search(side) for side in (a, b)):
                continue
            if match[2].startswith(("is", "was", "has")) and b.endswith("s"):
                continue
            if not {*words(a)} & {*words(b)} - {"the", "a", "an"}:
                first, second = (_lowered_article(side) for side in (a, b))
                found.append(
                    (
                        Splice(*match.span(1), second),
                        Splice(*match.span(3), first),
                    )
                )
    return found


def _lowered_article(party: str) -> str:
    return re.sub(
        r"^(?:The|An?|His|Her|My|Your|Their|This|That|Our)\b", lambda m: m[0].lower(), party
    )


def _has_direction(
    text: str, match: re.Match[str], others: Sequence[str], rng: np.random.Generator
) -> bool:
    """Whether two names can change places and it is grammatical and another statement."""
    a, middle, b = match.groups()
    between = middle.split()
    return not (
        _SYMMETRIC.intersection(between)
        or between in (["is"], ["was"], ["became"])
        or _NO_END.search(middle)
        or any(re.match(r"[Tt]he .*s$", side) for side in (a, b))
        or (match.start() == 0 and " " not in a and not _is_name(a, others, rng))
    )


_NO_END = re.compile(
    r"\b(?:the|a|an|his|her|its|their|new|old|appointed|elected|crowned|titled|won|became|made|created)$"
)
_NOUN = re.compile(
    r"(?:ion|ment|ing|ness|ity|ism|[ae]nce|ship|age|ology|ics|ture|s|ed|ers?|ors?|ly)$"
)


def _is_name(word: str, others: Sequence[str], rng: np.random.Generator) -> bool:
    """Whether the first word of a sentence looks like a name: nobody writes it small."""
    small = re.compile(rf"\b{re.escape(word.lower())}\b")
    picked = rng.choice(len(others), size=min(POOL, len(others)), replace=False) if others else []
    return not _NOUN.search(word) and not any(small.search(others[int(i)]) for i in picked)


_CALENDAR = re.compile(
    rf"\b(?:{_MONTH}|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Christmas|Easter|In|On|At|"
    r"After|Before|During|When|While|As|For|From|With|By|Since|This|That|These|Those|There|It|He|She|They|"
    r"We|You|My|His|Her|Their|Our|Its|A|An|If|Although|Though|However|Also|But|And|Or|What|Who|Why|How|"
    r"Where|One|Two|Three|Some|Many|Most|All|Both|Each|English|French|German|Spanish|Italian|Latin|Greek|"
    r"Russian|Chinese|Japanese|Dutch|Portuguese|Polish|Arabic|Hebrew|Turkish|Swedish|Danish|Norwegian|"
    r"Welsh|Irish|Scottish|British|American|Canadian|Australian|European|African|Asian|Indian|Roman|"
    r"Catholic|Christian|Jewish|Muslim|Islamic|Internet|God|Dr|Mr|Mrs|Ms|St|Jr|Sr|Sir|Lord|Lady|King|Queen|"
    r"President|General|Captain|Colonel|Major|Professor|Prince|Princess|Pope|Bishop|[A-Z]\w+(?:ish|ese|ians?))\b"
)

_PARTICIPLE = (
    r"(?:[a-z]+ed|been|born|built|made|known|held|found|given|taken|seen|written|won|sold|sent|left|led|"
    r"set|put|become|begun|chosen|done|drawn|driven|grown|shown|taught|told|thought|worn|brought|bought|"
    r"caught|lost|named)"
)
_PREDICATE = (
    rf"(?:{_PARTICIPLE}|an?|the|in|on|at|from|of|part|located|able|available|based|[a-z]+(?:ous|ful|able|"
    r"ible|ive|ic|al|ing|ent|ant)|very|aware|sure|good|bad|large|small|old|new|young|big|empty|full|red|"
    r"blue|green|white|black|easy|hard|ready|free|safe|rare|common|similar|common)"
)
_MODAL_STOP = (
    "(?:also|not|never|still|only|always|often|the|of|to|and|or|in|on|at|for|from|with|by|as|that|i|he|she|"
    "it|we|they|you|there|this|now|then|even|just|well|likely|probably|usually|sometimes|easily|actually|"
    r"both|either|neither|never|too|no|any|a|an|be able|[a-z]+ly)"
)
_POSITIVE = re.compile(
    rf"(?:(?<=[a-z] )|(?<=[a-z0-9)]\b ))(?:(is|are|was|were) (?={_PREDICATE}\b)(?!in (?:fact|addition|particular|turn|part)\b)"
    rf"|(has|have|had) (?={_PARTICIPLE} )|(can|could|will|would|should|may|might|must) (?!{_MODAL_STOP}\b)(?=[a-z]+\b))"
)
_NO_SUBJECT = re.compile(
    r"\b(?:and|or|but|than|as|what|how|why|where|whether|if|a|an|the|his|her|my|your|our|their|its|no|in|on|"
    r"to|of|free|trash|every|also|neither|more|until|it|so|when) $",
    re.I,
)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|nor|neither|nobody|nothing|without|hardly|rarely|seldom|barely|cannot|few|only|"
    r"any|anyone|anything|anybody|ever|yet|either|until|unless|anymore|but|one of|at all|too|necessarily|"
    r"also|already|some|both|whether)\b|n['’]t\b|\?"
)
_NEGATED = re.compile(
    r"(?<=[a-z] )(?:(is|are|was|were|has|have|had|do|does|did|could|would|should|may|might|must|will) not"
    r"(?= [a-z]+ )|(is|are|was|were|has|have|had|do|does|did|could|would|should)n['’]t(?= [a-z]+ )"
    r"|(can)(?:not|['’]t)(?= [a-z]+ )|(?:(wo)n['’]t)(?= [a-z]+ ))"
)
_NO_REMOVAL = re.compile(
    r"\b(?:any|anyone|anything|anybody|anymore|anywhere|ever|yet|either|neither|nor|until|unless|but|only|"
    r"even|necessarily|at all|much|many|to|as|so|instead|rather|because|mind|simply|just|why|hesitate|"
    r"whether|if|really|care|too|matter|want|let|help)\b|\?"
)
_PRONOUN_PAST = (
    r"(?<![\w’'-])([Hh]e|[Ss]he|[Tt]hey|[Ww]e|I) ({})(?= (?!(?:and|or|that he|himself)\b)[a-z])"
)


@cache
def _past() -> tuple[re.Pattern[str], dict[str, str]]:
    base = {past: verb for verb, past in (pair.split() for pair in PAST.split(","))}
    return re.compile(_PRONOUN_PAST.format("|".join(base))), base


def _negation(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """A "not" more or less, or the opposite of a word."""
    if text.endswith("?"):
        return []
    found: list[Change] = []
    if len(_NEGATIVE.findall(text)) == 1 and not _NO_REMOVAL.search(text):
        for match in _NEGATED.finditer(text):
            positive = "will" if match[4] else next(filter(None, match.groups()))
            found.append((Splice(*match.span(), positive),))
    if not _NEGATIVE.search(text):
        for match in _POSITIVE.finditer(text):
            if not _NO_SUBJECT.search(text[: match.start()]):
                word = match[0].rstrip()
                new = "cannot" if word == "can" else f"{word} not"
                found.append((Splice(match.start(), match.start() + len(word), new),))
        pattern, base = _past()
        for match in pattern.finditer(text):
            found.append((Splice(*match.span(2), f"did not {base[match[2]]}"),))
        # The first is the main clause's more often than not.
        found = found[:1]
    for substitutes in _substitutes(text, OPPOSITES):
        found.append(substitutes[:1])
    return found


_NUMBER = re.compile(
    r"(?:(?<=[a-z,] )|(?<=[$£€])|(?<=^))(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?|"
    + "|".join(NUMBER_WORDS)
    + rf")(?=[.,;)]?(?: [a-z(]|$)|%| {_MONTH}|, [a-z])(?!-)(?! (?:and a half|thirds|[–-] ))"
)


def _number(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Another number, in the same format, clearly larger or smaller; another year or day."""
    present = {word.replace(",", "") for word in re.findall(r"[\d,.]*\d|[a-z]+", text)}
    found: list[Change] = []
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if _NO_COUNT.search(before) or re.search(r"\b(?:at|to|and|or) $|\bone $", before):
            continue
        fits = [
            new for new in _numbers(match[1], after, rng) if new.replace(",", "") not in present
        ]
        if fits:
            found.append((Splice(*match.span(), fits[int(rng.integers(len(fits)))]),))
    return found


def _numbers(old: str, after: str, rng: np.random.Generator) -> list[str]:
    """Numbers that may stand for `old`."""
    if old in NUMBER_WORDS:
        value = NUMBER_WORDS.index(old) + 2
        return [
            word
            for other, word in enumerate(NUMBER_WORDS, 2)
            if max(value, other) >= 2 * min(value, other)
        ]
    if re.match(rf" {_MONTH}", after):
        return [str(day) for day in range(2, 29) if old.isdigit() and abs(day - int(old)) >= 4]
    if re.fullmatch(r"1\d{3}|20[0-2]\d", old):
        return [
            str(year)
            for year in range(1000, max(2024, int(old)) + 1)
            if 5 <= abs(year - int(old)) <= 60
        ]
    decimals = len(old.partition(".")[2])
    value = float(old.replace(",", ""))
    if value < 2:
        return []
    low, high = (2.0, 99.0 if value < 100 else 10 * value)
    factors = [f for f in (2.0, 2.5, 3.0, 4.0, 6.0, 9.0) for f in (f, 1 / f)]
    values = [value * factor for factor in factors if low <= value * factor <= high]
    if old.endswith("0") and not decimals:
        zeros = len(old) - len(old.replace(",", "").rstrip("0"))
        values = [round(v, -min(zeros, 1)) for v in values]
    return [f"{v:,.{decimals}f}" if "," in old else f"{v:.{decimals}f}" for v in values]


_PLACED = re.compile(
    rf"(?<![\w-])([a-z]+) (in|by|from|to|with|at|for|against) ({_NAME})"
    r"(?=[,;)]|\.?$| (?:in|on|at|and|to|for|was|is|with|who|by|as|from|during|after|before|when|where)\b)"
)
_SORT = re.compile(
    r"(?:(University|College|School|Academy|Institute|Hospital)|(Park|Stadium|Station|Square|Airport|Hall|"
    r"Street|Road|Theatre|Theater|Museum|Church|Castle|Abbey)|(River|Lake|Island|Islands|Bay|County|City|"
    r"State|District)|(Company|Records|Magazine|Press|Team|Club|United|Party|Army|Service|Studios)|"
    r"(Award|Awards|Prize|Cup|League|Championship|Games|Olympics|Festival))$"
)


def _names(text: str) -> Iterator[re.Match[str]]:
    """Names after a preposition: the word before it, the preposition, the name."""
    for match in _PLACED.finditer(text):
        if not _CALENDAR.search(match[3]) and not re.search(r"['’]s?\b|['’]$", match[3]):
            yield match


def _traits(match: re.Match[str]) -> tuple[object, ...]:
    """What two names share that can stand for each other, the weightiest first."""
    sort = _SORT.search(match[3])
    follows = re.match(r", [A-Z]", match.string[match.end() :]) is not None
    return sort and sort.lastindex, follows, len(match[3].split()), match[1]


def _name(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Another name that stands after the same preposition somewhere in `others`."""
    places = [
        place for place in _names(text) if len(re.findall(rf"\b{re.escape(place[3])}\b", text)) == 1
    ]
    if not places or not others:
        return []
    place = places[int(rng.integers(len(places)))]
    traits, known = _traits(place), {*words(text)}
    fits = [
        match
        for i in rng.choice(len(others), size=min(POOL, len(others)), replace=False)
        for match in _names(others[int(i)])
        if match[2] == place[2] and known.isdisjoint(words(match[3]))
    ]
    if not fits:
        return []
    best = max(fits, key=lambda fit: [a == b for a, b in zip(traits, _traits(fit), strict=True)])
    return [(Splice(*place.span(3), best[3]),)]


KINDS: dict[str, Rule] = {
    "order": _order,
    "negation": _negation,
    "number": _number,
    "name": _name,
}
"""What is changed, and the rule that finds all changes of the kind."""
