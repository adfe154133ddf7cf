"""What differs: typed items with their places, in every language that has a file."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firth
from firth.run.errors import InputError
from firth.text.differences import DifferenceType, differences
from firth.text.lexicon import languages, lexicon_of
from firth.text.words import stemmer_of, stems

TYPE = DifferenceType
LANGUAGES = languages()
WITHOUT_SPACES = ("ja", "zh")
SAME = [
    ("The cat was chased by the dog.", "The dog chased the cat."),
    ("It is not possible.", "It is impossible."),
    ("He was not able to come.", "He was unable to come."),
    ("We do not allow pets.", "We forbid pets."),
    ("The test did not fail.", "The test passed."),
    ("The government's plan was approved.", "The plan was approved."),
    ("Bosch drill 18V red", "Red 18V drill Bosch"),
    ("It has eight million users.", "It has 8 million users."),
    ("He lived there in 1903-1967.", "He lived there in 1903\u20131967."),
    ("Use v2.10.0 here.", "Use version 2.10.0 here."),
    ("It takes 14 days.", "It takes two weeks."),
    ("It was nineteen forty-five.", "It was 1945."),
    ("It has two hundred seventeen thirty-page files.", "It has 217 30-page files."),
    ("We open at 7am.", "We open at seven in the morning."),
    ("A bag of 2kg.", "A bag of 2 kilo."),
    ("Enable two-factor authentication.", "Enable 2FA."),
    ("How do I cancel my order?", "How do I cancle my order?"),
    ("The small dog slept.", "The tiny dog slept."),
    ("He crossed the street.", "He crossed the road."),
    ("It has 128GB of memory.", "It has 128 GB of memory."),
    ("It runs for 24 months.", "It runs for two years."),
    ("We close at 8 pm.", "We close at 20:00."),
    ("No, it is late.", "It is late."),
    ("He will not never come.", "He will come."),
    ("The dog was bitten by the man.", "The man bit the dog."),
    ("The BoE sets rates here.", "The Bank of England sets rates here."),
    ("We saw Ann, Bob and Cid.", "We saw Cid, Ann and Bob."),
    ("It is not only fast.", "It is fast."),
    ("The 1\u00ba floor.", "The 1st floor."),
    ("Pages 10-20 are missing.", "Pages 10 to 20 are missing."),
    ("She can't sing.", "She cannot sing."),
    ("The U.S. army left.", "The American army left."),
    ("They have won.", "They win."),
    ("Case No 7 is open.", "Case 7 is open."),
    ("It starts at 17h30.", "It starts at 5.30 p.m."),
    ("A man is rapidly chopping onions.", "A man is quickly chopping onions."),
    ("The appeals court judges were split over tax.", "The appellate judges were split over tax."),
    ("Talks which took place on pay led to a promise.", "Talks held on pay have given a promise."),
    ("They praised Ann, Bob, Cid.", "They praised Cid, Bob, Ann."),
    ("We met Mgmt there.", "We met Management there."),
    ("We met Zo\u00eb there.", "We met Zoe there."),
    (
        "The old ship left the island in May at dawn because the crew did not want to wait.",
        "The big ship left the island in May at dawn because the sailors feared that a storm came.",
    ),
    ("They sell cats and dogs here.", "They sell dogs and cats here."),
    ("Turn it on by hand.", "Turn off it at last."),
]
"""Texts that say the same: each fails without a rule."""
DIFFER = [
    ("Chelsea beat Arsenal 2-0", "Arsenal beat Chelsea 2-0"),
    ("In 1947 Ann followed Bob to Rome.", "Bob followed Ann to Rome in 1947."),
    ("Ann이 2000년에 시작했고 Bob이 이끈다.", "2000년에 Bob이 시작했고 Ann이 이끈다."),
    ("MySQL to Postgres", "Postgres to MySQL"),
    ("landlord to tenant", "tenant to landlord"),
    ("How many \u00b0F in \u00b0C?", "How many \u00b0C in \u00b0F?"),
    ("Move money from savings to current account.", "Move money from current to savings account."),
    ("I ate one egg.", "I ate three eggs."),
    ("He fought in World War I.", "He fought in World War II."),
    ("The ticket is refundable.", "The ticket is non-refundable."),
    ("Open to members.", "Open to non-members."),
    ("How do I opt in?", "How do I opt out?"),
    ("It weighs 5 kg.", "It weighs 5 lb."),
    ("Take 5 mg.", "Take 5 \u00b5g."),
    ("We meet at 8 am.", "We meet at 8 pm."),
    ("The limit is 50 km/h.", "The limit is 50 mph."),
    ("You must sign.", "You may sign."),
    ("Only members may enter.", "Members may enter."),
    ("Nur Mitglieder haben Zutritt.", "Mitglieder haben Zutritt."),
    ("Take it once a day.", "Take it twice a day."),
    ("Haustiere sind erlaubt.", "Haustiere sind nicht erlaubt."),
    ("Er kommt morgen.", "Er kommt morgen nicht."),
    ("Il vient demain.", "Il ne vient pas demain."),
    ("El gato no duerme.", "El gato duerme."),
    ("Il gatto non dorme.", "Il gatto dorme."),
    ("O gato n\u00e3o dorme.", "O gato dorme."),
    ("De kat slaapt niet.", "De kat slaapt."),
    ("It opens.", "It mustn't open."),
    ("The meeting is in march.", "The meeting is in may."),
    ("storm water", "surface water"),
    ("filter by country", "filter by name"),
    ("the cat is on the table", "the cat is under the table"),
    ("A man is playing guitar.", "A man is playing piano."),
    ("He won.", "He did not win."),
    ("Maria went home.", "Marta went home."),
    ("We meet at 8.30 pm.", "We meet at 8.45 pm."),
    ("It has yet to be built.", "It has been built."),
    ("It did not rain all day, and the shop was open.", "It rained, and the shop was closed."),
    ("The cat chased the dog.", "The cat was chased by the dog."),
]
"""Texts that differ in what matters."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def frame(language: str, word: str) -> str:
    """Return a sentence in which a word stands between others."""
    return (
        f"\u5317\u4eac{word}\u4e0a\u6d77"
        if language in WITHOUT_SPACES
        else f"Alpha {word} beta gamma."
    )


