"""Estimates: parts grow as what they do, presets are in their order, and nothing is written."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.paper.cli import app
from firth.paper.estimate import estimate, operations
from firth.paper.settings import PRESETS, PaperSettings, preset
from firth.run.errors import FirthError, InputError
from firth.run.files import write_json
from firth.run.run import Run

from .conftest import tiny_documents


def test_operations_follow_the_settings() -> None:
    """Twice the passes, pairs or sentences cost twice as much in the parts that they change."""
    usual = PaperSettings()
    changed = usual.model_copy(
        update={
            "harvest": usual.harvest.model_copy(update={"pairs": 2 * usual.harvest.pairs}),
            "generator": usual.generator.model_copy(update={"passes": 2 * usual.generator.passes}),
        }
    )
    one, two = (operations(s, 16_000, 1e5, 9e4, 25.0) for s in (usual, changed))
    assert two["generator"] == pytest.approx(2 * one["generator"])
    assert two["harvest"] == pytest.approx(2 * one["harvest"])
    assert two["coherence"] == one["coherence"]


def test_the_papers_generator_has_the_operations_of_its_weights() -> None:
    """Six for each of 1.8e8 weights and a token, for three models over 1e11 tokens: 3e20."""
    settings = PaperSettings.model_validate(preset("paper")["paper"])
    tokens = 26.0
    found = operations(settings, 32_000, 1e11 / tokens, 1e11 / tokens, tokens)
    assert 2e20 < found["generator"] < 6e20
    assert 1e21 < found["harvest"] < 1e22


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_an_estimate(name: str, base_run: Run) -> None:
    predicted = estimate(base_run.changed(preset(name)), to="surrogate")
    assert list(predicted.seconds) == ["coherence", "generator", "harvest", "surrogate"]
    assert all(value > 0 for value in predicted.seconds.values())
    assert "operations" in predicted.text()
    assert list(estimate(base_run, to="origin").seconds) == ["coherence", "generator"]


def test_a_language_model_has_no_estimate(base_run: Run) -> None:
    model = {"backend": "causal-lm", "model": "SmolLM2-135M-Instruct"}
    with pytest.raises(InputError, match="cost of a language model"):
        estimate(base_run.changed({"paper": {"generator": model}}))


def test_the_command_builds_nothing(tmp_path: Path) -> None:
    write_json(tmp_path / "documents.json", tiny_documents())
    options = ["--run", str(tmp_path / "run"), "--preset", "paper", "--estimate", "--quiet"]
    result = CliRunner().invoke(app, ["build", str(tmp_path / "documents.json"), *options])
    assert result.exit_code == 0, result.output
    assert "generator" in result.stdout
    assert not (tmp_path / "run" / "corpus.db").exists()
    with pytest.raises(FirthError):
        estimate(Run.create(tmp_path / "empty"))
