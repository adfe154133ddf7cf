"""What a corpus says about words: shrinkage, rarity, and the vectors that they scale."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.numbered import WordSentences
from firth.encoders import words as module
from firth.encoders.words import (
    WORDS,
    BagEncoder,
    Pairs,
    RowAdam,
    WordSpace,
    batched,
    build_words,
    contrast,
    halved,
    learn,
)
from firth.run.console import listening
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import WordSettings
from firth.text.stems import Idf
from firth.text.types import Floats, Singles

COUNTS = {"ship": 50, "sail": 10, "storm": 1, "the": 399}
VECTORS = np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]], np.float32)


def space(prior_count: float = 50.0) -> WordSpace:
    return WordSpace(["ship", "sail", "storm"], VECTORS, Idf(COUNTS, 399, "porter"), prior_count)


def test_learned_vectors_are_shrunk() -> None:
    """sqrt(n / (n + k)) times vectors whose lengths have the root mean square 1."""
    scale = math.sqrt((9 + 16 + 0) / 3)
    vectors = space().learned(["sail", "cow", "ship", "storm"])
    one, two = 4 / scale * math.sqrt(1 / 6), 3 / scale * math.sqrt(0.5)
    expected = np.array([[0.0, one], [0.0, 0.0], [two, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert space().learned([]).shape == (0, 2)
    assert vectors.dtype == np.float64


def test_an_unlearned_space_knows_rarity_only() -> None:
    """About 1 for one sentence in 400, 0 for all of them, most for an unknown stem."""
    unlearned = space().unlearned()
    assert not unlearned.learned(["ship", "sail"]).any()
    assert unlearned.rarity("storm") == pytest.approx(math.log(400 / 2) / 6)
    assert unlearned.rarity("the") == 0.0
    assert unlearned.rarity("cow") > unlearned.rarity("storm")


def test_a_pair_of_characters_weighs_a_quarter() -> None:
    """Its characters count by themselves; a word of a script with spaces is no pair."""
    counts = {"\u5b57": 9, "\u5b57\u304c": 9, "\u0e17\u0e35\u0e48": 9, "\u0438\u0445": 9}
    known = WordSpace(["ship"], VECTORS[:1], Idf(counts, 399, "none"), 50.0)
    single, pair, marked, word = map(known.rarity, counts)
    assert single == marked == word == pytest.approx(math.log(400 / 10) / 6)
    assert pair == pytest.approx(single / 4)


def test_what_is_frequent_among_compared_texts_counts_less() -> None:
    """The mean of both logarithms; a pair counts a word once, so that sharing it costs nothing."""
    pairs = [("ship sail", "ship"), ("ship storm", "cow"), ("ship", "cow")]
    known, among = space(), space().among(pairs)
    assert known.rarity("ship") < known.rarity("sail") < known.rarity("storm")
    ratio = [among.rarity(stem) / known.rarity(stem) for stem in ("ship", "cow", "sail", "storm")]
    assert ratio[0] < ratio[1] < min(ratio[2:])
    assert among.rarity("elsewhere") == known.rarity("elsewhere")
    shared = space().among([("sail", "sail"), ("storm", "cow")])
    apart = space().among([("sail", "the"), ("storm", "cow")])
    assert shared.rarity("sail") / shared.rarity("storm") == apart.rarity("sail") / apart.rarity(
        "storm"
    )


def test_compared_texts_keep_the_weight_of_spelling() -> None:
    """The sum of squared rarities over the set is that of the corpus; one group changes nothing."""
    pairs = [("ship sail", "cow"), ("ship storm", "boat"), ("ship", "the cow")]
    held = {"ship": 3, "cow": 2, "sail": 1, "storm": 1, "boat": 1, "the": 1}

    def squares(known: WordSpace) -> float:
        return sum(count * known.rarity(stem) ** 2 for stem, count in held.items())

    assert squares(space().among(pairs)) == pytest.approx(squares(space()))
    one = space().among(pairs[:1])
    assert all(one.rarity(stem) == space().rarity(stem) for stem in held)
    assert space().among([]).rarity("ship") == space().rarity("ship")


def test_a_text_is_the_sum_of_its_distinct_stems() -> None:
    encoder = BagEncoder(space())
    expected = space().learned(["ship", "sail"]).sum(axis=0)
    vectors = encoder.encode(["The ships sail a ship", "cows", ""])
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), rtol=1e-6)
    assert not vectors[1:].any()
    assert encoder.dimensions == 2
    assert vectors.dtype == np.float32


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    space(20.0).save(tmp_path)
    loaded = WordSpace.load(tmp_path)
    assert (loaded.prior_count, loaded.idf) == (20.0, space().idf)
    stems = ["sail", "cow", "ship"]
    assert (loaded.learned(stems) == space(20.0).learned(stems)).all()


def test_the_stage_learns_from_the_corpus(words_run: Run) -> None:
    """Words of one topic are similar; the request is the corpus and its settings."""
    assert build_words(words_run).reused
    run = words_run.changed({"words": {"dimensions": 12, "epochs": 8, "batch": 32}})
    outcome = build_words(run)
    assert not outcome.reused
    learned = WordSpace.load(run.folder(WORDS))
    assert learned.dimensions == 12
    assert learned.idf.frequencies["the"] == max(learned.idf.frequencies.values())
    ship, storm, cow = learned.directions(["ship", "storm", "cow"])
    assert ship @ storm > ship @ cow
    assert outcome.manifest.summary["neighbors"] > 100


# --- Learning ------------------------------------------------------------------------------------


def sentences_of(sizes: list[int], lengths: list[int] | None = None) -> WordSentences:
    """Return documents of so many sentences; sentence i is the word i, so many times."""
    n = sum(sizes)
    repeated = lengths or [1] * n
    return WordSentences(
        vocabulary=tuple(map(str, range(n))),
        counts=np.array(repeated, np.int64),
        pieces=np.repeat(np.arange(n, dtype=np.int32), repeated),
        bounds=np.cumsum([0, *repeated]),
        documents=np.repeat(np.arange(len(sizes)), sizes),
        sources=np.zeros(len(sizes), np.int32),
        idf=Idf({}, 0, "none"),
    )


def random_sentences(count: int = 300, words: int = 60) -> WordSentences:
    """Return one document in which neighboring sentences share a subject."""
    rng = np.random.default_rng(4)
    lengths = rng.integers(3, 9, count)
    subjects = np.repeat(rng.integers(0, 6, count // 5), 5)
    pieces = [rng.integers(10 * s, 10 * s + 10, n) for s, n in zip(subjects, lengths, strict=True)]
    flat = np.concatenate(pieces).astype(np.int32)
    return WordSentences(
        vocabulary=tuple(map(str, range(words))),
        counts=np.bincount(flat, minlength=words),
        pieces=flat,
        bounds=np.concatenate(([0], np.cumsum(lengths))),
        documents=np.repeat(np.arange(count // 5), 5),
        sources=np.repeat([0, 1], count // 10).astype(np.int32),
        idf=Idf({}, 0, "none"),
    )


# --- The loss ----------------------------------------------------------------------------------


def plain_loss(rows: Floats, sentences: list[list[int]], temperature: float) -> float:
    """-log of exp(cos/t) of the pair's second sentence over the sum over all second sentences."""
    sums = np.array([sum(rows[p, -1] * rows[p, :-1] for p in each) for each in sentences])
    units = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    n = len(units) // 2
    odds = np.exp(units[:n] @ units[n:].T / temperature)
    return float(np.mean([-np.log(odds[i, i] / odds[i].sum()) for i in range(n)]))


