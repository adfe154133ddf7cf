"""All similarities at once are those of every pair by itself."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.origin import gram
from firth.origin.ensemble import EnsembleOrigin
from firth.run.run import Run

WORDS = [
    "the",
    "ship",
    "ships",
    "harbour",
    "judge",
    "court",
    "piano",
    "xyzzy",
    "1984",
    "4",
    "Über",
    "",
]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=9)


@pytest.fixture(scope="module")
def origins(tiny_run: Path, prompt_run: Path) -> dict[str, EnsembleOrigin]:
    """A bag's and a language model's."""
    return {"bag": EnsembleOrigin.open(tiny_run, weights={}, own=0.8),
            "language model": EnsembleOrigin.open(prompt_run, weights={}, own=0.8)}  # fmt: skip


def pair_by_pair(origin: EnsembleOrigin, texts: list[str]) -> np.ndarray:
    pairs = [(one, two) for one in texts for two in texts]
    return origin.similarities(pairs).reshape(len(texts), len(texts))


@given(texts=TEXTS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_gram_is_all_pairs(origins: dict[str, EnsembleOrigin], texts: list[str]) -> None:
    """Whatever the texts: empty, equal, of unknown words."""
    found = origins["bag"].gram(texts)
    assert found == pytest.approx(pair_by_pair(origins["bag"], texts), abs=1e-6)


@pytest.mark.parametrize("kind", ["bag", "language model"])
def test_a_gram_of_running_text(
    origins: dict[str, EnsembleOrigin], tiny_run: Path, kind: str
) -> None:
    """Likewise of corpus sentences, and of either kind of encoder."""
    from firth.corpus.corpus import Corpus

    texts = [*Corpus.open(Run.open(tiny_run)).texts(range(25)), "", "Xyzzy plugh!"]
    wanted = pair_by_pair(origins[kind], texts)
    assert wanted.std() > 0.1
    assert origins[kind].gram(texts) == pytest.approx(wanted, abs=1e-6)


def test_blocks_change_nothing(
    origins: dict[str, EnsembleOrigin], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few matches are held at once."""
    texts = ["the ship", "", "a harbour in the court", "piano", "", "1984"]
    whole = origins["bag"].gram(texts)
    monkeypatch.setattr(gram, "_CELLS", 1)
    assert origins["bag"].gram(texts) == pytest.approx(whole, abs=1e-6)
