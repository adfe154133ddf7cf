"""What a table works out for pairs of texts is what plain loops say, to the last bit."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from firth.context import CONTEXT
from firth.lexical.spelling import alike, product, spelled
from firth.lexical.word_space import WordSpace
from firth.origin import stem_table
from firth.origin.stem_table import StemTable
from firth.run.run import Run

WORDS = ["the", "ship", "ships", "harbour", "judge", "courts", "piano", "xyzzy", "1984", "Über", ""]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=6)


@pytest.fixture(scope="module")
def space(tiny_run: Path) -> WordSpace:
    return WordSpace.load(Run.open(tiny_run).folder(CONTEXT))


@given(st.lists(st.lists(st.floats(1e-6, 1e4), max_size=300), max_size=4))
def test_sums_are_exactly_rounded(rows: list[list[float]]) -> None:
    """In whatever order the parts stand; a row may be empty."""
    bounds = np.cumsum([0, *map(len, rows)])
    parts = [part for row in rows for part in row]
    table = sparse.csr_matrix((parts, np.arange(len(parts)), bounds), (len(rows), len(parts)))
    assert stem_table._sums(table).tolist() == [math.fsum(row) for row in rows]


@given(texts=TEXTS, block=st.sampled_from([1, 4, 1 << 8]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_pairs_are_compared_as_by_loops(space: WordSpace, texts: list[str], block: int) -> None:
    """Sums of words, and every two stems by their spelling, however many pairs at once."""
    left = [i for i in range(len(texts)) for _ in texts]
    right = [*range(len(texts))] * len(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stem_table, "_PAIRS", block)
        patch.setattr(stem_table, "_CELLS", 16 * block)
        table = StemTable.of(space, texts)
        learned, directions = table.products(left, right)
        squares = table.squares()
        compared = [
            part for cells in table.alike(left, right) for part in cells.by_pair(cells.alike)
        ]
    stems = [space.stems(text) for text in texts]
    sums = [space.learned(each).sum(axis=0) for each in stems]
    own = [spelled((stem, space.rarity(stem)) for stem in each) for each in stems]
    assert learned.tolist() == [float(sums[a] @ sums[b]) for a, b in zip(left, right, strict=True)]
    assert directions.tolist() == [
        product(own[a], own[b]) for a, b in zip(left, right, strict=True)
    ]
    same = [a == b for a, b in zip(left, right, strict=True)]
    assert [found.tolist() for found in squares] == [
        learned[same].tolist(),
        directions[same].tolist(),
    ]
    assert len(compared) == len(left)
    for a, b, found in zip(left, right, compared, strict=True):
        assert np.array_equal(found, alike(stems[a], stems[b]))
