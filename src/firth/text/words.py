"""Words of a text, their stems, and the normal form by which two texts are the same.

A word is a run of letters, combining marks and digits, so that vowel signs of Indic scripts do not
cut it. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) have
no such words: there a word is each character, and each pair of neighboring characters. Stems come
from Snowball (PyStemmer) where it knows the language; in Arabic, words are stripped of what is
written with them (light10, Larkey et al. 2007). Search uses the beginnings of words elsewhere.
"""

import copy
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from firth.run.errors import InputError

_WITH_MARKS = (range(0x3400), range(0xA000, 0xAC00), range(0xFB00, 0x17000),
               range(0x18B00, 0x20000), range(0xE0100, 0xE01F0))  # fmt: skip
"""Code points among which all combining marks are: the others are Han, Hangul, Tangut, private."""
_JOINERS = "\u200c\u200d"
"""Zero-width joiners occur inside words of Persian and of Indic scripts."""


@cache
def combining_marks() -> str:
    """Return a character class of all combining marks, which `\\w` does not match."""
    ranges: list[list[int]] = []
    for code in chain(*_WITH_MARKS):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
"""Thai, Lao, Burmese, Khmer, kana and Han, as a character class."""
_FOLDED = str.maketrans({"\u0131": "i", "\u03c2": "\u03c3"})
"""Turkish i with and without a dot are one letter, and so are the two small sigmas of Greek."""
_ASCII = bytes(ord(c.lower()) if c.isascii() and c.isalnum() else 32 for c in map(chr, range(256)))
"""ASCII in lower case, with a blank for everything that is not part of a word."""
_MARKS = "’“”–—…‘"  # noqa: RUF001
"""Often the only characters of an English text that are not ASCII. No word has them."""
_KNOWN_STEMS = 1 << 17
_LONGEST = 64
"""Characters of a word that has a stem; a longer one is no word of a language, and stays."""

_VOWEL_SIGNS = re.compile("[\u0640\u064b-\u0652\u0670]")
_ARABIC_LETTERS = str.maketrans("آأإٱى", "ااااي")
_ARABIC_PREFIX = re.compile("^و?(?:[وبكف]?ال|لل)(?=..)|^و(?=...)")
"""*And*, and an article with or without a preposition."""
_ARABIC_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي")  # noqa: RUF001
_NASAL = "(?:ङ(?=्[क-घ])|ञ(?=्[च-झ])|ण(?=्[ट-ढ])|न(?=्[क-घच-झट-ढत-ध])|म(?=्[प-भ]))्"
"""Nasals for which Indic scripts may write an anusvara: before consonants of the same place, and n
before others, too."""
_INDIC = [block for block in range(0, 0x480, 0x80) if block != 0x280]
"""How far the scripts up to Malayalam are from Devanagari. Tamil has no anusvara."""
AUTO, UNKNOWN, SEVERAL = "auto", "und", "+"
"""A language that is to be recognized, and one that was not; and what joins several languages, the
most frequent first: `de+fr`."""
_CHARACTERS, _BEGINNING = 1_000, 500
"""Characters by which a language is recognized, because a short text alone is often misjudged; and
characters of a text that are read for it."""
_LONG_ENOUGH, _SURE, _FEWEST, _ONE_IN = 100, 0.9, 2, 20
"""Characters of a document that says its language by itself, and how likely that is; and how many
such documents, at least and of how many, a further language of a corpus has."""
_NO_LANGUAGE = "zxx"
_REMEMBERED = 1 << 12
NO_STEMMER, BEGINNINGS = "none", "beginnings"
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "porter", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
    "ary": "arabic", "arz": "arabic", "bs": "serbian", "hr": "serbian", "nn": "norwegian",
}  # fmt: skip


