"""Settings and presets: what belongs together is checked together."""

import pytest

from firth.paper.settings import PaperSettings, preset
from firth.run.errors import ConfigError
from firth.run.run import Run


@pytest.mark.parametrize("name", ["paper", "paper-small"])
def test_presets_are_settings(name: str, empty_run: Run) -> None:
    """Each preset is valid as it is, and ranks by what can rank; `paper` has its 500 contexts."""
    settings = empty_run.changed(preset(name)).wing("paper", PaperSettings)
    sizes = settings.contexts.size, settings.retrieve.chunks
    assert sizes == ((500, 20_000) if name == "paper" else (16, 200))
    assert settings.contexts.screening > 0
    assert settings.contexts.diverse


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"contexts": {"size": 9, "shortlist": 8}}, "shortlist 8 is below size 9"),
        ({"generator": {"width": 200}}, "not divisible"),
        ({"fits": {"weights": dict.fromkeys(("coherence", "sentence", "left", "right"), 0)}},
         "Eq. 3 needs one term"),
        ({"fit": {}}, "no such setting"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(changes: object, problem: str, empty_run: Run) -> None:
    with pytest.raises(ConfigError, match=problem):
        empty_run.changed({"paper": changes})


def test_a_fingerprint_follows_its_section_alone() -> None:
    """A stage is built again where a setting that it reads has changed, and nowhere else."""
    one = PaperSettings()
    two = PaperSettings.model_validate({"harvest": {"pairs": 70}, "coherence": {"hidden": 7}})
    assert one.inputs("generator") == two.inputs("generator")
    assert one.inputs("coherence") != two.inputs("coherence")
