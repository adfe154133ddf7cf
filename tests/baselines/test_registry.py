"""Baselines by name."""

import subprocess
import sys

import pytest

from firth.baselines.glove import glove_files
from firth.baselines.registry import BASELINES, open_baseline, parse_baseline
from firth.baselines.wordllama import wordllama_files
from firth.run.errors import InputError


def test_every_baseline_opens_and_scores() -> None:
    """A registered name gives a scorer that prefers a text to a different one."""
    outside = {"bert", "roberta", "use"}  # by hub name: tested with tiny ones in their own files
    alone = [name for name, baseline in BASELINES.items() if not baseline.required]
    alone = [name for name in alone if name not in outside]
    if not glove_files():
        alone.remove("glove")
    if not wordllama_files():
        alone.remove("wordllama")
    assert {"dice", "tfidf", "tfidf-words"} <= set(alone)
    for name in alone:
        scorer = open_baseline(f"baseline:{name}")
        same, other = scorer.similarities(
            [("a red ship", "a red ship"), ("a red ship", "two cows")]
        )
        assert same > other
        assert scorer.name


def test_unknown_baselines_list_the_known_ones() -> None:
    """The error names every baseline there is."""
    with pytest.raises(InputError) as error:
        open_baseline("baseline:dicee")
    assert all(f"baseline:{name}" in str(error.value) for name in BASELINES)


@pytest.mark.parametrize(
    "spec", ["baseline:dice@run", "baseline:dice@", "baseline:tfidf@", "baseline:cbow"]
)
def test_a_source_must_be_wanted_and_given(spec: str) -> None:
    """Nothing after @ is ignored silently."""
    with pytest.raises(InputError, match="after @"):
        open_baseline(spec)


def test_a_source_may_contain_anything() -> None:
    """Only the first @ separates."""
    assert parse_baseline("baseline:tfidf@runs/a@b")[1].source == "runs/a@b"


def test_the_package_is_light() -> None:
    """Naming baselines loads neither torch nor scikit-learn."""
    code = (
        "import sys; from firth.baselines.registry import open_baseline; "
        "open_baseline('baseline:dice'); "
        "print([m for m in ('torch', 'sklearn', 'scipy', 'transformers') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