@lru_cache(1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a word, and of a character with its marks in a script without spaces."""
    # Built on first use: plain ASCII text never needs them.
    marks = f"{_JOINERS}{combining_marks()}"
    return re.compile(rf"\w[\w{marks}]*"), re.compile(rf"[{UNSPACED}][{marks}]*")


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and in Unicode's form NFKC.

    Example:
        >>> words("You shall know a word, by its company!")
        ['you', 'shall', 'know', 'a', 'word', 'by', 'its', 'company']
        >>> words("字が2つ")
        ['字', '字が', 'が', '2', 'つ']
    """
    for mark in _MARKS if not text.isascii() else "":
        text = text.replace(mark, " ")
    if text.isascii():  # the same result in a third of the time
        return text.encode().translate(_ASCII).decode().split()
    written = as_written(text)
    if not unicodedata.is_normalized("NFKC", text):
        # A single character may become several words, with blanks between them.
        written = [unicodedata.normalize("NFKC", word).replace(" ", "") for word in written]
    return [word.replace("\u0130", "i").lower().translate(_FOLDED) for word in written]


def numbers_of(text: str, read: Callable[[str], Sequence[int]]) -> list[int]:
    """Return the numbers that `read` gives for the words of a text, in order.

    It gets what stands between blanks where the text is not ASCII. Let it remember what it reads.
    """
    for mark in _MARKS if not text.isascii() else "":
        text = text.replace(mark, " ")
    written = words(text) if text.isascii() else text.split()
    return [*chain.from_iterable(map(read, written))]


def as_written(text: str) -> list[str]:
    """Return the words of a text with their capitals, one for each of `words`.

    Example:
        >>> as_written("Do they row on the Cam?")
        ['Do', 'they', 'row', 'on', 'the', 'Cam']
    """
    return [text[start:end] for start, end in spans(text)]


def spans(text: str) -> list[tuple[int, int]]:
    """Return the first and one-past-last character position of each word.

    Pairs of characters overlap in scripts without spaces.
    """
    word, character = _patterns()
    # An underscore joins words for `\w`, and separates them here.
    matches = [match.span() for match in word.finditer(text.replace("_", " "))]
    if text.isascii() or not character.search(text):
        return matches
    return [part for start, end in matches for part in _unspaced(text, start, end)]


def _unspaced(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run: characters and their pairs, or letters and digits between them."""
    at, paired = start, -1
    for match in _patterns()[1].finditer(text, start, end):
        first, last = match.span()
        if first > at:
            yield at, first
        elif paired >= 0:
            yield paired, last
        yield first, last
        at, paired = last, first
    if at < end:
        yield at, end


def joined(parts: Iterable[str]) -> list[str]:
    """Return words, with characters and pairs of a script without spaces as runs again.

    Example:
        >>> joined(["字", "字が", "が", "2", "つ"])
        ['字が', '2', 'つ']
    """
    runs: list[str] = []
    end = ""
    for part in parts:
        letters = characters(part)
        if letters and letters[0] == end:
            runs[-1] += part[len(end) :]
        else:
            runs.append(part)
        end = letters[-1] if letters else ""
    return runs


def characters(text: str) -> list[str]:
    """Return the characters of scripts without spaces, each with its marks."""
    return [] if text.isascii() else _patterns()[1].findall(text)


def word_count(text: str) -> int:
    """Return the number of words. Two characters of a script without spaces count as one.

    Example:
        >>> word_count("A word."), word_count("これは文です。")
        (2, 3)
    """
    unspaced = len(characters(text))
    if not unspaced:
        return len(words(text))
    return len(words(_patterns()[1].sub(" ", text))) + -(-unspaced // 2)


def has_word(text: str) -> bool:
    """Return whether the text has any word."""
    return any(map(str.isalnum, text))


def normal_form(text: str) -> str:
    """Return NFKC, lower-case words joined by blanks; equal normal forms make texts the same."""
    normal = unicodedata.normalize("NFKC", text).replace("_", " ").replace("\u0130", "i")
    return " ".join(_patterns()[0].findall(normal.lower().translate(_FOLDED)))


def stems_of(text: str, stemmer: str) -> list[str]:
    """Return the stem of each word of a text; several languages stem it by its own."""
    return stems(words(text), stemmer_for(text, stemmer))


def stems(words: Sequence[str], stemmer: str) -> list[str]:
    """Return the stem of each lower-case word."""
    if stemmer == NO_STEMMER:
        return list(words)
    stem = _algorithm(stemmer)
    return [stem(word) if len(word) <= _LONGEST else word for word in words]


@lru_cache
def _algorithm(stemmer: str) -> Callable[[str], str]:
    from Stemmer import Stemmer

    ours = {"arabic": _arabic_stem, BEGINNINGS: _beginning}
    stem = ours[stemmer] if stemmer in ours else Stemmer(stemmer, 0).stemWord
    # A corpus has a hundred times as many words as distinct ones, and a cache is faster than C.
    return lru_cache(_KNOWN_STEMS)(stem)


def _beginning(word: str) -> str:
    """Return the first five characters, or two syllables of Korean; a number stays whole.

    It serves search almost as well as a stemmer in many languages (McNamee et al. 2009).
    """
    if any(map(str.isdigit, word)):
        return word
    return with_anusvara(word)[: 2 if "\uac00" <= word[:1] <= "\ud7a3" else 5]


def with_anusvara(word: str) -> str:
    """Return a word with an anusvara for each nasal that Indic scripts may write so.

    Example:
        >>> with_anusvara("हिन्दी")
        'हिंदी'
    """
    return word if word.isascii() or len(word) > _LONGEST else _anusvara_form(word)


@lru_cache(_KNOWN_STEMS)
def _anusvara_form(word: str) -> str:
    return _nasal().sub(lambda nasal: chr(ord(nasal[0][0]) & ~0x7F | 2), word)


@lru_cache(1)
def _nasal() -> re.Pattern[str]:
    """Return a pattern of these nasals with their viramas, in each of the scripts."""
    moved = ({letter: letter + block for letter in range(0x900, 0x980)} for block in _INDIC)
    return re.compile("|".join(map(_NASAL.translate, moved)))


def _arabic_stem(word: str) -> str:
    """Return an Arabic word without vowel signs, prefixes and endings; some letters are one."""
    letters = _VOWEL_SIGNS.sub("", word).translate(_ARABIC_LETTERS)
    stem = _ARABIC_PREFIX.sub("", letters)
    for ending in _ARABIC_ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= 2:
            stem = stem.removesuffix(ending)
    return stem


# --- Languages ---------------------------------------------------------------------------------


def stemmer_of(language: str) -> str:
    """Return the name of the stemmer for an ISO 639-1 language; `none` where Snowball has none.

    That of several languages is called as they are: `de+fr`.
    """
    return language if SEVERAL in language else _STEMMERS.get(language, NO_STEMMER)


def stemmers_of(stemmer: str, otherwise: str = NO_STEMMER) -> list[str]:
    """Return the stemmer, or that of each of several languages, `otherwise` where one has none."""
    if SEVERAL not in stemmer:
        return [stemmer]
    return [_STEMMERS.get(language, otherwise) for language in stemmer.split(SEVERAL)]


def stemmer_for(text: str, stemmer: str, otherwise: str = NO_STEMMER) -> str:
    """Return the stemmer of the language of a text, where `stemmer` names several languages."""
    if SEVERAL not in stemmer:
        return stemmer
    return _STEMMERS.get(language_among(text, stemmer), otherwise)


def best_known(
    words: Sequence[str], stemmers: Iterable[str], frequency: Callable[[str], int]
) -> list[str]:
    """Return the stems of words by that stemmer of several whose stems have most texts.

    A query, or a word, says too little about its language. `frequency` gives the texts of a stem.
    """
    candidates = [stems(words, stemmer) for stemmer in stemmers]
    if len(candidates) == 1:
        return candidates[0]
    return max(candidates, key=lambda those: sum(math.log1p(frequency(stem)) for stem in those))


def language_of(stemmer: str) -> str:
    """Return the ISO 639-1 language of a stemmer, or its several; `und` where it has none."""
    if SEVERAL in stemmer:
        return stemmer
    return next((language for language, name in _STEMMERS.items() if name == stemmer), UNKNOWN)


def language_of_texts(texts: Iterable[str]) -> str:
    """Return the ISO 639-1 code of the language in which most of some texts are written.

    It is the ISO 639-3 code where the language has no shorter one, and `und` without any text.
    """
    votes: Counter[str] = Counter()
    piece, size = list[str](), 0

    def vote() -> None:
        votes[_recognizer().classify("\n".join(piece))[0]] += 1

    for text in texts:
        piece.append(text[:_BEGINNING])
        size += len(piece[-1])
        if size >= _CHARACTERS:
            vote()
            piece, size = [], 0
    if size and not votes:
        vote()
    return max(votes, key=lambda code: (votes[code], code), default=UNKNOWN)


def languages_of_texts(texts: Iterable[str]) -> str:
    """Return the language of most texts, and those that at least one document in 20 has: `de+fr`.

    Of the further ones, at least two documents have each. Short documents are not asked, and codes
    or names, whose language is not sure, do not count.
    """
    beginnings = [text[:_BEGINNING] for text in texts]
    first = language_of_texts(beginnings)
    long = [text for text in beginnings if len(text) >= _LONG_ENOUGH]
    recognized = map(_recognizer().classify, long)
    votes = Counter(code for code, likely in recognized if likely >= _SURE and code != _NO_LANGUAGE)
    least = max(_FEWEST, len(long) / _ONE_IN)
    codes = {first, *(code for code, n in votes.items() if n >= least)}
    return SEVERAL.join(sorted(codes, key=lambda code: (-votes[code], code)))


def language_among(text: str, languages: str) -> str:
    """Return the language of a text: of several (`de+fr`) the likeliest, the first of equal ones.

    Example:
        >>> language_among("Où est la gare ?", "de+fr"), language_among("Où est la gare ?", "de")
        ('fr', 'de')
    """
    return _likeliest(text[:_BEGINNING], languages) if SEVERAL in languages else languages


@lru_cache(_REMEMBERED)
def _likeliest(text: str, languages: str) -> str:
    likely = dict(_recognizer(languages).rank(text))
    return max(languages.split(SEVERAL), key=likely.__getitem__)


@cache
def _recognizer(languages: str | None = None) -> Any:
    """Return what recognizes a language among several, or among all that it knows."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    if languages is None:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    recognizer, codes = copy.copy(_recognizer()), languages.split(SEVERAL)
    if unknown := [code for code in codes if code not in recognizer.labels]:
        raise InputError(
            f"corpus.language = {languages}: {', '.join(unknown)} cannot be recognized among other "
            "languages; expected ISO 639-1 codes that + joins, such as de+fr"
        )
    recognizer.set_languages(codes)
    return recognizer


def forget_languages() -> None:
    """Free what recognizes languages, 75 MiB; it is read again when it is asked."""
    _recognizer.cache_clear()


def is_letter(stem: str) -> bool:
    """Return whether a stem is empty or one Latin letter, such as an initial or the end of n't."""
    return not stem or (len(stem) == 1 and stem.isascii() and stem.isalpha())


# --- What is a text ----------------------------------------------------------------------------


def checked(pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the pairs; an `InputError` names the first item that is not two texts."""
    for number, pair in enumerate(pairs):
        # A string is a sequence of strings too, so it is refused by type.
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
        for side in pair:
            checked_text(side, f"pair {number}", "two texts")
    return pairs


def checked_text(text: object, where: str, expected: str = "a text") -> str:
    """Return a text; an `InputError` says what came at a place instead.

    Half of a pair of surrogates is no character, and has no UTF-8 form.
    """
    if not isinstance(text, str):
        raise InputError(f"{where}: got {text!r:.80}; expected {expected}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{where}: the text has half of a character (a lone surrogate) at {error.start}; "
                "expected whole characters. text.encode('utf-8', 'replace').decode() replaces it"
            ) from None
    return text


def checked_texts(texts: object, where: str) -> list[str]:
    """Return a list of texts; an `InputError` names what is no text, and refuses a single one."""
    is_table = isinstance(texts, Mapping) or hasattr(texts, "columns")
    if isinstance(texts, str | bytes) or is_table or not isinstance(texts, Iterable):
        raise InputError(f"{where}: got {texts!r:.80}; expected a list of texts")
    return [checked_text(text, f"{where}, text {n}") for n, text in enumerate(texts)]
