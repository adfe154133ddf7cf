"""`firth.match` and `firth.calibrate`: what is the same is found, at the share asked for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from scipy.cluster.hierarchy import linkage

import firth
from firth.run.errors import InputError
from firth.run.executor import Processes
from firth.search.calibration import Calibration, MatchNull, Strangers
from firth.search.match import ALL, BOTH, CHARACTERS, ENCODER, WORDS, Review, _chosen
from firth.search.pairing import Compared, Leads, _dimensions, _joined, grouped, leads, passing
from firth.text.near import Kind
from firth.text.types import Singles


class Words:
    """An encoder: a text is the sum of the random directions of its words."""

    name = "words"

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return vectors, (n, 48)."""
        rows = [sum((self._word(word) for word in text.lower().split()), np.zeros(48))
                for text in texts]  # fmt: skip
        return np.array(rows, np.float32)

    def _word(self, word: str) -> Singles:
        return np.random.default_rng([*word.encode()]).standard_normal(48).astype(np.float32)


def lines(n: int, seed: int) -> list[str]:
    """Texts of eight random words each, out of 400."""
    rng = np.random.default_rng(0)
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    vocabulary = ["".join(rng.choice(letters, 7)) for _ in range(400)]
    words = np.random.default_rng(seed).integers(0, 400, (n, 8))
    return [" ".join(vocabulary[number] for number in row) for row in words]


def changed(text: str, seed: int) -> str:
    """A text without two of its words, and with a letter less in a third."""
    rng = np.random.default_rng(seed)
    words = [word for i, word in enumerate(text.split()) if i not in rng.choice(8, 2, False)]
    words[0] = words[0][:3] + words[0][4:]
    return " ".join(words)


LEFT, RIGHT = lines(300, 1), lines(300, 2)
PAIRED = [changed(text, at) for at, text in enumerate(LEFT[:200])] + RIGHT[:100]
"""Two thirds of the left list have a counterpart, at the same place."""


