"""A sentence said in other words, and one that nearly keeps its words and means something else.

A system that reads only words takes the second for the nearer, one that understands the first.
Edits are made by rules, for English, and only where a rule is safe: most sentences have none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from firth.check.rewording import (
    MONTH,
    NO_COUNT,
    Splice,
    capital,
    reworded,
    spliced,
    substitutes_in,
)
from firth.check.synonyms import OPPOSITES, PAST
from firth.lexical.marks import CONTRACTED, NAME, NEGATIONS, NUMBER_WORDS
from firth.lexical.words import words

MAX_WORDS = 40
POOL = 500
"""Sentences looked through for another name."""

Change = tuple[Splice, ...]
Rule = Callable[[str, Sequence[str], np.random.Generator], list[Change]]


@dataclass(frozen=True)
class Edit:
    """Two rewritings of one sentence.

    Attributes:
        kind: "order", "negation", "number" or "name": what `change` changes.
        keep: The sentence in other words; what `change` changes is as it was.
        change: The sentence with another meaning; it shares more words with the sentence than
            `keep` does.
    """

    kind: str
    keep: str
    change: str


def edits_of(sentence: str, others: Sequence[str], rng: np.random.Generator) -> list[Edit]:
    """At most one edit of each kind, in the order of `KINDS`; none where nothing safe applies.

    Args:
        sentence: An English sentence.
        others: Sentences of the same text, from which other names are taken.
        rng: Chooses among what applies; the same state chooses the same.

    Example:
        >>> [edit] = edits_of("It was built by several masons.", [], np.random.default_rng(0))
        >>> edit.kind, edit.keep, edit.change
        ('negation', 'It was constructed by a number of masons.',
         'It was not built by several masons.')
    """
    if not _suitable(sentence):
        return []
    found = []
    for kind, rule in KINDS.items():
        if not (changes := rule(sentence, others, rng)):
            continue
        change = changes[int(rng.integers(len(changes)))]
        keep, changed = reworded(sentence, change, rng), capital(spliced(sentence, change))
        if _in_common(sentence, keep) < _in_common(sentence, changed):
            found.append(Edit(kind, keep, changed))
    return found


def _in_common(a: str, b: str) -> float:
    """Dice of the words, repeated ones counted as often: 0 to 1."""
    left, right = Counter(words(a)), Counter(words(b))
    return 2 * (left & right).total() / (left.total() + right.total())


def _any(alternatives: str) -> str:
    """A group of the alternatives, which blanks part."""
    return f"(?:{'|'.join(alternatives.split())})"


_ENGLISH = re.compile(
    rf"\b{_any('the of and in to is a was for with on at by it he she they an that')}\b", re.I
)
_DEBRIS = re.compile(r"[|=<>{}\[\]\\_*…]|\.\.|http|www\.|\( |\(,|“ | ”| \.|\"\"")


def _suitable(sentence: str) -> bool:
    """Whether it looks like one whole English sentence or caption."""
    found = words(sentence)
    return (
        4 <= len(found) <= MAX_WORDS
        and _ENGLISH.search(sentence) is not None
        and sentence[:1].isupper()
        and not _DEBRIS.search(sentence)
        and sentence.count('"') % 2 == 0
    )


# --- order


_NO_NOUN = _any(
    """outside inside outdoors near next at in on with while that which who of and or for to
    from by as is was are were has had during after before under over then there lot number
    few little group couple way result part one same first people not no [a-z]+ing [a-z]+ly
    [a-z]+ed"""
)
_WORD = rf"(?!{_NO_NOUN}\b)[a-z]+"
_NOUNS = rf"(?:[Aa]n?|[Tt]he) {_WORD}(?: {_WORD})?"
_PARTY = rf"(?:(?:[Tt]he )?{NAME}|{_NOUNS})"
_IRREGULAR = _any(
    """beat won led left taught told sold bought built wrote sent fought overtook shot hit
    drove made saw found took lost gave brought caught held paid chose struck"""
)
_DID = rf"(?:(?:[a-z]+ly )?(?:[a-z]{{3,}}ed|{_IRREGULAR}))"
_TOWARDS = _any(
    "by of to from against for behind under in at on into over above below after before"
)
_START = r"(?:^|(?<=, )|(?<=that )|(?<=when )|(?<=while )|(?<=where ))"
_AFTERWARDS = _any(
    "in on at from by with during after before when while until since because due despite"
)
_END = rf"(?=[,;)]|\.?$| {_AFTERWARDS}\b)(?!, [A-Z]|,[^,]* (?:and|or)\b)"
_TO = _any(
    """chasing feeding following watching holding carrying pushing pulling riding leading biting
    licking towing eating chases rides holds watches"""
)
_AT = _any(r"on\stop\sof in\sfront\sof on behind under above")
_SWAPS = tuple(
    re.compile(pattern)
    for pattern in (
        # X was seen by Y; X is the capital of Y
        rf"{_START}({_PARTY}) ((?:is|was|has|had|will|lies)(?: [a-z]+){{1,6}} {_TOWARDS}) "
        rf"({_PARTY}){_END}",
        # X beat Y
        rf"{_START}({_PARTY}) ((?:(?:has|had) )?{_DID}) ({_PARTY}){_END}",
        # X lost the game against Y: not after nouns, whose participle it may be
        rf"{_START}((?:[Tt]he )?{NAME}) ({_DID}(?: [a-z]+){{0,6}} {_TOWARDS}) ({_PARTY}){_END}",
        # X is larger than Y
        rf"{_START}({_PARTY}) ((?:is|was|has|had)(?: [a-z]+){{0,3}} than) ({_PARTY})(?=[.,;!]|$)",
        # A dog (is) chasing a cat
        rf"^({_NOUNS}) ((?:is )?(?:{_TO}|(?:sitting|standing|lying|walking|sleeping) {_AT})) "
        rf"({_NOUNS})(?=[.,;]|$)",
        # from X to Y
        rf"\b[Ff]rom ({NAME}|(?:an?|the) {_WORD}) (to) ({NAME}|(?:an?|the) {_WORD}){_END}",
    )
)
_SYMMETRIC = re.compile(
    r"\b"
    + _any(
        """and or but with between met married marry versus vs same similar both twins? cousin
        brother sister sibling friends? neighbou?r adjacent near opposite equal named called
        known who which he she it they that border borders bordered divorced resembles
        related close distance beside collaborated competed like unlike"""
    )
    + r"\b|\b(?:the|a|an|his|her|its|their|appointed|elected|crowned|titled|became|been|as)$"
    + r"|^(?:is|was|became)$"
)
_OF_A_PLACE = re.compile(
    r"\b(?:in|at|on|into)$|\b"
    + _any(
        """moved moving returned relocated travel+ed went came [ei]m+igrated graduated studied
        drove flew living lived born raised"""
    )
    + r"\b"
)
"""Between names: what is done there is rarely said of a place by a person."""
_NO_WAY = re.compile(
    r"\b"
    + _any(
        r"""distance rang\w+ road route line rail\w* highway runs? running extend\w* stretch\w*
        everything between miles km lasted different back"""
    )
    + r"\b"
)
_NO_NAME_WORD = _any(
    r"""Monday Tuesday Wednesday Thursday Friday Saturday Sunday Christmas Easter In On At After
    Before During When While As For From With By Since This That These Those There It He She
    They We You My His Her Their Our Its An? If Although Though However Also But And Or What
    Who Why How Where One Two Three Some Many Most All Both Each English French German Latin
    Greek Arabic Dutch Hebrew Welsh African Asian Indian Roman Catholic Internet God Dr Mr
    Mrs Ms St Jr Sr Sir Lord Lady King Queen Earl President General Captain Colonel Major
    Professor Prince Princess Pope Bishop Judge Justice Chief Minister Director Adviser
    Secretary Chairman Commissioner Head [A-Z]\w+(?:ish|ese|ians?|[cr]ans?)"""
)
_NO_NAME = re.compile(rf"\b(?:{MONTH}|{_NO_NAME_WORD})\b|['\u2019]s?\b|['\u2019]$")
_NO_FIRST_NAME = re.compile(
    r"(?:ion|ment|ing|ness|ity|ism|[ae]nce|ship|age|ology|ics|ture|s|ed|ers?|ors?|ly|ice)$"
)
_NO_SINGLE_NAME = re.compile(r"(?:ation|ment|ing|ness|ity|ism|ship|ology|ics|ture|ers|ors|ice)$")


_ACTORS = re.compile(
    _any(
        """team club company band government party army king queen president court police firm
        bank group man woman boy girl child dog cat horse bear bird teacher student doctor
        author director emperor pope bishop actor singer player champion winner committee
        council city town village country state church university school college museum
        family father mother son daughter brother sister wife husband owner judge lawyer
        manager coach captain general soldier enemy agency ministry union league"""
    )
)


def _order(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """The two parties of what is said change places."""
    found: list[Change] = []
    for pattern in _SWAPS:
        for match in pattern.finditer(text):
            a, middle, b = match.groups()
            if (
                _SYMMETRIC.search(middle)
                or (_acts(a) != _acts(b) and not pattern.pattern.startswith("^"))
                or (_acts(b) and _OF_A_PLACE.search(middle))
                or any(map(_is_no_name, (a, b)))
                or (middle == "to" and _NO_WAY.search(text))
                or (middle.startswith(("is", "was", "has", "lies")) and b.endswith("s"))
                or {*words(a)} & {*words(b)} - {"the", "a", "an"}
                or (match.start() == 0 and " " not in a and not _is_name(a, others, rng))
            ):
                continue
            found.append((Splice(*match.span(1), _inside(b)), Splice(*match.span(3), _inside(a))))
    return found


def _is_no_name(party: str) -> bool:
    return not re.fullmatch(_NOUNS, party) and _NO_NAME.search(party) is not None


def _acts(party: str) -> bool:
    """Whether it is a name, or a noun of those who act as bearers of names do."""
    return not re.fullmatch(_NOUNS, party) or _ACTORS.fullmatch(party.split()[-1]) is not None


def _inside(party: str) -> str:
    """As it is written inside a sentence."""
    return re.sub(r"^(?:The|An?) ", lambda article: article[0].lower(), party)


def _is_name(word: str, others: Sequence[str], rng: np.random.Generator) -> bool:
    """Whether the first word of a sentence looks like a name: nobody writes it small."""
    small = re.compile(rf"\b{re.escape(word.lower())}\b")
    return not _NO_FIRST_NAME.search(word) and not any(map(small.search, _some(others, rng)))


def _some(others: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """Up to `POOL` of them."""
    if others:
        for i in rng.choice(len(others), size=min(POOL, len(others)), replace=False):
            yield others[int(i)]


# --- negation


_PARTICIPLE = _any(
    """[a-z]+ed been born built made known held found given taken seen written won sold sent
    left led set put become begun chosen done drawn driven grown shown taught told thought
    worn brought bought caught lost named"""
)
_PREDICATE = _any(
    rf"""{_PARTICIPLE} an? the in on at from of part located based very aware sure good bad large
    small old new young big empty full red blue green white black easy hard ready free safe
    rare common [a-z]+(?:ous|ful|able|ible|ive|ic|al|ing|ent|ant)"""
)
_NO_VERB = _any(
    """also not never still only always often the of to and or in on at for from with by as
    that i he she it we they you there this now then even just well sometimes both either
    neither too no any an? [a-z]+ly"""
)
_AUXILIARY = re.compile(
    rf"(?<=[a-z0-9)] )(?:(?:is|are|was|were) (?={_PREDICATE}\b)"
    r"(?!in (?:fact|addition|particular|turn|part)\b)"
    rf"|(?:has|have|had) (?={_PARTICIPLE} )"
    rf"|(?:can|could|will|would|should|may|might|must) (?!{_NO_VERB}\b)(?=[a-z]+\b))"
)
_NO_SUBJECT = re.compile(
    r"\b"
    + _any(
        """and or but than as what how why where whether if an? the his her my your our their
        its no in on to of free trash every also neither more until so when"""
    )
    + " $",
    re.I,
)
_NEGATIVE = re.compile(
    r"\b"
    + _any(
        f"""{" ".join(NEGATIONS)} few only any anyone anything anybody ever yet either until
        unless anymore but too necessarily also already some both whether"""
    )
    + rf"|\b(?:one of|at all)\b|{CONTRACTED}",
    re.I,
)
_NEGATED = re.compile(
    r"(?<=[A-Za-z] )(?<!\bor )(?<!\band )(?:"
    r"(is|are|was|were|has|have|had|do|does|did|could|would|should|may|might|must|will) not"
    r"|(is|are|was|were|has|have|had|do|does|did|could|would|should)n['\u2019]t"
    r"|(can)(?:not|['\u2019]t)|(wo)n['\u2019]t)(?= [a-z]+ )"
)
_NO_REMOVAL = re.compile(
    r"\b"
    + _any(
        r"""any anyone anything anybody anymore anywhere ever yet either neither nor until
        unless but only even necessarily much many to as so instead rather because mind
        simply just why hesitate whether if really care too matter want let help at\sall"""
    )
    + r"\b",
    re.I,
)


@cache
def _past() -> tuple[re.Pattern[str], dict[str, str]]:
    base = {past: verb for verb, past in (pair.split() for pair in PAST.split(","))}
    pattern = (
        rf"(?<![\w\u2019'-])(?:[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I) ({'|'.join(base)})"
        r"(?= (?!(?:and|or|that he|himself)\b)[a-z])"
    )
    return re.compile(pattern), base


def _negation(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """A "not" more or less, or the opposite of a word."""
    if "?" in text:
        return []
    found: list[Change] = []
    negatives = len(_NEGATIVE.findall(text))
    if negatives == 0:
        for match in _AUXILIARY.finditer(text):
            if not _NO_SUBJECT.search(text[: match.start()]):
                word = match[0].rstrip()
                new = "cannot" if word == "can" else f"{word} not"
                found.append((Splice(match.start(), match.start() + len(word), new),))
        pattern, base = _past()
        for match in pattern.finditer(text):
            found.append((Splice(*match.span(1), f"did not {base[match[1]]}"),))
        # The first verb is the main clause's more often than not.
        found = sorted(found)[:1]
    elif negatives == 1 and not _NO_REMOVAL.search(text):
        for match in _NEGATED.finditer(text):
            positive = "will" if match[4] else next(filter(None, match.groups()))
            found.append((Splice(*match.span(), positive),))
    return found + [substitutes[:1] for substitutes in substitutes_in(text, OPPOSITES)]


# --- number


_NUMBER = re.compile(
    r"(?:^|(?<=[a-z,] )|(?<=[$£€]))"
    rf"(\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?|{'|'.join(NUMBER_WORDS)})"
    rf"(?=[.,;)]?(?: [a-z(]|$)|%| {MONTH}|, [a-z])(?! (?:and a half|thirds)\b)"
)
_NO_AMOUNT = re.compile(r"\b(?:at|to|and|or|one) $")


def _number(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Another number in the same format: clearly larger or smaller, another year, another day."""
    present = {word.replace(",", "") for word in re.findall(r"[\d,.]*\d|[a-z]+", text)}
    found: list[Change] = []
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if NO_COUNT.search(before) or _NO_AMOUNT.search(before):
            continue
        by_month = re.match(rf" {MONTH}", after) or re.search(rf"{MONTH} $", before)
        is_day = by_month is not None and len(match[1]) <= 2
        fits = [new for new in _numbers(match[1], is_day) if new.replace(",", "") not in present]
        if fits:
            found.append((Splice(*match.span(), fits[int(rng.integers(len(fits)))]),))
    return found