def types(a: str, b: str, language: str = "en") -> list[DifferenceType]:
    """Return the types of differences that matter, and check the other direction."""
    forward, backward = differences(a, b, language=language), differences(b, a, language=language)
    assert [item.kind for item in forward.mattering] == [item.kind for item in backward.mattering]
    return [item.kind for item in forward.mattering]


@pytest.mark.parametrize(
    ("a", "b", "kinds"),
    [
        ("The deadline is October 15th.", "The deadline is October 16th.", [TYPE.NUMBER]),
        ("We meet on Monday evening.", "We meet on Friday evening.", [TYPE.DATE]),
        ("Refunds take 30 days.", "Refunds take thirty days.", []),
        ("It cost $4.1bn in all.", "It cost 4.1 billion dollars in all.", []),
        ("It grew by 5 percent.", "It grew by 5%.", []),
        ("It runs on version 2.10.1 here.", "It runs on version 2.1.10 here.", [TYPE.NUMBER]),
        ("See case a-17-084 for it.", "See case a-17-085 for it.", [TYPE.NUMBER]),
        ("The train leaves at 10:30.", "The train leaves at 11:30.", [TYPE.NUMBER]),
        ("The game is for PS2 here.", "The game is for PS3 here.", [TYPE.NUMBER]),
        ("We met in Bath.", "We met in York.", [TYPE.NAME]),
        ("Pets are allowed here.", "Pets are not allowed here.", [TYPE.NEGATION]),
        ("It doesn't open.", "It does open.", [TYPE.NEGATION]),
        ("The primary school is open.", "The secondary school is open.", [TYPE.OPPOSITE]),
        ("The task is important.", "The task is unimportant.", [TYPE.OPPOSITE]),
        ("It is a useful tool here.", "It is a useless tool here.", [TYPE.OPPOSITE]),
        ("The storm water drains into it.", "The surface water drains into it.", [TYPE.REPLACED]),
        ("Man bites dog.", "Dog bites man.", [TYPE.ORDER]),
        ("Why is History still in Beta?", "Why history is still in beta?", []),
        ("Well, it rained.", "It rained well.", []),
        ("Yesterday England beat France.", "England beat France yesterday.", []),
        ("The colour of the car.", "The color of the car.", []),
        ("He saw ships.", "He saw 10 ships.", []),
        ("Two dogs and two cats sat here.", "Two dogs and seven cats sat here.", [TYPE.NUMBER]),
        ("We met Ann, Bob, Cid and Dan.", "We met Dan, Cid, Bob and Ann.", []),
        ("Prices rise.", "Costs rise.", []),
        ("It was released on PS2.", "It was released on GameCube.", [TYPE.NAME]),
        ("It costs 30 \u20ac here.", "It costs 30 $ here.", [TYPE.NUMBER]),
        ("It costs $30 here.", "It costs 30 dollars here.", []),
        ("Refunds take 30 days.", "Refunds take thirty weeks.", [TYPE.NUMBER]),
        ("The file has 10 MB.", "The file has 10 GB.", [TYPE.NUMBER]),
        ("The limit is 50 km/h.", "The limit is 50 km/min.", [TYPE.NUMBER]),
        ("It is on the second floor.", "It is on the third floor.", [TYPE.NUMBER]),
        ("It is on the 2nd floor.", "It is on the second floor.", []),
        ("He came first there.", "He came last there.", [TYPE.OPPOSITE]),
        ("Milk chocolate", "Chocolate milk", [TYPE.ORDER]),
        ("Dr. Smith came here.", "Doctor Smith came here.", []),
    ],
)
def test_what_matters(a: str, b: str, kinds: list[DifferenceType]) -> None:
    """Each type, and what only looks like it."""
    assert types(a, b) == kinds
    assert bool(differences(a, b, language="en")) is bool(kinds)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_says_the_same(a: str, b: str) -> None:
    """No alarm in either direction, without a language given."""
    assert a != b
    assert not differences(a, b)
    assert not differences(b, a)


