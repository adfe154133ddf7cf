"""`firth.search.documents`: two documents in detail, and all pairs of a run that share text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import Records, documents

from firth.corpus.document import Document
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search import documents as module
from firth.search.calibrate import build_calibration
from firth.search.calibration import UNKNOWN, UNMEASURED, Calibration, MatchNull
from firth.search.documents import LONGEST, RUN, Comparison, Given, Reuse, Side, align
from firth.search.index import Index
from firth.text.near import Kind

Make = Callable[..., Run]


def find_reuse(run: Run, **options: Any) -> Reuse:
    return module.find_reuse(Index.open(run), **options)


def compare_documents(run: Run, a: Given, b: Given, threshold: float | None = None) -> Comparison:
    return module.compare_documents(Index.open(run), a, b, threshold=threshold)


A = [
    "The ship reached the harbor of the island.",
    "It rained.",
    "The crew slept in the old town by the sea.",
]


def test_matches_copied_runs_and_shares(run: Run) -> None:
    """What moved is matched, what was changed is named, and the rest has no match."""
    b = ["Nobody came.", A[2], "In 1999 the ship reached the harbor of the island.", "So what."]
    first, second = (Document(id=" ", text="\n\n".join(side)) for side in (A, b))
    result = compare_documents(run, first, second, threshold=0.8)
    assert [(m.a, m.b, m.kind) for m in result.matches] == [
        ((1,), (3,), Kind.NEAR), ((3,), (2,), Kind.EXACT),
    ]  # fmt: skip
    assert result.matches[0].differ == ()  # Only one of both has a number.
    assert result.coverage_a == result.copied_a == pytest.approx(18 / 20)
    assert (result.sentences_a, result.sentences_b) == (3, 4)
    assert result.threshold == 0.8
    text = result.text()
    assert "Of A, 90% is in B" in text
    assert "Without a match in A: 2" in text
    assert "Without a match in B: 1, 4" in text
    assert max(map(len, text.split("\n"))) <= 80
    assert json.loads(json.dumps(result.as_dict()))["matches"][1]["kind"] == "exact"


def test_a_document_is_given_in_many_ways(run: Run, tmp_path: Path) -> None:
    """An id, a file and a document give the same comparison."""
    record = documents()[0]
    file = tmp_path / "text.txt"
    file.write_text(record["text"])
    forms: list[Given] = [file, str(file), Document(id="x", text=record["text"])]
    expected = compare_documents(run, "sea-0", "sea-1")

    def same(result: Comparison) -> bool:
        return [(m.a, m.b) for m in result.matches] == [(m.a, m.b) for m in expected.matches]

    for form in forms:
        assert same(compare_documents(run, form, "sea-1"))
    assert compare_documents(run, "sea-0", file).score == pytest.approx(1)
    assert compare_documents(run, file, Document(id="x", text="A cow.")).b == "x"


def test_what_is_no_document_is_refused(run: Run, tmp_path: Path) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match="neither a document of the run, such as 'sea-0'"):
        compare_documents(run, "sea-99", "sea-1")
    file = tmp_path / "many.jsonl"
    file.write_text('{"text": "A ship."}\n{"text": "A boat."}\n')
    with pytest.raises(InputError, match="2 documents"):
        compare_documents(run, file, "sea-1")
    with pytest.raises(InputError, match="between 0 and 1"):
        compare_documents(run, "sea-0", "sea-1", threshold=2)


def test_the_default_threshold_is_that_of_the_calibration(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundredth of the sentences without a counterpart reach it, in both commands."""
    null = MatchNull(tuple(np.linspace(-0.9, -0.3, 200).tolist()), 0.05, 120, 120)
    monkeypatch.setattr(Calibration, "current", lambda _: Calibration(matches=null))
    expected = null.threshold(0.01)
    assert expected != pytest.approx(null.threshold(0.02))
    for result in (find_reuse(run), compare_documents(run, "sea-0", "sea-1")):
        assert result.threshold == expected
        assert not result.notes


def test_one_document_shares_text_with_none(make: Make) -> None:
    """All its sentences are of one document, and nothing is known of false matches."""
    run = make(documents(range(1))[:1])
    build_calibration(run)
    result = find_reuse(run)
    assert (len(result), result.documents, result.threshold) == (0, 1, UNMEASURED)
    assert UNKNOWN in result.notes[0]


