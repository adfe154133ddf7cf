"""`firth.text.words`: words of any script, stems, and when two texts are the same."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.text.words import (
    BEGINNINGS,
    UNKNOWN,
    as_written,
    combining_marks,
    has_word,
    language_of_texts,
    normal_form,
    spans,
    stemmer_of,
    stems,
    words,
)

ANY = st.one_of(st.text(), st.text(st.characters(max_codepoint=127)))


@given(st.text())
def test_normal_form_is_idempotent(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)), st.sampled_from("’“”–—…‘"))  # noqa: RUF001
def test_typographic_marks_change_no_word(text: str, mark: str) -> None:
    """Text with quotation marks and dashes has the words that its slow reading has."""
    marked = mark.join(text)
    assert words(marked) == [word.lower() for word in as_written(marked)]


@given(st.text())
def test_words_consist_of_letters_marks_and_digits(text: str) -> None:
    """The fast way for ASCII and the pattern agree, and no letter or digit is lost."""
    written = as_written(text)
    assert len(words(text)) == len(written)
    assert [text[a:b] for a, b in spans(text)] == written
    if text.isascii():
        assert words(text) == [word.lower() for word in written]
    inside = {at for a, b in spans(text) for at in range(a, b)}
    assert all(at in inside for at, c in enumerate(text) if c.isalnum())
    assert has_word(text) == any(map(str.isalnum, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't panic, U_2 in 1984!", ["don", "t", "panic", "u", "2", "in", "1984"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("తెలుగు", ["తెలుగు"]),
        ("Öl für Zürich", ["öl", "für", "zürich"]),
        ("می\u200cروم", ["می\u200cروم"]),
        ("这是2个", ["这", "这是", "是", "2", "个"]),
        ("ไปนา", ["ไ", "ไป", "ป", "ปน", "น", "นา", "า"]),
        ("İZMİR ΟΔΟΣ", ["izmir", "οδοσ"]),
        ("ﻣﺮﺣﺒﺎ", ["مرحبا"]),
        ("ሰላም ለዓለም።", ["ሰላም", "ለዓለም"]),
        ("a \u0301 \u200d \u093f b", ["a", "b"]),
    ],
)
def test_marks_do_not_cut_words(text: str, expected: list[str]) -> None:
    """Vowel signs and joiners belong to a word; scripts without spaces give pairs, too."""
    assert words(text) == expected


def test_every_combining_mark_is_known() -> None:
    """Only some planes of Unicode are read for marks; no other plane may have any."""
    mark = re.compile(f"[{combining_marks()}]")
    everything = map(chr, range(sys.maxunicode + 1))
    marks = [char for char in everything if unicodedata.category(char)[0] == "M"]
    assert len(marks) > 2000
    assert all(map(mark.match, marks))
    assert not mark.search("abc xyz 019")


def test_stems_by_language() -> None:
    """Snowball where it knows the language, light stems in Arabic, else words, or beginnings."""
    assert stems(["sailing", "sails"], stemmer_of("en")) == ["sail", "sail"]
    assert stems(["häuser", "häusern"], stemmer_of("de")) == ["haus", "haus"]
    assert stems(["sailing"], stemmer_of("xx")) == ["sailing"]
    arabic = words("والكتاب بالكتاب للكتاب كِتاب الكتابات")
    assert stems(arabic, stemmer_of("ary")) == 5 * ["كتاب"]
    beginnings = stems(words("પાસવર્ડને 페이지의 페이지 19841"), BEGINNINGS)
    assert beginnings == ["પાસવર", "페이", "페이", "19841"]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["Ships sail.", "The harbour was closed because of the storm."]),
        ("de", ["Die Schiffe fahren in den Hafen, bevor der Sturm kommt."]),
        ("ha", ["Gwamnatin jihar ta bayyana cewa za ta gina sabbin makarantu a bana."]),
        ("hi", ["यह एक वाक्य है। यह दूसरा वाक्य है जो हिन्दी में लिखा गया है।"]),
        ("zh", ["这是一句话。这是第二句。"]),
        (UNKNOWN, []),
    ],
)
def test_the_language_of_most_of_the_text(language: str, texts: list[str]) -> None:
    """Short texts are judged together, and texts in another language do not outvote the rest."""
    assert language_of_texts(texts) == language
    if texts:
        assert language_of_texts([*["x " * 300 + text for text in texts], *texts * 40]) == language