@pytest.mark.parametrize(("a", "b"), DIFFER)
def test_what_differs_whichever_comes_first(a: str, b: str) -> None:
    """The language of short texts is that of their function words."""
    assert differences(a, b)
    assert differences(b, a)


def test_all_months() -> None:
    for a, b in combinations(MONTHS, 2):
        assert differences(f"What was my bill in {a}?", f"What was my bill in {b}?")


def test_a_phrase_of_a_language_without_function_words_has_no_slot() -> None:
    """Only English tells a bare phrase, *storm water*, from a sentence of two words."""
    assert types("Hunde bellen", "Hunde jaulen", "de") == []


def test_an_item_has_its_places_in_both_texts() -> None:
    """Spans cut the words out of the texts; the sentence names them; JSON has all."""
    a, b = "The deadline is October 15th.", "The deadline is October 16th!"
    result = firth.differences(a, b)
    (item,) = result
    assert [a[slice(*span)] for span in item.spans_a] == ["15th"]
    assert [b[slice(*span)] for span in item.spans_b] == ["16th"]
    assert (result.verdict, result.language) == ("differ in what matters", "en")
    assert result.summary() == "They differ in what matters: number: 15th / 16th."
    assert result.as_dict()["items"][0]["spans_a"] == [[24, 28]]
    assert "<mark>15th</mark>" in result._repr_html_()
    assert "15th / 16th" in repr(result)
    hostile = firth.differences("<b>5 ships</b>", "<b>6 ships</b>")._repr_html_()
    assert "<b>" not in hostile


def test_what_is_added_contradicts_nothing() -> None:
    long = "The captain sailed, although huge waves broke several wooden masts yesterday evening."
    result = differences("The captain sailed.", long, language="en")
    assert not result
    assert [item.kind for item in result] == [TYPE.ADDED]
    assert result.verdict == "differ in nothing that matters"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="expected a text"):
        differences("a", None)  # type: ignore[arg-type]


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(("en", "zh", "tr", "th")))
def test_any_two_texts(a: str, b: str, language: str) -> None:
    """Whatever is asked: equal texts say the same, and spans lie inside the texts."""
    assert not differences(a, a, language=language)
    for item in differences(a, b, language=language):
        assert all(0 <= start < end <= len(a) for start, end in item.spans_a)
        assert all(0 <= start < end <= len(b) for start, end in item.spans_b)


def test_there_are_many_languages() -> None:
    expected = {"ar", "de", "en", "es", "fr", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt", "ru"}
    assert len(LANGUAGES) >= 20
    assert expected | {"sv", "sw", "tr", "zh"} <= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_numerals_of_a_language(language: str) -> None:
    """A numeral is its digits, and two numerals differ."""
    by_value = {value: word for word, value in lexicon_of(language).numerals.items()}
    three, four = by_value[3], by_value[4]
    assert types(frame(language, three), frame(language, "3"), language) == []
    assert types(frame(language, three), frame(language, four), language) == [TYPE.NUMBER]


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"he", "ja", "ko", "sw", "vi", "zh"}))
def test_ordinals_of_a_language(language: str) -> None:
    """An ordinal is its number, and two ordinals differ."""
    by_value = {value: word for word, value in lexicon_of(language).ordinals.items()}
    third, fourth = by_value[3], by_value[4]
    assert types(frame(language, third), frame(language, "3"), language) == []
    assert types(frame(language, third), frame(language, fourth), language) == [TYPE.NUMBER]


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"ja", "ko", "zh"}))
def test_units_of_a_language(language: str) -> None:
    """An equal number of another unit differs; of another form of the unit it does not."""
    units = lexicon_of(language).units
    forms = sorted(units, key=units.__getitem__)
    pairs = [(a, b) for a in forms for b in forms if units[a] == units[b] and a < b]
    if pairs:
        a, b = pairs[0]
        assert types(frame(language, f"5 {a}"), frame(language, f"5 {b}"), language) == []
    other = next(form for form in forms if units[form] != units[forms[0]])
    both = frame(language, f"5 {forms[0]}"), frame(language, f"5 {other}")
    assert types(*both, language) == [TYPE.NUMBER]
    assert language == "hi" or len({*units.values()}) >= 8


