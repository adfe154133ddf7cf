"""Reasons sum to the score, mirror the pair, and claim nothing where nothing is known."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import TOPICS

from firth.lexical.marks import Mark
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.evidence import NUMBERS, THEMES, WORDS, Knowledge
from firth.origin.origin import Origin
from firth.origin.reasons import Reasons, page
from firth.surrogate.reasons import EncoderReasons

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
PAIRS = [
    (A, B), (A, A), ("", A), ("", ""), ("Xqzzy ships!", B), ("zzz qqq", "zzz qqq"), ("!", "!"),
    ("The", "the"), ("The judge met 3 ships.", "The judge didn't meet 4 ships."),
]  # fmt: skip
EXPLAINERS = ["bag", "language model", "static", "transformer"]


@pytest.fixture(scope="module")
def origin(tiny_run: Path) -> EnsembleOrigin:
    found = Origin.open(tiny_run, method="ensemble")
    assert isinstance(found, EnsembleOrigin)
    return found


@pytest.fixture(scope="module", params=EXPLAINERS)
def explainer(
    request: pytest.FixtureRequest, tiny_run: Path, prompt_run: Path, tiny_bert: Path
) -> EnsembleOrigin | EncoderReasons:
    match request.param:
        case "static":
            return EncoderReasons.open(tiny_run, tiny_run / "surrogate")
        case "transformer":
            return EncoderReasons.open(tiny_run, tiny_bert)
        case kind:
            return EnsembleOrigin.open(tiny_run if kind == "bag" else prompt_run)


def sums(found: Reasons) -> None:
    parts = sum(part.added for part in found.parts.values())
    assert parts == pytest.approx(found.similarity, abs=1e-9)
    for name, listed in ((THEMES, found.themes), (WORDS, found.meetings)):
        if name in found.parts:
            whole = sum(each.added for each in listed) + found.parts[name].rest
            assert whole == pytest.approx(found.parts[name].added, abs=1e-9)


def test_everything_sums_to_the_score(explainer: EnsembleOrigin | EncoderReasons) -> None:
    """Parts to the score; themes, meetings and rests to the parts; words, where they are exact."""
    scores = explainer.similarities(PAIRS).tolist()
    for found, score in zip(explainer.explanations(PAIRS), scores, strict=True):
        assert found.similarity == pytest.approx(score, abs=1e-6)
        sums(found)
        if found.exact and "equal" not in found.parts:
            hanging = sum(word.added or 0.0 for word in (*found.words1, *found.words2))
            assert hanging == pytest.approx(score, abs=1e-6)


def test_words_carry_themes(explainer: EnsembleOrigin | EncoderReasons) -> None:
    """Where vectors are sums of words, what these add in a theme is what it adds; those that add
    most, and are no stop words, are told."""
    told = 0
    for found in explainer.explanations(PAIRS):
        for share in found.themes:
            assert bool(share.by1 and share.by2) is found.exact
            if found.exact:
                assert (len(share.by1), len(share.by2)) == (len(found.words1), len(found.words2))
                whole = sum(share.by1) + sum(share.by2)
                assert whole == pytest.approx(share.added, abs=1e-5)
            words = {word.text for word in (*found.words1, *found.words2) if not word.empty}
            assert words >= set(found.carried(share))
            told += len(found.carried(share))
    assert bool(told) is explainer.explain(A, B).exact


WORD = st.sampled_from(
    [
        *TOPICS["sea"],
        *TOPICS["court"],
        "the",
        "not",
        "Xqzzy",
        "12",
        "threes three",
        "4s",
        "!",
        "didn't",
    ]
)
TEXT = st.lists(WORD, max_size=8).map(" ".join)


@settings(max_examples=40)
@given(one=TEXT, two=TEXT)
def test_whatever_is_asked(origin: EnsembleOrigin, one: str, two: str) -> None:
    """Any texts: the sums hold; no stop word is evidence; turned round, it says the same."""
    found, turned = origin.explanations([(one, two), (two, one)])
    sums(found)
    said = {word.lower() for each in found.meetings for word in (each.word1, each.word2)}
    assert not said & {"the", "a", "of"}
    assert found.similarity == turned.similarity
    assert found.words1 == turned.words2 or [w.text for w in found.words1] == [
        w.text for w in turned.words2
    ]
    mirrored = {(m.word2, m.word1): pytest.approx(m.added, abs=1e-9) for m in turned.meetings}
    assert {(m.word1, m.word2): m.added for m in found.meetings} == mirrored
    assert found.unmatched == turned.unmatched[::-1]
    for name, part in found.parts.items():
        assert turned.parts[name].added == pytest.approx(part.added, abs=1e-9)


def test_many_are_as_one_by_one(explainer: EnsembleOrigin | EncoderReasons) -> None:
    """Of 70 pairs, more than are in memory at once, each has the reasons that it has alone."""
    pairs = (PAIRS * 8)[:70]
    together = list(explainer.explanations(pairs))
    assert len(together) == 70
    for found, pair in list(zip(together, pairs, strict=True))[60:70]:
        alone = explainer.explain(*pair)
        assert found.told == alone.told
        assert found.similarity == pytest.approx(alone.similarity, abs=1e-6)
        assert [m.word1 for m in found.meetings] == [m.word1 for m in alone.meetings]


def test_themes_are_the_sums_of_all_their_contexts(origin: EnsembleOrigin) -> None:
    """Shares of all themes are 1, for either text; those told of are the largest."""
    (found,) = origin.explanations([(A, B)])
    assert len(found.themes) > 1
    for share in found.themes:
        assert 0 <= share.share1 <= 1
        assert 0 < share.usual < 1
        assert share.contexts
    assert sum(share.share1 for share in found.themes) <= 1 + 1e-9


def test_what_turns_the_meaning_is_flagged(origin: EnsembleOrigin) -> None:
    """Numbers that differ and a negation stand without counterpart, and are told of."""
    found = origin.explain(*PAIRS[-1])
    marked = {word.text: word.mark for word in found.words2 if word.mark}
    assert marked == {"didn't": Mark.NEGATION, "4": Mark.NUMBER}
    assert "negations differ: none against didn't" in found.told
    less = found.parts[NUMBERS].added
    assert less < -0.01
    assert f"numbers differ: 3 against 4 ({less:.2f})" in found.told
    assert sum(word.added or 0.0 for word in found.words1 if word.mark is Mark.NUMBER) < 0
    assert NUMBERS not in origin.explain(A, B).parts
    same = origin.explain("No ship left.", "The ship never left.")
    assert "differ" not in same.told, "two negations meet"


@pytest.mark.parametrize(
    ("one", "two", "known"),
    [
        ("!!!", "???", Knowledge.NONE),
        ("The xqzzy blorped.", "The wuffle grommed.", Knowledge.NONE),
        ("the of and", "the to in", Knowledge.NONE),
        ("Xqzzy!", "The xqzzyan harbour", Knowledge.SPELLING),
        (A, B, Knowledge.BOTH),
    ],
)
def test_nothing_is_claimed_where_nothing_is_known(
    origin: EnsembleOrigin, one: str, two: str, known: Knowledge
) -> None:
    """It is said, unknown words are named, and no word is said to meet another."""
    found = origin.explain(one, two)
    assert found.knowledge is known
    if known is Knowledge.NONE:
        assert "no claim" in found.told
        assert not found.meetings
    if "xqzzy" in one:
        assert {"xqzzy", "blorped", "wuffle", "grommed"} <= set(found.unknown)
    assert origin.explain("!!!", "!!!").similarity == 1.0


class Tags(HTMLParser):
    """Tags of a page, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_escaped(origin: EnsembleOrigin) -> None:
    """Nothing of a text is run or acts; the text is there, and dark screens are thought of."""
    hostile = '<script>alert(1)</script> & \x1b[2J ship \u202e harbour "<b>'
    for text in (origin.explain(hostile, A).html(), page([origin.explain(A, hostile)], hostile)):
        parsed = Tags(text)
        assert not parsed.open
        assert not {"script", "b"} & set(parsed.tags)
        assert not {"\x1b", "\u202e"} & set(text)
        assert "prefers-color-scheme: dark" in text
        assert "harbour" in text
        assert not re.search(r"url\(|@import|https?:", text)


def test_everything_is_plain_in_json(origin: EnsembleOrigin) -> None:
    """All of it, and what is told in sentences."""
    found = json.loads(json.dumps(origin.explain(A, B).as_dict()))
    assert found["themes"][0]["contexts"][0]["document"]
    assert found["told"]
    assert found["knowledge"] == "both"


def test_shown_is_for_short_lists(origin: EnsembleOrigin) -> None:
    """So many themes and so many meetings, with what they add."""
    shown = origin.explain(A, B).shown(2)
    assert 2 <= len(shown) <= 4
    assert any(item.text == "harbour" for item in shown)
