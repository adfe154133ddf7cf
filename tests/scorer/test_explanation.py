"""Explanations: rows sum to the score, cautions name what differs, and all forms show the same."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.scorer.explanation import Explanation, Explanations, article
from firth.scorer.parts import (
    CONTEXTS,
    EQUAL,
    TOPICS,
    WORDS,
    Amount,
    ContextShare,
    Knowledge,
    TopicShare,
    Word,
    WordMatch,
    parts_of,
)

amounts = st.lists(st.floats(-1, 1), max_size=4)


def example() -> Explanation:
    """A pair with everything in it."""
    tax = TopicShare(("tax", "cut", "pay"), 0.02)
    rate = TopicShare(("tax", "rate"), 0.012)
    matches = (WordMatch("taxes", "Taxes", 1.0, 0.1), WordMatch("working", "work", 0.8, 0.09))
    listed = {WORDS: (0.16, [0.1, 0.09]), TOPICS: (0.09, [0.02, 0.012])}
    return Explanation(
        text1="Cut taxes for working families with two children on Monday.",
        text2="Taxes didn't help 3 people who work on Monday.",
        language="en",
        score=0.25,
        parts=parts_of(0.25, listed),
        topics=(tax, rate),
        word_matches=matches,
        words1=(
            Word(text="taxes", contribution=0.1, matched=True),
            Word(text="families", contribution=0.01),
            Word(text="for", contribution=0.0, stop_word=True),
            Word(text="two", contribution=-0.01),
            Word(text="Monday", contribution=0.0),
        ),
        words2=(
            Word(text="Taxes", contribution=0.1, matched=True),
            Word(text="didn't", contribution=0.0),
            Word(text="3", contribution=-0.01),
            Word(text="people", contribution=0.01, known=False),
        ),
        contexts=(
            ContextShare(
                text="Taxes were cut again.",
                document="d1",
                fit1=0.5,
                fit2=0.6,
                contribution=0.01,
                title="Budget",
            ),
        ),
    )


@given(words=amounts, topics=amounts, rest=st.floats(-0.2, 0.2))
def test_parts_and_rows_sum_to_the_score(
    words: list[float], topics: list[float], rest: float
) -> None:
    """Whatever is listed; `top` moves what it removes into the rest of its part."""
    contributions = {WORDS: math.fsum(words) + rest, TOPICS: math.fsum(topics)}
    score = math.fsum(contributions.values()) + 1e-13  # a rounding error
    listed = {WORDS: (contributions[WORDS], words), TOPICS: (contributions[TOPICS], topics)}
    explanation = Explanation(
        text1="a",
        text2="b",
        score=score,
        parts=parts_of(score, listed),
        topics=tuple(TopicShare((str(n),), x) for n, x in enumerate(topics)),
        word_matches=tuple(WordMatch("a", "b", 0.5, x) for x in words),
    )
    assert EQUAL not in explanation.parts
    for each in (explanation, explanation.top(2), explanation.top(0)):
        assert math.fsum(p.contribution for p in each.parts.values()) == pytest.approx(
            score, abs=1e-15
        )
        assert math.fsum(r.contribution for r in each.rows) == pytest.approx(score, abs=1e-8)
        assert each.parts.keys() == explanation.parts.keys()
    assert len(explanation.top(2).topics) == min(2, len(topics))


def test_a_remainder_is_an_error() -> None:
    """What evidence lacks is said of equal texts only; rounding goes into the first part."""
    listed: dict[str, tuple[float, list[float]]] = {WORDS: (0.2, []), TOPICS: (0.1, [])}
    with pytest.raises(RuntimeError, match=r"\+0\.100000 of the score .* words 0\.2"):
        parts_of(0.4, listed)
    assert parts_of(1.0, listed, equal=True)[EQUAL].contribution == pytest.approx(0.7)
    rounded = parts_of(0.3 + 1e-6, listed)
    assert rounded.keys() == listed.keys()
    assert rounded[WORDS].contribution == pytest.approx(0.2 + 1e-6, abs=1e-12)


def test_contexts_are_evidence_too() -> None:
    """As the paper's method lists them: without topics and words."""
    shares = tuple(
        ContextShare(text=f"[…] {n}", document="d", fit1=0.1, fit2=0.2, contribution=0.01 * n)
        for n in (3, 2, 1)
    )
    parts = {CONTEXTS: Amount(0.5, 0.44)}
    explanation = Explanation(text1="a", text2="b", score=0.5, parts=parts, contexts=shares)
    assert [row.contribution for row in explanation.rows] == [0.03, 0.02, 0.01, 0.44]
    assert explanation.top(1).parts[CONTEXTS].rest == pytest.approx(0.47)
    assert "contexts" in explanation.equation
    assert "[…] 3" in str(explanation)


