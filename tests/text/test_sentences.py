"""`firth.text.sentences`: text to paragraphs to sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import grows

from firth.text.sentences import MAX_CHARACTERS, MAX_WORDS, cut, split_paragraphs, split_sentences

PIECES = (
    *("Dr. ", " e.g. ", "i.i.d. and ", "U.S. ", "The ship", "left", "Ünï ", "你好。", "3.5 "),
    *("[3] ", "[1, 2]", ".[7] ", "... ", "!?", "1. ", "- ", "***", "( ", ", ", "—", "www.a.org "),
    *(". ", '." ', "\u201d ", "\n", "\n\n", "\r\n", " \t", "\u2028"),
)
TRICKY = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def solid(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=120) | TRICKY)
def test_only_white_space_is_lost(text: str) -> None:
    """Sentences joined are the text; none is empty, none has needless white space."""
    sentences = split_sentences(text, "en")
    assert solid("".join(sentences)) == solid(text)
    assert all(sentence == " ".join(sentence.split()) != "" for sentence in sentences)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TRICKY.map(lambda text: f"Word {text}".replace("\n", " ").replace("\r", ""))))
def test_sentences_never_cross_paragraphs(texts: list[str]) -> None:
    expected = [split_sentences(text, "en") for text in texts]
    assert split_paragraphs("\n\n".join(texts), "en") == expected
    assert split_paragraphs("\r\n \r\n".join(texts), "en") == expected


@settings(max_examples=100, deadline=None)
@given(
    tokens=st.lists(
        st.sampled_from(["word", "word,", "word;", "x" * 700, "y" * 5_000, "—"]), max_size=900
    )
)
def test_long_sentences_are_cut(tokens: list[str]) -> None:
    """Pieces keep every character and both limits; a short sentence is not cut."""
    sentence = " ".join(tokens)
    pieces = cut(sentence)
    assert solid("".join(pieces)) == solid(sentence)
    assert all(len(piece.split()) <= MAX_WORDS for piece in pieces)
    assert all(len(piece) <= MAX_CHARACTERS for piece in pieces)
    if len(tokens) <= MAX_WORDS and len(sentence) <= MAX_CHARACTERS:
        assert pieces == [sentence]


@pytest.mark.parametrize(
    "sentences",
    [
        ["He met Dr. Hall.", "They talked."],
        ['"Why?" she asked.', '"No."'],
        ["It cost $3.50, i.e. little.", "So what?"],
        ["It is so.[3]", "Others agree. [4, 5]", "All (or most)[6] do.", "So it is. [7][8]"],
        ["The noise is i.i.d. and small.", "We go on."],
    ],
)
def test_hard_borders(sentences: list[str]) -> None:
    """Abbreviations, quotations and citation marks are no borders, or borders, as readers see."""
    assert split_sentences(" ".join(sentences), "en") == sentences


def test_wrapped_lines_are_joined_and_lists_are_not() -> None:
    wrapped = (
        "It was a bright cold day in early spring and the clocks of\n"
        "the town were striking. Nobody who lived there seemed to\n"
        "notice that they struck at different times.\n"
    )
    assert split_sentences(wrapped, "en") == [
        "It was a bright cold day in early spring and the clocks of the town were striking.",
        "Nobody who lived there seemed to notice that they struck at different times.",
    ]
    assert len(split_sentences("It was late, and the ship left\nthe harbor.", "en")) == 1
    captions = "A man on a horse\nTwo dogs play in the wet grass by a lake\nA red bus\nA cat"
    assert split_sentences(captions, "en") == captions.split("\n")


def test_pieces_without_words_join_their_neighbour() -> None:
    """A dash is no sentence; a paragraph of ornaments is only a border."""
    assert split_sentences("***\nThe end.\n---\n", "en") == ["*** The end. ---"]
    assert split_paragraphs("One.\n\n* * *\n\nTwo.", "en") == [["One."], ["Two."]]


@pytest.mark.parametrize("piece", ["!?", '."', "x", "word\n", "[1] ", "A. [1] ", "i.e. ", "\n"])
def test_time_grows_with_length_only(piece: str) -> None:
    """16 times the text takes far less than 256 times as long."""

    def work(text: str) -> object:
        return split_paragraphs(f"A word. {text} Another.", "en")

    assert not grows(work, piece, 10_000, 160_000, 100)


@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("am", "ይህ ነው። ሁለተኛ ነው።", 2),
        ("ar", "هل هذا جيد؟ نعم.", 2),
        ("de", "Am 3. Oktober kam Dr. Hall. Er blieb z. B. in Berlin.", 2),
        ("el", "Ήρθε χθες. Έφυγε σήμερα.", 2),
        ("hi", "यह एक वाक्य है। यह दूसरा है।", 2),
        ("ja", "今日は雨です。明日は晴れです。", 2),
        ("km", "ខ្ញុំស្រលាញ់អ្នក។ សួស្តី។", 2),
        ("ru", "Он пришёл. Она ушла.", 2),
        ("te", "అతను వచ్చాడు. ఆమె వెళ్ళింది.", 2),
        ("zh", "这是一句话。这是第二句。", 2),
        ("de", "2. Der Anfang. Er kam.", 2),
        ("en", "2. The beginning is here. He came.", 2),
    ],
)
def test_sentences_of_ten_scripts(language: str, text: str, count: int) -> None:
    """Full stops of every script end sentences, in a run of English too, and a heading's number
    does not."""
    assert len(split_sentences(text, language)) == count
    assert language == "km" or len(split_sentences(text, "en")) == count
