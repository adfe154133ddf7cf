"""Each similarity is the sum of what its evidence adds, symmetric, and what its definition says."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from firth.baselines.registry import open_baseline
from firth.context.open import open_encoder
from firth.origin.components import Component, WordComponent
from firth.origin.ensemble import EnsembleOrigin

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
C = "The judge praised the lawyer near the court."
EMPTY, UNKNOWN = "", "Xyzzy plugh!"
PAIRS = [(A, B), (A, C), (B, C), (A, A), (A, EMPTY), (UNKNOWN, B), (EMPTY, UNKNOWN)]
EVERYTHING = 100_000


@pytest.fixture(scope="module", params=["bag", "language model"])
def components(
    request: pytest.FixtureRequest, tiny_run: Path, prompt_run: Path
) -> Mapping[str, Component]:
    return EnsembleOrigin.open(tiny_run if request.param == "bag" else prompt_run).components


@pytest.fixture(scope="module")
def of_bag(tiny_run: Path) -> Mapping[str, Component]:
    return EnsembleOrigin.open(tiny_run).components


@pytest.mark.parametrize("name", ["sentences", "words", "terms"])
@pytest.mark.parametrize("pair", PAIRS[:4])
def test_contributions_sum_to_the_similarity(
    components: Mapping[str, Component], name: str, pair: tuple[str, str]
) -> None:
    """Nothing is said of a score that is not in it, and nothing is left out."""
    found, whole = components[name].contributions(*pair, EVERYTHING)
    (score,) = components[name].similarities([pair])
    assert found
    assert whole == pytest.approx(score, abs=1e-6)
    # A language model's contexts are fewer than its dimensions: they see a part of the cosine.
    if name != "sentences" or len(found) > 50:
        assert sum(item.contribution for item in found) == pytest.approx(score, abs=1e-4)
    assert {item.component for item in found} == {name}
    assert all((item.document is None) == (item.position is None) for item in found)


@pytest.mark.parametrize("name", ["sentences", "words", "terms"])
def test_similarities_are_symmetric_finite_and_in_range(
    components: Mapping[str, Component], name: str
) -> None:
    """Empty and unknown texts included; order and company change nothing."""
    found = components[name].similarities(PAIRS)
    turned = components[name].similarities([(b, a) for a, b in PAIRS[::-1]])[::-1]
    np.testing.assert_allclose(found, turned, atol=1e-6)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1 + 1e-9).all()
    assert found[3] == pytest.approx(1.0, abs=1e-6)
    assert components[name].similarities([]).shape == (0,)


def test_words_overlap_as_defined(of_bag: Mapping[str, Component]) -> None:
    """Σ min / Σ max of the best words' fits, by loops."""
    component = of_bag["words"]
    assert isinstance(component, WordComponent)
    (_, one), (_, two) = component._bag.known(A), component._bag.known(B)
    low = high = 0.0
    for context in [*one, *two]:
        x = max(0.0, *(float(context @ word) for word in one))
        y = max(0.0, *(float(context @ word) for word in two))
        low, high = low + min(x, y), high + max(x, y)
    assert component.similarities([(A, B)])[0] == pytest.approx(low / high)
    assert 0 < low < high


def test_terms_are_the_baseline(of_bag: Mapping[str, Component], tiny_run: Path) -> None:
    """tf-idf here and `baseline:tfidf@RUN` are the same thing."""
    expected = open_baseline(f"baseline:tfidf@{tiny_run}").similarities(PAIRS[:3])
    np.testing.assert_allclose(of_bag["terms"].similarities(PAIRS[:3]), expected)


def test_the_weightiest_evidence_comes_first(of_bag: Mapping[str, Component]) -> None:
    """`top` cuts the same list."""
    for component in of_bag.values():
        every, _ = component.contributions(A, B, EVERYTHING)
        some, _ = component.contributions(A, B, 2)
        assert some == every[:2]
        sizes = [abs(item.contribution) for item in every]
        assert sizes == sorted(sizes, reverse=True)


def test_the_bag_knows_its_corpus(tiny_run: Path) -> None:
    """Sentences of one topic are closer than those of two, after a few steps on 40 documents."""
    found = open_encoder(tiny_run).encode([A, B, C])
    assert found[0] @ found[1] > found[0] @ found[2]