def _numbers(old: str, is_day: bool) -> list[str]:
    """Numbers that may stand for `old`, none of them 0 or 1."""
    if old in NUMBER_WORDS:
        count = NUMBER_WORDS.index(old) + 2
        return [
            word
            for other, word in enumerate(NUMBER_WORDS, 2)
            if max(count, other) >= 2 * min(count, other)
        ]
    if is_day:
        return [str(day) for day in range(2, 29) if abs(day - int(old)) >= 4]
    if re.fullmatch(r"1\d{3}|20[0-2]\d", old):
        years = range(1000, max(2024, int(old)) + 1)
        return [str(year) for year in years if 5 <= abs(year - int(old)) <= 60]
    value, decimals = float(old.replace(",", "")), len(old.partition(".")[2])
    high = 99.0 if value < 100 else 10 * value
    values = [value * factor for by in (2.0, 2.5, 3.0, 4.0, 6.0, 9.0) for factor in (by, 1 / by)]
    comma = "," if "," in old else ""
    digits = -1 if old.endswith("0") and not decimals and value >= 200 else decimals
    return [
        f"{round(other, digits):{comma}.{decimals}f}"
        for other in values
        if value >= 2 and 2 <= other <= high and max(value, other) < 10 * min(value, other)
    ]


# --- name


