"""The contrastive bag against plain loops."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.context.bag import (
    MOST_EPOCHS,
    STEPS,
    Bag,
    Pairs,
    batched,
    contrast,
    enough_epochs,
    halves,
    inverse_frequencies,
    learn,
)
from firth.context.settings import BagConfig
from firth.corpus.numbered import WordSentences, read_sentences
from firth.corpus.settings import WordSection
from firth.run.run import Run


def test_the_loss_is_its_definition() -> None:
    """-log of exp(cos/t) of the own second over the sum over all seconds, averaged."""
    rng = np.random.default_rng(1)
    one, two = (rng.standard_normal((5, 3)) for _ in range(2))
    one, two = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (one, two))
    expected = []
    for i in range(5):
        odds = [np.exp(one[i] @ two[j] / 0.07) for j in range(5)]
        expected.append(-np.log(odds[i] / sum(odds)))
    found = contrast(torch.tensor(one), torch.tensor(two), 0.07).item()
    np.testing.assert_allclose(found, np.mean(expected))


def test_sentence_vectors_are_sums_of_the_saved_word_vectors(trained_run: Path) -> None:
    """What is trained and what is saved agree: unit(Σ a_w v_w)."""
    sentences = read_sentences(Run.open(trained_run), WordSection())
    model = Bag(inverse_frequencies(sentences), 6, seed=2)
    pieces, offsets = sentences.gather(np.array([3, 9]))
    found = model(torch.from_numpy(pieces), torch.from_numpy(offsets)).detach().numpy()
    words = model.word_vectors()
    for row, i in zip(found, (3, 9), strict=True):
        total = words[sentences.pieces[sentences.bounds[i] : sentences.bounds[i + 1]]].sum(axis=0)
        np.testing.assert_allclose(row, total / np.linalg.norm(total), atol=1e-6)


@pytest.mark.parametrize("block", [3, 1 << 13])
def test_weights_start_as_inverse_document_frequencies(
    trained_run: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word counts once a sentence, however many are counted at once."""
    monkeypatch.setattr("firth.context.bag._BLOCK", block)
    sentences = read_sentences(Run.open(trained_run), WordSection())
    texts = [set(text) for text in sentences.texts()]
    found = inverse_frequencies(sentences)
    for number, word in enumerate(sentences.vocabulary):
        frequency = sum(word in text for text in texts)
        np.testing.assert_allclose(found[number], np.log((len(texts) + 1) / (frequency + 1)), 1e-5)


def test_pairs_are_neighbours_and_an_epoch_meets_each_once() -> None:
    """Second = first + 1, in one document; nothing twice in an epoch."""
    sizes = np.array([9, 1, 30, 2, 40])
    documents = np.repeat(np.arange(5), sizes)
    n = len(documents)
    # Sentence i is the one word i, so that words tell which sentence is which.
    sentences = WordSentences(
        tuple(map(str, range(n))),
        np.ones(n, np.int64),
        np.arange(n, dtype=np.int32),
        np.arange(n + 1),
        documents,
        np.zeros(n, np.int64),
    )
    pairs = Pairs(sentences, 7, seed=3)
    assert len(pairs) == (sizes - 1).sum()
    seen: list[int] = []
    for step in range(pairs.steps):
        (firsts, offsets), (seconds, _) = pairs(step)
        assert offsets.tolist() == list(range(7))
        assert (seconds == firsts + 1).all()
        assert (documents[firsts] == documents[seconds]).all()
        seen += firsts.tolist()
    assert len(seen) == len(set(seen)) == len(pairs) // 7 * 7
    assert pairs(pairs.steps)[0][0].tolist() != pairs(0)[0][0].tolist(), "a new order each epoch"


def numbered(sizes: list[int], lengths: list[int]) -> WordSentences:
    """Documents of so many sentences; sentence i is the number i, so many times."""
    n = sum(sizes)
    return WordSentences(
        tuple(map(str, range(n))),
        np.array(lengths, np.int64),
        np.repeat(np.arange(n, dtype=np.int32), lengths),
        np.cumsum([0, *lengths]),
        np.repeat(np.arange(len(sizes)), sizes),
        np.zeros(n, np.int64),
    )


