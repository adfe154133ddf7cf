"""Documents that resemble each other stand in one part, however they come."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.build import add_documents, build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.siblings import SHARE, sibling_groups, sketch

from .conftest import run_of


def _text(subject: int, level: int) -> str:
    """Return a text that shares three quarters of its words with those of its subject."""
    rng = np.random.default_rng(subject)
    mine = rng.choice(10**6, 40, replace=False)[: 40 - 5 * level]
    other = np.random.default_rng([subject, level]).choice(10**6, 5 * level)
    said = [f"w{number}" for number in [*mine, *other]]
    return " ".join(["The common words of all texts are here.", *said]) + "."


@pytest.mark.parametrize("rows", [7, 4_096])
def test_texts_on_one_subject_are_one_group(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared rare words make a group; words of all documents do not; no document is lost."""
    monkeypatch.setattr("firth.corpus.siblings._ROWS", rows)
    texts = [_text(subject, level) for subject in range(30) for level in range(3)]
    groups = sibling_groups([sketch(text.split()) for text in texts])
    assert groups.tolist() == np.repeat(np.arange(30), 3).tolist()
    assert sibling_groups([]).tolist() == []


@pytest.mark.parametrize(
    ("shared", "own", "least", "groups"),
    [(5, 40, SHARE, 40), (5, 5, SHARE, 20), (3, 2, SHARE, 40), (4, 2, SHARE, 20), (5, 5, 0.5, 40),
     (60, 60, 0.5, 20)],
)  # fmt: skip
def test_pairs_share_enough_rare_words(shared: int, own: int, least: float, groups: int) -> None:
    """Four words and a share of all; short documents may need a larger one, long ones do not."""
    texts = [
        [f"pair{n // 2}-{w}" for w in range(shared)] + [f"own{n}-{w}" for w in range(own)]
        for n in range(40)
    ]
    numbers = sibling_groups([sketch(text) for text in texts], least)
    assert len({*numbers.tolist()}) == groups


def test_siblings_of_documents_that_stay_are_never_moved(tmp_path: Path) -> None:
    """Ten are to be held out, and the new documents resemble those that are learned from."""
    run = run_of(tmp_path / "run", held_out_fraction=1e-9)
    rows = [{"id": f"{s}-{level}", "text": _text(s, level)} for level in range(2) for s in range(7)]
    build_corpus(run, rows[:7])
    build_corpus(run, rows)
    assert Corpus.open(run, "held-out").document_ids() == []
    build_corpus(run, [*rows, *({"id": f"new{s}", "text": _text(s, 0)} for s in range(50, 60))])
    assert {id[:3] for id in Corpus.open(run, "held-out").document_ids()} == {"new"}


def test_siblings_are_held_out_together(tmp_path: Path) -> None:
    """In one build, in a build that brings more, and when documents are added."""
    rows = [
        {"id": f"{s}-{level}", "text": _text(s, level)} for level in range(3) for s in range(60)
    ]
    run = run_of(tmp_path / "run", held_out_fraction=0.2)
    build_corpus(run, rows[:60])
    first = set(Corpus.open(run, "held-out").document_ids())
    assert 4 < len(first) < 25
    build_corpus(run, rows[:120])
    add_documents(run, rows[120:])
    expected = {f"{id.split('-')[0]}-{level}" for id in first for level in range(3)}
    assert set(Corpus.open(run, "held-out").document_ids()) == expected
    again = run_of(tmp_path / "again", held_out_fraction=0.2)
    build_corpus(again, rows)
    assert set(Corpus.open(again, "held-out").document_ids()) == expected


def test_ten_documents_are_held_out_where_there_are_enough(tmp_path: Path) -> None:
    """A verdict needs ten; the last group may bring more, and one in eight is the most."""
    rows = [{"id": f"{s}-{n}", "text": _text(s, n)} for s in range(40) for n in range(3)]
    for count, held_out in ((40, 5), (120, 10)):
        run = run_of(tmp_path / str(count), held_out_fraction=1e-6)
        build_corpus(run, rows[:count])
        ids = Corpus.open(run, "held-out").document_ids()
        assert held_out <= len(ids) < held_out + 3
        assert {f"{id.split('-')[0]}-{n}" for id in ids for n in range(3)} & {
            row["id"] for row in rows[:count]
        } == {*ids}
