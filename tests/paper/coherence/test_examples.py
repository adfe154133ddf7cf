"""`firth.paper.coherence.build`: what is drawn, and that it depends on seed and step alone."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.paper.coherence.build import BatchSource, TrainingPositions, split
from firth.run.errors import InputError


def positions_of(lengths: list[int], window: int = 1) -> TrainingPositions:
    """All inner sentences of documents of these lengths."""
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    parts = [np.arange(a + 1, b - 1) for a, b in pairwise(bounds)]
    documents = np.repeat(np.arange(len(lengths)), [len(part) for part in parts])
    return TrainingPositions(np.concatenate(parts).astype(np.int64), documents, window)


lengths = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(lengths=lengths, window=st.integers(1, 3), seed=st.integers(0, 99), same=st.booleans())
@settings(max_examples=100)
def test_replacements(lengths: list[int], window: int, seed: int, same: bool) -> None:
    """From the right document, never the centre or a neighbour, and -1 only where none exists."""
    positions = positions_of(lengths, window)
    chosen = np.arange(len(positions))
    drawn = positions.replacements(chosen, same, seed)
    for centre, document, got in zip(positions.sentences, positions.documents, drawn, strict=True):
        inside = positions.documents == document
        allowed = inside & (np.abs(positions.sentences - centre) > window) if same else ~inside
        choices = positions.sentences[allowed]
        assert got in choices if len(choices) else got == -1


def test_replacements_are_drawn_evenly() -> None:
    """Each allowed centre comes about as often as any other."""
    positions = positions_of([10, 12, 9])
    chosen = np.full(12_000, 3)
    for same, expected in ((True, 5), (False, 17)):
        found, counts = np.unique(positions.replacements(chosen, same, 1), return_counts=True)
        assert len(found) == expected
        assert np.abs(counts / 12_000 * expected - 1).max() < 0.2


@given(lengths=lengths, step=st.integers(0, 20), size=st.integers(1, 20))
@settings(max_examples=60)
def test_batches_depend_on_seed_and_step_alone(lengths: list[int], step: int, size: int) -> None:
    """Asked in any order, by any source with the same seed: the same batch."""
    positions = positions_of(lengths)
    if not len(positions):
        return
    used, fresh = BatchSource(positions, size, 8, 5), BatchSource(positions, size, 8, 5)
    for other in (step + 3, 0, step):
        batch = used(other)
    expected = fresh(step)
    assert batch.positions.tolist() == expected.positions.tolist()
    assert (batch.same_document == expected.same_document).all()
    assert len(batch.positions) >= size


def test_the_seed_matters() -> None:
    """Another seed, or another step, deals other positions."""
    positions = positions_of([40] * 8)
    drawn = [BatchSource(positions, 32, 8, seed)(step).positions.tolist() for seed, step in
             ((1, 0), (2, 0), (1, 1))]  # fmt: skip
    assert drawn[0] != drawn[1]
    assert drawn[0] != drawn[2]


def test_a_pass_deals_every_position_once() -> None:
    """Groups of a document, in random order, without repetition until all have come."""
    positions = positions_of([34] * 8)
    assert len(positions) == 256
    source = BatchSource(positions, 64, 8, 3)
    dealt = np.concatenate([source(step).positions for step in range(4)])
    assert sorted(dealt) == positions.sentences.tolist()
    assert dealt.tolist() != sorted(dealt)


def test_negatives_of_a_batch() -> None:
    """A batch tells centres of the position's document from others; neighbours are left out."""
    batch = BatchSource(positions_of([30, 40, 50, 60]), 64, 8, 3)(0)
    bounds = np.cumsum([0, 30, 40, 50, 60])
    document = np.searchsorted(bounds, batch.positions, side="right")
    for i, one in enumerate(batch.positions):
        for j, two in enumerate(batch.positions):
            together = document[i] == document[j]
            assert batch.elsewhere[i, j] == (not together)
            assert batch.same_document[i, j] == (together and abs(one - two) > 1)
    assert batch.same_document.any(axis=0).all()
    assert batch.elsewhere.any(axis=0).all()


@given(count=st.integers(2, 60), fraction=st.floats(0.01, 0.49), seed=st.integers(0, 9))
@settings(max_examples=60)
def test_split_by_document(count: int, fraction: float, seed: int) -> None:
    """No document is on both sides, none is lost, and both sides have some."""
    positions = positions_of([9] * count)
    learned, tested = split(positions, fraction, seed)
    assert not set(learned.documents) & set(tested.documents)
    both = np.concatenate((learned.sentences, tested.sentences))
    assert sorted(both) == positions.sentences.tolist()
    assert len(learned) >= len(tested) > 0
    assert len(set(tested.documents)) >= (2 if count >= 10 else 1)


@pytest.mark.parametrize("lengths", [[], [2, 2], [3], [4]])
def test_too_little_text(lengths: list[int]) -> None:
    """Without two positions that can exchange their centres there is nothing to learn from."""
    positions = (
        positions_of(lengths)
        if lengths
        else TrainingPositions(np.empty(0, np.int64), np.empty(0, np.int64), 1)
    )
    with pytest.raises(InputError, match="too few to learn coherence"):
        split(positions, 0.1, 1)


def test_a_single_document_suffices() -> None:
    """It is learned from, and nothing is held out."""
    learned, tested = split(positions_of([30]), 0.1, 1)
    assert (len(learned), len(tested)) == (28, 0)
