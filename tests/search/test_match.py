"""`firth.match` and `firth.calibrate`: what matches is found, at a rate, without a run."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame

import firth
from firth.run.errors import InputError
from firth.run.executor import Processes
from firth.search.calibration import Calibration, MatchNull
from firth.search.match import Texts, match_texts
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
    """Texts of eight random words each."""
    words = np.random.default_rng(seed).integers(0, 400, (n, 8))
    return [" ".join(f"word{number}" for number in row) for row in words]


LEFT, RIGHT = lines(300, 1), lines(300, 2)
PAIRED = [f"{text} today" for text in LEFT[:200]] + RIGHT[:100]
"""Two thirds of the left list have a match, at the same place."""


def test_each_left_text_has_its_match_or_none() -> None:
    """True matches are found, however many they are, and hardly any other."""
    matches = firth.match(LEFT, PAIRED, encoder=Words(), false_match_rate=0.05)
    assert [match.text for match in matches] == LEFT
    found = {match.left: match.right for match in matches.found}
    assert np.mean([found.get(i) == i for i in range(200)]) > 0.95
    assert len([i for i in found if i >= 200]) <= 0.2 * 100
    assert matches[0].nearest == PAIRED[0]
    assert matches[0].shared[:2] == tuple(dict.fromkeys(LEFT[0].split()))[:2]
    assert matches.expected_false is not None
    assert matches.false_share is not None
    assert 0 < matches.false_share < 0.2
    for match in matches:
        assert match.is_match == (match.score >= matches.threshold)
        assert match.chance is not None
        assert match.is_match == (match.chance <= 0.05 + 1e-9)


def test_a_list_is_matched_with_itself() -> None:
    """No text is its own match; a copy is that of the other."""
    matches = firth.match([*LEFT, LEFT[7]], encoder=Words())
    assert all(match.left != match.right for match in matches)
    assert matches[7].right == 300
    assert matches[300].right == 7
    assert matches[300].kind is Kind.EXACT


def test_what_differs_is_said() -> None:
    """A match that differs in a number is one, and named related."""
    left, right = [*LEFT, "We sold 12 ships in May"], [*RIGHT, "We sold 13 ships in May"]
    match = firth.match(left, right, encoder=Words())[-1]
    assert match.right == 300
    assert match.kind is Kind.RELATED
    assert match.differ == ("number: 12 / 13",)


def test_the_result_does_not_depend_on_blocks_and_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small blocks give the nearest of all pairs, up to rounding; two processes the same bytes."""
    vectors = firth.match.__globals__["open_encoder"](Words())
    sides = [Texts(texts, [*map(str, range(300))], vectors.encode(texts))
             for texts in (LEFT, PAIRED)]  # fmt: skip
    cosines = sides[0].vectors @ sides[1].vectors.T
    monkeypatch.setattr("firth.search.match._COLUMNS", 64)
    monkeypatch.setattr("firth.search.match._ROWS", 100)
    whole = match_texts(*sides)
    expected = cosines.argmax(axis=1).tolist()
    assert [PAIRED.index(match.nearest) for match in whole] == expected
    np.testing.assert_allclose([m.score for m in whole], cosines.max(axis=1), atol=1e-6)
    monkeypatch.undo()
    for size in (100, 1_024):
        monkeypatch.setattr("firth.search.match._ROWS", size)
        alone = match_texts(*sides)
        assert match_texts(*sides, executor=Processes(2)).rows() == alone.rows()


def test_a_learned_encoder_finds_a_changed_text() -> None:
    """Without an encoder one is learned from both lists."""
    matches = firth.match(LEFT[:60], [*RIGHT[:60], f"{LEFT[3]} again"], false_match_rate=0.05)
    assert matches[3].right == 60
    assert [match.left for match in matches.found][:1] == [3]


def test_forms_of_a_result(tmp_path: Path) -> None:
    """JSON, CSV, a data frame, text and HTML have the same matches."""
    left = [f"<b> {LEFT[0]}", *LEFT[1:]]
    matches = firth.match(left, PAIRED, encoder=Words(), left_ids=[f"L{i}" for i in range(300)])
    stored = json.loads(json.dumps(matches.as_dict()))
    assert [item["right"] for item in stored["items"]] == [match.right for match in matches]
    assert len(matches.as_dict(top=3)["items"]) == 3
    assert [*matches.to_frame()["left_id"]] == [f"L{i}" for i in range(300)]
    matches.save(tmp_path / "m.csv")
    assert len((tmp_path / "m.csv").read_text().splitlines()) == 301
    with pytest.raises(InputError, match=r"m\.csv"):
        matches.save(tmp_path / "m.csv")
    assert "by chance" in repr(matches)
    assert max(map(len, matches.text().split("\n"))) <= 80
    assert "<b>" not in matches._repr_html_()


class Nothing(Words):
    """An encoder that knows no word."""

    def _word(self, word: str) -> Singles:
        return np.zeros(48, np.float32)


def test_equal_texts_match_though_the_encoder_knows_no_word() -> None:
    """In another list, and in the same one, where no text is its own match."""
    alike = ["a ship", "a tree", "a ship", "a ship"]
    found = firth.match(alike, encoder=Nothing())
    assert [(match.right, match.score) for match in found if match.is_match] == [
        (2, 1.0), (0, 1.0), (0, 1.0),
    ]  # fmt: skip
    assert not found[1].is_match
    across = firth.match(["a ship", "a hill"], alike, encoder=Nothing())
    assert [match.right for match in across] == [0, None]


def test_no_share_is_rounded_to_nothing() -> None:
    """What is not 0 is not shown as 0, and of no matches no share is said."""
    matches = firth.match(LEFT, PAIRED, encoder=Words())
    few = replace(matches, expected_false=0.0001)
    assert "less than 0.1% of these are expected by chance" in few.summary()
    none = replace(matches, items=tuple(item for item in matches if not item.is_match))
    assert "chance" not in none.summary()


def test_few_texts_have_no_rate() -> None:
    """The text says so, and equal texts match all the same."""
    matches = firth.match(["a ship sailed", "it rained"], ["a ship sailed"], encoder=Words())
    assert [match.right for match in matches] == [0, None]
    assert matches.expected_false is None
    assert "Nothing is known" in matches.text().replace("\n", " ")


def test_a_rate_that_few_texts_cannot_show_is_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said of 40 texts, and not of 300. Where all are alike no cosine has the rate."""
    few, many = (firth.match(LEFT[:n], RIGHT[:n], encoder=Words()) for n in (40, 300))
    assert "is a guess" in few.text().replace("\n", " ")
    assert not many.notes
    alike = MatchNull(tuple(np.linspace(-0.3, -0.02, 200).tolist()), 0.1, 300, 300)
    monkeypatch.setattr("firth.search.match.fit_lists", lambda *_: alike)
    matches = firth.match([*LEFT, RIGHT[0]], RIGHT, encoder=Words(), false_match_rate=0.00001)
    assert matches.threshold == 1.0
    assert matches.found[0].right == 0
    assert "so alike" in matches.text().replace("\n", " ")
    shown = Calibration(MatchNull(tuple(np.linspace(-0.3, 0.1, 200).tolist()), 0.1, 9, 300)).text()
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
        (LEFT, {"false_match_rate": "1 %"}, "between 0 and 1"),
        (DataFrame({"text": LEFT}), {}, "list of texts"),
    ],
)
def test_arguments_are_checked(
    left: Sequence[str], options: dict[str, object], message: str
) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match=message):
        firth.match(left, encoder=Words(), **options)  # type: ignore[arg-type]
