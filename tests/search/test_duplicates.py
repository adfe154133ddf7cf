"""`firth.search.duplicates`: every member matches its representative, with evidence."""

import json
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import Records, documents

from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.calibration import SAME_DOCUMENT, Calibration
from firth.search.duplicates import SIMILAR, duplicates, group_pairs
from firth.search.near import Kind, Pairs, kind_of

Make = Callable[..., Run]
PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]),
    st.floats(0.5, 1.0, width=32),
    max_size=20,
)


def pairs_of(scores: Mapping[tuple[int, int], float]) -> Pairs:
    """Pairs in order."""
    ordered = sorted(scores)
    left, right = (np.array([pair[side] for pair in ordered], np.int64) for side in (0, 1))
    values = np.array([scores[pair] for pair in ordered], np.float32)
    return Pairs(left, right, values, 0.5)


@given(PAIRS, PAIRS)
def test_every_member_is_paired_with_its_representative(
    near: dict[tuple[int, int], float], similar: dict[tuple[int, int], float]
) -> None:
    """No chain joins two items; an item is in one group; near copies are never lost."""
    groups = group_pairs(pairs_of(near), pairs_of(similar))
    everything = similar | near
    seen = [*groups, *(member for members in groups.values() for member in members)]
    assert len(seen) == len(set(seen))
    for first, members in groups.items():
        assert members
        for member, score in members.items():
            assert first < member
            assert score == pytest.approx(everything[first, member])
    near_only = group_pairs(pairs_of(near), Pairs.none())
    grouped = {*near_only, *(member for members in near_only.values() for member in members)}
    assert grouped <= set(seen)
    for one, two in everything:
        assert one in seen or two in seen  # a pair of free items would be a group


def test_a_group_is_taken_as_a_whole_or_not() -> None:
    """1 and 2 are near copies; 0 is similar to 1 only, so they stay two groups."""
    near, one = {(1, 2): 0.9}, {(0, 1): 0.8}
    assert group_pairs(pairs_of(near), pairs_of(one)) == {1: {2: pytest.approx(0.9)}}
    both = one | {(0, 2): 0.7}
    result = group_pairs(pairs_of(near), pairs_of(both))
    assert result == {0: {1: pytest.approx(0.8), 2: pytest.approx(0.7)}}


LONG = "The captain of the old ship met the sailor near the harbor of the island"
TEXTS: Records = [
    {"id": "b", "text": f"{LONG}. The cow ate wheat in the field near a barn."},
    {"id": "a", "text": f"{LONG.upper()}! The judge met the jury at the trial."},
    {"id": "c", "text": f"{LONG} today. Some other words are here as well."},
    {"id": "d", "text": "Short. The cow ate wheat in a field near the barn of 12. Short."},
]
for _record, _year in zip(TEXTS, (2012, 2010, 2013), strict=False):
    _record["date"] = f"{_year}-05-01"


def test_kinds_and_evidence(make: Make) -> None:
    """The earliest is the representative; numbers that differ are named; short texts are none."""
    run = make(TEXTS)
    result = duplicates(run)
    assert result.counts() == {"groups": 2, "exact": 1, "near": 1, "similar": 1}
    one, two = result
    assert one.representative.place == "a, sentence 1"
    assert [(m.document, m.kind.value, m.evidence) for m in one.members] == [
        ("b", "exact", "the same words"),
        ("c", "near", "93% of the word pairs in common"),
    ]
    assert one.kind is Kind.NEAR
    assert (two.representative.document, two.members[0].document) == ("b", "d")
    assert two.members[0].differ == ("numbers",)
    assert two.members[0].evidence.endswith("numbers differ")
    assert two.kind is Kind.SIMILAR
    assert result.compared == 7
    assert "earliest by date" in result.notes[0]
    stored = json.loads(json.dumps(result.as_dict(top=1)))
    assert len(stored["groups"]) == 1
    assert stored["groups"][0]["kind"] == "near"
    assert "2 groups" in str(result)
    assert max(map(len, str(result).split("\n"))) <= 80

    assert duplicates(run, kind="near").counts()["similar"] == 0
    assert duplicates(run, kind="exact").counts() == {
        "groups": 1, "exact": 1, "near": 0, "similar": 0,
    }  # fmt: skip
    assert len(duplicates(run, where="date >= 2011 and date < 2014", kind="exact")) == 0


def test_members_match_their_representative(run: Run) -> None:
    """Cosines reach the threshold, by the vectors of the index."""
    from firth.search.index import Index

    index = Index.open(run)
    result = duplicates(run, threshold=0.9)
    assert result.threshold == 0.9
    assert len(result) > 3
    for group in result:
        first = group.representative
        for member in group.members:
            cosine = float(index.vectors([first.number])[0] @ index.vectors([member.number])[0])
            assert cosine >= 0.9 - 1e-3
            assert kind_of(first.text, member.text) is member.kind
            assert index.corpus.text(member.number) == member.text


def test_a_threshold_that_cannot_be_set_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default is named; a corpus that would allow less than 0.8 does not lower it."""
    result = duplicates(run)
    assert result.threshold == SIMILAR
    assert any("no threshold" in line for line in result.notes)
    rng = np.random.default_rng(1)
    for mean, expected in ((0.2, SIMILAR), (0.6, pytest.approx(0.91, abs=0.03))):
        scores = np.sort(rng.normal(mean, 0.1, 50_000))
        calibration = Calibration({SAME_DOCUMENT: scores})
        monkeypatch.setattr(Calibration, "current", lambda _, c=calibration: c)
        result = duplicates(run)
        assert result.threshold == expected
        assert not any("no threshold" in line for line in result.notes)


def test_documents_are_grouped_by_their_alignment(make: Make) -> None:
    """Near copies and retold documents join the earliest; others do not."""
    source = documents(range(1))[0]
    words = source["text"].replace("ship", "boat").replace("harbor", "port")
    records: Records = [
        {**source, "id": "first", "date": "2000-01-01"},
        *documents(range(1))[1:],
        {**source, "id": "near", "text": source["text"] + " It rained.", "date": "2001-01-01"},
        {**source, "id": "retold", "text": f"{words} Nobody knew why.", "date": "2002-01-01"},
    ]
    result = duplicates(make(records), unit="document")
    assert result.unit == "document"
    assert result.compared == len(records)
    (group,) = [g for g in result if g.representative.document == "first"]
    assert {m.document for m in group.members} == {"near", "retold"}
    assert all(m.sentence == 0 and m.score >= 0.5 for m in group.members)
    assert duplicates(make(records, name="near"), unit="document", kind="near").counts()["near"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"kind": "reworded"}, "exact, near, similar"),
        ({"unit": "word"}, "sentence or document"),
        ({"where": "id = 'none'"}, "no document matches"),
    ],
)
def test_arguments_are_checked(run: Run, options: dict[str, object], message: str) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match=message):
        duplicates(run, **options)  # type: ignore[arg-type]
