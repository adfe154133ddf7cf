"""`firth.paper.coherence.examples`: what is drawn, and that it depends on seed and step alone."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.paper.coherence.examples import BatchSource, Slots, split
from firth.run.errors import InputError


def slots_of(lengths: list[int], window: int = 1) -> Slots:
    """All inner sentences of documents of these lengths."""
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    parts = [np.arange(a + 1, b - 1) for a, b in pairwise(bounds)]
    documents = np.repeat(np.arange(len(lengths)), [len(part) for part in parts])
    return Slots(np.concatenate(parts).astype(np.int64), documents, window)


lengths = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(lengths=lengths, window=st.integers(1, 3), seed=st.integers(0, 99), same=st.booleans())
@settings(max_examples=100, deadline=None)
def test_replacements(lengths: list[int], window: int, seed: int, same: bool) -> None:
    """From the right document, never the centre or a neighbour, and -1 only where none exists."""
    slots = slots_of(lengths, window)
    chosen = np.arange(len(slots))
    drawn = slots.replacements(chosen, same, seed)
    for slot, document, got in zip(slots.sentences, slots.documents, drawn, strict=True):
        inside = slots.documents == document
        allowed = inside & (np.abs(slots.sentences - slot) > window) if same else ~inside
        choices = slots.sentences[allowed]
        assert got in choices if len(choices) else got == -1


def test_replacements_are_drawn_evenly() -> None:
    """Each allowed centre comes about as often as any other."""
    slots = slots_of([10, 12, 9])
    chosen = np.full(12_000, 3)
    for same, expected in ((True, 5), (False, 17)):
        found, counts = np.unique(slots.replacements(chosen, same, 1), return_counts=True)
        assert len(found) == expected
        assert np.abs(counts / 12_000 * expected - 1).max() < 0.2


@given(lengths=lengths, step=st.integers(0, 20), size=st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_batches_depend_on_seed_and_step_alone(lengths: list[int], step: int, size: int) -> None:
    """Asked in any order, by any source with the same seed: the same batch."""
    slots = slots_of(lengths)
    if not len(slots):
        return
    used, fresh = BatchSource(slots, size, 5), BatchSource(slots, size, 5)
    for other in (step + 3, 0, step):
        batch = used(other)
    expected = fresh(step)
    assert batch.slots.tolist() == expected.slots.tolist()
    assert (batch.same_document == expected.same_document).all()
    assert len(batch.slots) >= size


def test_the_seed_matters() -> None:
    """Another seed, or another step, deals other slots."""
    slots = slots_of([40] * 8)
    drawn = [BatchSource(slots, 32, seed)(step).slots.tolist() for seed, step in
             ((1, 0), (2, 0), (1, 1))]  # fmt: skip
    assert drawn[0] != drawn[1]
    assert drawn[0] != drawn[2]


def test_a_pass_deals_every_slot_once() -> None:
    """Groups of a document, in random order, without repetition until all have come."""
    slots = slots_of([34] * 8)
    assert len(slots) == 256
    source = BatchSource(slots, 64, 3)
    dealt = np.concatenate([source(step).slots for step in range(4)])
    assert sorted(dealt) == slots.sentences.tolist()
    assert dealt.tolist() != sorted(dealt)


def test_negatives_of_a_batch() -> None:
    """A batch tells centres of the slot's document from others, and leaves out the neighbours."""
    batch = BatchSource(slots_of([30, 40, 50, 60]), 64, 3)(0)
    bounds = np.cumsum([0, 30, 40, 50, 60])
    document = np.searchsorted(bounds, batch.slots, side="right")
    for i, one in enumerate(batch.slots):
        for j, two in enumerate(batch.slots):
            together = document[i] == document[j]
            assert batch.elsewhere[i, j] == (not together)
            assert batch.same_document[i, j] == (together and abs(one - two) > 1)
    assert batch.same_document.any(axis=0).all()
    assert batch.elsewhere.any(axis=0).all()


@given(count=st.integers(2, 60), fraction=st.floats(0.01, 0.49), seed=st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_split_by_document(count: int, fraction: float, seed: int) -> None:
    """No document is on both sides, none is lost, and both sides have some."""
    slots = slots_of([9] * count)
    learned, tested = split(slots, fraction, seed)
    assert not set(learned.documents) & set(tested.documents)
    both = np.concatenate((learned.sentences, tested.sentences))
    assert sorted(both) == slots.sentences.tolist()
    assert len(learned) >= len(tested) > 0
    assert len(set(tested.documents)) >= (2 if count >= 10 else 1)


@pytest.mark.parametrize("lengths", [[], [2, 2], [3], [4]])
def test_too_little_text(lengths: list[int]) -> None:
    """Without two slots that can exchange their centres there is nothing to learn from."""
    slots = slots_of(lengths) if lengths else Slots(np.empty(0, np.int64), np.empty(0, np.int64), 1)
    with pytest.raises(InputError, match="too few to learn coherence"):
        split(slots, 0.1, 1)


def test_a_single_document_suffices() -> None:
    """It is learned from, and nothing is held out."""
    learned, tested = split(slots_of([30]), 0.1, 1)
    assert (len(learned), len(tested)) == (28, 0)
