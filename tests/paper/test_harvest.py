"""The harvest: which pairs are scored, what their scores are worth, and labels of scores."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper import harvest
from firth.paper.harvest import (
    ScoredPairs,
    draw_pairs,
    length_of_scores,
    plan_shards,
    sentence_hashes,
    usable_sentences,
    word_vectors,
)
from firth.paper.settings import HarvestSettings
from firth.paper.surrogate import label_map
from firth.run.errors import InputError
from firth.run.run import Run


def test_shards_hold_each_sentence_once(base_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    settings = HarvestSettings(pairs=400, shard_pairs=40)
    shards = plan_shards(Corpus.open(base_run), settings, 1)
    sentences = np.concatenate([shard.sentences for shard in shards])
    assert len(np.unique(sentences)) == len(sentences)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert sum(shard.size for shard in shards) == 400
    with pytest.raises(InputError, match=r"got 20 pairs \(paper.harvest.pairs is 20.*expected 30"):
        plan_shards(Corpus.open(base_run), HarvestSettings(pairs=20), 1)
    most = sum(s.size for s in plan_shards(Corpus.open(base_run), HarvestSettings(pairs=10**6), 1))
    assert f"The corpus gives {most:,} of 1,000,000 pairs" in capsys.readouterr().err


def test_sentences_are_distinct_and_of_no_evaluation_set(
    base_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any case; the sentences of public sets are known by their hashes."""
    hashes = sentence_hashes(["A man is playing a guitar.", "Nobody ever wrote this line, firth."])
    assert np.isin(hashes, harvest.evaluation_hashes()).tolist() == [True, False]
    corpus = Corpus.open(base_run)
    excluded = {corpus.text(n) for n in range(0, len(corpus), 3)}
    of_them = sentence_hashes(text.upper() for text in excluded)
    monkeypatch.setattr(harvest, "evaluation_hashes", lambda: of_them)
    texts = corpus.texts(usable_sentences(corpus))
    assert 20 < len(set(texts)) == len(texts)
    assert not excluded & set(texts)


def test_held_out_pairs_are_like_those_of_train(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each split has as many sentences for a pair, among which near ones are found."""
    monkeypatch.setattr(harvest, "usable_sentences", lambda _: np.arange(20_000))
    corpus: Any = None
    of_a_pair = [
        len(shard.sentences) / shard.size
        for shard in plan_shards(corpus, HarvestSettings(pairs=1_600), 1)
    ]
    assert max(of_a_pair) < 1.1 * min(of_a_pair)


@given(st.integers(2, 40), st.integers(1, 60), st.integers(0, 9))
def test_draws_respect_size_and_uses(count: int, size: int, seed: int) -> None:
    words = "ship harbor wave sailor storm field wheat".split()  # noqa: SIM905
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(words, 4)) for _ in range(count)]
    result = draw_pairs(word_vectors(texts, "en"), size, rng)
    keys = [frozenset(pair[:2]) for pair in result]
    assert len(keys) == len(set(keys)) <= size
    assert all(len(key) == 2 for key in keys)
    counted = Counter(place for one, two, _ in result for place in (one, two))
    assert max(counted.values(), default=0) <= 4
    assert sum(kind == "near" for *_, kind in result) <= round(size / 2)


def test_word_vectors_are_units_of_words_that_tell_something() -> None:
    texts = ["a ship left"] * 2 + ["the ship left", "a cow ate", "the cow ate", "one two three"]
    vectors = word_vectors(texts, "en")
    cosines = (vectors @ vectors.T).toarray()
    assert cosines.diagonal().tolist() == pytest.approx([1, 1, 1, 1, 1, 0])
    assert cosines[0, 1] == pytest.approx(1)
    assert cosines[0, 3] < cosines[0, 2] < 1


def test_labels_that_are_lengths_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("a " * (n % 7 + 1), "b " * (n % 5 + 1)) for n in range(200)]
    lengths = np.array([len(one.split()) + len(two.split()) for one, two in pairs], float)
    assert (length_of_scores(ScoredPairs(pairs, lengths)) or 0) > 0.9
    assert "count words" in capsys.readouterr().err
    length_of_scores(ScoredPairs(pairs, np.random.default_rng(1).standard_normal(200)))
    assert not capsys.readouterr().err


@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=50, unique=True))
@pytest.mark.parametrize("calibration", ["quantile", "none"])
def test_labels_keep_the_order_of_scores(calibration: str, scores: list[float]) -> None:
    """As `quantile` they have the distribution of the start's similarities, whatever these are."""
    values, start = np.array(scores, np.float64), np.array([0.5, 0.2, 0.4, 0.9])
    label = label_map(values, calibration, start)
    asked = np.sort(np.concatenate((values, [-2.0, 2.0])))
    labels = label(asked)
    assert (np.diff(labels) >= 0).all()
    if calibration == "none":
        assert (labels == asked).all(), "negative scores stay as they are"
    if calibration == "quantile":
        ranks = (np.argsort(np.argsort(values)) + 0.5) / len(values)
        assert label(values) == pytest.approx(np.quantile(start, ranks))


@pytest.mark.parametrize("scores", [[1.0, 1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_scores_that_teach_nothing_are_refused(scores: list[float]) -> None:
    """So is a start that tells nothing apart."""
    with pytest.raises(InputError, match="2 training pairs are all equal, or not finite"):
        label_map(np.array(scores), "quantile", np.array([0.1, 0.2]))
    with pytest.raises(InputError, match="2 training pairs all equally similar"):
        label_map(np.array([0.1, 0.2]), "quantile", np.array([0.3, 0.3]))
