"""Items: what is asked, of which documents, and what decides it."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from firth.check import items as module
from firth.check.edits import Edit
from firth.check.items import FEW, Item, Kind, make_items
from firth.check.settings import CheckConfig
from firth.lexical.words import normal_form

from .conftest import Build, sentence

_PLACE = re.compile(r"The (\w+) came to place number (\d+)")


def place(text: str) -> tuple[str, int]:
    """Name of the document, and number of the (first) sentence in it."""
    found = _PLACE.match(text)
    assert found
    return found[1], int(found[2])


def of_kind(items: Sequence[Item], kind: Kind) -> list[Item]:
    return [item for item in items if item.kind is kind]


@pytest.mark.parametrize("distance", [1, 4, 9])
def test_next_sentences(build: Build, distance: int) -> None:
    """The right candidate follows in the same paragraph; the others are distinct sentences of the
    same document, none of them nearer than the distance."""
    corpus = build({"ship": [5] * 9, "cow": [3, 1, 40]})
    found = of_kind(make_items(corpus, CheckConfig(distance=distance), 13), Kind.NEXT)
    assert len(found) == 9 * 4 + 2 + 39  # every sentence but the last of each paragraph
    for item in found:
        name, number = place(item.sentence)
        assert item.right == sentence(name, number + 1)
        others = [place(text) for text in item.others]
        assert {other for other, _ in others} == {name} == {corpus.document_id(item.document)}
        assert len({normal_form(t) for t in (item.sentence, item.right, *item.others)}) == 11
        assert min(abs(other - number) for _, other in others) >= distance
        assert item.hard


def test_sentences_of_unusual_length_are_not_asked_about(build: Build) -> None:
    """Nor are they candidates: with usual lengths beyond those of a corpus there are no items."""
    corpus = build({"ship": [40]})
    corpus.max_words = 7  # all have nine words
    assert make_items(corpus, CheckConfig(), 13) == []


def test_items_follow_from_the_seed(build: Build) -> None:
    """Equal seeds give equal items, other seeds others."""
    corpus = build({"ship": [30], "cow": [40]})
    config = CheckConfig(items=10)
    assert make_items(corpus, config, 13) == make_items(corpus, config, 13)
    assert make_items(corpus, config, 13) != make_items(corpus, config, 14)


def test_items_of_a_document_do_not_depend_on_others(build: Build) -> None:
    """Beside other documents a document has the items that it has alone, or the first of them."""
    alone = make_items(build({"ship": [120]}), CheckConfig(), 13)
    beside = build({"cow": [40], "ship": [120], "tree": [30]})
    several = make_items(beside, CheckConfig(), 13)
    ours = [(i.sentence, i.others) for i in several if place(i.sentence)[0] == "ship"]
    assert ours == [(i.sentence, i.others) for i in alone]
    few = make_items(beside, CheckConfig(items=12), 13)
    first = [(i.sentence, i.others) for i in few if place(i.sentence)[0] == "ship"]
    assert first == ours[: len(first)]
    assert len(first) == 4


def test_long_documents_do_not_drown_the_others(build: Build) -> None:
    """Of limited items each document has its share: as many as any other, or all it can give."""
    corpus = build({"ship": [400], "cow": [60], "tree": [20]})
    found = make_items(corpus, CheckConfig(items=100), 13)
    counts = Counter(place(item.sentence)[0] for item in found)
    assert counts["tree"] == 19
    assert counts["ship"] + counts["cow"] == 81
    assert abs(counts["ship"] - counts["cow"]) <= 1


@pytest.mark.parametrize("items", [5, 20, 70])
def test_items_of_a_document_are_spread_evenly(build: Build, items: int) -> None:
    """No stretch of a document between two of its items is much longer than the average."""
    found = of_kind(make_items(build({"ship": [400]}), CheckConfig(items=items), 13), Kind.NEXT)
    places = sorted(place(item.sentence)[1] for item in found)
    assert len(places) == items
    assert max(np.diff([0, *places, 400])) <= 2.7 * 400 / items


def test_short_documents_borrow_candidates(build: Build) -> None:
    """Where hard items are few, candidates come from other documents of the file, then of any; the
    items say so. Where there are enough, none do."""
    short = {f"short{'abcdefgh'[n]}": [6] for n in range(8)}
    found = of_kind(
        make_items(build(short, {"ship": [6], "cow": [20]}), CheckConfig(), 13), Kind.NEXT
    )
    hard = [item for item in found if item.hard]
    assert {place(item.sentence)[0] for item in hard} == {"cow"}
    assert len(found) == 9 * 5 + 19
    for item in found:
        name, number = place(item.sentence)
        others = [place(text) for text in item.others]
        assert item.hard == all(other == name for other, _ in others)
        assert all(abs(at - number) >= 4 for other, at in others if other == name)
        if name in short:
            assert {other for other, _ in others} <= set(short)
    assert any(not item.hard for item in found)
    many = make_items(build(short, {"cow": [FEW + 20]}), CheckConfig(), 13)
    assert len(many) > FEW
    assert all(item.hard for item in many)


def test_crops(build: Build) -> None:
    """Two first against two last sentences of a paragraph of four or more; the others are the last
    two of other paragraphs of the same document."""
    sizes = [4, 5, 3, 4, 8, 4, 6, 4, 2, 4, 5, 4, 4]
    corpus = build({"ship": sizes, "cow": [4] * 9})  # cow: too few paragraphs
    found = of_kind(make_items(corpus, CheckConfig(), 13), Kind.CROP)
    ends = np.cumsum(sizes)
    long = {
        int(end - size): int(end - 2) for end, size in zip(ends, sizes, strict=True) if size > 3
    }
    assert len(found) == len(long) == 11

    def two(start: int) -> str:
        return f"{sentence('ship', start)} {sentence('ship', start + 1)}"

    for item in found:
        last = long[place(item.sentence)[1]]
        assert item.sentence == two(place(item.sentence)[1])
        assert item.right == two(last)
        assert len({*item.others}) == 9
        assert {*item.others} <= {two(other) for other in long.values() if other != last}


def test_edits_become_items(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that keeps the meaning is right, the one that changes it is the only other; at most
    so many of a kind, from sentences of all documents, with others to draw from."""

    def edits_of(text: str, others: Sequence[str], rng: np.random.Generator) -> list[Edit]:
        assert others
        assert text not in others
        kinds = ["order", "number"] if place(text)[1] % 2 else ["name"]
        return [Edit(kind, f"{text} kept", f"{text} {rng.integers(10**9)}") for kind in kinds]

    monkeypatch.setattr(module, "edits_of", edits_of)
    corpus = build({"ship": [30], "cow": [30]})
    config = CheckConfig(items=12)
    found = make_items(corpus, config, 13)
    assert found == make_items(corpus, config, 13)
    counts = Counter(item.kind for item in found)
    assert {kind: counts[kind] for kind in (*module.EDITS, Kind.NEXT)} == {
        Kind.ORDER: 12, Kind.NEGATION: 0, Kind.NUMBER: 12, Kind.NAME: 12, Kind.NEXT: 12,
    }  # fmt: skip
    for item in of_kind(found, Kind.ORDER):
        assert item.right == f"{item.sentence} kept"
        assert len(item.others) == 1
        assert corpus.document_id(item.document) == place(item.sentence)[0]


def test_documents_without_items(build: Build) -> None:
    """A single short document, and documents of single sentences, give none."""
    assert make_items(build({"ship": [6]}), CheckConfig(), 13) == []
    assert make_items(build({f"d{n}": [1] for n in range(30)}), CheckConfig(), 13) == []
