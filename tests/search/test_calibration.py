"""`firth.search.calibration`: rates hold though true matches are among what they are fitted to."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.search.conftest import build_encoder, documents
from threadpoolctl import threadpool_info, threadpool_limits

import firth
from firth.corpus.build import build_corpus
from firth.encoders.static import STATIC, write_static
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.search import calibrate
from firth.search.calibrate import build_calibration, fit_matches, with_versions
from firth.search.calibration import (
    UNKNOWN,
    Answers,
    Asked,
    Calibration,
    MatchNull,
    answering,
    scripts_of,
)
from firth.search.index import INDEX, Index, build_index
from firth.search.search import Search
from firth.text.types import Ints, Singles, unit

Make = Callable[..., Run]
D = 24


def directions(n: int, seed: int) -> Singles:
    """Random unit vectors with a common part, as sentences of one field have."""
    rows = np.random.default_rng(seed).standard_normal((n, D)) + 0.4
    return unit(rows).astype(np.float32)


def copies(vectors: Singles, seed: int) -> Singles:
    """The same vectors with a little noise."""
    noise = np.random.default_rng(seed).normal(0, 0.05, vectors.shape)
    return unit(vectors + noise).astype(np.float32)


def fitted(vectors: Singles, owners: Ints | None = None, seed: int = 1) -> MatchNull:
    """The null of vectors, of which each is a document."""
    null = fit_matches(vectors, np.arange(len(vectors)) if owners is None else owners, seed)
    assert null is not None
    return null


def group_bests(n: int, groups: int, seed: int, share: float = 0.0) -> Singles:
    """Cosines whose angles are Gumbel, about a place that differs from text to text; a share of the
    texts has a copy in one group."""
    rng = np.random.default_rng(seed)
    angles = rng.gumbel(0, 0.07, (n, groups)) + rng.normal(0, 0.07, (n, 1))
    best = np.cos(1.3 - np.minimum(angles, 1.3)).astype(np.float32)
    copied = np.flatnonzero(rng.random(n) < share)
    best[copied, rng.integers(0, groups, len(copied))] = rng.uniform(0.93, 1.0, len(copied))
    return best


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.4, 1.0])
@pytest.mark.parametrize("groups", [8, 32])
def test_a_rate_holds_whatever_share_has_a_copy(share: float, groups: int) -> None:
    """Of new texts, as many reach the threshold as it says, within a factor of two."""
    null = MatchNull.fit(group_bests(2_000, groups, 1, share), 5_000)
    assert null is not None
    best = group_bests(50_000, groups, 2).max(axis=1)
    for rate in (0.1, 0.05, 0.02, 0.01):
        measured = np.mean(best >= null.threshold(rate))
        assert rate / 2 < measured < 2 * rate
        assert np.mean(null.chance(best) <= rate) == pytest.approx(measured, abs=1e-3)


def test_the_best_of_more_texts_is_higher() -> None:
    """A null of some texts says about what the best of ten times as many is."""
    few, many, new = directions(1_000, 4), directions(10_000, 5), directions(3_000, 6)
    null, best = fitted(few), (new @ many.T).max(axis=1)
    assert null.threshold(0.5) < null.threshold(0.5, 10_000)
    assert 0.25 < np.mean(best >= null.threshold(0.5, 10_000)) < 0.75


def test_known_strangers_prove_a_rate() -> None:
    """Ranks are chances, also where the model fails: half of the texts have many copies."""
    rng = np.random.default_rng(3)
    stories = directions(100, 11)[rng.integers(0, 100, 500)]
    held = np.concatenate([directions(500, 12), copies(stories, 13)])
    new = directions(4_300, 14)
    known = firth.calibrate(held, unrelated=new[:300])
    assert known.proof == "proved with 300 known strangers"
    assert known.proof in " ".join(known.text().split())
    best = (new[300:] @ held.T).max(axis=1)
    for rate in (0.2, 0.1, 0.05):
        cut = known.threshold(rate)
        assert known.chance(cut) <= rate < known.chance(cut - 0.02)
        assert rate / 2 < np.mean(best >= cut) < 1.6 * rate
    assert known.threshold(0.001) == 1.0
    assert known.threshold_of_share(best, 0.1) == 1.0, "nothing is there"
    asked = np.concatenate([best[:200], np.full(100, 0.99)])
    assert (best[:200] >= 0.9).sum() == 0, "premise"
    assert 0 < known.at_most_false(asked, 0.9) < 15
    cut = known.threshold_of_share(asked, 0.1)
    assert (asked >= cut).sum() >= 100
    assert (best[:200] >= cut).sum() <= known.at_most_false(asked, cut) < 100
    with pytest.raises(InputError, match="no strangers"):
        firth.calibrate(held).at_most_false(best, 0.9)
    for few in (new[:19], ["a text"] * 30):
        with pytest.raises(InputError, match=r"unrelated: .* at least 20, texts or vectors"):
            firth.calibrate(held, unrelated=few)


def test_unrelated_texts_that_are_unlike_the_others_are_named() -> None:
    """By the second best, which both have; in which way decides what the rate is."""
    held, near = directions(600, 21), directions(200, 22)
    assert not firth.calibrate(held, unrelated=near).notes
    far = np.random.default_rng(23).standard_normal((200, D)).astype(np.float32)
    (note,) = firth.calibrate(held, unrelated=far).notes
    assert "less near: the rate is too low" in note
    centered = near + near.mean(axis=0)
    (note,) = firth.calibrate(held, unrelated=centered).notes
    assert "nearer: the rate is too careful" in note


def test_near_misses_have_a_number_a_name_and_a_word_of_others() -> None:
    """One of each is replaced, the rarest word; the share that passes falls with the cut."""
    cities, things = ["Bath", "Hull", "York", "Oslo"], ["ships", "trains", "planes", "trucks"]
    texts = [
        f"The mayor of {cities[i % 4]} paid for {i + 2} {things[i // 4 % 4]} at last."
        for i in range(60)
    ]
    numbers, changed = calibrate.draw_decoys(texts, "en", 1)
    assert len(numbers) > 50
    for number, text in zip(numbers, changed, strict=True):
        pair = texts[number].split(), text.split()
        differ = [at for at in range(len(pair[0])) if pair[0][at] != pair[1][at]]
        assert differ
        assert {*differ} <= {3, 6, 7}, "the name, the number and the thing"
        assert all(any(other.split()[at] == pair[1][at] for other in texts) for at in differ)
    drawn = [calibrate.draw_decoys(texts, "en", 2) for _ in range(2)]
    assert drawn[0] == drawn[1] != (numbers, changed)

    class Length:
        def encode(self, texts: Sequence[str]) -> Singles:
            return np.array([[50, text.count("1") + len(text)] for text in texts], np.float32)

    near = firth.calibrate(texts, encoder=Length()).near
    assert len(near.cosines) == len(calibrate.draw_decoys(texts, "en", 1)[0])
    assert near.share(-1) == 1.0 >= near.share(0.9999) > near.share(1.1) == 0.0
    assert near.share(-1, veto=True) < 0.2, "numbers and names differ"
    assert firth.calibrate(["a"], encoder=Length()).near.share(0.5) == 0.0


def test_versions_of_a_document_move_a_threshold_little() -> None:
    """Each document three times with a few other words. Without that, every rate is that of copies;
    where nobody says which texts are versions, it is."""
    vectors, documents = directions(1_200, 4), np.repeat(np.arange(300), 4)
    words = [" ".join(f"word{text}-{word}" for word in range(12)) for text in range(1_200)]
    thrice = np.concatenate([vectors, copies(vectors, 5), copies(vectors, 6)])
    owners = np.concatenate([documents + 300 * version for version in range(3)])
    texts = [f"{text} version {version}" for version in range(3) for text in words]
    once = fitted(vectors, documents)
    known = with_versions(texts, owners)
    assert len(np.unique(known)) == 300
    assert fitted(thrice, known).threshold(0.05) == pytest.approx(once.threshold(0.05), abs=0.02)
    assert fitted(thrice, owners).threshold(0.05) > once.threshold(0.05) + 0.1
    numbers = {text: number for number, text in enumerate(texts)}

    class Numbered:
        def encode(self, texts: Sequence[str]) -> Singles:
            return thrice[[numbers.get(text, len(text)) for text in texts]]

    plain = firth.calibrate(texts, encoder=Numbered(), documents=owners.tolist())
    assert plain.threshold(0.05) == pytest.approx(once.threshold(0.05), abs=0.02)


@given(st.floats(0.00001, 0.9), st.floats(0.00001, 0.9))
def test_chance_and_threshold_are_inverse(one: float, two: float) -> None:
    """A lower rate has a higher threshold, and the chance of a threshold is its rate."""
    null = MatchNull(tuple(np.linspace(-1.3, -0.2, 200).tolist()), 0.08, 1_000, 500)
    for rate in (one, two):
        assert null.chance(null.threshold(rate)) == pytest.approx(rate, rel=1e-6)
    assert (one < two) <= (null.threshold(one) >= null.threshold(two))


def test_the_expected_share_of_chance_is_that_of_the_list() -> None:
    """Half of the texts have a copy: of the matches at most so many are false as was said."""
    vectors, new = directions(3_000, 9), directions(1_500, 10)
    asked = np.concatenate([new, copies(vectors[:1_500], 11)])
    best, calibration = (asked @ vectors.T).max(axis=1), Calibration(matches=fitted(vectors))
    cut = calibration.threshold_of_share(best, 0.05)
    measured = (best[:1_500] >= cut).sum() / (best >= cut).sum()
    assert 0.0 < measured <= 0.05
    assert len(best) * calibration.chance(cut) == pytest.approx(
        0.05 * (best >= cut).sum(), rel=0.05
    )
    assert calibration.threshold_of_share((new @ vectors.T).max(axis=1), 0.01) > cut


def test_nothing_is_said_of_too_little() -> None:
    """Few documents, or vectors that are all the same, have no null, and text and JSON say so."""
    assert fit_matches(directions(19, 1), np.arange(19), 1) is None
    assert fit_matches(directions(500, 1), np.arange(500) % 19, 1) is None
    assert fit_matches(np.tile(directions(1, 1), (50, 1)), np.arange(50), 1) is None
    assert MatchNull.fit(group_bests(19, 8, 1), 500) is None
    assert MatchNull.fit(group_bests(20, 8, 1), 500) is not None
    assert MatchNull.fit(np.tile(group_bests(4, 8, 1), (20, 1)), 500) is None
    nothing = Calibration(matches=None)
    with pytest.raises(InputError, match="Nothing is known"):
        nothing.threshold(0.1)
    assert nothing.as_dict()["note"] == UNKNOWN
    assert "Nothing is known" in nothing.text()


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("ask", ["threshold", "threshold_of_share"])
def test_a_rate_is_checked(rate: float, ask: str) -> None:
    """The message says what was expected."""
    known = Calibration(matches=fitted(directions(100, 1)))
    with pytest.raises(InputError, match="between 0 and 1"):
        getattr(known, ask)(*([[0.5]] if "share" in ask else []), rate)


@given(st.lists(st.floats(0, 3), min_size=1, max_size=60), st.floats(-0.1, 3.1))
def test_the_chance_of_an_answer_is_a_share_of_the_lower_half_and_its_mirror(
    scores: list[float], evidence: float
) -> None:
    """Equal evidence counts, and the share is never 0."""
    ascending = np.maximum(np.sort(scores), 1e-3)
    below = ascending[: (len(scores) + 1) // 2]
    null = np.append(below, np.exp(np.median(np.log(ascending))) ** 2 / below)
    assume(np.abs(null - evidence).min() > 1e-8)
    chance = Answers(np.sort(scores), np.empty(0)).chance(evidence)
    assert chance == pytest.approx((1 + np.sum(null >= evidence)) / (1 + len(null)))


@pytest.mark.parametrize("answered", [0, 400, 1_000])
def test_answers_that_are_left_do_not_silence_verdicts(answered: int) -> None:
    """About one in ten questions without an answer gets one, though siblings answer others."""
    null, fresh = np.random.default_rng(5).lognormal(0, 0.3, (2, 4_000))
    chance = Answers(np.sort(np.append(3 * null[:answered], null[answered:])), np.empty(0)).chance
    assert 0.02 <= np.mean([chance(value) <= 0.1 for value in fresh]) <= 0.13
    assert np.mean([chance(3 * value) <= 0.1 for value in fresh]) >= 0.9


def test_a_verdict_is_drawn_from_both_sides() -> None:
    """At most one in ten questions without an answer has one that probably answers. Three in ten of
    these, and a fifth of those with one, are refused; each word says how often it is right."""
    without = np.exp(np.linspace(-1, 1, 100))
    for there, least in ((np.full(50, 2.6), 0.670), (np.zeros(49), 0.670), (1.2 * without, 0.659)):
        answers = Answers(without, there)
        assert answers.least == pytest.approx(least, abs=1e-3)
        words = [answers.verdict(value) for value in (2.3, 2.1, least + 0.001, least - 0.001)]
        text = Calibration(matches=None, answers={"sentence": answers}).text()
        assert ("hardly find" in text) == (there.mean() < 2)
        assert words == ["probably answers", *["may be related"] * 2, "unlikely to answer"]
        said = answers.shares()
        assert said["probably answers"][1] == 0.09
        assert np.array([*said.values()], float).sum(axis=0) == pytest.approx(1)
    text = Calibration(matches=None, answers={"sentence": answers}).text()
    assert re.search(r"unlikely to answer +20.0% +29.0%", text)


@pytest.mark.parametrize("kinds", [0, 3, 9])
def test_all_that_answers_as_well_is_hidden(kinds: int) -> None:
    """Versions are far ahead of all others; without any, or with too many, none are."""
    hits = []
    for seed in range(50):
        scores = np.random.default_rng(seed).gumbel(0, 1, 160)
        order = np.argsort(-scores)
        scores[order[:kinds]] += 12
        hits.append(answering(scores).tolist() == order[:kinds].tolist())
    assert np.mean(hits) >= (0.0 if kinds > 8 else 0.8)
    assert np.mean(hits) <= (0.0 if kinds > 8 else 1.0)
    assert answering(np.arange(79.0)).tolist() == []


def test_the_calibration_of_a_run(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the vectors it was drawn from, and says rates and questions."""
    monkeypatch.setattr(calibrate, "QUESTIONS", 15)
    run = make(documents())
    assert Calibration.current(run) is None
    with pytest.raises(MissingStageError, match="firth build"):
        Calibration.open(run)
    build_calibration(run)
    drawn = Calibration.open(run)
    assert drawn.answers == {}, "too few for a verdict"
    assert drawn.scripts == {"LATIN"}
    assert drawn.matches is not None
    assert drawn.matches.texts == 24 * 5
    assert drawn.as_dict()["thresholds"]["0.01"] == drawn.threshold(0.01)
    assert "false matches" in drawn.text()
    assert "verdict" not in drawn.text()

    monkeypatch.setattr(calibrate, "FEWEST_ASKED", 15)
    rmtree(run.path / "calibration")
    build_calibration(run)
    answers = Calibration.open(run).answers
    assert {unit: (len(a.without), len(a.there)) for unit, a in answers.items()} == {
        "sentence": (15, 15), "document": (15, 15),
    }  # fmt: skip
    assert all((a.there >= a.without).all() for a in answers.values())

    build_encoder(run, seed=4)
    run.build(INDEX, lambda _, workspace: {})
    assert Calibration.current(run) is None