def test_where_texts_stand_alone_parts_of_them_are_pairs() -> None:
    """Sentences of two words or more without a neighbour, beside the neighbours there are; a step
    is the same each time, and no step of another epoch."""
    sentences = numbered([1, 2, 1, 1, 1, 1, 1, 1], [5, 1, 2, 1, 2, 6, 3, 3, 3])
    pairs = Pairs(sentences, 4, seed=3)
    assert (pairs.neighbours, pairs.parts, len(pairs), pairs.steps) == (1, 6, 7, 1)
    seen = set()
    for step in range(9):
        batch = pairs(step)
        for (words, offsets), (again, same) in zip(batch, pairs(step), strict=True):
            assert words.equal(again)
            assert offsets.equal(same)
        firsts, seconds = (
            [sorted(set(part.tolist())) for part in words.tensor_split(offsets[1:])]
            for words, offsets in batch
        )
        pairs_of_one = [one for one in firsts if one != [1]]
        assert pairs_of_one == [two for two in seconds if two != [2]]
        seen |= {one for (one,) in firsts}
    assert seen == {0, 1, 4, 5, 6, 7, 8}


@pytest.mark.parametrize("alone", [0, 2])
def test_where_texts_have_neighbours_these_are_all(alone: int) -> None:
    """A few lone sentences among others change nothing."""
    pairs = Pairs(numbered([6, *[1] * alone], [3] * (6 + alone)), 4, seed=3)
    assert (pairs.neighbours, pairs.parts) == (5, 0)


@given(st.lists(st.integers(2, 9), min_size=1, max_size=20))
def test_halves_are_all_words_and_differ_by_one_at_most(lengths: list[int]) -> None:
    """Each word of a sentence is in one half of it."""
    pieces, offsets = np.arange(sum(lengths)), np.cumsum([0, *lengths[:-1]])
    both = halves(pieces, offsets, np.random.default_rng(3))
    one, two = (np.split(words, starts[1:]) for words, starts in both)
    for number, length in enumerate(lengths):
        assert 0 <= len(two[number]) - len(one[number]) <= 1
        together = sorted(np.concatenate((one[number], two[number])).tolist())
        assert together == list(range(offsets[number], offsets[number] + length))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 9))
def test_batches_hold_one_source_as_far_as_it_goes(sources: list[int], size: int) -> None:
    """Every place at most once; all but what sources leave over in batches of one source."""
    found = batched(np.array(sources), size, np.random.default_rng(3))
    assert found.shape == (len(sources) // size, size)
    assert len(np.unique(found)) == found.size
    mixed = sum(len({sources[place] for place in batch}) > 1 for batch in found.tolist())
    assert mixed <= sum(sources.count(k) % size for k in set(sources)) // size


@given(st.integers(1, 500))
def test_a_small_corpus_is_read_more_often(steps: int) -> None:
    """The fewest passes that make 200 steps; never more than ten, never none."""
    epochs = enough_epochs(steps)
    assert 1 <= epochs <= MOST_EPOCHS
    assert epochs * steps >= STEPS or epochs == MOST_EPOCHS
    assert (epochs - 1) * steps < STEPS


def test_the_number_of_epochs_is_as_configured_or_enough(trained_run: Path, tmp_path: Path) -> None:
    """The summary says how many there were; losses are noted over all of them."""
    run = Run.open(trained_run)
    small = BagConfig(dimensions=4, batch=8)
    steps = Pairs(read_sentences(run, small), 8, seed=0).steps
    assert 1 < enough_epochs(steps) < MOST_EPOCHS, "premise"
    for epochs, expected in ((None, enough_epochs(steps)), (1, 1)):
        config = small.model_copy(update={"epochs": epochs})
        _, summary, history = learn(run, config, 1, tmp_path / str(epochs), "test")
        assert summary["epochs"] == expected
        assert history[-1]["step"] == expected * steps
