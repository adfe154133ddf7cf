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
    _alone,
    _with_next,
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
from firth.lexical.arrays import Ints
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


def test_sentence_vectors_are_sums_of_the_saved_word_vectors(
    trained_run: Path, tmp_path: Path
) -> None:
    """What is trained and what is saved agree: unit(Σ a_w v_w)."""
    sentences = read_sentences(Run.open(trained_run), WordSection(), tmp_path)
    model = Bag(inverse_frequencies(sentences), 6, seed=2)
    pieces, offsets = sentences.gather(np.array([3, 9]))
    found = model(torch.from_numpy(pieces), torch.from_numpy(offsets)).detach().numpy()
    words = model.word_vectors()
    for row, i in zip(found, (3, 9), strict=True):
        total = words[sentences.pieces[sentences.bounds[i] : sentences.bounds[i + 1]]].sum(axis=0)
        np.testing.assert_allclose(row, total / np.linalg.norm(total), atol=1e-6)


@pytest.mark.parametrize("block", [3, 1 << 13])
def test_weights_start_as_inverse_document_frequencies(
    trained_run: Path, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word counts once a sentence, however many are counted at once."""
    monkeypatch.setattr("firth.context.bag._BLOCK", block)
    sentences = read_sentences(Run.open(trained_run), WordSection(), tmp_path)
    texts = [set(text) for text in sentences.texts()]
    found = inverse_frequencies(sentences)
    for number, word in enumerate(sentences.vocabulary):
        frequency = sum(word in text for text in texts)
        np.testing.assert_allclose(found[number], np.log((len(texts) + 1) / (frequency + 1)), 1e-5)


def test_pairs_are_neighbours_and_an_epoch_meets_each_once(tmp_path: Path) -> None:
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
        np.zeros(len(sizes), np.int32),
    )
    pairs = Pairs(sentences, 7, 3, tmp_path)
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
        np.zeros(len(sizes), np.int32),
    )


def test_where_texts_stand_alone_parts_of_them_are_pairs(tmp_path: Path) -> None:
    """Sentences of two words or more without a neighbour, beside the neighbours there are; a step
    is the same each time, and no step of another epoch."""
    sentences = numbered([1, 2, 1, 1, 1, 1, 1, 1], [5, 1, 2, 1, 2, 6, 3, 3, 3])
    pairs = Pairs(sentences, 4, 3, tmp_path)
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
def test_where_texts_have_neighbours_these_are_all(alone: int, tmp_path: Path) -> None:
    """A few lone sentences among others change nothing."""
    pairs = Pairs(numbered([6, *[1] * alone], [3] * (6 + alone)), 4, 3, tmp_path)
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


def plainly_batched(pairs: Ints, sources: Ints, size: int, rng: np.random.Generator) -> Ints:
    """All in memory: shuffled, sorted by source, cut into batches, the rest shuffled, and these."""
    order = rng.permutation(len(pairs))
    order = order[np.argsort(sources[order], kind="stable")]
    whole, left = [], []
    for source in range(sources.max() + 1):
        places = order[sources[order] == source]
        full = len(places) // size * size
        whole.append(places[:full])
        left.append(places[full:])
    rest = rng.permutation(np.concatenate(left))
    batches = np.concatenate((*whole, rest[: len(rest) // size * size])).reshape(-1, size)
    found: Ints = pairs[rng.permutation(batches)]
    return found


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 70))
def test_batches_hold_one_source_as_far_as_it_goes(
    sources: list[int], size: int, block: int
) -> None:
    """Every pair at most once; all but what sources leave over in batches of one source; however
    many are put into place at once, as if all were in memory."""
    count = len(sources)
    numbers, source_of = 7 + np.arange(count), np.array(sources)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("firth.context.bag._PAIRS", block)
        batches, order = batched(
            numbers.copy(),
            lambda some: source_of[some - 7],
            size,
            np.random.default_rng(3),
            np.empty(count, np.int64),
        )
    found = batches[order]
    expected = plainly_batched(numbers, source_of, size, np.random.default_rng(3))
    assert found.tolist() == expected.tolist()
    assert found.shape == (count // size, size)
    assert len(np.unique(found)) == found.size
    mixed = sum(len({sources[pair - 7] for pair in batch}) > 1 for batch in found.tolist())
    assert mixed <= sum(sources.count(k) % size for k in set(sources)) // size


@given(st.lists(st.integers(1, 3), min_size=1, max_size=12), st.integers(1, 9), st.data())
def test_pairs_are_found_whatever_is_looked_at_at_once(
    sizes: list[int], block: int, data: st.DataObject
) -> None:
    """Sentences with a next one, and those that are all of their document and have two words."""
    n = sum(sizes)
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    sentences = numbered(sizes, lengths)
    homes = sentences.documents.tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("firth.context.bag._BLOCK", block)
        joined, alone = (
            [number for some in found(sentences) for number in some.tolist()]
            for found in (_with_next, _alone)
        )
    assert joined == [i for i in range(n - 1) if homes[i] == homes[i + 1]]
    assert alone == [i for i in range(n) if homes.count(homes[i]) == 1 and lengths[i] > 1]


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
    steps = Pairs(read_sentences(run, small, tmp_path), 8, 0, tmp_path).steps
    assert 1 < enough_epochs(steps) < MOST_EPOCHS, "premise"
    for epochs, expected in ((None, enough_epochs(steps)), (1, 1)):
        config = small.model_copy(update={"epochs": epochs})
        _, summary, history = learn(run, config, 1, tmp_path / str(epochs), "test")
        assert summary["epochs"] == expected
        assert history[-1]["step"] == expected * steps
