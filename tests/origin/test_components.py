"""Each similarity is the sum of what its evidence adds, symmetric, and what its definition says."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from firth.context import CONTEXT
from firth.context.open import open_encoder
from firth.lexical.scorer import TextPair
from firth.lexical.spelling import ngrams
from firth.lexical.word_space import WordSpace
from firth.origin.components import Component, WordProducts
from firth.origin.ensemble import EnsembleOrigin
from firth.run.run import Run

A = "The ship reached the harbour near the island."
B = "A sailor left the harbours in a storm."
C = "The judge praised the lawyer near the court."
EMPTY, UNKNOWN, MORE = "", "Xyzzy plugh!", "The xyzzys met a ship 1984."
PAIRS = [
    (A, B),
    (A, C),
    (B, C),
    (A, A),
    (A, EMPTY),
    (UNKNOWN, B),
    (EMPTY, UNKNOWN),
    (UNKNOWN, MORE),
]
NAMES = ["sentences", "words"]


def opened(run: Path) -> Mapping[str, Component]:
    return EnsembleOrigin.open(run, weights={}, own=0.8).components


@pytest.fixture(scope="module", params=["bag", "language model"])
def components(
    request: pytest.FixtureRequest, tiny_run: Path, prompt_run: Path
) -> Mapping[str, Component]:
    return opened(tiny_run if request.param == "bag" else prompt_run)


@pytest.fixture(scope="module")
def of_bag(tiny_run: Path) -> Mapping[str, Component]:
    return opened(tiny_run)


@pytest.fixture(scope="module")
def space(tiny_run: Path) -> WordSpace:
    return WordSpace.load(Run.open(tiny_run).folder(CONTEXT))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_taken_sums_to_the_similarity(
    components: Mapping[str, Component], name: str
) -> None:
    """Nothing is said of a score that is not in it, and nothing is left out."""
    scores = components[name].similarities(PAIRS).tolist()
    for score, taken in zip(scores, components[name].taken(PAIRS), strict=True):
        product = 0.0
        if taken.vectors is not None:
            product = float(taken.vectors[0] @ taken.vectors[1])
        words = 0.0 if taken.words is None else float(taken.words.sum())
        assert product + words == pytest.approx(score, abs=1e-6)
        if taken.learned is not None:
            assert taken.learned.sum() == pytest.approx(product, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_similarities_are_finite_and_in_range(
    components: Mapping[str, Component], name: str
) -> None:
    """Empty and unknown texts included; equal texts have 1, empty ones nothing with others."""
    found = components[name].similarities(PAIRS)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1).all()
    assert found[3] == pytest.approx(1.0, abs=1e-6)
    turned = components[name].similarities([(b, a) for a, b in PAIRS])
    np.testing.assert_allclose(found, turned, atol=1e-6)
    assert components[name].similarities([]).shape == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_company_changes_no_bit(of_bag: Mapping[str, Component], name: str) -> None:
    """A batch gives what its pairs give one by one, in any order."""
    whole = of_bag[name].similarities(PAIRS)
    alone = [of_bag[name].similarities([pair])[0] for pair in PAIRS]
    assert whole.tolist() == alone
    assert of_bag[name].similarities(PAIRS[::-1]).tolist() == alone[::-1]


@pytest.mark.parametrize("name", NAMES)
def test_unknown_words_count(of_bag: Mapping[str, Component], name: str) -> None:
    """Who share a name that the corpus never had are more alike than who have different ones."""
    others = ("xyzzyan", "xyzzyans", "xyzzyanid", "plugh")
    pairs = [("the ship met xyzzyan", f"{other} left the barn") for other in others]
    same, stem, spelling, none = of_bag[name].similarities(pairs)
    assert same == stem > spelling > none


@pytest.mark.parametrize("own", [0.0, 0.4, 2.0])
def test_summed_words_are_cosines_of_dense_vectors(space: WordSpace, own: float) -> None:
    """With a dimension for every n-gram beside the learned ones, written out."""
    texts = [A, B, C, UNKNOWN, MORE]
    grams = sorted({gram for text in texts for stem in space.stems(text) for gram in ngrams(stem)})
    dense = []
    for text in texts:
        vector = np.zeros(space.bag.vectors.shape[1] + len(grams))
        for stem in space.stems(text):
            direction = np.array([float(gram in ngrams(stem)) for gram in grams])
            direction *= own * space.idf.weight(stem) / 6 / np.linalg.norm(direction)
            vector += np.concatenate((space.learned([stem])[0], direction))
        dense.append(vector)
    pairs = [(one, two) for one in texts for two in texts]
    expected = [one @ two / (np.linalg.norm(one) * np.linalg.norm(two) or 1.0)
                for one in dense for two in dense]  # fmt: skip
    np.testing.assert_allclose(WordProducts.of(space, pairs).cosines(own), expected, atol=1e-9)


def test_summed_words_are_symmetric_to_the_last_bit(space: WordSpace) -> None:
    """And exactly 1 for texts of the same words."""
    turned = [(b, a) for a, b in PAIRS]
    one, two = (WordProducts.of(space, pairs).cosines(0.8).tolist() for pairs in (PAIRS, turned))
    assert one == two
    assert WordProducts.of(space, [(A, A.upper())]).cosines(0.8) == [1.0]


def test_own_directions_meet_as_far_as_they_are_spelled_alike(
    of_bag: Mapping[str, Component], space: WordSpace
) -> None:
    """A stem that both have adds most, one that shares no n-gram nothing."""
    (taken,) = of_bag["sentences"].taken([(A, B)])
    one, two = space.stems(A), space.stems(B)
    assert taken.words is not None
    added = taken.words[one.index("harbour")]
    assert added.argmax() == two.index("harbour")
    assert added[two.index("storm")] == 0


def matched(space: WordSpace, one: str, two: str) -> float:
    """How far two stems match, by the definition."""
    if one == two:
        return 1.0
    shared = len({*ngrams(one)} & {*ngrams(two)}) / math.sqrt(len(ngrams(one)) * len(ngrams(two)))
    vectors = space.bag.vectors.astype(float)
    known = {stem: vectors[row] for stem, row in space.bag.numbers.items()}
    if one not in known or two not in known:
        return shared
    a, b = known[one], known[two]
    trust = math.sqrt(space.trusted(one) * space.trusted(two))
    cosine = trust * float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))
    return max(shared, float(max(cosine, 0.0) ** 1.5))


@pytest.mark.parametrize("pair", [(A, B), (A, C), (UNKNOWN, MORE), (B, MORE)])
def test_words_are_aligned_as_defined(
    of_bag: Mapping[str, Component], space: WordSpace, pair: TextPair
) -> None:
    """The mean of best matches over the words of both, weighted by idf^1.5, by loops."""

    def sides() -> Iterator[tuple[list[str], list[str]]]:
        one, two = (space.stems(text) for text in pair)
        yield from ((one, two), (two, one))

    added = whole = 0.0
    for mine, others in sides():
        for stem in mine:
            weight = space.idf.weight(stem) ** 1.5
            added += weight * max(matched(space, stem, other) for other in others)
            whole += weight
    assert of_bag["words"].similarities([pair])[0] == pytest.approx(added / whole, rel=1e-6)


def test_each_word_adds_where_it_meets_its_best(of_bag: Mapping[str, Component]) -> None:
    """No word adds but in its best match, or where it is another's."""
    (taken,) = of_bag["words"].taken([(A, B)])
    assert taken.words is not None
    assert taken.matches is not None
    best = (taken.matches == taken.matches.max(axis=1, keepdims=True)) | (
        taken.matches == taken.matches.max(axis=0, keepdims=True)
    )
    assert (taken.words > 0).any()
    assert not taken.words[~best].any()


def test_nothing_meets_nothing(of_bag: Mapping[str, Component]) -> None:
    """Of an empty text there is no evidence, and no similarity."""
    for component in of_bag.values():
        assert component.similarities([(A, EMPTY), (EMPTY, EMPTY)]).tolist() == [0.0, 0.0]
        (taken,) = component.taken([(A, EMPTY)])
        assert taken.words is not None
        assert taken.words.size == 0


def test_the_bag_knows_its_corpus(tiny_run: Path) -> None:
    """Sentences of one topic are closer than those of two, after a few steps on 40 documents."""
    encoder = open_encoder(tiny_run)
    found = encoder.encode([A, B, C])
    assert found[0] @ found[1] > found[0] @ found[2]
    assert encoder.encode([]).shape == (0, found.shape[1])
