"""Chosen pairs keep the rules, whatever the strategy; overlap is what brute force says."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.ratings import pairs as module
from firth.ratings.pairs import PairSample, PairSettings, sample_pairs
from firth.ratings.sentences import Bags, Measure, read_synonyms, replacements
from firth.run.errors import ConfigError, InputError
from firth.run.settings import parse_section
from firth.text.words import words

TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), min_size=1, max_size=12)
FIXTURES = [HealthCheck.function_scoped_fixture]


def slow_overlap(tokens: list[list[str]], measure: Measure, one: int, two: int) -> float:
    """Return the overlap of two sentences by its definition."""
    a, b = set(tokens[one]), set(tokens[two])
    counts, n = Counter(word for bag in tokens for word in set(bag)), len(tokens)
    is_idf = measure is Measure.IDF
    weights = {w: math.log((1 + n) / (1 + k)) + 1 if is_idf else 1 for w, k in counts.items()}
    shared, first, second = (sum(weights[word] for word in some) for some in (a & b, a, b))
    if measure is Measure.FIRST:
        return shared / first if a else 1.0
    return 2 * shared / (first + second) if a or b else 1.0


@settings(max_examples=80)
@given(tokens=TEXTS, measure=st.sampled_from(list(Measure)))
def test_overlap_is_that_of_the_definition(tokens: list[list[str]], measure: Measure) -> None:
    bags, n = Bags(tokens, measure), len(tokens)
    left, right = (side.ravel() for side in np.indices((n, n)))
    expected = [slow_overlap(tokens, measure, a, b) for a in range(n) for b in range(n)]
    assert bags.overlaps(left, right) == pytest.approx(expected, abs=1e-6)
    of_all = np.concatenate([bags.overlaps_with_all(first) for first in range(n)])
    assert np.array_equal(of_all, bags.overlaps(left, right))


def sampled(source: Path, within: str = "", **asked: object) -> PairSample:
    return sample_pairs(source, PairSettings.model_validate(asked), within=within)


@settings(max_examples=12, suppress_health_check=FIXTURES)
@given(
    asked=st.fixed_dictionaries({
        "strategy": st.sampled_from(["random", "overlap", "buckets"]),
        "measure": st.sampled_from([None, *Measure]),
        "seed": st.integers(0, 99),
    })
)  # fmt: skip
def test_every_pair_keeps_the_rules(
    sentence_file: Path, sentences: list[str], asked: dict[str, Any]
) -> None:
    pairs = sampled(sentence_file, num_pairs=40, **asked).pairs
    assert 20 <= len(pairs) <= 40
    assert len({frozenset(pair.texts) for pair in pairs}) == len(pairs)
    assert max(Counter(text for pair in pairs for text in pair.texts).values()) <= 1
    for pair in pairs:
        lengths = [len(words(text)) for text in pair.texts]
        assert all(5 <= length <= 25 for length in lengths)
        if asked["strategy"] == "overlap":
            assert abs(lengths[0] - lengths[1]) <= max(lengths) / 4 + 1e-9
            assert 0.25 <= pair.overlap < 0.75
        assert [sentences[place - 1] for place in pair.places] == list(pair.texts)


def test_buckets_are_uniform_or_rise(sentence_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUCKETS", 10)
    monkeypatch.setattr(module, "_USES", 9)
    chosen = {}
    for ratio in (1.0, 20.0):
        sample = sampled(sentence_file, strategy="buckets", bucket_ratio=ratio, num_pairs=100)
        chosen[ratio] = np.bincount([pair.bucket or 0 for pair in sample.pairs])[1:].tolist()
        by_bucket = sorted((pair.bucket or 0, pair.overlap) for pair in sample.pairs)
        assert all(one[1] <= two[1] for one, two in pairwise(by_bucket))
    assert chosen[1.0] == [10] * 10
    assert chosen[20.0] == sorted(chosen[20.0])
    assert chosen[20.0][-1] > 5 * chosen[20.0][0]


def test_pairs_within_a_column(sentences: list[str], tmp_path: Path) -> None:
    """Stance: within a target, a third of the pairs is for-for, against-against and for-against."""
    stances = {text: ("FAVOR", "AGAINST")[n % 5 > 2] for n, text in enumerate(sentences)}
    target = {text: n % 3 for n, text in enumerate(sentences)}
    path = tmp_path / "tweets.tsv"
    rows = [f"{text}\t{target[text]}\t{stance}" for text, stance in stances.items()]
    path.write_text("\n".join(["text\ttarget\tstance", *rows]), encoding="utf-8")

    def chosen(within: str, **asked: object) -> list[tuple[str, str]]:
        return [pair.texts for pair in sampled(path, within, num_pairs=75, **asked).pairs]

    stance = chosen("target", strategy="random", labels="stance")
    kinds = Counter(tuple(sorted((stances[a], stances[b]))) for a, b in stance)
    assert kinds == dict.fromkeys(
        [("FAVOR", "FAVOR"), ("AGAINST", "AGAINST"), ("AGAINST", "FAVOR")], 25
    )
    overlapping = chosen("target")
    assert len(overlapping) >= 30
    assert all(target[a] == target[b] for a, b in stance + overlapping)
    assert any(target[a] != target[b] for a, b in chosen("")), "the premise"


def test_the_first_partner_is_the_printed_choice(sentence_file: Path, sentences: list[str]) -> None:
    """No free sentence before the second one fits; the usual choice is another one."""
    first, second = sampled(sentence_file, num_pairs=1, partner="first").pairs[0].places
    bags = Bags([words(text) for text in sentences], Measure.DICE)
    overlap, lengths = bags.overlaps_with_all(first - 1), bags.lengths
    fits = (overlap >= 0.25) & (overlap < 0.75) & (lengths >= 5) & (lengths <= 25)
    fits &= np.abs(lengths - lengths[first - 1]) <= np.maximum(lengths, lengths[first - 1]) / 4
    _, usual = sampled(sentence_file, num_pairs=1).pairs[0].places
    assert second - 1 == fits.argmax() != usual - 1


@pytest.fixture
def scored_file(sentences: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "scored.csv"
    long = [text for text in sentences if 5 <= len(words(text)) <= 25][:200]
    both = zip(long[::2], long[1::2], strict=True)
    rows = [f"{a},{b},{5 * n / 99}" for n, (a, b) in enumerate(both)]
    path.write_text("\n".join(["sentence1,sentence2,score", *rows, f"{long[0]},{long[0]},1"]))
    return path


def test_scores_give_equal_numbers_of_each_bin(scored_file: Path) -> None:
    """Scores lie in 0 to 5; bins are (0, 1], (1, 2] and so on."""
    sample = sampled(scored_file, strategy="scores", num_pairs=50)
    assert np.bincount([pair.bucket or 0 for pair in sample.pairs]).tolist() == [0] + [10] * 5
    assert all(pair.bucket == int(np.ceil(pair.score or 0.0)) for pair in sample.pairs)
    assert sample.left_out == {"both sentences the same": 1}
    every = sampled(scored_file, strategy="scores", num_pairs=500)
    assert len(every.pairs) == 99, "the pair without any similarity is in no bin"


def test_given_pairs_at_random(scored_file: Path) -> None:
    one, same, other = (
        sampled(scored_file, strategy="given", num_pairs=20, seed=seed) for seed in (13, 13, 14)
    )
    assert len(one.pairs) == 20
    assert one == same != other
    buckets = sampled(scored_file, strategy="buckets", num_pairs=20)
    assert len(buckets.pairs) == 20


def test_what_cannot_be_sampled_is_refused(sentence_file: Path, tmp_path: Path) -> None:
    alike = tmp_path / "alike.txt"
    alike.write_text("a b c d e f g\na b c d e f h\n")  # Their overlap is above the limit.
    with pytest.raises(InputError, match="expects columns sentence1 and sentence2"):
        sampled(sentence_file, strategy="given")
    with pytest.raises(InputError, match="makes a pair"):
        sampled(alike)
    (tmp_path / "t.csv").write_text("sentence1,sentence2,score\na b c d e,f g h i j,good\n")
    with pytest.raises(InputError, match="line 2: score 'good'"):
        sampled(tmp_path / "t.csv", strategy="scores")
    with pytest.raises(ConfigError) as caught:
        parse_section(PairSettings, {"bucket_ratio": 0, "seed": -1, "strategy": "best"}, "--set")
    assert len(caught.value.problems) == 3


def test_the_most_frequent_synonym_counts(tmp_path: Path) -> None:
    """The word itself is a candidate; of equals the first in the alphabet."""
    (tmp_path / "thesaurus.txt").write_text("large, big\nHuge large\naged old\nalone\n")
    groups = read_synonyms(tmp_path / "thesaurus.txt")
    replaced = replacements(groups, {"big": 5, "large": 2, "huge": 9, "old": 3, "aged": 3})
    assert replaced == {"large": "huge", "old": "aged"}
    tokens = [["large", "old", "dog"], ["huge", "aged", "cat"]]
    first, second = np.array([0]), np.array([1])
    assert Bags(tokens, Measure.DICE).overlaps(first, second).tolist() == [0]
    of = Bags(tokens, Measure.DICE, replaced).overlaps(first, second)
    assert of == pytest.approx(2 / 3, abs=1e-6)
