"""Each similarity is the sum of its evidence, symmetric, and what its definition says."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from firth.baselines.registry import open_baseline
from firth.context.open import open_components, open_encoder
from firth.origin.components import Part, WordComponent

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
C = "The judge praised the lawyer near the court."
EMPTY, UNKNOWN = "", "Xyzzy plugh!"
PAIRS = [(A, B), (A, C), (B, C), (A, A), (A, EMPTY), (UNKNOWN, B), (EMPTY, UNKNOWN)]
EVERYTHING = 100_000


@pytest.fixture(scope="module", params=["bag", "language model"])
def parts(request: pytest.FixtureRequest, tiny_run: Path, prompt_run: Path) -> Mapping[str, Part]:
    return open_components(tiny_run if request.param == "bag" else prompt_run)


@pytest.mark.parametrize("name", ["sentences", "words", "terms"])
@pytest.mark.parametrize("pair", PAIRS[:4])
def test_shares_sum_to_the_similarity(
    parts: Mapping[str, Part], name: str, pair: tuple[str, str]
) -> None:
    """Nothing is said of a score that is not in it, and nothing is left out."""
    shares, whole = parts[name].shares(*pair, EVERYTHING)
    (score,) = parts[name].similarities([pair])
    assert shares
    assert whole == pytest.approx(score, abs=1e-6)
    # A language model's contexts are fewer than its dimensions: they see a part of the cosine.
    if name != "sentences" or len(shares) > 50:
        assert sum(item.share for item in shares) == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("name", ["sentences", "words", "terms"])
def test_similarities_are_symmetric_finite_and_in_range(
    parts: Mapping[str, Part], name: str
) -> None:
    """Empty and unknown texts included; order and company change nothing."""
    found = parts[name].similarities(PAIRS)
    turned = parts[name].similarities([(b, a) for a, b in PAIRS[::-1]])[::-1]
    np.testing.assert_allclose(found, turned, atol=1e-6)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1 + 1e-9).all()
    assert found[3] == pytest.approx(1.0, abs=1e-6)
    assert parts[name].similarities([]).shape == (0,)


def test_words_overlap_as_defined(tiny_run: Path) -> None:
    """Σ min / Σ max of the best words' fits, by loops."""
    part = open_components(tiny_run)["words"]
    assert isinstance(part, WordComponent)
    (_, one), (_, two) = part._vectors(A), part._vectors(B)
    low = high = 0.0
    for context in [*one, *two]:
        x = max(0.0, *(float(context @ word) for word in one))
        y = max(0.0, *(float(context @ word) for word in two))
        low, high = low + min(x, y), high + max(x, y)
    assert part.similarities([(A, B)])[0] == pytest.approx(low / high)
    assert 0 < low < high


def test_terms_are_the_baseline(tiny_run: Path) -> None:
    """tf-idf here and `baseline:tfidf@RUN` are the same thing."""
    expected = open_baseline(f"baseline:tfidf@{tiny_run}").similarities(PAIRS[:3])
    np.testing.assert_allclose(open_components(tiny_run)["terms"].similarities(PAIRS[:3]), expected)


def test_the_weightiest_evidence_comes_first(tiny_run: Path) -> None:
    """`top` cuts the same list."""
    for part in open_components(tiny_run).values():
        every, _ = part.shares(A, B, EVERYTHING)
        some, _ = part.shares(A, B, 2)
        assert some == every[:2]
        sizes = [abs(item.share) for item in every]
        assert sizes == sorted(sizes, reverse=True)


def test_the_bag_knows_its_corpus(tiny_run: Path) -> None:
    """Sentences of one topic are closer than those of two, after a few steps on 40 documents."""
    found = open_encoder(tiny_run).encode([A, B, C])
    assert found[0] @ found[1] > found[0] @ found[2]