def test_questions_are_titles_and_first_sentences(make: Make) -> None:
    """The text answers a title, and what follows answers a sentence."""
    records = [
        {"id": "titled", "title": "On ships", "text": "A ship came. It left."},
        {"id": "untitled", "text": "A cow saw a barn. The harvest."},
        {"id": "single", "text": f"The judge met {'a jury ' * 20}."},
        {"id": "empty", "title": "Nothing", "text": ""},
    ]
    index = Index.open(make(records))
    asked = {
        question: answer
        for question, _, answer in calibrate._questions(index, np.random.default_rng(1))
    }
    long = " ".join(records[2]["text"].split()[: calibrate.WORDS])
    texts = {question: answer and answer[0] for question, answer in asked.items()}
    assert texts == {
        "On ships": "A ship came. It left.",
        "A cow saw a barn.": "The harvest.",
        long: None,
    }
    for question, sentences in (("On ships", [0, 1]), ("A cow saw a barn.", [3])):
        rows = index.vectors(sentences) / np.arange(1, 1 + len(sentences))[:, None]
        expected = rows.sum(axis=0) / np.linalg.norm(rows.sum(axis=0))
        assert asked[question] is not None
        np.testing.assert_allclose(asked[question][1], expected, atol=1e-3)  # type: ignore[index]


