"""Tables of tokens hold every sentence once, and batches keep their budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.paper.tokens import Context, PartReader, Role, TokenTable, contexts_of, positions_of
from firth.run.run import Run
from firth.text.words import words
from firth.train.tokenizer import open_tokenizer

ROWS = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=13), min_size=1, max_size=40)


@given(ROWS, st.sampled_from([1, 16, 60, 10**6]))
def test_batches_hold_every_sentence_once(rows: list[list[int]], budget: int) -> None:
    """Padded tokens stay within the budget, unless one sentence alone exceeds it."""
    table = TokenTable.of(rows)
    batches = table.batches(np.arange(len(rows)), budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(rows)))
    for batch in batches:
        padded, lengths = table.padded(batch)
        assert padded.size <= budget or len(batch) == 1
        for row, sentence in enumerate(batch.tolist()):
            assert padded[row, : lengths[row]].tolist() == rows[sentence]
            assert not padded[row, lengths[row] :].any()


def test_each_sentence_is_cut_and_has_its_offset(base_run: Run) -> None:
    """Left sentences keep their end, others their beginning; a blank one counts, and is left out.

    With one sentence a side, offset + 1 is the number of the role.
    """
    text = "The farmer followed the cow, the tractor, the seed and the plough."
    reader = PartReader(open_tokenizer(base_run), 5)
    tokens = tuple(reader.tokens([text])[0])
    assert len(tokens) > 5, "premise"
    begin, end = tokens[:5], tokens[-5:]
    assert reader.parts(Role.LEFT, [(text, text)]) == [((-2, end), (-1, end))]
    assert reader.parts(Role.RIGHT, [(text, text)]) == [((1, begin), (2, begin))]
    assert reader.parts(Role.LEFT, [(), (text, " ")]) == [(), ((-2, end),)]
    for role in Role:
        assert reader.parts(role, [(text,)])[0][0][0] + 1 == role


@pytest.mark.parametrize("window", [1, 2, 3])
def test_contexts_are_the_neighbors_in_the_document(corpus: Corpus, window: int) -> None:
    """Up to the window on each side; positions are usual sentences with a neighbor on each."""
    texts = corpus.texts(range(len(corpus)))
    contexts, positions = [], []
    for start, end in zip(corpus.document_bounds[:-1], corpus.document_bounds[1:], strict=True):
        for i in range(start, end):
            left = texts[max(start, i - window) : i]
            contexts.append(Context(tuple(left), tuple(texts[i + 1 : min(end, i + 1 + window)])))
            if start < i < end - 1 and 3 <= len(words(texts[i])) <= 60:
                positions.append(i)
    assert 0 < len(positions) < len(texts), "the premise"
    assert contexts_of(corpus, range(len(texts)), window) == contexts
    assert positions_of(corpus).tolist() == positions
    assert contexts_of(corpus, []) == []
