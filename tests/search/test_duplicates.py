"""`firth.search.duplicates`: every member matches its representative, with evidence."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.conftest import TOPICS, Records, document, documents

from firth.run.errors import InputError
from firth.run.run import Run
from firth.search import duplicates as module
from firth.search.calibration import UNMEASURED, Calibration, MatchNull
from firth.search.duplicates import Duplicates, dropped_file, group_pairs, write_cleaned
from firth.search.evidence import Reader
from firth.search.index import Index
from firth.text.near import Kind, Pairs, are_near

Make = Callable[..., Run]


def duplicates(run: Run, **options: Any) -> Duplicates:
    """Find the duplicates of a run."""
    return module.duplicates(Index.open(run), **options)


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
    near_only = group_pairs(pairs_of(near), pairs_of({}))
    grouped = {*near_only, *(member for members in near_only.values() for member in members)}
    assert grouped <= set(seen)
    for one, two in everything:
        assert one in seen or two in seen  # a pair of free items would be a group


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
    assert result.counts() == {"groups": 2, "exact": 1, "near": 1, "similar": 1, "related": 0}
    one, two = result
    assert one.representative.place == "a, sentence 1"
    assert [(m.document, m.kind.value, m.evidence) for m in one.members] == [
        ("b", "exact", "the same words"),
        ("c", "near", "93% of the word pairs in common"),
    ]
    assert one.kind is Kind.NEAR
    assert (two.representative.document, two.members[0].document) == ("b", "d")
    assert two.members[0].evidence.endswith("share cow, ate, wheat, field, near, barn")
    assert two.kind is Kind.SIMILAR
    assert result.compared == 7
    assert "earliest by date" in result.notes[0]
    assert "firth match" not in str(result)
    stored = json.loads(json.dumps(result.as_dict(top=1)))
    assert len(stored["groups"]) == 1
    assert stored["groups"][0]["kind"] == "near"
    assert "2 groups" in str(result)
    assert max(map(len, str(result).split("\n"))) <= 80
    some = duplicates(run, where="date >= 2011 and date < 2014")
    assert some.counts()["exact"] == 0


def test_members_match_their_representative(run: Run) -> None:
    """Cosines reach the threshold, by the vectors of the index."""
    index = Index.open(run)
    result = duplicates(run, threshold=0.9)
    assert result.threshold == 0.9
    assert len(result.related) > 3  # The names of their places have numbers.
    for group in (*result, *result.related):
        first = group.representative
        for member in group.members:
            cosine = float(index.vectors([first.number])[0] @ index.vectors([member.number])[0])
            assert cosine >= 0.9 - 1e-3
            assert Reader().kind(first.text, member.text) is member.kind
            assert index.corpus.text(member.number) == member.text


def test_what_differs_in_what_matters_is_related(make: Make) -> None:
    """Two texts with other numbers are no group; two with the same ones are, next to them."""
    line = "The farmer sold {} tons of wheat near the old barn to the {} on Monday."
    values = ((40, "judge"), (55, "judge"), (55, "lawyer"))
    run = make([{"id": f"r{i}", "text": line.format(*some)} for i, some in enumerate(values)])
    result = duplicates(run)
    (group,) = result
    assert (group.representative.document, group.members[0].document) == ("r1", "r2")
    (pair,) = result.related
    assert (pair.representative.document, pair.members[0].document) == ("r0", "r1")
    assert pair.members[0].differ == ("number: 40 / 55",)
    assert pair.members[0].evidence == "76% of the word pairs in common; differ in number: 40 / 55"
    assert "firth match" in str(result), "documents of a sentence are records"


def test_boilerplate_is_named_however_short(make: Make) -> None:
    """A line of two words that many documents have, and one of a long footer."""
    footer = "This message is only for the person to whom it was sent by the court."
    records = [
        {**document(topic, n), "text": f"{document(topic, n)['text']}\n\n{footer}\n\nYours truly."}
        for n in range(2) for topic in TOPICS
    ]  # fmt: skip
    result = duplicates(make(records))
    lines = {group.representative.text: len(group.members) for group in result if group.boilerplate}
    assert lines == {footer: 7, "Yours truly.": 7}
    assert result.text().count("and 2 more") == 2
    assert not any(group.boilerplate for group in result[:-2]), "it comes after what is not"


def test_a_threshold_has_an_expected_share_of_chance(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer may be chance, so the threshold is higher; what is unknown is said."""
    result = duplicates(run)
    assert result.threshold == UNMEASURED
    assert any("no calibration" in line for line in result.notes)
    assert result.false_share is None
    null = MatchNull(tuple(np.linspace(-0.9, -0.3, 200).tolist()), 0.05, 120, 120)
    monkeypatch.setattr(Calibration, "current", lambda _: Calibration(matches=null))
    loose, strict = duplicates(run, false_share=0.9), duplicates(run, false_share=0.2)
    assert loose.threshold <= strict.threshold
    assert loose.false_share is not None
    assert strict.false_share is not None
    assert strict.false_share <= 0.2
    assert any("by chance" in line for line in strict.notes)
    monkeypatch.setattr(Calibration, "threshold_of_share", lambda *_, **__: 1.01)
    copies = duplicates(run)
    assert any("only copies" in line for line in copies.notes)
    assert "cosine of at least" not in copies.text()
    assert "cosine of at least" in strict.text()
    assert duplicates(run, threshold=0.9).false_share is not None
    monkeypatch.setattr(Calibration, "current", lambda _: Calibration(matches=None))
    assert any("Nothing is known" in line for line in duplicates(run).notes)


