"""Reasons of encoders: cosines, by the contexts of a run and by their own words."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.surrogate.reasons import EncoderReasons

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm!"


def test_scores_are_the_encoders_own(tiny_run: Path) -> None:
    """As sentence-transformers has them."""
    found = EncoderReasons.open(tiny_run, tiny_run / "surrogate")
    model = SentenceTransformer(str(tiny_run / "surrogate"), device="cpu")
    one, two = model.encode([A, B], normalize_embeddings=True)
    assert found.similarity(A, B) == pytest.approx(float(one @ two), abs=1e-6)
    assert found.explain(A, B).similarity == pytest.approx(float(one @ two), abs=1e-6)
    assert found.unknown("Xqzzy ship") == ["xqzzy"]


def test_other_encoders_are_asked_without_each_word(tiny_run: Path, tiny_bert: Path) -> None:
    """What hangs on a word is how far the cosine falls without it."""
    found = EncoderReasons.open(tiny_run, tiny_bert)
    explained = found.explain(A, B)
    assert not explained.exact
    falls = {word.text: word.added for word in explained.words1}
    without = found.similarity(A.replace("ship ", ""), B)
    assert falls["ship"] == pytest.approx(explained.similarity - without, abs=1e-6)
    both = found.similarity("reached harbour near island.", B)
    assert both != pytest.approx(found.similarity(A, B), abs=1e-9), "the premise"


def test_what_is_missing_is_said(tiny_run: Path, tmp_path: Path) -> None:
    """A model that is none, and a run without contexts."""
    with pytest.raises(InputError, match="nowhere"):
        EncoderReasons.open(tiny_run, tmp_path / "nowhere")
    run = Run.create(tmp_path / "run", Run.open(tiny_run).config)
    with pytest.raises(MissingStageError, match="firth train context"):
        EncoderReasons.open(run, tiny_run / "surrogate")
    assert EncoderReasons.open(tiny_run, tiny_run / "surrogate").similarities([]).shape == (0,)
    assert np.isfinite(EncoderReasons.open(tiny_run, tiny_run / "surrogate").similarity("", "!"))