@pytest.mark.parametrize("versions", [1, 3])
def test_the_rates_of_a_run_hold(tmp_path: Path, versions: int) -> None:
    """Of sentences that no document has, as many have a match as a rate says, by factors of two.

    Second and third versions of a document lack a word of each sentence.
    """
    names = ["".join(parts) for parts in product("bdfgklmnprst", "aeiou", "bdgklmnr")]
    rng = np.random.default_rng(12)

    def sentences(count: int) -> list[str]:
        return [f"The {' '.join(rng.choice(names, 8, replace=False))}." for _ in range(count)]

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        write_static(workspace, names, rng.standard_normal((len(names), D)).astype(np.float32))
        return {}

    run = Run.create(tmp_path / "run", parse_settings({}, "test"))
    records = []
    for number in range(120):
        written = [each.removesuffix(".").split() for each in sentences(5)]
        for version in range(versions):
            texts = [" ".join(words[:version] + words[version + bool(version) :])
                     for words in written]  # fmt: skip
            # Words that the encoder does not know.
            lines = [f"In p{number}q{i} {text}." for i, text in enumerate(texts)]
            records.append({"id": f"{number}-{version}", "text": " ".join(lines)})
    build_corpus(run, records)
    run.build(STATIC, fill)
    build_index(run)
    build_calibration(run)
    known, index = Calibration.open(run), Index.open(run)
    assert len(index) == 600 * versions
    asked = index.encoder.encode(sentences(1_000))
    best = (asked @ index.vectors(np.arange(len(index))).T).max(axis=1)
    thresholds = {rate: known.threshold(rate) for rate in (0.5, 0.2, 0.1, 0.05, 0.02)}
    assert [*thresholds.values()] == sorted({*thresholds.values(), 0.99})[:-1]
    for rate, cut in thresholds.items():
        assert rate / 2 < np.mean(best >= cut) < 2 * rate


