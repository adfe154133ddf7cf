"""Presets: configurations that hold together, and the page that says where each value is from."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from firth.cli.options import parse_settings
from firth.paper.settings import Interaction, Measure
from firth.run.config import Config
from firth.run.errors import ConfigError
from firth.run.presets import Preset
from firth.surrogate.settings import BaseKind, Calibration

PAGE = Path(__file__).parents[2] / "docs" / "presets.md"
_ROW = re.compile(r"^\| `([a-z_.]+)` \| (.*) \| (\S+) \| (\S+) \|$", re.MULTILINE)


def paths(tree: dict[str, Any], *before: str) -> list[str]:
    """Dotted paths of a tree's leaves."""
    found = []
    for name, value in tree.items():
        inner = paths(value, *before, name) if isinstance(value, dict) else []
        found += inner or [".".join((*before, name))]
    return found


def configured(preset: Preset) -> Config:
    return Config().changed(preset.settings, preset)


def test_the_page_has_each_value() -> None:
    """Every setting of either preset is in the table, with the value that a new run gets."""
    rows = {name: (words, *values) for name, words, *values in _ROW.findall(PAGE.read_text())}
    assert set(rows) == set(paths(Preset.PAPER.settings))
    for place, preset in enumerate((Preset.PAPER, Preset.PAPER_SMALL), start=1):
        for path, value in configured(preset).values(list(rows)).items():
            said = yaml.safe_load(rows[path][place].replace(",", ""))
            assert said == value, f"{preset}: {path}"


def test_paper_is_the_papers() -> None:
    """What the paper states in numbers or names, read off the configuration."""
    found = configured(Preset.PAPER)
    assert found.coherence.interaction is Interaction.ADDITIVE
    assert not found.generator.shared
    assert not found.generator.pointer
    assert found.generator.learning_rate == 1e-4
    assert found.paper.contexts == 500
    assert found.paper.measure is Measure.COSINE
    assert found.harvest.pairs == 10**8
    assert found.surrogate.kind is BaseKind.PRETRAINED
    assert found.surrogate.chosen_calibration is Calibration.NONE


def test_small_is_part_of_paper() -> None:
    """The presets differ in models alone: how contexts are chosen and compared is the same."""
    small, whole = Preset.PAPER_SMALL.settings, Preset.PAPER.settings
    assert set(small) < set(whole)
    assert all(whole[section] == settings for section, settings in small.items())


def test_a_preset_is_a_copy() -> None:
    """Whoever changes what was given changes no preset."""
    Preset.PAPER.settings["paper"]["weights"]["coherence"] = 7
    assert Preset.PAPER.settings["paper"]["weights"]["coherence"] == 1


@pytest.mark.parametrize("preset", Preset)
def test_own_settings_win_one_by_one(preset: Preset) -> None:
    """A setting given beside a preset replaces that one, and none of its neighbours."""
    given = ["paper.weights.coherence=0", "paper.contexts=3"]
    found = parse_settings(given, 5, preset, paper={"shortlist": 9, "measure": None})
    assert found["seed"] == 5
    assert found["paper"]["weights"] == preset.settings["paper"]["weights"] | {"coherence": 0}
    assert (found["paper"]["contexts"], found["paper"]["shortlist"]) == (3, 9)
    assert found["paper"]["measure"] == "cosine"


def test_null_takes_a_setting_back() -> None:
    """`--set …=null` gives what was set the value of what was not, beside a preset, too; an option
    of its own wins; what cannot be without a value is refused."""
    config = Config().changed({"surrogate": {"teacher": "other"}}, "")
    assert config.surrogate.teacher == "other"  # the premise
    given = ["surrogate.teacher=null"]
    for preset in (None, Preset.PAPER):
        changes = parse_settings(given, None, preset)
        assert config.changed(changes, "").surrogate.teacher is None
    changes = parse_settings(given, surrogate={"teacher": "third"})
    assert config.changed(changes, "").surrogate.teacher == "third"
    with pytest.raises(ConfigError, match="sentences"):
        config.changed(parse_settings(["surrogate.sentences=null"]), "")