def test_the_text_says_what_is_shared_and_what_is_not() -> None:
    """In the order: aligned words, topics, each sentence alone, cautions; then the sentences."""
    assert example().summary() == (
        "Similarity 0.25. Aligned words: taxes (0.10), working ~ work (0.09). "
        "Shared topics: tax, cut, pay (0.02); tax, rate (0.01). "
        "Only in sentence 1: families, two, Monday. "
        "Only in sentence 2: didn't, 3, people. "
        "Caution: number: two / 3; negation: \u2013 / didn't."
    )
    assert example().equation == "similarity 0.2500 = +0.1600 words +0.0900 topics"
    assert example().unknown == ("people",)
    end = Word(text="t", known=False, stop_word=True)  # of "don't"
    assert replace(example(), words1=(end,)).unknown == ("people",)
    assert "+0.100     40 %" in str(example()), "a row has its share of the score"
    lines = str(example()).splitlines()
    resembled = lines.index("  Taxes were cut again. (Budget)")
    words = next(n for n, line in enumerate(lines) if line.startswith("Aligned words"))
    assert resembled < words


def test_without_knowledge_nothing_is_claimed() -> None:
    """The text says so, and names the unknown words."""
    parts = {WORDS: Amount(0.1, 0.1)}
    words = (Word(text="xqzzy", known=False),)
    none = Explanation(
        text1="xqzzy", text2="b", score=0.1, parts=parts, words1=words, knowledge=Knowledge.NONE
    )
    assert "(xqzzy): the score says nothing" in none.summary()
    assert "compares spelling" in replace(none, knowledge=Knowledge.SPELLING).summary()
    assert "texts are equal" in replace(none, text2="xqzzy").summary()


# --- Forms -------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags and the text of a page; each tag must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_all_forms_show_the_same_rows() -> None:
    """Each row's label and amount is in the text, the HTML and the JSON."""
    explanation = example()
    values = json.loads(json.dumps(explanation.as_dict()))
    html, text = Tags(article(explanation)).text, re.sub(r"\n *", " ", str(explanation))
    rows = [(row.label, row.contribution) for row in explanation.rows]
    assert [(row["label"], row["contribution"]) for row in values["rows"]] == rows
    for label, amount in rows:
        assert label in text
        assert label in html
        assert f"{amount:+.3f}" in text
        assert f"{amount:+.3f}" in html
    assert "Taxes were cut again." in html
    for form in (html, text, values["summary"]):
        assert "number: two / 3" in form
    assert values["cautions"] == list(explanation.cautions)
    assert values["contexts"][0]["document"] == "d1"


def test_the_page_is_whole_and_escaped(tmp_path: Path) -> None:
    """No text is run or acts on the reader, and no file or address is needed."""
    hostile = '<script>alert(1)</script> & \x1b[2J taxes \u202e "<b> didn\u2019t {{ 7 * 7 }}'
    topic = TopicShare((hostile,), 0.1)
    context = ContextShare(
        text=hostile, document=hostile, fit1=1.0, fit2=1.0, contribution=0.01, title=hostile
    )
    explanation = replace(
        example(), text1=hostile, text2=hostile, topics=(topic,), contexts=(context,),
        word_matches=(WordMatch(hostile, "b", 0.5, 0.1),),
    )  # fmt: skip
    Explanations(items=(explanation, example())).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    parsed = Tags(page)
    assert not {"script", "b"} & set(parsed.tags)
    assert not {"\x1b", "\u202e"} & set(page)
    assert "{{ 7 * 7 }}" in parsed.text
    assert parsed.tags.count("article") == 2
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"url\(|@import|https?:", page)