def test_equal_texts_are_one() -> None:
    """A line that many documents have is no chance of the other texts."""
    vectors, line = directions(600, 13), np.tile(directions(1, 14), (60, 1))
    repeated = fitted(np.concatenate([vectors, line]))
    for rate in (0.1, 0.05):
        assert repeated.threshold(rate) == pytest.approx(fitted(vectors).threshold(rate), abs=0.02)


def blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_every_score_is_a_sum_of_one_thread(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of small matrices are equal anyway; those of an encoder's vectors are not."""
    seen, ask = list[set[int]](), Search.ask

    def asked(*given: Any) -> Asked:
        seen.append(blas_threads())
        return ask(*given)

    monkeypatch.setattr(Search, "ask", asked)
    run = make(documents())
    with threadpool_limits(2, "blas"):
        assert blas_threads() == {2}, "the premise"
        build_calibration(run)
    assert seen
    assert {count for counts in seen for count in counts} == {1}


def test_scripts_are_those_of_enough_letters() -> None:
    """A single foreign letter does not count."""
    texts = ["A ship left the harbor. " * 50, "\u03b1"]
    assert scripts_of(texts, share=0.01) == {"LATIN"}
    assert scripts_of(texts) == {"LATIN", "GREEK"}
    assert scripts_of(["12, 13"]) == frozenset()