def test_pairs_that_share_text_are_found(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden passage brings two documents together; the figures are those of a comparison."""
    records = documents(range(2))
    sea, farm, court = (record["text"].split(". ") for record in records[:3])
    hidden: Records = [
        {"id": "mix", "title": "Mixed", "text": ". ".join([*farm[:2], *sea[1:4], *farm[2:]])},
        {"id": "copy", "text": ". ".join(court) + " And so on."},
    ]
    run = make([*records[1:], records[0], *hidden])
    result = find_reuse(run, threshold=0.9)
    assert result.documents == len(records) + 2
    pairs = {frozenset((pair.a, pair.b)): pair for pair in result}
    assert frozenset(("court-0", "copy")) in pairs
    assert frozenset(("sea-0", "mix")) in pairs
    assert frozenset(("sea-0", "court-0")) not in pairs
    coverages = [pair.coverage for pair in result]
    assert coverages == sorted(coverages, reverse=True)
    for pair in result:
        whole = compare_documents(run, pair.a, pair.b, threshold=0.9)
        assert pair.score == pytest.approx(whole.score)
        assert pair.coverage_a == pytest.approx(whole.coverage_a)
        assert pair.coverage_b == pytest.approx(whole.coverage_b)
    assert pairs[frozenset(("sea-0", "mix"))].b_title == "Mixed"
    assert result[0] == result.items[0]
    assert json.loads(json.dumps(result.as_dict(top=1)))["count"] == len(result)
    assert max(map(len, str(result).split("\n"))) <= 80

    some = find_reuse(run, threshold=0.9, where="section = 'farm' or id = 'mix'")
    assert some.documents == 3
    assert all({pair.a, pair.b} <= {"farm-0", "farm-1", "mix"} for pair in some)
    many = find_reuse(run, threshold=0.5)
    monkeypatch.setattr(module, "CANDIDATES", 1)
    assert 0 < len(find_reuse(run, threshold=0.5)) < len(many)


# --- Alignment ---------------------------------------------------------------------------------

SENTENCES = st.lists(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join),
    min_size=1, max_size=5,
)  # fmt: skip


def side(sentences: list[str], seed: int = 0) -> Side:
    """A document with vectors at random."""
    rows = np.random.default_rng(seed).standard_normal((len(sentences), 6))
    return Side(sentences, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


@given(SENTENCES, SENTENCES)
def test_an_alignment_is_symmetric_and_in_range(a: list[str], b: list[str]) -> None:
    """Swapping the documents swaps the shares; no two matches share a sentence."""
    one, two = side(a, 1), side(b, 2)
    there, back = align(one, two, 0.4), align(two, one, 0.4)
    assert there.score == pytest.approx(back.score)
    assert there.coverage == pytest.approx(back.coverage[::-1])
    assert there.copied == pytest.approx(back.copied[::-1])
    shares = (there.score, *there.coverage, *there.copied)
    assert all(0 <= share <= 1 for share in shares)
    assert all(c >= r for c, r in zip(there.coverage, there.copied, strict=True))
    for spans in ([m.a for m in there.matches], [m.b for m in there.matches]):
        taken = [place for start, end in spans for place in range(start, end)]
        assert len(taken) == len(set(taken))
    for match in there.matches:
        sizes = match.a[1] - match.a[0], match.b[1] - match.b[0]
        assert min(sizes) == 1
        assert max(sizes) <= LONGEST
        assert 0.4 <= match.score <= 1


@given(SENTENCES)
def test_a_document_covers_itself(sentences: list[str]) -> None:
    """Equal words are similar, even if the model knows none of them."""
    unknown = Side(sentences, np.zeros((len(sentences), 4), np.float32))
    whole = align(unknown, unknown, 0.5)
    assert whole.score == pytest.approx(1)
    assert whole.coverage == (1, 1)


def test_a_sentence_matches_the_two_it_was_split_into() -> None:
    """The sum of two vectors is nearer to the whole than either."""
    e = np.eye(3, dtype=np.float32)
    whole = Side(["x y z w"], ((e[:1] + e[1:2]) / np.sqrt(2)).astype(np.float32))
    parts = Side(["p q", "r s", "t u"], e)
    aligned = align(whole, parts, 0.8)
    assert [(m.a, m.b) for m in aligned.matches] == [((0, 1), (0, 2))]
    assert aligned.coverage == pytest.approx((1, 2 / 3))


@given(SENTENCES, SENTENCES)
def test_what_gains_most_is_taken_first(a: list[str], b: list[str]) -> None:
    """The best single pair of sentences is matched, alone or in a longer match that gains more."""
    one, two = side(a, 3), side(b, 4)
    scores = np.clip(one.vectors[0] @ two.vectors[0].T, 0, 1)
    equal = np.array([[x == y for y in b] for x in a])
    gains = (np.where(equal, 1, scores) - 0.5) * (one.masses[:, None] + two.masses)
    matches = align(one, two, 0.5).matches
    if gains.max() < -1e-6 or any(
        match.score == 1.0 for match in matches
    ):  # Equal runs come first.
        return
    most = max(
        (m.score - 0.5) * (one.masses[slice(*m.a)].sum() + two.masses[slice(*m.b)].sum())
        for m in matches
    )
    assert most >= gains.max() - 1e-5


@given(SENTENCES, SENTENCES)
def test_copied_words_are_those_of_common_runs(a: list[str], b: list[str]) -> None:
    """A word is copied exactly if a run of `RUN` words around it is in the other document."""
    one, two = side(a), side(b)
    runs = {tuple(two.words[j : j + RUN]) for j in range(len(two.words) - RUN + 1)}
    copied = {
        place
        for i in range(len(one.words) - RUN + 1)
        if tuple(one.words[i : i + RUN]) in runs
        for place in range(i, i + RUN)
    }
    assert align(one, two, 0.99).copied[0] == pytest.approx(len(copied) / len(one.words))
