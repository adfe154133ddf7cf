"""Chunks, and files written without knowing their length."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.duplicates import SeenTexts
from firth.corpus.store import BATCH_ROWS, ArrayWriter, chunk


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=20), limit=st.integers(1, 12))
def test_chunks_tile_a_document(lengths: list[int], limit: int) -> None:
    """Chunks cover all sentences, are within the limit, and end early only where they may.

    A chunk shorter than the limit ends at the end of the document, or at a paragraph border when
    at least half full; and no chunk that is half full goes on over a paragraph border.
    """
    ends = chunk(lengths, limit)
    borders = set(np.cumsum(lengths).tolist())
    assert ends[-1] == sum(lengths)
    for start, end in zip([0, *ends], ends, strict=False):
        size = end - start
        assert 0 < size <= limit
        assert size == limit or end == ends[-1] or (end in borders and 2 * size >= limit)
        assert not any(
            2 * (border - start) >= limit and border < end for border in borders if border > start
        )


@pytest.mark.parametrize("count", [0, 1, BATCH_ROWS - 1, BATCH_ROWS, 3 * BATCH_ROWS + 5])
def test_array_written_in_pieces_is_the_array(tmp_path: Path, count: int) -> None:
    """The file is byte for byte what numpy would save at once."""
    writer = ArrayWriter(tmp_path / "pieces.npy", np.int64)
    for start in range(0, count, 1_000):
        writer.extend(range(start, min(start + 1_000, count)))
    writer.close()
    np.save(tmp_path / "whole.npy", np.arange(count, dtype=np.int64))
    assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_seen_texts_know_the_normal_form(tmp_path: Path) -> None:
    """Case, punctuation and white space do not make a text new; a word does."""
    seen = SeenTexts(tmp_path / "scratch" / "seen.sqlite")
    assert not seen.add("The cat sat.")
    assert seen.add("the  cat, sat")
    assert not seen.add("The cat sat down.")
    assert seen.add("The cat sat.")
    seen.close()
    fresh = SeenTexts(tmp_path / "scratch" / "seen.sqlite")
    assert not fresh.add("The cat sat.")
    fresh.close()
