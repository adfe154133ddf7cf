"""Origin's default: a weighted mean, explained by what sums to it."""

from pathlib import Path

import numpy as np
import pytest

from firth.context.open import open_components
from firth.origin.ensemble import EnsembleExplanation, EnsembleOrigin
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import Run

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
PAIRS = [(A, B), (B, A), (A, A), ("", A), ("", "")]


@pytest.fixture(scope="module")
def origin(tiny_run: Path) -> Origin:
    return Origin.open(tiny_run, method="blend")


def test_the_method_decides_the_kind(tiny_run: Path, origin: Origin) -> None:
    """The run's setting, or the one given in its place."""
    assert isinstance(Origin.open(tiny_run), PaperOrigin)
    assert isinstance(origin, EnsembleOrigin)
    with pytest.raises(ConfigError, match="method"):
        Origin.open(tiny_run, method="other")


def test_the_score_is_the_weighted_mean_of_its_parts(tiny_run: Path, origin: Origin) -> None:
    """Shares are divided by their sum; a share of 0 leaves a part out."""
    parts = open_components(tiny_run)
    expected = [
        (2 * parts["sentences"].similarities([pair]) + parts["words"].similarities([pair])
         + parts["terms"].similarities([pair])).item() / 4
        for pair in PAIRS[:2]
    ]  # fmt: skip
    np.testing.assert_allclose(origin.similarities(PAIRS[:2]), expected, atol=1e-9)
    only = Origin.open(tiny_run, method="blend", parts={"sentences": 0, "words": 0.3, "terms": 0})
    np.testing.assert_allclose(
        only.similarities([(A, B)]), parts["words"].similarities([(A, B)]), atol=1e-12
    )


def test_it_is_symmetric_and_equal_texts_score_one(origin: Origin) -> None:
    """To the last bit; empty texts are no exception."""
    found = origin.similarities(PAIRS).tolist()
    assert found[0] == found[1]
    assert found[2] == found[4] == 1.0
    assert found[3] == 0.0
    assert 0 < found[0] < 1


def test_an_explanation_sums_to_the_score(origin: Origin) -> None:
    """Parts sum to the score; evidence and rest of each part to what it adds."""
    found = origin.explain(A, B)
    assert isinstance(found, EnsembleExplanation)
    assert found.similarity == pytest.approx(origin.similarity(A, B), abs=1e-9)
    assert sum(part.added for part in found.parts.values()) == pytest.approx(found.similarity)
    for name, part in found.parts.items():
        listed = sum(item.share for item in found.evidence if item.part == name)
        assert listed + found.rest[name] == pytest.approx(part.added)
        assert part.added == pytest.approx(part.weight * part.similarity)
    shown = found.shown(2)
    assert len(shown) <= 6
    assert any("harbour" in item.text for item in shown)
    assert all(item.document for item in found.evidence if item.part == "sentences")


def test_a_part_can_be_left_out_of_an_explanation(tiny_run: Path) -> None:
    """What has no weight is not shown."""
    only = Origin.open(tiny_run, method="blend", parts={"sentences": 1, "words": 0, "terms": 0})
    found = only.explain(A, B)
    assert isinstance(found, EnsembleExplanation)
    assert set(found.parts) == {"sentences"}


def test_shares_of_nothing_are_refused(tiny_run: Path) -> None:
    """All three 0 is a problem of the configuration."""
    with pytest.raises(ConfigError, match="all three shares are 0"):
        Origin.open(tiny_run, method="blend", parts={"sentences": 0, "words": 0, "terms": 0})


def test_an_unbuilt_stage_names_its_command(tmp_path: Path, tiny_run: Path) -> None:
    """What to type, if the fit stage is missing."""
    run = Run.create(tmp_path / "run", Run.open(tiny_run).config)
    with pytest.raises(MissingStageError, match="firth train context --run"):
        Origin.open(run, method="blend")


@pytest.mark.parametrize(("one", "two"), [(A, A), ("", ""), ("zzz qqq", "zzz qqq")])
def test_equal_texts_are_explained_as_equal(origin: Origin, one: str, two: str) -> None:
    """The explanation's score is the similarity, and still the sum of what its parts add."""
    found = origin.explain(one, two)
    assert isinstance(found, EnsembleExplanation)
    assert found.similarity == pytest.approx(origin.similarity(one, two)) == 1.0
    whole = sum(item.share for item in found.evidence) + sum(found.rest.values())
    assert whole == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["blend", "paper"])
def test_what_is_no_pair_of_texts_is_refused(tiny_run: Path, method: str) -> None:
    """A string is not taken for a list of pairs, nor its letters for sentences."""
    opened = Origin.open(tiny_run, method=method)
    for wrong in ("ab cd", [(A,)], [(A, B, A)], [(A, None)], [A]):
        with pytest.raises(InputError, match="expected two texts"):
            opened.similarities(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair 1"):
        opened.similarities([(A, B), (A, 5)])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected two texts"):
        opened.explain(A, 3)  # type: ignore[arg-type]


def test_an_origin_can_be_evaluated(origin: Origin) -> None:
    """It is a scorer as any other, with a name for the table."""
    from firth import evaluate

    found = evaluate(origin, ["lee"], resamples=2, leakage=False)
    assert "Origin, 0.50 sentences" in found.table()


def test_evidence_adds_something(tiny_run: Path, origin: Origin) -> None:
    """Words that add nothing to the score are no evidence for it."""
    shares, _ = open_components(tiny_run)["words"].shares(A, "zzz", 20)
    assert shares, "the premise: words of A"
    assert all(share.share == 0 for share in shares), "the premise: they meet none"
    found = origin.explain(A, "zzz")
    assert isinstance(found, EnsembleExplanation)
    assert all(item.share != 0 for item in found.evidence)
