"""Each similarity is what its definition says, the sum of its evidence, and symmetric."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.text.test_stems import ngrams

from firth.encoders.words import BagEncoder, WordSpace
from firth.scorer import stem_table
from firth.scorer.components import AlignedWords, Component, EncodedSentences, SummedWords
from firth.scorer.stem_table import StemTable
from firth.text.types import Floats, TextPair, unit

A = "The ship reached the harbour near the island."
B = "A sailor left the harbours in a storm."
C = "The judge praised the lawyer near the court."
EMPTY, UNKNOWN, MORE = "", "Xyzzy plugh!", "The xyzzys met a ship 1984."
PAIRS = [(A, B), (A, C), (B, C), (A, A), (A, EMPTY), (UNKNOWN, B), (EMPTY, UNKNOWN),
         (UNKNOWN, MORE)]  # fmt: skip
NAMES = ["summed words", "aligned words", "encoded sentences", "aligned states"]
WORDS = "the ship ships harbour judge courts piano xyzzy 1984 4 Über".split()  # noqa: SIM905
TEXTS = st.lists(st.lists(st.sampled_from([*WORDS, ""]), max_size=9).map(" ".join), max_size=6)
CHECKED = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@pytest.fixture(scope="module")
def components(space: WordSpace) -> dict[str, Component]:
    rng = np.random.default_rng(8)
    directions: dict[str, Floats] = {}

    def states(texts: Sequence[str]) -> list[Floats]:
        """States that depend on the word and a little on the sentence."""
        found = []
        for text in texts:
            each = [directions.setdefault(stem, rng.standard_normal(7)) + 0.1 * len(text) / 50
                    for stem in space.stems(text)]  # fmt: skip
            found.append(unit(np.array(each).reshape(-1, 7)))
        return found

    return {
        "summed words": SummedWords(space, 0.8),
        "aligned words": AlignedWords(space),
        "encoded sentences": EncodedSentences(BagEncoder(space).encode),
        "aligned states": AlignedWords(space, states),
    }


@pytest.mark.parametrize("name", NAMES)
def test_evidence_sums_to_the_similarity(components: dict[str, Component], name: str) -> None:
    """The explanation of a score is complete, and adds nothing."""
    scores = components[name].similarities(PAIRS).tolist()
    for score, evidence in zip(scores, components[name].evidence(PAIRS), strict=True):
        assert sum(part.contribution for part in evidence) == pytest.approx(score, abs=1e-6)
        for part in evidence:
            if part.cells is not None:
                assert part.cells.sum() == pytest.approx(part.contribution, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_similarities_are_finite_and_in_range(components: dict[str, Component], name: str) -> None:
    """Also of empty and unknown texts. Equal texts have 1, empty ones 0 with others."""
    scores = components[name].similarities(PAIRS)
    assert np.isfinite(scores).all()
    assert (np.abs(scores) <= 1).all()
    assert scores[3] == pytest.approx(1.0, abs=1e-6)
    assert scores[4] == scores[6] == 0.0
    turned = components[name].similarities([(b, a) for a, b in PAIRS])
    np.testing.assert_allclose(scores, turned, atol=1e-6)
    assert components[name].similarities([]).shape == (0,)
    assert list(components[name].evidence([])) == []


def matched(space: WordSpace, one: str, two: str) -> float:
    """How far two stems match, by the definition."""
    if one == two:
        return 1.0
    spelled = alike(space, one, two)
    if one not in space.vocabulary or two not in space.vocabulary:
        return spelled
    a, b = (space.vectors[space.vocabulary.index(stem)].astype(float) for stem in (one, two))
    trust = math.sqrt(space.trusted(one) * space.trusted(two))
    cosine = trust * float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))
    return max(spelled, float(max(cosine, 0.0) ** 1.5))


@pytest.mark.parametrize("pair", [(A, B), (A, C), (UNKNOWN, MORE), (B, MORE)])
def test_words_are_aligned_as_defined(
    components: dict[str, Component], space: WordSpace, pair: TextPair
) -> None:
    """The mean of best matches over the words of both texts, weighted by idf^1.5, by loops."""
    one, two = (space.stems(text) for text in pair)
    added = whole = 0.0
    for own, others in ((one, two), (two, one)):
        for stem in own:
            weight = (space.idf.weight(stem) / 6) ** 1.5
            added += weight * max(matched(space, stem, other) for other in others)
            whole += weight
    score = components["aligned words"].similarities([pair])[0]
    assert score == pytest.approx(added / whole, rel=1e-6)


# --- The table of stems ------------------------------------------------------------------------


@given(st.lists(st.lists(st.floats(1e-6, 1e4), max_size=300), max_size=4))
@settings(deadline=None)
def test_sums_are_exactly_rounded(rows: list[list[float]]) -> None:
    """In whatever order the parts come; a row may be empty."""
    bounds = np.cumsum([0, *map(len, rows)])
    parts = [part for row in rows for part in row]
    table = sparse.csr_matrix((parts, np.arange(len(parts)), bounds), (len(rows), len(parts)))
    assert stem_table._sums(table).tolist() == [math.fsum(row) for row in rows]


@given(texts=TEXTS, block=st.sampled_from([1, 4, 1 << 8]))
@CHECKED
def test_pairs_are_compared_as_by_loops(space: WordSpace, texts: list[str], block: int) -> None:
    """Sums of words, and the spelling of every two stems, however many pairs at a time."""
    left = [i for i in range(len(texts)) for _ in texts]
    right = [*range(len(texts))] * len(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stem_table, "_PAIRS", block)
        patch.setattr(stem_table, "_CELLS", 16 * block)
        table = StemTable.read(space, texts)
        learned, spelled = table.products(left, right)
        squares = table.squares()
        cells = [
            (part, turned.T)
            for each in table.cells(left, right)
            for part, turned in zip(each.by_pair(each.alike), transposed(each), strict=True)
        ]
    stems = [space.stems(text) for text in texts]
    sums = [space.learned(each).sum(axis=0) for each in stems]
    grams = [spelling_sum(space, each) for each in stems]
    pairs = list(zip(left, right, strict=True))
    assert learned.tolist() == [float(np.vecdot(sums[a], sums[b])) for a, b in pairs]
    expected = [math.fsum(grams[a][g] * grams[b].get(g, 0.0) for g in grams[a]) for a, b in pairs]
    assert spelled.tolist() == pytest.approx(expected, rel=1e-15)
    same = [a == b for a, b in pairs]
    assert [each.tolist() for each in squares] == [learned[same].tolist(), spelled[same].tolist()]
    assert len(cells) == len(pairs)
    for (a, b), (found, turned) in zip(pairs, cells, strict=True):
        spelling = [[alike(space, one, two) for two in stems[b]] for one in stems[a]]
        assert found == pytest.approx(np.array(spelling).reshape(found.shape), rel=1e-15)
        assert np.array_equal(found, turned)


def transposed(cells: stem_table.Cells) -> list[Floats]:
    turned, parts, start = cells.transposed(cells.alike), [], 0
    for high, wide in zip(cells.heights.tolist(), cells.widths.tolist(), strict=True):
        parts.append(turned[start : start + high * wide].reshape(wide, high))
        start += high * wide
    return parts


def spelling_sum(space: WordSpace, stems: list[str]) -> dict[str, float]:
    """N-gram → its amount in the sum of spelling directions."""
    amounts: dict[str, float] = {}
    for stem in stems:
        weights = gram_weights(space, stem)
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        for gram, weight in weights.items():
            part = space.rarity(stem) / length * weight
            amounts[gram] = amounts.get(gram, 0.0) + part
    return amounts


@cache
def held_by(frequencies: tuple[tuple[str, int], ...]) -> Counter[str]:
    """N-gram → the sentences of all stems that have it."""
    held = Counter[str]()
    for stem, count in frequencies:
        held.update(dict.fromkeys(ngrams(stem), count))
    return held


def gram_weights(space: WordSpace, stem: str) -> dict[str, float]:
    """N-gram → its weight: half of its idf where many sentences have it, in 64ths."""
    n, weights, held = space.idf.sentences, {}, held_by(tuple(space.idf.frequencies.items()))
    for gram in ngrams(stem):
        rarity = math.log((1 + n) / (1 + min(held[gram], n))) / 2
        weights[gram] = round(64 * min(1.0, max(1 / 16, rarity))) / 64
    return weights


def alike(space: WordSpace, one: str, two: str) -> float:
    """The cosine of two stems by their weighted n-grams."""
    a, b = gram_weights(space, one), gram_weights(space, two)
    squares = [sum(weight**2 for weight in weights.values()) for weights in (a, b)]
    return sum(a[gram] * b.get(gram, 0.0) for gram in a) / math.sqrt(math.prod(squares))
