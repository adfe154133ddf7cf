"""Context sets that are cut from whole shortlists are those of Origin, and nested."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.paper import contexts as contexts_module
from firth.paper import pair_fits as module
from firth.paper.fits import EQUAL, PairProfile
from firth.paper.origin import Origin
from firth.paper.pair_fits import (
    build_fits,
    kept_contexts,
    load_fits,
    pair_fits,
    read_fits,
    similarities_of,
    write_fits,
)
from firth.paper.settings import Weights
from firth.run.run import Run

PAIRS = [
    ("The ship reached the harbour near the island.", "The sailor feared the storm."),
    ("The judge praised the lawyer near the court.", "The ship reached the harbour near the tide."),
    ("The sailor feared the storm.", "The cow left the barn near the field."),
]
SHORTLIST = 14
STRATEGIES: list[dict[str, Any]] = [{}, {"diverse": False}, {"selection": "random"}]


def opened(run: Run, fits: Any = None, **contexts: Any) -> Origin:
    changes = {
        "contexts": {"shortlist": SHORTLIST} | contexts,
        "fits": {"pmi": False, **(fits or {})},
    }
    return Origin.open(run.changed({"paper": changes}))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cut_is_what_origin_computes(built: Run, strategy: dict[str, Any]) -> None:
    """Contexts and similarities are those of an Origin of that size."""
    weights = Weights(coherence=0.5, sentence=1, left=2.0, right=1)
    random = strategy.get("selection") == "random"
    origin = opened(
        built, {"weights": weights.model_dump(), "measure": "cosine"}, size=5, **strategy
    )
    expected = list(origin.profiles(PAIRS))
    fits = pair_fits(opened(built, size=SHORTLIST, **strategy), PAIRS)
    kept = kept_contexts(origin, fits, origin.settings.contexts, origin.weights)
    for one, (first, second), profile in zip(fits, kept, expected, strict=True):
        cut = one.cut(first, second)
        assert cut.positions.tolist() == profile.positions.tolist()
        assert cut.cross1 == pytest.approx(profile.cross1, abs=1e-4)
    got = similarities_of(fits, kept, 5, origin.weights, "cosine")
    assert got == pytest.approx(origin.similarities(PAIRS), abs=1e-6)
    assert random or got.min() > 0.9, "raw cosines are near 1"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_smaller_sets_are_prefixes(
    built: Run, strategy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C_s of each size begins C_s of every larger one, so that one computation serves all."""
    monkeypatch.setattr(contexts_module, "MAX_JACCARD", 0.9)
    origin = opened(built, size=SHORTLIST, **strategy)
    fits = pair_fits(origin, PAIRS)
    contexts = origin.settings.contexts
    kept = [
        kept_contexts(origin, fits, contexts.model_copy(update={"size": size}), EQUAL)[0][0]
        for size in range(1, SHORTLIST + 1)
    ]
    assert len(kept[-1]) > 4, "premise"
    for small, large in pairwise(kept):
        assert large[: len(small)].tolist() == small.tolist()


def assert_same(one: list[PairProfile], two: list[PairProfile]) -> None:
    for a, b in zip(one, two, strict=True):
        for side in ("set1", "set2"):
            first, second = getattr(a, side), getattr(b, side)
            assert first.sentence == second.sentence
            assert first.positions.tolist() == second.positions.tolist()
        for first, second in zip(a.terms, b.terms, strict=True):
            assert first.tolist() == second.tolist()


def test_fits_are_stored_to_the_last_bit(built: Run, tmp_path: Path) -> None:
    fits = pair_fits(opened(built, size=3), PAIRS)
    write_fits(tmp_path / "fits.safetensors", fits)
    assert_same(load_fits(tmp_path / "fits.safetensors"), fits)


def test_a_stopped_build_continues_with_the_first_missing_shard(
    built: Run, fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fits hold all terms, whatever the run's weights, which stay as they are."""
    run = fresh(fits={"weights": {"left": 0.0}})
    for stage in built.path.joinpath("paper").iterdir():
        (run.path / "paper").mkdir(exist_ok=True)
        (run.path / "paper" / stage.name).symlink_to(stage)
    monkeypatch.setattr(module, "_SHARD_FITS", 1)
    write, calls = write_fits, []

    def stop_at_second(path: Path, fits: list[PairProfile]) -> None:
        calls.append(path.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        write(path, fits)

    monkeypatch.setattr(module, "write_fits", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        build_fits(run, "some", PAIRS)
    build_fits(run, "some", PAIRS)
    assert calls[1:3] == [calls[1]] * 2, "the shard that was stopped is the first one computed"
    assert len(calls) == len(PAIRS) + 1
    fits = read_fits(run, "some")
    assert all(np.abs(one.set1.terms[:, 2]).min() > 0 for one in fits)
    assert Run.open(run.path).settings.model_dump()["paper"]["fits"] == {"weights": {"left": 0.0}}
    assert build_fits(run, "some", PAIRS).reused
    assert not build_fits(run, "some", PAIRS[:2]).reused