def match(
    left: list[str], right: list[str] | None = None, **options: object
) -> "firth.search.match.Matches":
    """Match without an encoder, unless one is named."""
    return firth.match(left, right, **{"encoder": "none", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [{}, {"precision": 0.7}, {"false_match_rate": 0.02}])
def test_each_left_text_has_its_match_or_none(asked: dict[str, float]) -> None:
    """True matches are found, and false ones as rarely as was asked for."""
    matches = match(LEFT, PAIRED, **asked)
    assert [item.text for item in matches] == LEFT
    found = {item.left: item.right for item in matches.found}
    assert np.mean([found.get(i) == i for i in range(200)]) > 0.9
    false = len([i for i in found if found[i] != i])
    if "false_match_rate" in asked:
        assert false <= 0.06 * 100
        assert all((item.chance or 1) <= 0.02 for item in matches.found)
    else:
        assert false <= 1.5 * (1 - matches.precision) * len(found)
    assert matches[0].nearest == PAIRED[0]
    assert matches[0].runner_up not in ("", PAIRED[0])
    assert set(matches[0].shared) <= {*LEFT[0].split()}
    assert matches.false_share is not None
    assert 0 < matches.false_share < 0.3


@pytest.mark.parametrize("precision", [0.9, 0.5])
def test_lists_without_a_counterpart_match_next_to_nothing(precision: float) -> None:
    """However low the precision is: there is nothing of which some could be right."""
    assert len(match(LEFT, RIGHT, precision=precision).found) <= 3
    assert len(match(LEFT, precision=precision).found) <= 3
    assert len(match(LEFT, RIGHT, false_match_rate=0.05).found) <= 0.1 * len(LEFT)


def test_where_all_match_all_are_found() -> None:
    """The null has the texts that are left when the best is taken away, not counterparts."""
    matches = match(LEFT, [changed(text, at) for at, text in enumerate(LEFT)])
    assert np.mean([item.right == item.left for item in matches]) > 0.95


@pytest.mark.parametrize("count", [10, 12, 20, 31])
def test_short_lists_are_matched(count: int) -> None:
    """Ten texts are enough for a null; of fewer only equal ones match, and that is said."""
    matches = match(LEFT[:count], PAIRED[:count])
    assert np.mean([item.right == item.left for item in matches]) > 0.8
    assert not matches.notes
    few = match([*LEFT[:4], RIGHT[4]], [RIGHT[4], *PAIRED[:4]])
    assert [item.right for item in few] == [None, None, None, None, 0]
    assert few.expected_false is None
    assert "only equal texts match" in few.text()
    assert match(["a"], ["b"])[0].right is None


def test_the_null_of_a_short_right_list() -> None:
    """A right list of a few texts, which most left texts lack, has the null of these few."""
    matches = match(LEFT, PAIRED[:8])
    assert {(item.left, item.right) for item in matches.found} == {(i, i) for i in range(8)}
    for count in (1, 2, 3):
        assert len(match(LEFT, RIGHT[:count]).found) == 0
        assert match(LEFT, LEFT[:count])[0].right == 0


@pytest.mark.parametrize(("count", "levels"), [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_a_level_of_the_null_has_a_next_text(count: int, levels: int) -> None:
    """Of a right list of one or two texts nothing is chance: no third text follows the second."""
    angles = np.random.default_rng(3).uniform(0.2, 1.4, (30, count))
    places = np.indices(angles.shape).reshape(2, -1)
    cosines = np.cos(angles).ravel().astype(np.float32)
    result = leads(Compared((places[0], places[1]), cosines, (30, count)))
    assert len(result.null) == len(result.strangers) == 30 * levels


def test_groups_of_one_list_heed_their_null() -> None:
    """Random points have near pairs, and third points that are as far ahead: no groups."""
    points = np.random.default_rng(4).uniform(0, 1, (200, 2))
    angles = np.linalg.norm(points[:, None] - points, axis=2)
    left, right = np.nonzero(angles > 0)
    cosines = np.cos(angles[left, right]).astype(np.float32)
    compared = Compared((left, right), cosines, (200, 200))
    assert (leads(compared).leads >= 0.2).mean() > 0.2, "premise"
    for asked in ((0.9, None), (None, 0.01)):
        assert not grouped(compared, np.ones(200, np.int64), *asked).is_match.any()


def test_groups_of_one_list_join_by_average_linkage() -> None:
    """As SciPy joins them: the members of each, its height, and so its lead, by its size."""
    rows = np.abs(np.random.default_rng(6).standard_normal((40, 12)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (rows @ rows.T).astype(np.float32)
    left, right = np.nonzero(~np.eye(40, dtype=bool))
    parents, group_leads = _joined(Compared((left, right), cosines[left, right], (40, 40)))
    members = [{at} for at in range(40)] + [set() for _ in range(39)]
    for number, parent in enumerate(parents.tolist()[:-1]):
        members[parent] |= members[number]
    angles = np.arccos(np.clip(cosines.astype(float), 0, 1))
    joins = linkage(angles[np.triu_indices(40, 1)], "average")
    expected, heights = [{at} for at in range(40)], [0.0] * 40 + joins[:, 2].tolist()
    above = [np.pi / 2] * 79
    for number, (a, b) in enumerate(joins[:, :2].astype(int).tolist(), 40):
        expected.append(expected[a] | expected[b])
        above[a] = above[b] = heights[number]
    usual = np.quantile(above[:40], 0.9)
    for group, height, higher in zip(expected[40:], heights[40:], above[40:], strict=True):
        lead = (np.sqrt(higher * usual) / height - 1) * np.sqrt(len(group) / 2)
        assert group_leads[members.index(group)] == pytest.approx(lead, abs=1e-5)


def test_the_nearest_in_a_group_is_one_of_it() -> None:
    """A third text is nearer to the first than the one it joins, and joins another itself."""
    angles = np.full((44, 44), 1.4)
    for at in range(0, 44, 2):
        angles[at, at + 1] = angles[at + 1, at] = 0.3 if at else 0.4
    angles[0, 2] = angles[2, 0] = 0.35
    left, right = np.nonzero(~np.eye(44, dtype=bool))
    compared = Compared((left, right), np.cos(angles[left, right]).astype(np.float32), (44, 44))
    found = grouped(compared, np.ones(44, np.int64), 0.9, None)
    assert compared.nearest(0, 1)[0][0, 0] == 2, "premise"
    assert found.groups[0] == found.groups[1] != found.groups[2]
    assert found.nearest[:4, 0].tolist() == [1, 0, 3, 2]
    assert found.cosines[0, 0] == pytest.approx(np.cos(0.4), abs=1e-6)


def test_small_leads_tell_the_dimensions_of_a_list() -> None:
    """The more of them are near 0, the more dimensions; 20 leads say half of what many say."""
    even = np.expm1((np.arange(1_000) + 0.5) / 1_000 * np.log1p(0.6))
    assert _dimensions(np.append(even, [5.0, 0.0])) == pytest.approx(3.8)
    falling = [np.expm1(np.log1p(even) * share) for share in (0.8, 0.6, 0.4)]
    assert 3.8 < _dimensions(falling[0]) < _dimensions(falling[1]) < _dimensions(falling[2]) < 12
    few, many = (_dimensions(np.full(n, 0.1)) - 3.8 for n in (20, 100_000))
    assert few == pytest.approx(many / 2, rel=1e-3)
    assert _dimensions(np.full(99, 0.5)) == 2.5


def test_a_list_says_itself_what_distinguishes_its_entries() -> None:
    """Years that meet one another are no copies; a word and its abbreviation may be."""
    words = [" ".join(text.split()[:4]) for text in LEFT[:60]]
    seasons = [f"{year} {word} season" for word in words for year in ("1998", "1999", "2000")]
    assert match(seasons).matches == 0
    streets = [f"{word} {kind}" for word in words for kind in ("street", "st")] + RIGHT[:60]
    assert match(streets).matches > 100


def test_a_match_is_mutual_and_ahead_on_both_sides() -> None:
    """The lead is the smaller gap, over the own angle; a rival that is nearer makes none."""
    angles = np.array([[0.4, 0.9, 1.0, 1.1], [0.3, 0.2, 1.2, 1.3], [1.5, 1.5, 0.5, 0.75]])
    places = np.indices(angles.shape).reshape(2, -1)
    compared = Compared((places[0], places[1]), np.cos(angles).ravel().astype(np.float32), (3, 4))
    result = leads(compared)
    assert result.nearest.tolist() == [[0, 1], [1, 0], [2, 3]]
    assert result.leads == pytest.approx([-0.1 / 0.4, 0.1 / 0.2, 0.25 / 0.5], abs=1e-5)
    first = compared.nearest(0, 2, compared.pairs[1] == 3)[0]
    assert first.tolist() == [[3, 0], [3, 1], [3, 2]], "pairs that come first"
    several = leads(compared, many_to_one=True)
    assert several.leads == pytest.approx([0.5 / 0.4, 0.1 / 0.2, 0.25 / 0.5], abs=1e-5)
    # Of the first text the second is ahead by twice its gap, and so much nearer; the third thrice.
    gap, rival = 2 * 0.1, 0.2 - 0.9
    for part, null in ((0.15, result.null), (1, result.strangers)):
        assert len(null) == 6
        assert np.abs(null - (rival + part * gap) / (0.9 - gap)).min() < 1e-5


def test_a_near_miss_takes_the_place_of_what_matches() -> None:
    """It passes just if it would match in a left list without the text that matches its nearest."""
    rng = np.random.default_rng(1)
    cosines = rng.uniform(0, 0.7, (30, 12)).astype(np.float32)
    cosines[range(8), range(8)] = cosines[range(15, 23), range(8)] = cosines[23, 9] = 0.8
    cosines[8, 9:11] = 0.85

    def compared(rows: Singles) -> Compared:
        i, j = (side.ravel() for side in np.indices(rows.shape))
        return Compared((i, j), rows.ravel(), (rows.shape[0], rows.shape[1]))

    own, near = compared(cosines[:15]), cosines[15:]
    found = replace(leads(own).found(0.9, None), is_match=leads(own).leads > 0.1)
    cut, passed = found.leads[found.is_match].min(), []
    for at, row in enumerate(near):
        taken = found.is_match & (found.nearest[:, 0] == row.argmax())
        with_it = compared(np.vstack([cosines[:15][~taken], row]))
        if leads(with_it).leads[-1] >= cut:
            passed.append((at, int(row.argmax())))
    assert 1 < len(passed) < len(near)
    assert [*zip(*passing(compared(near), own, found, False), strict=True)] == passed
    several = passing(compared(near), own, found, True)[0]
    assert {*several.tolist()} > {at for at, _ in passed}


def test_near_misses_are_counted_with_and_without_a_veto() -> None:
    """Of lists whose texts differ in a number alone, near misses match, and a veto refuses them."""
    left, right = (
        [f"{text} {at + 10}" for at, text in enumerate(side)] for side in (LEFT, LEFT[:200] + RIGHT)
    )
    result = match(left, [f"{text}." for text in right])
    match_share, stay = result.near_misses or (0.0, 0.0)
    assert match_share > 0.8 > 0.2 > stay
    assert "with a veto" in "".join(result.lines(0))
    assert match(LEFT).near_misses is match(LEFT, LEFT[:19]).near_misses is None


def test_several_texts_match_one_where_lists_say_so() -> None:
    """Exact and changed copies on the left all match; asked for one to one, they do not."""
    right = [*PAIRED[:100], *RIGHT]
    left = [text for text in LEFT[:100] for _ in range(3)]
    matches = match(left, right)
    assert matches.many_to_one
    assert np.mean([item.right == item.left // 3 for item in matches]) > 0.9
    single = match(left, right, many_to_one=False)
    assert not any(item.right in range(100) for item in single)
    assert not match(LEFT, PAIRED).many_to_one
    varied = [changed(text, at) for at, text in enumerate(left)]
    assert not match(varied, LEFT).many_to_one
    matches = match(varied, [*LEFT[:100], *RIGHT], many_to_one=True)
    right_ones = [item.right == item.left // 3 for item in matches if item.is_match]
    assert np.mean(right_ones) > 0.9
    assert sum(right_ones) > 200


def test_equal_texts_on_both_sides_are_told_by_their_order() -> None:
    """The first of as many matches the first; of different numbers nothing tells which."""
    matches = match(["tea", "tea", *LEFT], ["x", "tea", "Tea!", *PAIRED])
    assert [item.right for item in matches[:2]] == [1, 2]
    matches = match(["tea", "tea", *LEFT], ["tea", *PAIRED])
    assert [item.right for item in matches[:2]] == [None, None]


def test_a_list_is_matched_with_itself() -> None:
    """No text is its own match; a copy is that of the other."""
    matches = match([*LEFT, LEFT[7], changed(LEFT[9], 1)])
    assert all(item.left != item.right for item in matches)
    assert (matches[7].right, matches[300].right) == (300, 7)
    assert matches[300].kind is Kind.EXACT
    alike = match(["a ship", "a tree", "a ship", "a ship"])
    assert [item.right for item in alike] == [2, None, 0, 0]
    assert alike[0].group == alike[2].group is not None
    assert alike[1].group is None


@pytest.mark.parametrize(("least", "most", "found"), [(1, 6, 0.5), (2, 40, 0.8)])
def test_a_text_of_a_list_may_have_many_copies(least: int, most: int, found: float) -> None:
    """Groups are whole, and of one text each; few of their texts are said to be false."""
    sizes = [*np.random.default_rng(8).integers(least, most, 50).tolist(), *[1] * 50]
    owners = np.repeat(np.arange(100), sizes)
    matches = match([changed(LEFT[owner], at) for at, owner in enumerate(owners.tolist())])
    groups = np.array([-1 - item.left if item.group is None else item.group for item in matches])
    same, joined = (labels[:, None] == labels for labels in (owners, groups))
    pairs = ~np.eye(len(owners), dtype=bool)
    assert (same & joined & pairs).sum() > found * (same & pairs).sum()
    assert (same & joined & pairs).sum() > 0.9 * (joined & pairs).sum()
    assert all(item.is_match == (item.group is not None) for item in matches)
    assert all(
        matches[item.right].group == item.group for item in matches if item.right is not None
    )
    assert "groups" in matches.summary()
    assert (matches.false_share or 1) < 0.12


def test_the_similarity_that_finds_most_is_taken() -> None:
    """An encoder is one of several, and no handicap; each says how many it would find."""
    cyrillic = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщ")
    written = [text.translate(cyrillic) for text in LEFT]

    class Both(Words):
        """It reads words in both alphabets."""

        def _word(self, word: str) -> Singles:
            latin = {there: here for here, there in cyrillic.items()}
            return super()._word(word.translate(latin))

    class Blind(Words):
        def _word(self, word: str) -> Singles:
            return np.zeros(48, np.float32)

    alone, helped = match(LEFT, written), match(LEFT, written, encoder=Both())
    assert not alone.found, "premise"
    assert helped.similarity in (ENCODER, ALL)
    assert np.mean([item.right == item.left for item in helped]) > 0.9
    assert set(helped.candidates) == {WORDS, CHARACTERS, BOTH, ENCODER, ALL}
    assert f"{helped.candidates[WORDS]:,} by words" in helped.text()
    without, blind = match(LEFT, PAIRED), match(LEFT, PAIRED, encoder=Blind())
    assert [item.right for item in blind] == [item.right for item in without]
    assert blind.similarity == BOTH


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ({WORDS: 100, BOTH: 100}, BOTH),
        ({WORDS: 115, CHARACTERS: 90, BOTH: 100}, BOTH),
        ({WORDS: 116, CHARACTERS: 90, BOTH: 100}, WORDS),
        ({WORDS: 0, ENCODER: 5, BOTH: 0}, BOTH),
        ({WORDS: 0, ENCODER: 6, BOTH: 0}, ENCODER),
    ],
)
def test_another_similarity_must_find_many_more(counts: dict[str, int], chosen: str) -> None:
    """The best of several is best by chance, too: a tenth more and five matches are not enough."""
    assert _chosen(counts) == chosen


@pytest.mark.parametrize(("more", "are_matches"), [(45, False), (47, True)])
def test_mutual_matches_must_be_more_than_those_of_strangers(more: int, are_matches: bool) -> None:
    """Three in ten of 400 are mutual by chance: 9.2 is a deviation, and five of them decide."""
    n, mutual = 400, 120 + more
    result = Leads(
        nearest=np.zeros((n, 2), np.int64),
        angles=np.ones((n, 2)),
        leads=np.where(np.arange(n) < mutual, 1.0, 0.0),
        null=np.linspace(-1, 0.5, 800),
        strangers=np.where(np.arange(800) < 240, 2.0, 0.0)[::-1],
        without=200,
    )
    assert result.found(0.9, None).is_match.sum() == mutual * are_matches


def test_words_that_tell_entries_of_a_list_apart_veto_a_match() -> None:
    """Two seasons of each cup say that years matter; no fixed list of words does."""
    cups = [" ".join(text.split()[:3]) for text in LEFT[:60]]
    right = [f"{cup} {edition}" for cup in cups for edition in ("ruby", "jade")]
    left = [f"{cup} {edition}" for cup, edition in zip(cups, ["ruby", "opal"] * 30, strict=True)]
    extended = [*right, *(f"{cup} opal" for cup in RIGHT[:3])]
    vetoed = match(left, extended)
    assert [item.right for item in vetoed[::2]] == [*range(0, 120, 4)]
    assert {item.nearest for item in vetoed[1::2]} & {*right}, "premise: another edition is near"
    known = [*extended, *(f"{' '.join(text.split()[3:6])} {edition}" for text in LEFT[:5]
                          for edition in ("ruby", "jade", "opal"))]  # fmt: skip
    matches = match(left, known)
    assert not any(item.nearest in (f"{cup} ruby", f"{cup} jade")
                   for cup, item in zip(cups[1::2], matches[1::2], strict=True))  # fmt: skip


def test_what_differs_is_said_and_vetoes_where_it_is_asked_for() -> None:
    """A match that differs in a number is one, and named related."""
    left, right = [*LEFT, "We sold 12 ships in May"], [*PAIRED, "We sold 13 ships in May"]
    kept, some = match(left, right, veto=True), match(left, right)
    found = some[-1]
    assert found.right == 300
    assert found.kind is Kind.RELATED
    assert found.differ == ("number: 12 / 13",)
    assert kept[-1].right is None
    assert kept.false_share == pytest.approx(some.false_share), "as many of the false ones left"


def test_the_result_does_not_depend_on_blocks_and_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small blocks and two processes give the same bytes."""
    whole = match(LEFT, PAIRED, encoder=Words())
    monkeypatch.setattr("firth.search.pairing._ROWS", 64)
    monkeypatch.setattr("firth.search.pairing._PAIRS", 500)
    assert match(LEFT, PAIRED, encoder=Words()).records() == whole.records()
    assert match(LEFT, PAIRED, encoder=Words(), executor=Processes(2)).records() == whole.records()


def test_long_lists_meet_by_what_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundredth of the products the same matches are found."""
    whole = match(LEFT, PAIRED)
    monkeypatch.setattr("firth.search.pairing._WORK", 100_000)
    few = match(LEFT, PAIRED)
    assert {item.left for item in few.found} >= {*range(200)} & {item.left for item in whole.found}
    assert few.records() != whole.records(), "premise"


def test_forms_of_a_result() -> None:
    """A data frame has the ids, no text acts on a page, and the summary says what is false."""
    left = [f"<b> {LEFT[0]}", *LEFT[1:]]
    matches = match(left, PAIRED, left_ids=[f"L{i}" for i in range(300)])
    assert [*matches.to_frame()["left_id"]] == [f"L{i}" for i in range(300)]
    assert "to be false" in repr(matches)
    assert "<b>" not in matches._repr_html_()
    few = replace(matches, expected_false=0.0001)
    assert "less than 0.1% of these are expected to be false" in few.summary()
    differs = replace(matches.found[0], differ=("number: 1 / 2",))
    assert "; 1 with a difference that matters" in replace(matches, items=(differs,)).summary()
    none = replace(matches, items=tuple(item for item in matches if not item.is_match))
    assert "false" not in none.summary()


def test_a_rate_that_few_texts_cannot_show_is_a_guess() -> None:
    """It is said of 40 texts, and not of 300."""
    few = match(LEFT[:40], PAIRED[:40], false_match_rate=0.01)
    assert "is a guess" in few.text().replace("\n", " ")
    assert not match(LEFT, PAIRED, false_match_rate=0.01).notes
    shown = Calibration(
        matches=MatchNull(tuple(np.linspace(-0.3, 0.1, 200).tolist()), 0.1, 9, 300)
    ).text()
    assert "none" in shown
    assert "Rates below 0.33% are guesses" in shown.replace("\n", " ")


def test_calibrate_takes_texts_vectors_and_documents() -> None:
    """All give the same thresholds; texts of one document are not compared."""
    known = firth.calibrate(LEFT, encoder=Words())
    vectors = firth.calibrate(Words().encode(LEFT))
    assert known.thresholds() == pytest.approx(vectors.thresholds(), abs=1e-6)
    twice = [*LEFT, *LEFT]
    together = firth.calibrate(twice, encoder=Words(), documents=[*range(300)] * 2)
    assert together.threshold(0.05) == pytest.approx(known.threshold(0.05), abs=0.05)
    with pytest.raises(InputError, match="as many"):
        firth.calibrate(LEFT, encoder=Words(), documents=[1])
    with pytest.raises(InputError, match="at least one"):
        firth.calibrate([], encoder=Words())
    for wrong in (np.nan, np.inf):
        broken = Words().encode(LEFT)
        broken[5, 0] = wrong
        with pytest.raises(InputError, match="NaN or infinity"):
            firth.calibrate(broken)


@pytest.mark.parametrize(
    ("left", "options", "message"),
    [
        ([], {}, "at least one"),
        ("a text", {}, "list of texts"),
        (LEFT, {"right": []}, "at least one"),
        (LEFT, {"left_ids": ["1"]}, "as many"),
        (LEFT, {"false_match_rate": 0.0}, "between 0 and 1"),
        (LEFT, {"precision": "90 %"}, "between 0 and 1"),
        (LEFT, {"precision": 0.9, "false_match_rate": 0.1}, "one of them"),
        (DataFrame({"text": LEFT}), {}, "list of texts"),
    ],
)
def test_arguments_are_checked(
    left: Sequence[str], options: dict[str, object], message: str
) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match=message):
        firth.match(left, encoder=Words(), **options)  # type: ignore[arg-type]


def test_known_strangers_prove_how_many_matches_are_false() -> None:
    """The bound holds at every cut at once, in 19 of 20 draws; it is said what proves the rate."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(200):
        leads_of = rng.standard_normal(150)
        known, unknown = Strangers(np.sort(leads_of[:50])), np.sort(leads_of[50:])
        missed += bool((np.arange(100, 0, -1) > known.at_most_false(unknown, 100)).any())
    assert missed <= 20, "0.05 of 200, and four deviations"
    unrelated = lines(100, 7)
    matches = match(LEFT, PAIRED, unrelated=unrelated)
    false = sum(item.right != item.left for item in matches.found)
    assert len(matches) == 300
    assert matches.matches > 150
    assert matches.at_most_false is not None
    assert false <= matches.at_most_false <= 0.5 * matches.matches
    assert "proved with 100 known strangers" in " ".join(matches.text().split())
    assert f"at most {matches.at_most_false} at 95%" in matches.summary()
    assert "modelled" in match(LEFT, PAIRED).text()
    assert not matches.notes
    unlike = match(LEFT, PAIRED, unrelated=[text[:15] for text in unrelated])
    assert "unlike" in " ".join(unlike.notes)
    with pytest.raises(InputError, match="at least 20"):
        match(LEFT, PAIRED, unrelated=unrelated[:19])


def test_some_answers_prove_how_many_matches_are_false(tmp_path: Path) -> None:
    """59 right of 59 are at most 5 %; a row without an answer is named; other rows are refused."""
    assert Review(matches=900, judged=59, right=59).at_most_false == pytest.approx(0.05, abs=2e-3)
    assert Review(matches=900, judged=10, right=0).at_most_false == 1.0
    matches, file = match(LEFT, PAIRED), tmp_path / "review.csv"
    assert matches.review(file, 20) is None
    lines = file.read_text().splitlines()
    assert lines[0].startswith("match,left_id,text,right_id,nearest")
    assert len(lines) == 21
    with pytest.raises(InputError, match=r"ends in \.csv"):
        matches.review(tmp_path / "review.jsonl")
    with pytest.raises(InputError, match="20 rows are not those that were drawn from these"):
        match(LEFT, PAIRED[:150]).review(file)
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(lines[:-1]))
    with pytest.raises(InputError, match="19 rows are not those"):
        matches.review(fewer)
    with pytest.raises(InputError, match=r"20 rows without an answer, the first in line 2"):
        matches.review(file)
    file.write_text(file.read_text().replace("\n,", "\n0,", 1).replace("\n,", "\n1,"))
    review = matches.review(file)
    assert review is not None
    assert (review.judged, review.right, review.matches) == (20, 19, matches.matches)
    assert "at most 21.6% of" in review.summary()