_PLACED = re.compile(
    rf"(?<![\w-])([a-z]+) (in|by|from|to|with|at|for|against) ({NAME})"
    rf"(?=[,;)]|\.?$| (?:{_AFTERWARDS}|for|and|to|was|is|who|as|where)\b)"
)
_SORT = re.compile(
    r"(?:(University|College|School|Academy|Institute|Hospital)|(Park|Stadium|Station|Square|Airport|"
    r"Hall|Street|Road|Theatre|Theater|Museum|Church|Castle|Abbey)|(River|Lake|Islands?|Bay|County|"
    r"City|State|District)|(Company|Records|Magazine|Press|Team|Club|United|Party|Army|Service)|"
    r"(Awards?|Prize|Cup|League|Championships?|Games|Olympics|Festival))$"
)


def _names(text: str) -> Iterator[re.Match[str]]:
    """Names after a preposition: the word before it, the preposition, the name."""
    for match in _PLACED.finditer(text):
        single = " " not in match[3]
        if not (_NO_NAME.search(match[3]) or (single and _NO_SINGLE_NAME.search(match[3]))):
            yield match


def _traits(match: re.Match[str]) -> tuple[object, ...]:
    """What names that can stand for each other share, the weightiest first."""
    sort = _SORT.search(match[3])
    in_a_place = re.match(r", [A-Z]", match.string[match.end() :]) is not None
    return sort and sort.lastindex, in_a_place, len(match[3].split()), match[1]


def _name(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Change]:
    """Another name that stands after the same preposition somewhere in `others`."""
    places = [
        place for place in _names(text) if len(re.findall(rf"\b{re.escape(place[3])}\b", text)) == 1
    ]
    if not places:
        return []
    place = places[int(rng.integers(len(places)))]
    traits, known = _traits(place), {*words(text)}
    fits = [
        match
        for other in _some(others, rng)
        for match in _names(other)
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
