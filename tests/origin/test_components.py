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
from firth.origin.components import Component, Contribution, SummedWords, WordProducts
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
EVERYTHING = 100_000
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
@pytest.mark.parametrize("pair", PAIRS)
def test_contributions_sum_to_their_part_and_parts_to_the_similarity(
    components: Mapping[str, Component], name: str, pair: TextPair
) -> None:
    """Nothing is said of a score that is not in it, and nothing is left out."""
    parts = components[name].parts(*pair, EVERYTHING)
    (score,) = components[name].similarities([pair])
    assert sum(added for _, added in parts.values()) == pytest.approx(score, abs=1e-6)
    for part, (found, added) in parts.items():
        assert {item.part for item in found} <= {part}
        for item in found:
            assert (item.document is not None) == (item.position is not None)
            assert (item.document is not None) == (part == "sentences")
        # A language model's contexts are fewer than its dimensions: they see a part of the cosine.
        if part != "sentences" or len(found) > 50:
            whole = sum(item.contribution for item in found)
            assert whole == pytest.approx(added, abs=1e-4)


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


def test_terms_are_the_products_of_their_fits(of_bag: Mapping[str, Component]) -> None:
    """A word that both have adds its two shares, as far as they are spelled alike."""
    component = of_bag["sentences"]
    assert isinstance(component, SummedWords)
    terms, _ = component.parts(A, B, EVERYTHING)["terms"]
    by_name = {item.evidence: item for item in terms}
    shared = by_name["harbour"]
    assert shared.contribution == pytest.approx(shared.fit1 * shared.fit2)
    assert all(0 < item.contribution <= item.fit1 * item.fit2 + 1e-12 for item in terms)


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


def test_each_word_is_said_to_meet_its_best(of_bag: Mapping[str, Component]) -> None:
    """Equal stems meet with 1; a pair that is each other's best is named once, with both parts."""
    found, _ = of_bag["words"].parts(A, B, EVERYTHING)["words"]
    names = [item.evidence for item in found]
    assert len(names) == len(set(names))
    (harbour,) = (item for item in found if item.evidence == "harbour")
    assert harbour.fit1 == harbour.fit2 == 1.0
    others = [item for item in found if " ~ " in item.evidence]
    assert all(item.fit1 == item.fit2 <= 1 for item in others)


def test_the_weightiest_evidence_comes_first(of_bag: Mapping[str, Component]) -> None:
    """`top` cuts the same list; nothing that adds nothing is named."""
    seen: set[str] = set()
    for component in of_bag.values():
        some = component.parts(A, B, 2)
        for part, (every, _) in component.parts(A, B, EVERYTHING).items():
            assert some[part][0] == every[:2]
            sizes = [abs(item.contribution) for item in every]
            assert sizes == sorted(sizes, reverse=True)
            assert all(sizes)
            seen.add(part)
    assert seen == {"sentences", "terms", "words"}


def test_nothing_meets_nothing(of_bag: Mapping[str, Component]) -> None:
    """Of an empty text there is no evidence, and no similarity."""
    for component in of_bag.values():
        assert component.similarities([(A, EMPTY), (EMPTY, EMPTY)]).tolist() == [0.0, 0.0]
        listed: list[Contribution] = []
        for found, added in component.parts(A, EMPTY, EVERYTHING).values():
            assert added == 0.0
            listed += [item for item in found if item.contribution]
        assert not listed


def test_the_bag_knows_its_corpus(tiny_run: Path) -> None:
    """Sentences of one topic are closer than those of two, after a few steps on 40 documents."""
    encoder = open_encoder(tiny_run)
    found = encoder.encode([A, B, C])
    assert found[0] @ found[1] > found[0] @ found[2]
    assert encoder.encode([]).shape == (0, found.shape[1])
