"""Tables of tokens hold every sentence once, in memory or on disk."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Context, Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.seq2seq import CorpusPartReader
from firth.paper.tokens import Role, TokenTable
from firth.run.run import Run

ROWS = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=13), min_size=1, max_size=40)


@given(ROWS, st.sampled_from([1, 16, 60, 10**6]))
def test_batches_hold_every_sentence_once(rows: list[list[int]], budget: int) -> None:
    """Padded tokens stay within the budget, unless one sentence alone exceeds it."""
    table = TokenTable.of(rows)
    batches = list(table.batches(np.arange(len(rows)), budget))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(rows)))
    for batch in batches:
        padded, lengths = table.padded(batch)
        assert padded.size <= budget or len(batch) == 1
        for row, sentence in enumerate(batch.tolist()):
            assert padded[row, : lengths[row]].tolist() == rows[sentence]
            assert not padded[row, lengths[row] :].any()


def test_a_stored_table_is_the_table_of_all_sentences(base_run: Run, tmp_path: Path) -> None:
    """Tokens that were streamed to disk are read again by a call that continues."""
    corpus, reader = Corpus.open(base_run), CorpusPartReader(open_tokenizer(base_run), 9)
    stored = TokenTable.stored(corpus.batches(), reader.tokens, tmp_path)
    whole = TokenTable.of(reader.tokens(corpus.texts(np.arange(len(corpus)))))
    again = TokenTable.stored(iter([["other text"]]), reader.tokens, tmp_path)
    for table in (stored, again):
        np.testing.assert_array_equal(table.tokens, whole.tokens)
        np.testing.assert_array_equal(table.bounds, whole.bounds)


def test_cutting_keeps_the_tokens_next_to_the_sentence(base_run: Run) -> None:
    """A left side keeps its end; a sentence and a right side keep their beginning."""
    text = "The farmer followed the cow, the tractor, the seed and the plough."
    reader = CorpusPartReader(open_tokenizer(base_run), 5)
    whole = tuple(reader.tokens([text])[0])
    assert len(whole) > 5, "premise"
    assert reader.sentences([text]) == [whole[:5]]
    assert reader.sides([Context((text,), ())], Role.LEFT) == [whole[-5:]]
    assert reader.sides([Context((), (text,))], Role.RIGHT) == [whole[:5]]