def test_the_loss_and_its_gradient_are_those_of_the_definition() -> None:
    """Weights included; a word may be in a sentence twice."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((7, 5)).astype(np.float32)
    sentences = [[0, 1, 1], [2, 3], [4], [5, 0], [6, 2, 1], [3]]
    bounds = np.cumsum([0, *map(len, sentences)])
    runs = np.concatenate(sentences).astype(np.int64), bounds.astype(np.int64)
    loss, gradient = contrast(rows, runs, 0.3)
    exact = rows.astype(np.float64)
    assert loss == pytest.approx(plain_loss(exact, sentences, 0.3), rel=1e-5)
    expected = np.zeros_like(exact)
    for place in np.ndindex(exact.shape):
        step = np.zeros_like(exact)
        step[place] = 1e-5
        up, down = (plain_loss(exact + sign * step, sentences, 0.3) for sign in (1, -1))
        expected[place] = (up - down) / 2e-5
    np.testing.assert_allclose(gradient, expected, atol=1e-4)


def dense_adam(table: Floats, gradients: list[Floats], rates: Floats) -> Floats:
    """Adam as published; a row without a gradient has a gradient of zero."""
    first, second = np.zeros_like(table), np.zeros_like(table)
    for step, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-15)
        table = table - rate * move
    return table


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=30))
def test_rows_that_wait_end_as_in_adam(touched: list[set[int]]) -> None:
    """Whatever rows a step touches, and wherever the training is interrupted."""
    rng = np.random.default_rng(3)
    table = rng.standard_normal((6, 2))
    rates = 0.1 * rng.random(len(touched))
    gradients, sparse = [], []
    for rows in touched:
        dense = np.zeros_like(table)
        dense[sorted(rows)] = rng.standard_normal((len(rows), 2))
        gradients.append(dense)
        sparse.append((np.array(sorted(rows)), dense[sorted(rows)].astype(np.float32)))
    adam = RowAdam(table.astype(np.float32), rates)
    for number, (rows_of_step, gradient) in enumerate(sparse):
        before = adam.take(rows_of_step)
        expected = dense_adam(table, gradients[:number], rates[:number])[rows_of_step]
        np.testing.assert_allclose(before, expected, atol=1e-4)
        adam.update(gradient)
    adam.settle()
    np.testing.assert_allclose(adam.tables[0], dense_adam(table, gradients, rates), atol=1e-4)


# --- The pairs ---------------------------------------------------------------------------------


def test_pairs_are_neighbors_and_an_epoch_has_each_once() -> None:
    sizes = [9, 1, 30, 2, 40]
    sentences = sentences_of(sizes)
    pairs = Pairs(sentences, 7, 3)
    assert len(pairs) == pairs.neighbors == sum(sizes) - len(sizes)
    seen: list[int] = []
    for step in range(pairs.steps):
        (firsts, begins), (seconds, _) = pairs(step)
        assert begins.tolist() == list(range(7))
        assert (seconds == firsts + 1).all()
        assert (sentences.documents[firsts] == sentences.documents[seconds]).all()
        seen += firsts.tolist()
    assert len(seen) == len(set(seen)) == len(pairs) // 7 * 7
    assert pairs(pairs.steps)[0][0].tolist() != pairs(0)[0][0].tolist(), "another order each epoch"


@given(st.lists(st.integers(2, 9), min_size=1, max_size=20))
def test_halves_are_all_words_and_differ_by_one_at_most(lengths: list[int]) -> None:
    pieces, begins = np.arange(sum(lengths)), np.cumsum([0, *lengths[:-1]])
    both = halved(pieces, begins, np.random.default_rng(3))
    one, two = (np.split(words, starts[1:]) for words, starts in both)
    for number, length in enumerate(lengths):
        assert 0 <= len(two[number]) - len(one[number]) <= 1
        together = sorted(np.concatenate((one[number], two[number])).tolist())
        assert together == list(range(begins[number], begins[number] + length))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=12), st.data())
def test_pairs_are_all_neighbors_and_lonely_sentences(
    sizes: list[int], data: st.DataObject
) -> None:
    """By hand; sentences of one word that are alone give no pair."""
    n = sum(sizes)
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    sentences = sentences_of(sizes, lengths)
    homes = sentences.documents.tolist()
    with_next = [i for i, (a, b) in enumerate(pairwise(homes)) if a == b]
    lonely = [i for i in range(n) if homes.count(homes[i]) == 1 and lengths[i] > 1]
    pairs = Pairs(sentences, 4, 3)
    few = len(with_next) < 0.25 * n
    assert pairs._pairs.tolist() == with_next + ([n + i for i in lonely] if few else [])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 9))
def test_a_batch_has_one_source_as_far_as_it_goes(sources: list[int], size: int) -> None:
    """Every pair at most once; only remainders share a batch."""
    numbers, source_of = 7 + np.arange(len(sources)), np.array(sources)
    found = batched(numbers, source_of, size, np.random.default_rng(3))
    assert found.shape == (len(sources) // size, size)
    assert len(np.unique(found)) == found.size
    mixed = sum(len({sources[pair - 7] for pair in batch}) > 1 for batch in found.tolist())
    assert mixed <= sum(sources.count(k) % size for k in set(sources)) // size


# --- The training ------------------------------------------------------------------------------

SMALL = WordSettings(dimensions=8, batch=16, epochs=3)


def learned(scratch: Path, settings: WordSettings = SMALL) -> Singles:
    weights = np.linspace(1, 2, 60).astype(np.float32)
    return learn(random_sentences(), weights, settings, 1, scratch, "Test")[0]


@contextmanager
def stopped_at(step: int) -> Iterator[None]:
    """Stop the training inside the block after so many steps."""

    def listen(_: str, done: float, total: float | None) -> None:
        if done >= step:
            raise TimeoutError

    with pytest.raises(TimeoutError), listening(listen):
        yield


@pytest.mark.parametrize("step", [3, 12])
def test_a_stopped_training_ends_with_the_same_bytes(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first checkpoint and after one."""
    monkeypatch.setattr(module, "_CHECKPOINT_STEPS", 5)
    whole = learned(tmp_path / "whole")
    with stopped_at(step):
        learned(tmp_path / "stopped")
    assert (tmp_path / "stopped" / "checkpoint.safetensors").is_file() == (step > 5)
    assert learned(tmp_path / "stopped").tobytes() == whole.tobytes()


def test_the_rate_rises_before_it_falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a tenth of the steps, in which Adam knows little of the gradients."""
    rates: list[float] = []

    class Recorded(RowAdam):
        def __init__(self, table: Singles, of_steps: Floats) -> None:
            rates.extend(of_steps.tolist())
            super().__init__(table, of_steps)

    monkeypatch.setattr(module, "RowAdam", Recorded)
    learned(tmp_path, WordSettings(dimensions=8, batch=4, epochs=6))
    rise, peak = len(rates) // 10, SMALL.learning_rate
    assert rise > 3, "premise"
    np.testing.assert_allclose(rates[:rise], peak * np.arange(1, rise + 1) / rise)
    assert all(before > after > 0 for before, after in pairwise(rates[rise:]))


def test_too_little_text_and_a_rate_too_high_are_named(tmp_path: Path) -> None:
    weights = np.ones(2, np.float32)
    with pytest.raises(InputError, match="got 1 pairs of neighboring sentences"):
        learn(sentences_of([2]), weights, SMALL, 1, tmp_path / "little", "Words")
    with pytest.raises(InputError, match=r"Lower words\.learning_rate, which is 1e\+30"):
        learned(tmp_path / "high", WordSettings(dimensions=8, batch=16, learning_rate=1e30))