@pytest.mark.parametrize("language", LANGUAGES)
def test_negations_of_a_language(language: str) -> None:
    """A word that negates, or a part of one, differs from nothing."""
    lexicon = lexicon_of(language)
    samples = {
        "ja": "\u884c\u304b\u306a\u3044",
        "ko": "\uac00\uc9c0 \uc54a\ub294\ub2e4",
        "zh": "\u4e0d",
    }
    words = [samples[language]] if language in samples else sorted(lexicon.negations)[:3]
    plain = frame(language, "")
    assert words
    for word in words:
        assert TYPE.NEGATION in types(plain, frame(language, word), language), word


@pytest.mark.parametrize("language", LANGUAGES)
def test_opposites_of_a_language(language: str) -> None:
    """Both directions, by stems; a language's list has ten pairs or more."""
    lexicon = lexicon_of(language)
    assert len(lexicon.opposites) >= 20
    words = [
        word
        for word in lexicon.opposites
        if (" " not in word and len(word) > 1) or language == "zh"
    ]
    count = 0
    for word in words[:12]:
        other = sorted(lexicon.opposites[word])[0]
        if stems([word, other], stemmer_of(language)) == [word, other] and " " not in other:
            kinds = types(frame(language, word), frame(language, other), language)
            count += bool({TYPE.OPPOSITE, TYPE.NEGATION} & {*kinds})
    assert count >= 3


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"fa", "he", "ja", "ko", "vi", "zh"}))
def test_days_and_months_of_a_language(language: str) -> None:
    """The names of two days differ in the date; a name and itself do not."""
    calendar = lexicon_of(language).calendar
    plain = [word for word in calendar if len(word) > 4 and not {" ", "-"} & {*word}]
    long = {calendar[word]: word for word in plain}
    days = [word for kind, word in sorted(long.items()) if kind.startswith("days")]
    assert len(days) >= 2 or language == "pt"
    if len(days) >= 2:
        pair = frame(language, days[0]), frame(language, days[1])
        assert types(*pair, language) == [TYPE.DATE]


class Encoder:
    """Says that two words are near, as a table says."""

    def __init__(self, cosine: float) -> None:
        self.cosine = cosine

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Return two vectors with one cosine."""
        return [[1.0, 0.0], [self.cosine, (1 - self.cosine**2) ** 0.5]][: len(texts)]


def test_an_encoder_decides_a_slot() -> None:
    """From 0.7 its fillings say the same, below 0.3 they differ, whichever the words alone say."""
    sure = "The storm water drains into it.", "The surface water drains into it."
    weak = "He bought a lovely blanket there.", "He bought a lovely carpet there."
    assert differences(*sure)
    assert not differences(*weak)
    assert not differences(*sure, encoder=Encoder(0.8))
    assert differences(*sure, encoder=Encoder(0.5))
    assert not differences(*weak, encoder=Encoder(0.5))
    assert differences(*weak, encoder=Encoder(0.1))
    with pytest.raises(InputError, match="no name"):
        differences(*weak, encoder="none")  # type: ignore[arg-type]


def test_strength_orders_differences() -> None:
    """Less finds more; texts that share little differ less surely; pairs of one's own are sure."""
    weak = "He bought a lovely blanket there.", "He bought a lovely carpet there."
    (item,) = differences(*weak, least=0.0)
    assert 0 < item.strength < 0.5
    assert differences(*weak, pairs={"carpet": {"blanket"}}).strength == 1.0
    near = differences("The boat has 5 sails.", "The boat has 6 sails.")
    far = differences("The boat has 5 sails.", "Our old uncle sold 6 boats.", least=0.0)
    assert far.strength < near.strength <= 1
    for least in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="from 0 to 1"):
            differences("a", "b", least=least)
    for language in ("german", "xx", "de+xx", ""):
        with pytest.raises(InputError, match="ISO 639-1"):
            differences("a", "b", language=language)