def test_nothing_is_known_of_sentences_of_one_document(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Similar ones are listed where a threshold is set, and not by default."""
    lines = (
        "The cow ate wheat in the field near a barn.",
        "A cow near the barn ate a field of wheat.",
    )
    within = "\n\n".join(lines)
    run = make([*documents(), {"id": "within", "text": within}])
    null = MatchNull(tuple(np.linspace(-1.5, -0.9, 200).tolist()), 0.01, 120, 120)
    monkeypatch.setattr(Calibration, "current", lambda _: Calibration(matches=null))
    less = make([*documents(), {"id": "within", "text": lines[0]}], name="less")
    one, other = Index.open(run).vectors(np.arange(120, 122))
    counts = [duplicates(made, threshold=float(one @ other) - 1e-3).notes[-1]
              for made in (run, less)]  # fmt: skip
    assert "another document" in counts[0]
    assert counts[0] == counts[1]
    for options, is_listed in (({"threshold": 0.7}, True), ({"false_share": 0.9}, False)):
        groups = [*(found := duplicates(run, **options)), *found.related]
        alike = [m for group in groups for m in group.members
                 if not m.near and m.document == group.representative.document]  # fmt: skip
        assert bool(alike) == is_listed


def test_documents_that_retell_with_other_facts_are_related(make: Make) -> None:
    """Half of one is new, so they are no near copies, and a year differs all the same."""
    common = [each["text"] for each in documents(range(1))]
    report = "The harbor of the town had a quiet winter in {}. "
    first = report.format(2017) + " ".join(common)
    more = " ".join(each["text"] for each in documents(range(1, 2)))
    retold = f"{report.format(2019)}{' '.join(common)} {more}"
    records = [{"id": "first", "text": first}, {"id": "retold", "text": retold}]
    assert not are_near(first.split(), records[1]["text"].split())
    result = duplicates(make(records), unit="document", threshold=0.5)
    assert len(result) == 0
    (pair,) = result.related
    assert pair.members[0].differ == ("number: 2017 / 2019",)
    records[1]["text"] = records[1]["text"].replace("2019", "2017")
    (same,) = duplicates(make(records, name="same"), unit="document", threshold=0.5)
    assert same.members[0].document == "retold"


def test_cleaned_documents_have_every_text_once(make: Make, tmp_path: Path) -> None:
    """Members go, representatives stay, and each loss has its reason."""
    run, out = make(TEXTS), tmp_path / "clean.jsonl"
    result = duplicates(run)
    cleaned = write_cleaned(run, result, out)
    kept = {row["id"]: row["text"] for row in map(json.loads, out.read_text().splitlines())}
    assert kept["a"].startswith("THE CAPTAIN")
    assert kept["b"] == "The cow ate wheat in the field near a barn."
    assert kept["d"] == "Short. Short."
    dropped = [json.loads(row) for row in dropped_file(out).read_text().splitlines()]
    assert [row["kind"] for row in dropped] == ["exact", "near", "similar"]
    assert dropped[0]["kept"]["document"] == "a"
    assert "4 documents; 3 duplicates dropped" in cleaned
    assert cleaned.endswith("0 documents empty")
    again = make([*map(json.loads, out.read_text().splitlines())], name="again")
    assert len(duplicates(again)) == 0
    with pytest.raises(InputError, match="clean"):
        write_cleaned(run, result, out)


def test_documents_with_one_text_are_exact_and_the_earliest_stays(
    make: Make, tmp_path: Path
) -> None:
    """Also where an earlier one was read later, and where a third tells the same."""
    source, *others = documents(range(2))
    records: Records = [
        {**source, "id": "read first", "date": "2001-01-01"},
        *others,
        {**source, "id": "earliest", "date": "2000-01-01"},
        {**source, "id": "near", "text": source["text"] + " It rained.", "date": "2002-01-01"},
    ]
    run = make(records)
    result = duplicates(run, unit="document")
    (group,) = [g for g in result if g.representative.document == "earliest"]
    kinds = {m.document: m.kind for m in group.members}
    assert (kinds["read first"], kinds["near"]) == (Kind.EXACT, Kind.NEAR)
    assert result.compared == len(records)
    out = tmp_path / "documents.jsonl"
    cleaned = write_cleaned(run, result, out)
    kept = {json.loads(line)["id"] for line in out.read_text().splitlines()}
    assert kept & {"read first", "earliest", "near"} == {"earliest"}
    assert "5 duplicates dropped" in cleaned
    assert cleaned.endswith("5 documents empty")
    write_cleaned(run, duplicates(run), tmp_path / "sentences.jsonl")
    dropped = map(json.loads, (tmp_path / "sentences.dropped.jsonl").read_text().splitlines())
    assert {"document": "earliest", "sentence": 0, "kept": {"document": "read first",
            "sentence": 0}, "kind": "exact", "why": "the same words"} in dropped  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [({"threshold": 1.0}, "between 0 and 1"), ({"unit": "word"}, "sentence or document")],
)
def test_arguments_are_checked(run: Run, options: dict[str, object], message: str) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match=message):
        duplicates(run, **options)
