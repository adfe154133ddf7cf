"""The blend: the default of an encoder, unless settings say otherwise."""

import pytest

from firth.run.errors import ConfigError, MissingStageError
from firth.run.run import Run
from firth.scorer.blend import Blend, default_blend


def test_the_defaults() -> None:
    """Where sentences stand alone, learned vectors are left out. In few, spelling counts more."""
    assert default_blend() == Blend()
    assert not default_blend(alone=True).learned
    weights = [default_blend(sentences=n).spelling_weight for n in (0, 5_000, 50_000)]
    assert weights == [4.0, 1.6, 0.8]


def test_settings_override_the_choice(empty_run: Run) -> None:
    """What they give wins; the stage is read for the rest, and only then."""
    with pytest.raises(MissingStageError, match="firth build"):
        Blend.of(empty_run)
    weights = {"sentences": 2.0, "words": 1.0}
    changed = empty_run.changed({"scorer": {"weights": weights, "spelling_weight": 0.1}})
    assert Blend.of(changed) == Blend(weights, 0.1)
    nothing = {"weights": {"sentences": 0.0, "words": 0.0}, "spelling_weight": 1.0}
    with pytest.raises(ConfigError, match="all 0"):
        Blend.of(empty_run.changed({"scorer": nothing}))
